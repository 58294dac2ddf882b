/*
 * Gathers and scatters along trees with arguments that MPI refuses: the same error classes as without Espalier, no
 * hang where there is none without, nothing written beyond a block, and the calls after it are right. Prints `N
 * passed, N failed` on rank 0.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { EACH = 4, ROOM = 8 };
static int rank, size;
static long passed, failed;
static MPI_Comm comm;
static double mine[ROOM], *all;
static int *counts, *displs;

static void check(const char *what, int good)
{
    if (good)
        passed++;
    else
        printf("rank %d: %s\n", rank, what);
    failed += !good;
}

static int class_of(int rc)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(rc, &class);
    return class;
}

static void reset(void)
{
    for (int i = 0; i < ROOM; i++)
        mine[i] = i < EACH ? rank * 10 + i : -2;
    for (int i = 0; i < size * ROOM; i++)
        all[i] = -1;
    for (int r = 0; r < size; r++)
        counts[r] = EACH, displs[r] = ROOM * r;
}

/* Enough good calls for a tree, and the next ones after a bad call. */
static void good_calls(const char *what, int n)
{
    for (int k = 0; k < n; k++) {
        reset();
        int good = MPI_Gatherv(mine, EACH, MPI_DOUBLE, all, counts, displs, MPI_DOUBLE, 0, comm) == MPI_SUCCESS;
        for (int i = 0; rank == 0 && i < size * ROOM; i++)
            good = good && all[i] == (i % ROOM < EACH ? i / ROOM * 10 + i % ROOM : -1);
        for (int i = 0; i < EACH; i++)
            mine[i] = -3;
        good = MPI_Scatterv(all, counts, displs, MPI_DOUBLE, mine, EACH, MPI_DOUBLE, 0, comm) == MPI_SUCCESS && good;
        for (int i = 0; i < EACH; i++)
            good = good && mine[i] == rank * 10 + i;
        good = good && MPI_Gather(mine, EACH, MPI_DOUBLE, all, EACH, MPI_DOUBLE, 0, comm) == MPI_SUCCESS;
        for (int i = 0; rank == 0 && i < size * EACH; i++)
            good = good && all[i] == i / EACH * 10 + i % EACH;
        check(what, good);
        MPI_Barrier(comm);
    }
}

int main(int argc, char **argv)
{
    int bad, class;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    all = malloc((size_t)size * ROOM * sizeof *all);
    counts = malloc((size_t)size * sizeof *counts);
    displs = malloc((size_t)size * sizeof *displs);
    good_calls("first calls", 4);

    class = class_of(MPI_Gather(NULL, EACH, MPI_DOUBLE, all, EACH, MPI_DOUBLE, 0, comm));
    check("no send buffer", class == MPI_ERR_BUFFER);
    good_calls("after a call without send buffers", 3);

    class = class_of(MPI_Scatterv(all, counts, displs, MPI_DATATYPE_NULL, mine, EACH, MPI_DATATYPE_NULL, 0, comm));
    check("no type", class == MPI_ERR_TYPE);
    good_calls("after a call without types", 3);

    /* One rank fails, and nobody expects anything of it: more such calls than a lease lasts. */
    for (int k = 0; k < 24; k++) {
        reset();
        counts[size - 1] = 0;
        bad = rank == size - 1 && k % 3 == 1;
        class = class_of(MPI_Gatherv(mine, rank < size - 1 ? EACH : bad ? -1 : 0, MPI_DOUBLE, all, counts, displs,
                                     MPI_DOUBLE, 0, comm));
        check("a negative count on one rank", class == (bad ? MPI_ERR_COUNT : MPI_SUCCESS));
        MPI_Barrier(comm);
    }
    good_calls("after calls with a negative count", 3);

    /* Of the root: its own block given twice, and MPI_IN_PLACE where all blocks should be. */
    for (int k = 0; k < 4; k++) {
        reset();
        double *own = rank == 0 && k < 2 ? all : mine, *whole = rank == 0 && k >= 2 ? MPI_IN_PLACE : all;
        if (k % 2 == 0)
            class = class_of(MPI_Gatherv(own, EACH, MPI_DOUBLE, whole, counts, displs, MPI_DOUBLE, 0, comm));
        else
            class = class_of(MPI_Scatterv(whole, counts, displs, MPI_DOUBLE, own, EACH, MPI_DOUBLE, 0, comm));
        check(k < 2 ? "own block twice" : "MPI_IN_PLACE for all blocks", rank > 0 || class == MPI_ERR_BUFFER);
        good_calls("after a refused buffer", 3);
        if (k % 2 == 0) {
            reset();
            class = class_of(MPI_Gather(own, EACH, MPI_DOUBLE, whole, EACH, MPI_DOUBLE, 0, comm));
            check(k < 2 ? "own block twice" : "MPI_IN_PLACE for all blocks", rank > 0 || class == MPI_ERR_BUFFER);
            good_calls("after a refused buffer of MPI_Gather", 3);
        }
    }

    /* The root's own block is too short for what it sends to itself. */
    reset();
    counts[0] = EACH / 2;
    class = class_of(MPI_Gatherv(mine, EACH, MPI_DOUBLE, all, counts, displs, MPI_DOUBLE, 0, comm));
    check("truncation at the root: class", class == (rank == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    check("truncation at the root: written beyond the block", rank > 0 || all[EACH / 2] == -1);
    free(all);
    free(counts);
    free(displs);
    MPI_Comm_free(&comm);
    long sums[2], own[2] = {passed, failed};
    MPI_Reduce(own, sums, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld passed, %ld failed\n", sums[0], sums[1]);
    MPI_Finalize();
    return failed != 0;
}
