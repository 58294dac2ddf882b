/*
 * Refused calls: sixty gathers or scatters on a communicator, in some of which a rank (or each in turn, or all
 * together) first gives an argument that MPI refuses. It gets the error and calls again with the right one; or, where
 * that lives natively, goes on without: since nothing is expected of it in that call, or since all are refused; or it
 * is alone with its call, and the others come to theirs only when it has gone on. All bytes of all calls are right,
 * and a refused call has touched nothing. (MPICH 4.0.2 does not refuse MPI_IN_PLACE on a rank that is not the root.)
 *
 *   harmless_refused [FROM [STEP [MOST]]] [shared]     the scenarios FROM, FROM + STEP, ..., MOST of them;
 *                                                      `shared`: all on one communicator
 *   harmless_refused list                              how many there are
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harmless.h"

enum { CALLS = 60, ROOM = 160 };

enum who { ROOT, LEAF, INNER, TURNS, ALL, WHO };
static const char *const who_name[WHO] = {"root", "leaf", "inner", "turns", "all"};
enum what {
    OWN_COUNT, OWN_TYPE, OWN_UNCOMMITTED, OWN_NULL, BAD_ROOT, BAD_COMM, /* any rank */
    TWICE, ALL_COUNT, ALL_TYPE, ALL_UNCOMMITTED, ALL_NULL, ALL_IN_PLACE, /* the root */
    WHAT
};
static const char *const what_name[WHAT] = {
    "negative count", "no type", "uncommitted type", "no buffer", "root out of range",
    "no communicator", "own block twice", "negative count of a block", "no type of blocks",
    "uncommitted type of blocks", "no buffer of blocks", "MPI_IN_PLACE for blocks"};
enum repair { AGAIN, AGAIN_TWICE, GOES_ON, ALONE, REPAIRS };
static const char *const repair_name[REPAIRS] = {"again", "again at the third try", "goes on", "alone"};
enum sync { NONE, BARRIER, ALLREDUCE, BARRIER_5, ALLREDUCE_5, EMPTY_ALLREDUCE, OTHER_BARRIER, BARRIER_ONCE, BCAST,
            REFUSED_ALLREDUCE, SYNCS };
static const char *const sync_name[SYNCS] = {
    "nothing", "MPI_Barrier", "MPI_Allreduce", "MPI_Barrier every 5", "MPI_Allreduce every 5", "empty MPI_Allreduce",
    "MPI_Barrier elsewhere", "one MPI_Barrier", "MPI_Bcast", "refused MPI_Allreduce"};
enum sizes { STEADY, CHANGING, STEPS, GAPPY, SIZES };
static const char *const sizes_name[SIZES] = {"steady", "changing", "in steps", "some empty"};

struct scenario {
    long number;
    enum hl_op op;
    enum who who;
    enum what what;
    enum repair repair;
    enum sync sync;
    /* Of the number and the seed: */
    enum sizes sizes;
    int root, at, every, large, derived, in_place, most;
    uint64_t state;
    char name[ROOM];
};

static MPI_Datatype uncommitted;
static MPI_Comm shared_comm = MPI_COMM_NULL;

static int valid(enum hl_op op, enum who who, enum what what, enum repair repair)
{
    int for_root = what >= TWICE && what <= ALL_IN_PLACE;
    if (for_root && who != ROOT)
        return 0;
    /* That cannot be told from a call that is left out, see doc/gather-calls.md. */
    if (what == BAD_COMM && repair == GOES_ON)
        return who == ALL;
    if (what == BAD_ROOT && repair == GOES_ON && who == INNER)
        return 0;
    /* MPICH does not look for a block given twice in MPI_Scatter. */
    if (what == TWICE && op == HL_SCATTER)
        return 0;
    /* Each in turn: only where what is refused is repaired. */
    return who != TURNS || repair != GOES_ON;
}

/* Their order never depends on anything else, so that a number means the same in each run. */
static long scenarios(long wanted, struct scenario *s)
{
    long number = 0;
    for (int op = 0; op < HL_OPS; op++)
        for (int who = 0; who < WHO; who++)
            for (int what = 0; what < WHAT; what++)
                for (int repair = 0; repair < REPAIRS; repair++)
                    for (int sync = 0; sync < SYNCS; sync++) {
                        if (!valid(op, who, what, repair))
                            continue;
                        if (number++ == wanted) {
                            *s = (struct scenario){.number = wanted, .op = op, .who = who, .what = what,
                                                   .repair = repair, .sync = sync};
                            return number;
                        }
                    }
    return number;
}

