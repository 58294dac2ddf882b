/*
 * What the stub does with the credit of types (abi.h, fastpath.h): a call takes one use for each derived type, and is
 * not made with less left than it has sides (one type may describe all of them), with a count other than one, before
 * the type is committed, or after it was freed.
 */
#include <stdio.h>
#include <string.h>

#include "on_credit.h"

struct espi_hot espi_hot;
__thread struct espi_thread espi_here;

static int failed, told;
static bool inside;

static void expect(bool right, const char *what)
{
    if (!right) {
        printf("wrong: %s\n", what);
        failed = 1;
    }
}

/* The core hears of a commit. */
static void committed(struct espi_thread *thread, uint32_t type)
{
    (void)type;
    told++;
    inside = thread->frame != 0;
}

static void uses(void)
{
    const espi_word type = (espi_word)0x8c000005u, other = (espi_word)0xcc000007u, far = (espi_word)0xcc040000u;
    const espi_word integer = 0x4c000405;
    atomic_uchar *byte = &espi_hot.types[espi_credit_at((uint32_t)type)].credit;
    int made = 0;

    atomic_store(byte, 1 + 9);
    expect(espi_has_credit(integer, 5, 2, 0), "predefined types need none");
    expect(!espi_has_credit(other, 1, 1, 0), "what is unknown has none");
    expect(!espi_has_credit(far, 1, 1, 0), "what has no byte has none");
    expect(espi_has_credit(type, 2, 1, 0) && espi_has_credit(type, ESPI_CREDIT_MOST, 1, 0) &&
               !espi_has_credit(type, ESPI_CREDIT_MOST + 1, 1, 0) && !espi_has_credit(type, 0, 1, 0) &&
               !espi_has_credit(type, -1, 1, 0),
           "a use is of some items, but not of too many to go unseen");
    espi_use_credit(integer, 7);
    expect(atomic_load(&espi_hot.on_credit) == 0, "no use of a predefined type");
    while (espi_has_credit(type, 1, 2, 0) && made < 100) {
        espi_use_credit(type, 1);
        espi_use_credit(type, 3); /* both sides */
        made += 2;
    }
    expect(made == 8, "uses until less than two are left");
    expect(atomic_load(byte) == 1 + 9 - 8, "what is left");
    expect(atomic_load(&espi_hot.on_credit) == 8, "uses are counted");
    expect(atomic_load(&espi_hot.types[espi_credit_at((uint32_t)type)].more) == 4 * 2,
           "and what items they have more");
    atomic_store(&espi_hot.types[espi_credit_at((uint32_t)type)].more, 0);
    expect(espi_has_credit(type, 1, 1, 0), "one is enough for one side");
    espi_use_credit(type, 1);
    expect(atomic_load(byte) == 1 && !espi_has_credit(type, 1, 1, 0), "a type that the core knows stays known");
    for (unsigned sides = 1; sides <= 3; sides++)
        for (unsigned left = 0; left <= ESPI_CREDIT_MOST; left++) {
            atomic_store(byte, (unsigned char)(1 + left));
            expect(espi_has_credit(type, 1, sides, 0) == (left >= sides), "as many as there are sides");
            atomic_store(byte, (unsigned char)(ESPI_CREDIT_ENDED + 1 + left));
            expect(!espi_has_credit(type, 1, sides, 0), "none before the commit, nor after the end");
        }
}

