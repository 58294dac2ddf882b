/*
 * Reductions in which the ranks describe the same elements differently: count x base type on some, a dense derived
 * type, or one with gaps, on others. All must meet in the same collective. Argument: elements per rank / 12.
 * Prints `N passed, N failed` on rank 0.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;
static long passed, failed;

/* Ways to describe 12 n doubles. */
static void describe(int way, int n, int *count, MPI_Datatype *type, int *stride)
{
    MPI_Datatype t;
    *stride = 1;
    switch (way) {
    case 0:
        *count = 12 * n;
        *type = MPI_DOUBLE;
        break;
    case 1:
        *count = n;
        MPI_Type_contiguous(12, MPI_DOUBLE, type);
        break;
    case 2:
        *count = 2 * n;
        *stride = 3;
        MPI_Type_vector(6, 1, 3, MPI_DOUBLE, &t);
        MPI_Type_create_resized(t, 0, 18 * (MPI_Aint)sizeof(double), type);
        MPI_Type_free(&t);
        break;
    default:
        *count = 1;
        *stride = 2;
        MPI_Type_vector(12 * n, 1, 2, MPI_DOUBLE, type);
    }
    if (way > 0)
        MPI_Type_commit(type);
}

static void check(const char *what, int way, const double *out, int from, int elements, int stride,
                  double (*want)(int))
{
    int good = 1;
    for (int i = 0; i < elements; i++) {
        good = good && out[i * stride] == want(from + i);
        for (int gap = 1; gap < stride && i + 1 < elements; gap++)
            good = good && out[i * stride + gap] == -7;
    }
    good ? passed++ : failed++;
    if (!good)
        fprintf(stderr, "rank %d, way %d: %s differs\n", rank, way, what);
}

static double total(int i)
{
    return size * (double)(i % 1000) + size * (size - 1) / 2.0;
}

static double partial(int i)
{
    return (rank + 1) * (double)(i % 1000) + rank * (rank + 1) / 2.0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = argc > 1 ? atoi(argv[1]) : 5, elements = 12 * n;
    /* Room for size blocks in the scattering call, at the largest stride. */
    size_t room = (size_t)elements * 3 * (size_t)size + 64;
    double *in = malloc(room * sizeof *in), *out = malloc(room * sizeof *out);
    for (int shift = 0; shift < 4; shift++) {
        int way = (rank + shift) % 4, count, stride;
        MPI_Datatype type;
        MPI_Request request;
        describe(way, n, &count, &type, &stride);
#define FRESH()                                                 \
    for (size_t i = 0; i < room; i++)                           \
        in[i] = out[i] = -7;                                    \
    for (int i = 0; i < elements * size; i++)                   \
        in[i * stride] = i % elements % 1000 + rank
        FRESH();
        MPI_Allreduce(in, out, count, type, MPI_SUM, MPI_COMM_WORLD);
        check("Allreduce", way, out, 0, elements, stride, total);
        FRESH();
        MPI_Reduce(in, out, count, type, MPI_SUM, size - 1, MPI_COMM_WORLD);
        if (rank == size - 1)
            check("Reduce", way, out, 0, elements, stride, total);
        FRESH();
        MPI_Scan(in, out, count, type, MPI_SUM, MPI_COMM_WORLD);
        check("Scan", way, out, 0, elements, stride, partial);
        FRESH();
        MPI_Iallreduce(in, out, count, type, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check("Iallreduce", way, out, 0, elements, stride, total);
        /* Copies of the fourth way's type overlap, so it takes part with the base type here. */
        int block_count = way == 3 ? elements : count;
        MPI_Datatype block_type = way == 3 ? MPI_DOUBLE : type;
        stride = way == 3 ? 1 : stride;
        FRESH();
        MPI_Reduce_scatter_block(in, out, block_count, block_type, MPI_SUM, MPI_COMM_WORLD);
        check("Reduce_scatter_block", way, out, 0, elements, stride, total);
        if (way > 0)
            MPI_Type_free(&type);
    }
    long tally[2] = {passed, failed}, sum[2];
    MPI_Reduce(tally, sum, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld passed, %ld failed\n", sum[0], sum[1]);
    free(in), free(out);
    MPI_Finalize();
    return failed != 0;
}