static void draw(struct scenario *s)
{
    s->state = hl_hash(hl_seed + (uint64_t)s->number * 7919);
    s->sizes = hl_random(&s->state, SIZES);
    s->root = (int)hl_random(&s->state, 3) ? 0 : (int)hl_random(&s->state, (unsigned)hl_size);
    s->at = (int)hl_random(&s->state, CALLS - 2);
    s->every = hl_random(&s->state, 3) ? CALLS : 5 + (int)hl_random(&s->state, 9);
    s->large = hl_random(&s->state, 4) == 0;
    s->derived = hl_random(&s->state, 3) == 0;
    s->in_place = s->what != TWICE && s->what > OWN_NULL && hl_random(&s->state, 3) == 0;
    static const int most[] = {8, 30, 30, 200, 2000, 30000};
    s->most = most[hl_random(&s->state, sizeof most / sizeof *most)];
    snprintf(s->name, sizeof s->name, "%ld: %s%s: %s, %s, %s; %s; sizes %s to %d, root %d, call %d", s->number,
             hl_op_name[s->op], s->large ? "_c" : "", who_name[s->who], what_name[s->what], repair_name[s->repair],
             sync_name[s->sync], sizes_name[s->sizes], s->most, s->root, s->at);
}

static int is_disturbed(const struct scenario *s, int k)
{
    return s->who == TURNS ? k >= 2 && k % 3 == 0 : k >= s->at && (k - s->at) % s->every == 0;
}

static int victim(const struct scenario *s, int k)
{
    switch (s->who) {
    case ROOT:
        return s->root;
    case LEAF:
        return s->root == hl_size - 1 ? hl_size - 2 : hl_size - 1;
    case INNER:
        return (s->root + 1) % hl_size;
    case TURNS:
        return k / 3 % hl_size;
    default:
        return hl_rank;
    }
}

/* The same on all ranks. */
static void set_counts(const struct scenario *s, int k, struct hl_call *call)
{
    int v = s->op == HL_GATHERV || s->op == HL_SCATTERV, epoch = s->sizes == STEADY  ? 0
                                                                : s->sizes == STEPS ? k / 10
                                                                                    : k + 1;
    uint64_t state = hl_hash(s->state + (uint64_t)epoch);
    for (int r = 0; r < hl_size; r++) {
        call->counts[r] = 2 * (1 + (int)hl_random(&state, (unsigned)s->most / 2));
        if (s->sizes == GAPPY && hl_random(&state, 4) == 0)
            call->counts[r] = 0;
        if (!v)
            call->counts[r] = call->counts[0];
    }
    /* Where a rank does not call (again), nothing is to be expected of it. */
    if (!is_disturbed(s, k) || s->repair != GOES_ON || s->who == ALL)
        return;
    for (int r = 0; r < hl_size; r++)
        if (!v || r == victim(s, k) || (victim(s, k) == s->root && r != s->root))
            call->counts[r] = 0;
}

/* Spoils one argument; the class that MPICH gives. */
static int spoil(const struct scenario *s, enum what what, struct hl_call *call)
{
    static int data[HL_MOST];
    int on = call->size - 1;
    switch (what) {
    case OWN_COUNT:
        call->own = call->own_room;
        call->own_count = -1;
        return MPI_ERR_COUNT;
    case OWN_TYPE:
        call->own = call->own_room;
        call->own_type = MPI_DATATYPE_NULL;
        return MPI_ERR_TYPE;
    case OWN_UNCOMMITTED:
        call->own = call->own_room;
        call->own_type = uncommitted;
        return MPI_ERR_TYPE;
    case OWN_NULL:
        call->own = NULL;
        call->own_count = 3;
        return MPI_ERR_BUFFER;
    case BAD_ROOT:
        call->given_root = s->at % 2 ? call->size : -7;
        return MPI_ERR_ROOT;
    case BAD_COMM:
        call->given_comm = MPI_COMM_NULL;
        return MPI_ERR_COMM;
    case TWICE:
        /* Whatever the sizes of the good call are. */
        call->own = data;
        call->all = data;
        call->own_type = call->all_type = MPI_INT;
        call->own_count = call->each = 1;
        for (int r = 0; r < call->size; r++) {
            call->c_room[r] = call->d_room[r] = r == call->root ? 1 : 0;
            call->cc_room[r] = call->c_room[r];
            call->dd_room[r] = call->d_room[r] = 0;
        }
        if (call->op == HL_GATHER || call->op == HL_SCATTER)
            call->own = data + call->root;
        return MPI_ERR_BUFFER;
    case ALL_COUNT:
        call->c_room[on] = -1;
        call->cc_room[on] = -1;
        call->each = -1;
        return MPI_ERR_COUNT;
    case ALL_TYPE:
        call->all_type = MPI_DATATYPE_NULL;
        return MPI_ERR_TYPE;
    case ALL_UNCOMMITTED:
        call->all_type = uncommitted;
        return MPI_ERR_TYPE;
    case ALL_NULL:
    case ALL_IN_PLACE:
        call->all = what == ALL_NULL ? NULL : MPI_IN_PLACE;
        call->all_type = MPI_INT;
        call->each = 2;
        for (int r = 0; r < call->size; r++)
            call->cc_room[r] = call->c_room[r] = 2;
        return MPI_ERR_BUFFER;
    default:
        return MPI_SUCCESS;
    }
}

