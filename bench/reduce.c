/*
 * MPI_SUM on derived datatypes of doubles, against what programs can do without Espalier: the same elements as
 * count x MPI_DOUBLE in a contiguous buffer (`base`); packed, reduced and unpacked by the program with MPI_Pack and
 * MPI_Unpack (`hand`); and a user-defined operation on the derived type (`userop`). All ways take turns in one
 * process.
 *
 *   reduce [--millis MS] [--blocks N]        under `espalier run`; one rank or more
 *
 * Prints a line per call, layout and number of elements: medians in microseconds over ranks' slowest, and ratios.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BASE, DERIVED, HAND, USEROP, WAYS };

static int rank, size, blocks = 101, millis = 300;
static MPI_Op user_sum;

struct layout {
    const char *name;
    MPI_Datatype type;
    int elements, stride; /* the k-th element stands at k * stride, or in a triangle */
    size_t span;          /* doubles */
};

/* The work-around that users write: it knows the layout, because MPI gives it nothing but a handle. */
static const struct layout *user_layout;

static void add_user(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const double *a = in;
    double *b = inout;
    (void)type;
    for (int c = 0; c < *count; c++) {
        if (user_layout->stride > 0) {
            for (int i = 0; i < user_layout->elements; i++)
                b[i * user_layout->stride] += a[i * user_layout->stride];
        } else {
            int n = -user_layout->stride;
            for (int i = 0; i < n; i++)
                for (int k = i; k < n; k++)
                    b[i * n + k] += a[i * n + k];
        }
    }
}

static struct layout dense(int n)
{
    struct layout l = {"dense", MPI_DATATYPE_NULL, n, 1, (size_t)n};
    MPI_Type_contiguous(n, MPI_DOUBLE, &l.type);
    return l;
}

static struct layout strided(int n)
{
    struct layout l = {"strided", MPI_DATATYPE_NULL, n, 2, 2 * (size_t)n};
    MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &l.type);
    return l;
}

/* The upper triangle of a matrix with about n elements in it. */
static struct layout triangle(int n)
{
    int rows = 1;
    while (rows * (rows + 1) / 2 < n)
        rows++;
    struct layout l = {"triangle", MPI_DATATYPE_NULL, rows * (rows + 1) / 2, -rows, (size_t)rows * (size_t)rows};
    int *len = malloc(2 * (size_t)rows * sizeof *len), *at = len + rows;
    if (!len)
        bench_die("out of memory");
    for (int i = 0; i < rows; i++) {
        len[i] = rows - i;
        at[i] = i * rows + i;
    }
    MPI_Type_indexed(rows, len, at, MPI_DOUBLE, &l.type);
    free(len);
    return l;
}

static double *zeros(size_t n)
{
    double *p = calloc(n + 8, sizeof *p);
    if (!p)
        bench_die("out of memory");
    return p;
}

struct buffers {
    double *in, *out, *packed_in, *packed_out;
};

static void once(int way, int local, const struct layout *l, const struct buffers *b)
{
    int bytes = l->elements * (int)sizeof(double), at = 0;
    switch (way) {
    case BASE:
        local ? MPI_Reduce_local(b->packed_in, b->packed_out, l->elements, MPI_DOUBLE, MPI_SUM)
              : MPI_Allreduce(b->packed_in, b->packed_out, l->elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        break;
    case DERIVED:
        local ? MPI_Reduce_local(b->in, b->out, 1, l->type, MPI_SUM)
              : MPI_Allreduce(b->in, b->out, 1, l->type, MPI_SUM, MPI_COMM_WORLD);
        break;
    case HAND:
        MPI_Pack(b->in, 1, l->type, b->packed_in, bytes, &at, MPI_COMM_SELF);
        if (local) {
            at = 0;
            MPI_Pack(b->out, 1, l->type, b->packed_out, bytes, &at, MPI_COMM_SELF);
        }
        once(BASE, local, l, b);
        at = 0;
        MPI_Unpack(b->packed_out, bytes, &at, b->out, 1, l->type, MPI_COMM_SELF);
        break;
    default:
        local ? MPI_Reduce_local(b->in, b->out, 1, l->type, user_sum)
              : MPI_Allreduce(b->in, b->out, 1, l->type, user_sum, MPI_COMM_WORLD);
    }
}

static double block(int way, int local, const struct layout *l, const struct buffers *b, int calls)
{
    double begin, own, slowest;
    MPI_Barrier(MPI_COMM_WORLD);
    begin = bench_now();
    for (int i = 0; i < calls; i++)
        once(way, local, l, b);
    own = (bench_now() - begin) / calls;
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void measure(struct layout l, int local)
{
    struct buffers b = {zeros(l.span), zeros(l.span), zeros((size_t)l.elements), zeros((size_t)l.elements)};
    double *times[WAYS], median[WAYS];
    int calls;
    user_layout = &l;
    MPI_Type_commit(&l.type);
    for (int way = 0; way < WAYS; way++) {
        times[way] = zeros((size_t)blocks);
        block(way, local, &l, &b, 200); /* warm: plans are made here */
    }
    double each = block(HAND, local, &l, &b, 50);
    calls = (int)(millis * 1e-3 / WAYS / blocks / (each > 1e-8 ? each : 1e-8));
    if (calls < 1)
        calls = 1;
    MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < blocks; i++)
        for (int way = 0; way < WAYS; way++)
            times[way][i] = block(way, local, &l, &b, calls);
    for (int way = 0; way < WAYS; way++) {
        median[way] = bench_quantile(times[way], (size_t)blocks, 0.5) * 1e6;
        free(times[way]);
    }
    if (rank == 0)
        printf("%-12s %-9s %8d %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f\n",
               local ? "Reduce_local" : "Allreduce", l.name, l.elements, median[BASE], median[DERIVED], median[HAND],
               median[USEROP], median[DERIVED] / median[BASE], median[DERIVED] / median[HAND],
               median[USEROP] / median[DERIVED]);
    MPI_Type_free(&l.type);
    free(b.in), free(b.out), free(b.packed_in), free(b.packed_out);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {3, 100, 1000, 10000, 100000};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--millis"))
            millis = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--blocks"))
            blocks = atoi(argv[i + 1]);
        else
            bench_die("unknown option %s", argv[i]);
    }
    if (!bench_intercepted())
        bench_die("MPI_SUM on a derived type needs Espalier: start this program under `espalier run`");
    MPI_Op_create(add_user, 1, &user_sum);
    if (rank == 0)
        printf("# %d ranks; microseconds\n%-12s %-9s %8s %10s %10s %10s %10s %10s %10s %10s\n", size, "call",
               "layout", "elements", "base", "derived", "hand", "userop", "der/base", "der/hand", "user/der");
    for (int local = 1; local >= 0; local--)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            measure(dense(sizes[i]), local);
            measure(strided(sizes[i]), local);
            measure(triangle(sizes[i]), local);
        }
    MPI_Op_free(&user_sum);
    MPI_Finalize();
    return 0;
}
