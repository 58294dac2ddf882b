/*
 * Gathers while an MPI_Comm_idup of other ranks is pending: MPICH hangs when a communicator is made meanwhile, so nothing
 * may be made behind the program's back. This order of calls did not hang before that was so, either: it shows that gathers
 * stay right, not that the hang is gone. Prints `N passed, N failed` on rank 0.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, wrong = 0, total;
    MPI_Comm half, copy = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *all = malloc((size_t)size * sizeof *all), *counts = malloc(2 * (size_t)size * sizeof *counts);
    for (int i = 0; i < size; i++)
        counts[i] = 1, counts[size + i] = i;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
    if (rank > 1) /* rank 1 joins later */
        MPI_Comm_idup(half, &copy, &request);
    for (int call = 0; call < 20; call++) {
        int mine = 100 * call + rank;
        MPI_Gatherv(&mine, 1, MPI_INT, all, counts, counts + size, MPI_INT, 0, MPI_COMM_WORLD);
        for (int i = 0; rank == 0 && i < size; i++)
            wrong += all[i] != 100 * call + i;
    }
    if (rank == 1)
        MPI_Comm_idup(half, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (copy != MPI_COMM_NULL)
        MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    MPI_Reduce(&wrong, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d passed, %d failed\n", 20 * size - total, total);
    free(all);
    free(counts);
    MPI_Finalize();
    return wrong != 0;
}