/* Of a type's credit: what a call asks for. */
static void sides(void)
{
    const espi_word type = (espi_word)0x8c000005u, integer = 0x4c000405;
    atomic_uchar *byte = &espi_hot.types[espi_credit_at((uint32_t)type)].credit;

    expect(sides_Send == 1 && sides_Recv == 1 && sides_Pack == 1 && sides_Bcast == 1, "calls of one side");
    expect(sides_Sendrecv == 2 && sides_Alltoall == 2 && sides_Put == 2, "calls of two");
    expect(sides_Get_accumulate == 3, "a call of three");
    atomic_store(byte, 1 + 1);
    expect(credit_Send(0, 1, type, 0, 0, 0) && credit_Send(0, 2, type, 0, 0, 0) &&
               !credit_Send(0, 0, type, 0, 0, 0) && !credit_Send(0, 200, type, 0, 0, 0),
           "some items are sent");
    expect(!credit_Sendrecv(0, 1, type, 0, 0, 0, 1, type, 0, 0, 0, 0), "both ways in one type take two");
    atomic_store(byte, 1 + 2);
    expect(credit_Sendrecv(0, 1, type, 0, 0, 0, 1, type, 0, 0, 0, 0), "which are there");
    use_Sendrecv(0, 1, type, 0, 0, 0, 1, type, 0, 0, 0, 0);
    expect(atomic_load(byte) == 1, "and are taken");
    atomic_store(byte, 1 + 2);
    use_Sendrecv(0, 4, type, 0, 0, 0, 5, integer, 0, 0, 0, 0);
    expect(atomic_load(byte) == 1 + 1, "one of them for one side");
    expect(atomic_load(&espi_hot.types[espi_credit_at((uint32_t)type)].more) == 3, "and its items");
    atomic_store(&espi_hot.types[espi_credit_at((uint32_t)type)].more, 0);
}

/* Where a rank gives itself blocks. */
static void watched(void)
{
    const espi_word type = (espi_word)0x8c000005u;
    const uint32_t at = espi_credit_at((uint32_t)type);

    atomic_store(&espi_hot.types[at].credit, 1 + 100);
    atomic_store(&espi_hot.types[at].own, ESPI_OWN_WATCHED);
    expect(!credit_Sendrecv(0, 1, type, 0, 0, 0, 1, type, 0, 0, 0, 0), "the core sees what may be for oneself");
    expect(credit_Send(0, 1, type, 0, 0, 0), "and not what is not");
    atomic_store(&espi_hot.types[at].own, ESPI_OWN_SETTLED);
    expect(credit_Sendrecv(0, 1, type, 0, 0, 0, 1, type, 0, 0, 0, 0), "until it has decided");
    atomic_store(&espi_hot.types[at].own, 0);
}

/* ---- collective calls ---- */

enum { WORLD = 0x44000000, ROOT = 2, PEERS = 4 };
static const espi_word mine = (espi_word)0x8c000005u, theirs = (espi_word)0x8c000009u;
static char buffer[8];

/* As MPI_Gather and MPI_Gatherv, Alltoallv, Allgather and MPI_Bcast are in api.def. */
static const struct espi_credit_row gather = {7, 6, 2, false, true, false, {{0, 2, 1, false, false, false},
                                                                            {3, 5, 4, false, false, true}}},
                                    gatherv = {8, 7, 2, false, true, false, {{0, 2, 1, false, false, false},
                                                                             {3, 6, 4, true, false, true}}},
                                    large = {8, 7, 2, true, true, false, {{0, 2, 1, false, false, false},
                                                                          {3, 6, 4, true, false, true}}},
                                    ialltoallv = {8, -1, 2, false, false, false, {{0, 3, 1, true, false, false},
                                                                                  {4, 7, 5, true, false, false}}},
                                    alltoallv = {8, -1, 2, false, true, false, {{0, 3, 1, true, false, false},
                                                                                {4, 7, 5, true, false, false}}},
                                    neighbours = {8, -1, 2, false, false, true, {{0, 3, 1, true, false, false},
                                                                                 {4, 7, 5, true, false, false}}},
                                    bcast = {4, 3, 1, false, false, false, {{0, 2, 1, false, false, false}}};

static unsigned left(espi_word type)
{
    return atomic_load(&espi_hot.types[espi_credit_at((uint32_t)type)].credit) - 1u;
}

