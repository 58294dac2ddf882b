/*
 * Gathers and scatters in which one side has more than the other takes: the rank that takes gets MPI_ERR_TRUNCATE
 * through the error handler of the program's communicator (which returns errors, while MPI_COMM_WORLD ends the
 * program), and no other rank an error. Nothing is written beyond a block, shorter blocks fill what they fill, and
 * the calls after it are right. Every case has a communicator of its own: where the root's own block is cut off MPICH
 * leaves the messages of the others in the network, and the next gather takes them.
 *
 * Arguments: elements of a block; `native` for the error classes only, and only where MPICH itself does not hang;
 * `fatal` for the reverse: the program's communicator ends the program and MPI_COMM_WORLD returns errors. Prints `N
 * passed, N failed` on rank 0.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = -1, WARM = 3 };

static int rank, size, each, room, root, native, fatal;
static long passed, failed;
/* Freed late: MPICH gives the context of a freed one to the next, and natively messages are left in it. A tree leaves
   none, and Espalier has 64 leases of trees at a time. */
enum { NATIVE_CASES = 1000, TREE_CASES = 12 };
static MPI_Comm comm, used[NATIVE_CASES];
static int cases;
static MPI_Datatype spread; /* two ints, each followed by a gap */
static int *own, *all, *counts, *displs;
static const char *title;

static void check(const char *what, int good)
{
    if (good)
        passed++;
    else if (failed < 10)
        printf("rank %d: %s: %s\n", rank, title, what);
    failed += !good;
}

static int value(int of, int i)
{
    return of * 1000000 + i;
}

/* `scale` ints of memory for each element; all blocks are as they should be. */
static void reset(int scale)
{
    for (int i = 0; i < room * scale; i++)
        own[i] = GAP;
    for (int i = 0; i < size * room * scale; i++)
        all[i] = GAP;
    for (int r = 0; r < size; r++)
        counts[r] = each + r % 3, displs[r] = r * room;
}

static int planned(int r)
{
    return each + r % 3;
}

static void fill_own(int n)
{
    for (int i = 0; i < n; i++)
        own[i] = value(rank, i);
}

static void fill_all(void)
{
    for (int r = 0; r < size; r++)
        for (int i = 0; i < counts[r]; i++)
            all[displs[r] + i] = value(r, i);
}

static void good_calls(int n)
{
    for (int k = 0; k < n; k++) {
        int good = 1;
        reset(1);
        fill_own(planned(rank));
        MPI_Gatherv(own, planned(rank), MPI_INT, all, counts, displs, MPI_INT, root, comm);
        for (int r = 0; rank == root && r < size; r++)
            for (int i = 0; i < room; i++)
                good = good && all[displs[r] + i] == (i < counts[r] ? value(r, i) : GAP);
        check("a gather that is right", good);
        reset(1);
        if (rank == root)
            fill_all();
        MPI_Scatterv(all, counts, displs, MPI_INT, own, planned(rank), MPI_INT, root, comm);
        good = 1;
        for (int i = 0; i < room; i++)
            good = good && own[i] == (i < planned(rank) ? value(rank, i) : GAP);
        check("a scatter that is right", good);
        fill_own(each);
        MPI_Gather(own, each, MPI_INT, all, each, MPI_INT, root, comm);
        good = 1;
        for (int i = 0; rank == root && i < size * each; i++)
            good = good && all[i] == value(i / each, i % each);
        check("a gather of equal blocks", good);
        for (int i = 0; i < each; i++)
            own[i] = GAP;
        MPI_Scatter(all, each, MPI_INT, own, each, MPI_INT, root, comm);
        for (int i = 0; i < each; i++)
            good = good && own[i] == value(rank, i);
        check("a scatter of equal blocks", good);
    }
}

static void free_used(void)
{
    while (cases > 0)
        MPI_Comm_free(&used[--cases]);
}

