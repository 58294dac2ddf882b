/*
 * What the stub does with the credit of types (abi.h, fastpath.h): a call takes one use for each derived type, and is
 * not made with less left than it has sides (one type may describe all of them), with a count other than one, before
 * the type is committed, or after it was freed.
 */
#include <stdio.h>

#include "fastpath.h"

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
    atomic_uchar *byte = &espi_hot.credit[espi_credit_at((uint32_t)type)];
    int made = 0;

    atomic_store(byte, 1 + 9);
    expect(espi_has_credit(integer, 5, 2), "predefined types need none");
    expect(!espi_has_credit(other, 1, 1), "what is unknown has none");
    expect(!espi_has_credit(far, 1, 1), "what has no byte has none");
    expect(!espi_has_credit(type, 2, 1) && !espi_has_credit(type, 0, 1) && !espi_has_credit(type, -1, 1),
           "a use is of one item");
    espi_use_credit(integer);
    expect(atomic_load(&espi_hot.on_credit) == 0, "no use of a predefined type");
    while (espi_has_credit(type, 1, 2) && made < 100) {
        espi_use_credit(type);
        espi_use_credit(type); /* both sides */
        made += 2;
    }
    expect(made == 8, "uses until less than two are left");
    expect(atomic_load(byte) == 1 + 9 - 8, "what is left");
    expect(atomic_load(&espi_hot.on_credit) == 8, "uses are counted");
    expect(espi_has_credit(type, 1, 1), "one is enough for one side");
    espi_use_credit(type);
    expect(atomic_load(byte) == 1 && !espi_has_credit(type, 1, 1), "a type that the core knows stays known");
    for (unsigned sides = 1; sides <= 3; sides++)
        for (unsigned left = 0; left <= ESPI_CREDIT_MOST; left++) {
            atomic_store(byte, (unsigned char)(1 + left));
            expect(espi_has_credit(type, 1, sides) == (left >= sides), "as many as there are sides");
            atomic_store(byte, (unsigned char)(ESPI_CREDIT_ENDED + 1 + left));
            expect(!espi_has_credit(type, 1, sides), "none before the commit, nor after the end");
        }
}

/* Of a type's credit: what a call asks for. */
static void sides(void)
{
    const espi_word type = (espi_word)0x8c000005u, integer = 0x4c000405;
    atomic_uchar *byte = &espi_hot.credit[espi_credit_at((uint32_t)type)];

    expect(sides_Send == 1 && sides_Recv == 1 && sides_Pack == 1 && sides_Bcast == 1, "calls of one side");
    expect(sides_Sendrecv == 2 && sides_Alltoall == 2 && sides_Put == 2, "calls of two");
    expect(sides_Get_accumulate == 3, "a call of three");
    atomic_store(byte, 1 + 1);
    expect(credit_Send(0, 1, type, 0, 0, 0) && !credit_Send(0, 2, type, 0, 0, 0), "one item is sent");
    expect(!credit_Sendrecv(0, 1, type, 0, 0, 0, 1, type, 0, 0, 0, 0), "both ways in one type take two");
    atomic_store(byte, 1 + 2);
    expect(credit_Sendrecv(0, 1, type, 0, 0, 0, 1, type, 0, 0, 0, 0), "which are there");
    use_Sendrecv(0, 1, type, 0, 0, 0, 1, type, 0, 0, 0, 0);
    expect(atomic_load(byte) == 1, "and are taken");
    atomic_store(byte, 1 + 2);
    use_Sendrecv(0, 1, type, 0, 0, 0, 5, integer, 0, 0, 0, 0);
    expect(atomic_load(byte) == 1 + 1, "one of them for one side");
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

    atomic_store(&espi_hot.credit[at], 0);
    atomic_store(&espi_hot.hint[at], 0);
    commits(0, type, 1, "none is let pass");
    atomic_store(&espi_hot.unseen, 2);
    commits(0, type, 0, "the core does not hear of its commit");
    expect(atomic_load(&espi_hot.commits) == 1 && atomic_load(&espi_hot.unseen) == 1, "which is counted");
    expect(espi_has_credit((espi_word)type, 1, 1) && atomic_load(&espi_hot.credit[at]) == 1 + ESPI_CREDIT_MOST,
           "it has all credit there is");
    commits(0, type, 1, "a second commit is the core's");
    expect(espi_ends((espi_word)&type) && atomic_load(&espi_hot.credit[at]) == 0, "nothing is left of it");
    expect(atomic_load(&espi_hot.frees) == frees + 1 && atomic_load(&espi_hot.hint[at]) == 0, "its end is counted");
    atomic_store(&espi_hot.credit[at], ESPI_CREDIT_ENDED + 5);
    commits(0, type, 1, "the core hears of it where it knows another of this handle");
    atomic_store(&espi_hot.credit[at], 0);
    atomic_store(&espi_hot.hint[at], 5);
    commits(0, type, 1, "and of one whose constructor was seen");
    atomic_store(&espi_hot.hint[at], 0);
    commits(0, type, 0, "the last one");
    expect(espi_ends((espi_word)&type), "ends");
    commits(0, type, 1, "then no more");
    atomic_store(&espi_hot.credit[at], 0);
    atomic_store(&espi_hot.hint[at], 0);
}

/* A type that is freed: no use goes on by the stub; what was left of the credit stays for the core to count. */
static void end(void)
{
    uint32_t type = 0x8c000007u, far = 0xcc040000u, integer = 0x4c000405, none = 0x0c000000;
    atomic_uchar *byte = &espi_hot.credit[espi_credit_at(type)];

    for (unsigned left = 0; left <= ESPI_CREDIT_MOST; left++) {
        uint64_t frees = atomic_load(&espi_hot.frees);
        atomic_store(byte, (unsigned char)(1 + left));
        atomic_store(&espi_hot.hint[espi_credit_at(type)], 5);
        expect(espi_ends((espi_word)&type), "a type that is known, with credit or without");
        expect(atomic_load(&espi_hot.hint[espi_credit_at(type)]) == 0, "how it was made is forgotten");
        expect(atomic_load(&espi_hot.frees) == frees + 1, "is counted");
        expect((atomic_load(byte) & ESPI_CREDIT_LEFT) == 1 + left, "what was left is still to be seen");
        expect(!espi_has_credit((espi_word)type, 1, 1), "and can not be used");
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
    end();
    commit();
    unseen();
    return failed;
}