/* Credit and what is decided of both types; this process's rank in the communicator, -1: it is not known. */
static void set(unsigned credit, unsigned own, int rank, int peers)
{
    for (int i = 0; i < 2; i++) {
        const uint32_t at = espi_credit_at((uint32_t)(i ? theirs : mine));
        atomic_store(&espi_hot.types[at].credit, (unsigned char)(1 + credit));
        atomic_store(&espi_hot.types[at].own, (unsigned char)own);
        atomic_store(&espi_hot.types[at].more, 0);
    }
    struct espi_known_comm *known = &espi_hot.comms[espi_comm_at(WORLD)];
    atomic_store(&known->rank, rank < 0 ? 0 : (uint64_t)WORLD << 32 | (uint32_t)rank);
    atomic_store(&known->peers, peers);
    atomic_store(&known->out, 1);
    atomic_store(&known->in, 2);
}

/* Whether the call goes on, and uses that it took of either type. */
static void call(const struct espi_credit_row *row, const espi_word *args, bool goes_on, unsigned of_mine,
                 unsigned of_theirs, const char *what)
{
    const unsigned before[2] = {left(mine), left(theirs)};
    const uint64_t counted = atomic_load(&espi_hot.on_credit);
    expect(espi_any_on_credit(row, args) == goes_on, what);
    expect(before[0] - left(mine) == of_mine && before[1] - left(theirs) == of_theirs &&
               atomic_load(&espi_hot.on_credit) - counted == of_mine + of_theirs,
           what);
}

static void rooted(void)
{
    const espi_word here = (espi_word)buffer;
    espi_word args[9] = {here, 1, mine, here, 1, theirs, ROOT, WORLD, 0};

    set(5, ESPI_OWN_SETTLED, ROOT, PEERS);
    call(&gather, args, true, 1, 1, "both types at the root");
    set(5, ESPI_OWN_SETTLED, ROOT + 1, PEERS);
    call(&gather, args, true, 1, 0, "one elsewhere");
    set(5, 0, ROOT + 1, PEERS);
    call(&gather, args, true, 1, 0, "where nothing is decided of own blocks either");
    args[5] = (espi_word)0x8c00dead;
    args[4] = -1;
    call(&gather, args, true, 1, 0, "and the other may be anything");
    args[5] = theirs;
    args[4] = 1;
    set(5, ESPI_OWN_SETTLED, -1, PEERS);
    call(&gather, args, false, 0, 0, "a communicator that is not known");
    set(5, 0, ROOT, PEERS);
    call(&gather, args, false, 0, 0, "own blocks of which nothing is decided");
    args[0] = ESPI_IN_PLACE;
    call(&gather, args, true, 1, 1, "in place there is none");
    args[0] = here;
    args[3] = ESPI_IN_PLACE;
    call(&gather, args, true, 1, 1, "on either side");
    args[3] = here;
    set(5, ESPI_OWN_SETTLED, ROOT, PEERS);
    atomic_store(&espi_hot.comms[espi_comm_at(WORLD)].rank, (uint64_t)(WORLD + 1) << 32 | ROOT);
    call(&gather, args, false, 0, 0, "another communicator, of which this process would be the root");
    set(5, ESPI_OWN_SETTLED | ESPI_OWN_WATCHED, ROOT, PEERS);
    call(&gather, args, true, 1, 1, "copied, but not apart from calls with others");
    set(5, ESPI_OWN_SETTLED | ESPI_OWN_WATCHED, 0, 1);
    args[6] = 0;
    call(&gather, args, false, 0, 0, "on a communicator of one rank they are");
    args[6] = ROOT;
    set(1, ESPI_OWN_SETTLED, ROOT, PEERS);
    call(&gather, args, false, 0, 0, "one type may be both sides");
    set(5, ESPI_OWN_SETTLED, ROOT, PEERS);
    args[4] = 3;
    call(&gather, args, true, 1, 1, "several items");
    expect(atomic_load(&espi_hot.types[espi_credit_at((uint32_t)theirs)].more) == 2, "are counted");
    set(5, ESPI_OWN_SETTLED, ROOT, PEERS);
    args[5] = mine;
    call(&gather, args, true, 2, 0, "one type on both sides is used twice");
    expect(atomic_load(&espi_hot.types[espi_credit_at((uint32_t)mine)].more) == 2, "with all items of both");
    args[4] = 2;
    set(2, ESPI_OWN_SETTLED, ROOT, PEERS);
    call(&gather, args, true, 2, 0, "also of just enough credit");
    expect(atomic_load(&espi_hot.types[espi_credit_at((uint32_t)mine)].more) == 1, "and one item more");
    set(1, ESPI_OWN_SETTLED, ROOT, PEERS);
    call(&gather, args, false, 0, 0, "but not of less");
    set(5, ESPI_OWN_SETTLED, ROOT, PEERS);
    args[4] = 3;
    args[5] = theirs;
    args[4] = ESPI_CREDIT_MOST + 1;
    call(&gather, args, false, 0, 0, "unless they are many");
    args[4] = -1;
    call(&gather, args, false, 0, 0, "or MPI refuses them");
    args[5] = 0x4c000405;
    call(&gather, args, true, 1, 0, "predefined types have any number");
}