static void begin(const char *text)
{
    title = text;
    if (!native && cases == TREE_CASES)
        free_used();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    used[cases++] = comm;
    for (int k = 0; k < WARM; k++) {
        good_calls(1);
        for (int families = 0; families < 4; families++)
            MPI_Barrier(comm); /* a tree is agreed on in each */
    }
    if (fatal)
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

static void report(int rc, int truncated)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(rc, &class);
    check("the error class", class == (truncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank `who` sends `more` elements beyond its count (or fewer, where negative), or its block at the root is changed
   by it. */
static void gather(const char *name, int who, int more, int at_root, MPI_Datatype type)
{
    int sends = planned(rank), scale = type == MPI_INT ? 1 : 2, rc, good = 1, truncated = 0;
    char text[80];
    snprintf(text, sizeof text, "%s, rank %d", name, who);
    begin(text);
    reset(scale);
    if (at_root)
        counts[who] += more;
    else if (rank == who || who < 0)
        sends += more;
    fill_own(sends);
    if (type == MPI_INT) {
        rc = MPI_Gatherv(own, sends, MPI_INT, all, counts, displs, MPI_INT, root, comm);
    } else { /* the elements of a pair are four ints apart */
        for (int r = 0; r < size; r++)
            counts[r] /= 2, displs[r] /= 2;
        rc = MPI_Gatherv(own, sends / 2 * 2, MPI_INT, all, counts, displs, spread, root, comm);
    }
    for (int r = 0; rank == root && r < size; r++) {
        int took = planned(r) + (at_root && r == who ? more : 0);
        int gave = planned(r) + (!at_root && (r == who || who < 0) ? more : 0);
        if (type != MPI_INT)
            took = took / 2 * 2, gave = gave / 2 * 2;
        truncated = truncated || gave > took;
        for (int i = 0; i < room * scale; i++) {
            int at = i / scale, found = all[r * (room / 2 * 2) * scale + i];
            if (i % scale == 1 || at >= took)
                good = good && found == GAP; /* whatever happened */
            else if (gave <= took)
                good = good && found == (at < gave ? value(r, at) : GAP);
        }
    }
    report(rc, truncated);
    check("the blocks", good || native);
    good_calls(native ? 0 : 2);
}

static void scatter(const char *name, int who, int more, int at_root)
{
    int takes = planned(rank), gives, rc, good = 1;
    char text[80];
    snprintf(text, sizeof text, "%s, rank %d", name, who);
    begin(text);
    reset(1);
    if (at_root)
        counts[who] += more;
    else if (rank == who || who < 0)
        takes += more;
    gives = counts[rank];
    if (rank == root)
        fill_all();
    rc = MPI_Scatterv(all, counts, displs, MPI_INT, own, takes, MPI_INT, root, comm);
    report(rc, gives > takes);
    for (int i = 0; i < room; i++)
        if (i >= takes || gives <= takes)
            good = good && own[i] == (i < takes && i < gives ? value(rank, i) : GAP);
    check("the block", good || native);
    good_calls(native ? 0 : 2);
}

/* Equal blocks: rank `who` has `more` elements than the others, or the root has. */
static void equal(const char *name, int who, int more, int gathers)
{
    int n = each + (rank == who ? more : 0), rc, good = 1;
    char text[80];
    snprintf(text, sizeof text, "%s, rank %d", name, who);
    begin(text);
    reset(1);
    fill_own(gathers ? n : 0);
    if (gathers)
        rc = MPI_Gather(own, n, MPI_INT, all, n, MPI_INT, root, comm);
    else
        rc = MPI_Scatter(all, n, MPI_INT, own, n, MPI_INT, root, comm);
    report(rc, gathers ? rank == root && more < 0 : rank != root && more > 0);
    for (int i = n; !gathers && i < room; i++)
        good = good && own[i] == GAP;
    for (int i = size * n; gathers && rank == root && i < size * room; i++)
        good = good && all[i] == GAP;
    check("beyond the blocks", good);
    good_calls(native ? 0 : 2);
}

static void all_cases(void)
{
    for (int who = 0; who < size; who++) {
        if (each < 1000) {
            gather("gather, more sent than taken", who, 1, 0, MPI_INT);
            gather("gather, much more sent", who, 3 * each, 0, MPI_INT);
            gather("gather, much more sent, derived type", who, 4 * (each / 2), 0, spread);
            gather("gather, less sent, derived type", who, -2, 0, spread);
        }
        gather("gather, large message for a small block", who, 20 * each, 0, MPI_INT);
        gather("gather, less sent", who, -each / 2, 0, MPI_INT);
        gather("gather, less room at the root", who, -1, 1, MPI_INT);
        gather("gather, more room at the root", who, 1, 1, MPI_INT);
        /* MPICH sends nothing to the others where the root's own block is cut off: they hang. */
        if (who != root || !native) {
            scatter("scatter, less room", who, -1, 0);
            scatter("scatter, hardly any room", who, 1 - each, 0);
            scatter("scatter, more at the root", who, 1, 1);
            scatter("scatter, much more at the root", who, 3 * each, 1);
        }
        scatter("scatter, more room", who, 1, 0);
        scatter("scatter, less at the root", who, -1, 1);
    }
    gather("gather, more sent by all", -1, each, 0, MPI_INT);
    if (!native)
        scatter("scatter, less room everywhere", -1, -each / 2, 0);
    equal("gather of equal blocks, less room at the root", root, -1, 1);
    if (!native)
        equal("scatter of equal blocks, more at the root", root, 1, 0);
}

int main(int argc, char **argv)
{
    each = argc > 1 ? atoi(argv[1]) : 8;
    room = (22 * each + 4) / 2 * 2;
    MPI_Datatype pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    own = malloc((size_t)room * 2 * sizeof *own);
    all = malloc((size_t)(size * room * 2) * sizeof *all);
    counts = malloc((size_t)size * sizeof *counts);
    displs = malloc((size_t)size * sizeof *displs);
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 4 * (MPI_Aint)sizeof(int), &spread);
    MPI_Type_commit(&spread);
    MPI_Type_free(&pair);
    native = argc > 2 && strcmp(argv[2], "native") == 0;
    fatal = argc > 2 && strcmp(argv[2], "fatal") == 0;
    if (fatal) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        gather("gather, much more sent", size - 1, 3 * each, 0, MPI_INT);
        printf("rank %d is still there\n", rank); /* the root must not be */
    } else {
        for (root = 0; root < size; root += size - 1 > 1 ? size / 2 : 1)
            all_cases();
    }
    MPI_Type_free(&spread);
    free_used();
    long sums[2], tally[2] = {passed, failed};
    MPI_Reduce(tally, sums, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld passed, %ld failed\n", sums[0], sums[1]);
    MPI_Finalize();
    free(own);
    free(all);
    free(counts);
    free(displs);
    return failed != 0;
}
