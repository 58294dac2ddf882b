/* A plain MPI program for the tests of the statistics: every rank passes a strided row around the ring.
   Arguments: how often; then "die" to end without MPI_Finalize. Prints one line on rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 200 };

int main(int argc, char **argv)
{
    static double data[4 * BLOCKS];
    int rank, size, lengths[BLOCKS], places[BLOCKS];
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    double sum = 0;
    MPI_Datatype row;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = 1;
        places[i] = 4 * i;
        data[4 * i] = rank + i;
    }
    MPI_Type_indexed(BLOCKS, lengths, places, MPI_DOUBLE, &row);
    MPI_Type_commit(&row);
    for (int i = 0; i < rounds; i++)
        MPI_Sendrecv_replace(data, 1, row, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    if (argc > 2 && strcmp(argv[2], "die") == 0)
        _exit(3);
    for (int i = 0; i < BLOCKS; i++)
        sum += data[4 * i];
    if (rank == 0)
        printf("sum %g\n", sum);
    MPI_Type_free(&row);
    MPI_Finalize();
    return 0;
}