static void blocks(void)
{
    const espi_word here = (espi_word)buffer;
    int counts[PEERS] = {3, 0, 1, 2};
    int64_t large_counts[PEERS] = {3, 0, 1, 2};
    espi_word args[9] = {here, 1, mine, here, (espi_word)counts, here, theirs, ROOT, WORLD};
    const uint32_t at = espi_credit_at((uint32_t)theirs);

    set(5, ESPI_OWN_SETTLED, ROOT, PEERS);
    call(&gatherv, args, true, 1, 1, "blocks at the root");
    expect(atomic_load(&espi_hot.types[at].more) == 5, "items of blocks are counted");
    args[4] = (espi_word)large_counts;
    call(&large, args, true, 1, 1, "with large counts");
    expect(atomic_load(&espi_hot.types[at].more) == 10, "too");
    large_counts[1] = -1;
    call(&large, args, false, 0, 0, "a large count that MPI refuses");
    large_counts[1] = INT64_MAX;
    call(&large, args, false, 0, 0, "or that is far too large");
    args[4] = (espi_word)counts;
    counts[2] = -1;
    call(&gatherv, args, false, 0, 0, "a count that MPI refuses");
    counts[2] = ESPI_CREDIT_MOST;
    call(&gatherv, args, false, 0, 0, "too many to be unseen");
    memset(counts, 0, sizeof counts);
    call(&gatherv, args, false, 0, 0, "none");
    args[4] = 0;
    call(&gatherv, args, false, 0, 0, "no counts");
    set(5, 0, ROOT + 1, PEERS);
    call(&gatherv, args, true, 1, 0, "elsewhere there need be none");

    counts[0] = 1;
    espi_word each[9] = {here, (espi_word)counts, here, mine, here, (espi_word)counts, here, theirs, WORLD};
    set(5, 0, ROOT, PEERS);
    call(&ialltoallv, each, true, 1, 1, "blocks of all");
    call(&alltoallv, each, false, 0, 0, "with own ones of which nothing is decided");
    counts[1] = 1; /* of what is sent there is one block, of what comes there are two */
    counts[2] = -1;
    call(&neighbours, each, true, 1, 1, "blocks of neighbours");
    expect(atomic_load(&espi_hot.types[at].more) == 1, "two of them");
    counts[2] = 0;
    counts[1] = 0;
    set(5, ESPI_OWN_SETTLED, ROOT, PEERS);
    call(&alltoallv, each, true, 1, 1, "with own ones that are left alone");
    set(5, 0, -1, PEERS);
    call(&ialltoallv, each, false, 0, 0, "how many ranks is not known");

    const espi_word all[5] = {here, 1, mine, 0, WORLD};
    call(&bcast, all, true, 1, 0, "which does not matter everywhere");
}

