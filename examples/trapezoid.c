/*
 * Adds up the upper trapezoids of one m x n matrix per rank, in place of a reduction over whole matrices: the type
 * has row i from column i on, so MPI_Reduce with MPI_SUM leaves the elements below the diagonal as they are. An
 * ordinary MPI program that knows nothing of Espalier; MPICH alone refuses MPI_SUM on a derived type.
 *
 *   trapezoid [M N]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int m = argc > 2 ? atoi(argv[1]) : 300, n = argc > 2 ? atoi(argv[2]) : 400, rank, size, wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (m < 1 || n < m) {
        if (rank == 0)
            fprintf(stderr, "trapezoid: expected 1 <= M <= N\n");
        MPI_Finalize();
        return 2;
    }
    int *lengths = malloc(2 * (size_t)m * sizeof *lengths), *starts = lengths + m;
    double *a = malloc((size_t)m * (size_t)n * sizeof *a), *sum = malloc((size_t)m * (size_t)n * sizeof *sum);
    for (int i = 0; i < m; i++) {
        lengths[i] = n - i;
        starts[i] = i * n + i;
        for (int j = 0; j < n; j++) {
            a[i * n + j] = (rank + 1) * (i + j);
            sum[i * n + j] = -1;
        }
    }
    MPI_Datatype upper;
    MPI_Type_indexed(m, lengths, starts, MPI_DOUBLE, &upper);
    MPI_Type_commit(&upper);
    MPI_Reduce(a, sum, 1, upper, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < m; i++)
        for (int j = 0; j < n; j++)
            wrong += sum[i * n + j] != (j < i ? -1 : size * (size + 1) / 2 * (i + j));
    if (rank == 0)
        printf("trapezoid %d x %d over %d ranks: %d elements wrong\n", m, n, size, wrong);
    MPI_Type_free(&upper);
    free(lengths);
    free(a);
    free(sum);
    MPI_Finalize();
    return wrong != 0;
}
