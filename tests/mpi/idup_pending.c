/*
 * Gathers while an MPI_Comm_idup of other ranks is pending: along the tree of a communicator that had one before, by
 * the library on the others. Prints `N passed, N failed` on rank 0.
 *
 * What MPICH 4.0.2 does (src/mpi/comm/contextid.c): an idup that not all ranks have joined holds no more than the
 * "eager" part of the context ids, and a blocking creation then takes the other part, so it does not wait for the
 * idup. But the loop of a blocking creation on a communicator of ONE rank never enters MPI's progress: while an
 * earlier idup in the list holds the ids it spins for ever, and other ranks wait for it. A native program with random
 * idups (two pending at a time) and creations on communicators of which one has a single rank hangs in this way
 * within some hundred operations; with two ranks or more in each communicator it did not (10 seeds, 400 operations
 * each), and neither with one idup at a time. Gathers need private communicators of three ranks or more only. Still
 * none is made once an idup was seen: it costs a tree, never an answer, and the reasoning above rests on one version
 * of MPICH.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, wrong = 0, total;
    MPI_Comm half, other, copy = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *all = malloc((size_t)size * sizeof *all), *counts = malloc(2 * (size_t)size * sizeof *counts);
    for (int i = 0; i < size; i++)
        counts[i] = 1, counts[size + i] = i;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
    for (int call = 0; call < 3; call++) {
        MPI_Gatherv(&rank, 1, MPI_INT, all, counts, counts + size, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank > 1) /* rank 1 joins later */
        MPI_Comm_idup(half, &copy, &request);
    for (int call = 0; call < 20; call++) {
        int own = 100 * call + rank;
        MPI_Gatherv(&own, 1, MPI_INT, all, counts, counts + size, MPI_INT, 0, call % 2 ? other : MPI_COMM_WORLD);
        for (int i = 0; rank == 0 && i < size; i++)
            wrong += all[i] != 100 * call + i;
        MPI_Barrier(call % 2 ? other : MPI_COMM_WORLD);
    }
    if (rank == 1)
        MPI_Comm_idup(half, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (copy != MPI_COMM_NULL)
        MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    MPI_Comm_free(&other);
    MPI_Reduce(&wrong, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d passed, %d failed\n", 20 * size - total, total);
    free(all);
    free(counts);
    MPI_Finalize();
    return wrong != 0;
}
