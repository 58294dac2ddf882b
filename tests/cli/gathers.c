/* Gathers blocks of different sizes to the last rank, with a barrier after each, and on half the ranks to their
   first, then with the even ranks first; prints checksums. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static long gather(MPI_Comm comm, int root, int calls)
{
    int rank, size, total = 0;
    long sum = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int *counts = malloc((size_t)size * sizeof *counts), *displs = malloc((size_t)size * sizeof *displs);
    for (int i = 0; i < size; i++) {
        counts[i] = 10 + 7 * i;
        displs[i] = total;
        total += counts[i];
    }
    int *own = malloc((size_t)counts[rank] * sizeof *own), *all = malloc((size_t)total * sizeof *all);
    for (int call = 0; call < calls; call++) {
        for (int i = 0; i < counts[rank]; i++)
            own[i] = rank + call * i;
        MPI_Gatherv(own, counts[rank], MPI_INT, all, counts, displs, MPI_INT, root, comm);
        for (int i = 0; rank == root && i < total; i++)
            sum += all[i];
        MPI_Barrier(comm);
    }
    free(counts);
    free(displs);
    free(own);
    free(all);
    return sum;
}

int main(int argc, char **argv)
{
    int rank, size, calls;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    calls = argc > 1 ? atoi(argv[1]) : 20;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long sum = gather(MPI_COMM_WORLD, size - 1, calls);
    if (rank == size - 1)
        printf("%ld\n", sum);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    gather(half, 0, calls);
    MPI_Comm_free(&half);
    MPI_Comm_split(MPI_COMM_WORLD, 0, (rank % 2) * size + rank, &half); /* all, the even ranks first */
    sum = gather(half, 1, calls);
    MPI_Comm_rank(half, &rank);
    if (rank == 1)
        printf("%ld\n", sum);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