static void disturb(const struct scenario *s, struct hl_call *call)
{
    enum what what = s->what;
    int class, got;
    for (int n = 0; n < (s->repair == AGAIN_TWICE ? 2 : s->repair == ALONE ? 1 + s->at % 2 : 1); n++) {
        hl_prepare(call);
        class = spoil(s, what, call);
        got = hl_class(hl_issue(call));
        hl_check(got == class, "%s: class %d instead of %d", s->name, got, class);
        hl_check(what == TWICE || hl_untouched(call), "%s: a refused call has touched something", s->name);
    }
}

static void synchronize(const struct scenario *s, int k, MPI_Comm comm, MPI_Comm other)
{
    int one = hl_rank + k, sum = -1, rc = MPI_SUCCESS;
    switch (s->sync) {
    case BARRIER:
    case BARRIER_5:
        if (s->sync == BARRIER || k % 5 == 4)
            rc = MPI_Barrier(comm);
        break;
    case OTHER_BARRIER:
        rc = MPI_Barrier(other);
        break;
    case EMPTY_ALLREDUCE:
        rc = MPI_Allreduce(&one, &sum, 0, MPI_INT, MPI_SUM, comm);
        break;
    case REFUSED_ALLREDUCE:
        if (is_disturbed(s, k) && hl_rank == victim(s, k)) {
            rc = k % 2 ? MPI_Allreduce(&one, &sum, 1, MPI_DATATYPE_NULL, MPI_SUM, comm)
                       : MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_OP_NULL, comm);
            hl_check(hl_class(rc) == MPI_ERR_OP, "%s: a refused MPI_Allreduce gives class %d", s->name, hl_class(rc));
        }
        /* fallthrough */
    case ALLREDUCE:
    case ALLREDUCE_5:
        if (s->sync == ALLREDUCE_5 && k % 5 != 4)
            break;
        rc = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        hl_check(sum == hl_size * (hl_size - 1) / 2 + hl_size * k, "%s: the sum after call %d", s->name, k);
        break;
    case BCAST:
        one = hl_rank == s->root ? 17 + k : -1;
        rc = MPI_Bcast(&one, 1, MPI_INT, s->root, comm);
        hl_check(one == 17 + k, "%s: what was broadcast after call %d", s->name, k);
        break;
    default:
        break;
    }
    hl_check(rc == MPI_SUCCESS, "%s: class %d after call %d", s->name, hl_class(rc), k);
}

static void run(struct scenario *s)
{
    MPI_Comm comm = shared_comm, other;
    struct hl_call call = {.op = s->op, .large = s->large, .derived = s->derived, .in_place = s->in_place,
                           .root = s->root, .rank = hl_rank, .size = hl_size, .backwards = s->number % 3 == 0};
    if (comm == MPI_COMM_NULL)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    if (s->sync == BARRIER_ONCE)
        MPI_Barrier(comm);
    call.comm = comm;
    for (int k = 0; k < CALLS; k++) {
        hl_at(s->name, k);
        call.salt = s->state + (uint64_t)k;
        set_counts(s, k, &call);
        int disturbed = is_disturbed(s, k) && hl_rank == victim(s, k);
        if (disturbed)
            disturb(s, &call);
        if (s->repair == ALONE && is_disturbed(s, k))
            MPI_Barrier(other);
        if (!disturbed || s->repair != GOES_ON) {
            hl_prepare(&call);
            int rc = hl_issue(&call);
            hl_check(rc == MPI_SUCCESS, "%s: class %d in call %d", s->name, hl_class(rc), k);
            hl_check(hl_right(&call), "%s: bytes of call %d", s->name, k);
        }
        synchronize(s, k, comm, other);
    }
    hl_at(s->name, CALLS);
    hl_release(&call);
    MPI_Comm_free(&other);
    if (shared_comm == MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    struct scenario s;
    long number[3] = {0, 1, -1}, all = scenarios(-1, &s);
    if (argc > 1 && strcmp(argv[1], "list") == 0) {
        printf("%ld\n", all);
        return 0;
    }
    hl_start(&argc, &argv, MPI_THREAD_SINGLE);
    for (int i = 1; i < argc && i <= 3 && strcmp(argv[i], "shared"); i++)
        number[i - 1] = atol(argv[i]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_vector(1, 1, 2, MPI_INT, &uncommitted);
    if (argc > 1 && strcmp(argv[argc - 1], "shared") == 0)
        MPI_Comm_dup(MPI_COMM_WORLD, &shared_comm);
    for (long n = number[0], done = 0; n < all && (number[2] < 0 || done < number[2]); n += number[1], done++) {
        scenarios(n, &s);
        draw(&s);
        run(&s);
    }
    if (shared_comm != MPI_COMM_NULL)
        MPI_Comm_free(&shared_comm);
    MPI_Type_free(&uncommitted);
    return hl_end();
}