/* Calls with a type for each rank. */
static void many_types(void)
{
    static const struct espi_credit_row alltoallw = {8, -1, 2, false, true, false, {{0, 3, 1, true, true, false},
                                                                                    {4, 7, 5, true, true, false}}},
                                        nearby = {8, -1, 2, false, false, true, {{0, 3, 1, true, true, false},
                                                                                 {4, 7, 5, true, true, false}}};
    enum { INTEGER = 0x4c000405 };
    int counts[PEERS] = {1, 2, 0, 1};
    int sent[PEERS] = {(int)mine, (int)mine, 0x0c000000, INTEGER}, got[PEERS] = {INTEGER, (int)theirs, 0, INTEGER};
    const espi_word here = (espi_word)buffer;
    espi_word args[9] = {here, (espi_word)counts, here, (espi_word)sent, here, (espi_word)counts, here,
                         (espi_word)got, WORLD};
    const uint32_t at = espi_credit_at((uint32_t)mine);

    set(2 * PEERS, 0, 0, PEERS);
    call(&alltoallw, args, true, 2, 1, "each block is a use");
    expect(atomic_load(&espi_hot.types[at].more) == 1, "of its items");
    call(&alltoallw, args, false, 0, 0, "all may be of one type");
    set(50, ESPI_OWN_WATCHED, 0, PEERS);
    call(&alltoallw, args, false, 0, 0, "own blocks that the core is to see");
    set(50, ESPI_OWN_WATCHED, 2, PEERS);
    call(&alltoallw, args, true, 2, 1, "which are of this rank's own types only");
    set(50, ESPI_OWN_WATCHED | ESPI_OWN_SETTLED, 0, PEERS);
    call(&alltoallw, args, true, 2, 1, "that stay in the call");
    set(50, 0, -1, PEERS);
    call(&alltoallw, args, false, 0, 0, "a communicator that is not known");
    set(50, 0, 0, PEERS);
    counts[3] = ESPI_CREDIT_MOST + 1;
    call(&alltoallw, args, true, 2, 1, "any number of predefined ones");
    counts[1] = ESPI_CREDIT_MOST + 1;
    call(&alltoallw, args, false, 0, 0, "and few of others");
    counts[1] = -1;
    call(&alltoallw, args, false, 0, 0, "at least none");
    counts[1] = 2;
    args[0] = ESPI_IN_PLACE;
    call(&alltoallw, args, false, 0, 0, "in place");
    args[0] = here;
    args[3] = 0;
    call(&alltoallw, args, false, 0, 0, "no types");
    args[3] = (espi_word)sent;
    set(50, 0, 0, 64);
    call(&alltoallw, args, false, 0, 0, "more ranks than there is credit");
    set(50, ESPI_OWN_WATCHED, 0, PEERS);
    call(&nearby, args, true, 1, 1, "neighbours");
}

/* A commit with this result, of which the core hears so many times. */
static void commits(int result, uint32_t type, int times, const char *what)
{
    int before = told;

    espi_commits(result, (espi_word)&type);
    expect(told == before + times, what);
}

static void commit(void)
{
    uint32_t type = 0x8c000006u, far = 0xcc040000u, integer = 0x4c000405;

    atomic_store(&espi_hot.committed, committed);
    commits(5, type, 0, "a commit that failed is none");
    commits(0, integer, 0, "nor is one of a predefined type");
    espi_here.frame = 0;
    commits(0, type, 1, "the core hears of others");
    expect(inside && espi_here.frame == 0, "inside of a call");
    commits(0, far, 1, "with credit or without");
}

