/*
 * As many communicators as a program may well have, all alive, with gathers on each: those that Espalier makes for
 * itself are missing to the program, and MPICH ends one that asks for too many. Prints `N passed, N failed`.
 *
 *   gather_many [COMMUNICATORS]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { GATHERS = 3, RANKS_MOST = 16 };

int main(int argc, char **argv)
{
    int rank, size, n = argc > 1 ? atoi(argv[1]) : 1900, counts[RANKS_MOST], displs[RANKS_MOST], all[RANKS_MOST];
    long passed = 0, failed = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm *comms = malloc((size_t)n * sizeof *comms);
    if (!comms || size > RANKS_MOST)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int r = 0; r < size; r++)
        counts[r] = 1, displs[r] = r;
    for (int i = 0; i < n; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        for (int k = 0; k < GATHERS; k++) {
            int own = 1000 * i + 10 * k + rank, good = 1;
            MPI_Gatherv(&own, 1, MPI_INT, all, counts, displs, MPI_INT, 0, comms[i]);
            for (int r = 0; rank == 0 && r < size; r++)
                good = good && all[r] == 1000 * i + 10 * k + r;
            passed += good;
            failed += !good;
        }
    }
    for (int i = 0; i < n; i++)
        MPI_Comm_free(&comms[i]);
    free(comms);
    if (rank == 0)
        printf("%ld passed, %ld failed\n", passed, failed);
    MPI_Finalize();
    return failed != 0;
}
