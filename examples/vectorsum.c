/*
 * Adds up one three-dimensional vector per rank, as codes do that send their vector class as one MPI datatype: a
 * contiguous type of three doubles, summed with MPI_SUM. An ordinary MPI program that knows nothing of Espalier.
 *
 * MPI defines MPI_SUM for predefined datatypes only, so MPICH ends this program with "MPI Op MPI_SUM operation not
 * defined for this datatype". Under `espalier run` it works.
 */
#include <mpi.h>
#include <stdio.h>

struct vector {
    double x, y, z;
};

int main(int argc, char **argv)
{
    MPI_Datatype vector;
    struct vector mine, sum = {0, 0, 0};
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_contiguous(3, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    mine.x = rank;
    mine.y = 1;
    mine.z = 0.5 * rank;
    MPI_Allreduce(&mine, &sum, 1, vector, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum over %d ranks: (%g, %g, %g)\n", size, sum.x, sum.y, sum.z);
    MPI_Type_free(&vector);
    MPI_Finalize();
    return 0;
}
