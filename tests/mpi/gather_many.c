/*
 * As many communicators as a program may well have, all alive, with gathers on each: those that Espalier makes for
 * itself are missing to the program, and MPICH ends one that asks for too many. Prints `N passed, N failed`.
 *
 *   gather_many [COMMUNICATORS]
 *   gather_many full             no gather before MPI has no communicator left; then errors would end the program
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GATHERS = 3, RANKS_MOST = 16, FULL = 100000 };

static int rank, size;
static long passed, failed;

static void gather(MPI_Comm comm, int number)
{
    int counts[RANKS_MOST], displs[RANKS_MOST], all[RANKS_MOST];
    for (int r = 0; r < size; r++)
        counts[r] = 1, displs[r] = r;
    for (int k = 0; k < GATHERS; k++) {
        int own = 1000 * number + 10 * k + rank, good = 1;
        MPI_Gatherv(&own, 1, MPI_INT, all, counts, displs, MPI_INT, 0, comm);
        for (int r = 0; rank == 0 && r < size; r++)
            good = good && all[r] == 1000 * number + 10 * k + r;
        passed += good;
        failed += !good;
        MPI_Barrier(comm);
    }
}

/* As many copies of the world as MPI makes, `most` at most. */
static int copies(MPI_Comm *comms, int most)
{
    int n = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (n < most && MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]) == MPI_SUCCESS)
        MPI_Comm_set_errhandler(comms[n++], MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return n;
}

int main(int argc, char **argv)
{
    int full = argc > 1 && strcmp(argv[1], "full") == 0, n = full ? FULL : argc > 1 ? atoi(argv[1]) : 1900;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm *comms = malloc((size_t)n * sizeof *comms);
    if (!comms || size > RANKS_MOST)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (full) {
        n = copies(comms, n);
        n < FULL ? passed++ : failed++;
        for (int i = 0; i < 10 && i < n; i++) {
            MPI_Errhandler handler;
            gather(comms[i], i);
            MPI_Comm_get_errhandler(comms[i], &handler);
            handler == MPI_ERRORS_ARE_FATAL ? passed++ : failed++;
            MPI_Errhandler_free(&handler);
        }
    }
    for (int i = 0; i < n && !full; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        gather(comms[i], i);
    }
    for (int i = 0; i < n; i++)
        MPI_Comm_free(&comms[i]);
    free(comms);
    if (rank == 0)
        printf("%ld passed, %ld failed\n", passed, failed);
    MPI_Finalize();
    return failed != 0;
}