/* A type that is let pass: known to the stub alone from its commit to its end. */
static void unseen(void)
{
    uint32_t type = 0x8c000005u, at = espi_credit_at(type);
    uint64_t frees = atomic_load(&espi_hot.frees);

    atomic_store(&espi_hot.types[at].credit, 0);
    atomic_store(&espi_hot.types[at].hint, 0);
    commits(0, type, 1, "none is let pass");
    atomic_store(&espi_hot.unseen, 2);
    commits(0, type, 0, "the core does not hear of its commit");
    expect(atomic_load(&espi_hot.commits) == 1 && atomic_load(&espi_hot.unseen) == 1, "which is counted");
    expect(espi_has_credit((espi_word)type, 1, 1, 0) &&
               atomic_load(&espi_hot.types[at].credit) == 1 + ESPI_CREDIT_MOST,
           "it has all credit there is");
    expect(atomic_load(&espi_hot.committed_in[at / ESPI_CREDITS_EACH]), "where it is found when all is forgotten");
    commits(0, type, 1, "a second commit is the core's");
    expect(espi_ends((espi_word)&type) && atomic_load(&espi_hot.types[at].credit) == 0, "nothing is left of it");
    expect(atomic_load(&espi_hot.frees) == frees + 1 && atomic_load(&espi_hot.types[at].hint) == 0,
           "its end is counted");
    atomic_store(&espi_hot.types[at].credit, ESPI_CREDIT_ENDED + 5);
    commits(0, type, 1, "the core hears of it where it knows another of this handle");
    atomic_store(&espi_hot.types[at].credit, 0);
    atomic_store(&espi_hot.types[at].hint, 5);
    commits(0, type, 1, "and of one whose constructor was seen");
    atomic_store(&espi_hot.types[at].hint, 0);
    commits(0, type, 0, "the last one");
    expect(espi_ends((espi_word)&type), "ends");
    commits(0, type, 1, "then no more");
    atomic_store(&espi_hot.types[at].credit, 0);
    atomic_store(&espi_hot.types[at].hint, 0);
}

/* A type that is freed: no use goes on by the stub; what was left of the credit stays for the core to count. */
static void end(void)
{
    uint32_t type = 0x8c000007u, far = 0xcc040000u, integer = 0x4c000405, none = 0x0c000000;
    atomic_uchar *byte = &espi_hot.types[espi_credit_at(type)].credit;

    for (unsigned left = 0; left <= ESPI_CREDIT_MOST; left++) {
        uint64_t frees = atomic_load(&espi_hot.frees);
        atomic_store(byte, (unsigned char)(1 + left));
        atomic_store(&espi_hot.types[espi_credit_at(type)].hint, 5);
        expect(espi_ends((espi_word)&type), "a type that is known, with credit or without");
        expect(atomic_load(&espi_hot.types[espi_credit_at(type)].hint) == 0, "how it was made is forgotten");
        expect(atomic_load(&espi_hot.frees) == frees + 1, "is counted");
        expect((atomic_load(byte) & ESPI_CREDIT_LEFT) == 1 + left, "what was left is still to be seen");
        expect(!espi_has_credit((espi_word)type, 1, 1, 0), "and can not be used");
        unsigned char ended = atomic_load(byte);
        expect(espi_ends((espi_word)&type) && atomic_load(byte) == ended, "it does not end twice");
        expect(atomic_load(&espi_hot.frees) == frees + 1, "nor is it counted twice");
    }
    atomic_store(byte, 0);
    uint64_t frees = atomic_load(&espi_hot.frees);
    expect(espi_ends((espi_word)&type) && atomic_load(byte) == 0 && atomic_load(&espi_hot.frees) == frees,
           "of what was not committed there is nothing to end");
    expect(!espi_ends((espi_word)&far) && !espi_ends((espi_word)&integer) && !espi_ends((espi_word)&none),
           "where there is no credit it is the core's to end");
}

int main(void)
{
    uses();
    sides();
    watched();
    rooted();
    blocks();
    many_types();
    end();
    commit();
    unseen();
    return failed;
}
