#define _GNU_SOURCE
#include "bench/bench.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

const struct bench_calls bench_seen = {
    .send = MPI_Send,
    .recv = MPI_Recv,
    .pack = MPI_Pack,
    .unpack = MPI_Unpack,
    .pack_size = MPI_Pack_size,
    .type_size = MPI_Type_size,
    .commit = MPI_Type_commit,
    .type_free = MPI_Type_free,
    .barrier = MPI_Barrier,
    .bcast = MPI_Bcast,
    .alltoallw = MPI_Alltoallw,
    .sendrecv = MPI_Sendrecv,
    .gather = MPI_Gather,
};

static void *library(void)
{
    return dlopen(ESPALIER_MPI_SONAME, RTLD_LAZY | RTLD_NOLOAD);
}

int bench_native(struct bench_calls *out)
{
    void *handle = library();

    if (handle == NULL)
        return -1;
    /* A look-up in the library's own handle begins with that library, whatever was preloaded. */
    *(void **)&out->send = dlsym(handle, "PMPI_Send");
    *(void **)&out->recv = dlsym(handle, "PMPI_Recv");
    *(void **)&out->pack = dlsym(handle, "PMPI_Pack");
    *(void **)&out->unpack = dlsym(handle, "PMPI_Unpack");
    *(void **)&out->pack_size = dlsym(handle, "PMPI_Pack_size");
    *(void **)&out->type_size = dlsym(handle, "PMPI_Type_size");
    *(void **)&out->commit = dlsym(handle, "PMPI_Type_commit");
    *(void **)&out->type_free = dlsym(handle, "PMPI_Type_free");
    *(void **)&out->barrier = dlsym(handle, "PMPI_Barrier");
    *(void **)&out->bcast = dlsym(handle, "PMPI_Bcast");
    *(void **)&out->alltoallw = dlsym(handle, "PMPI_Alltoallw");
    *(void **)&out->sendrecv = dlsym(handle, "PMPI_Sendrecv");
    *(void **)&out->gather = dlsym(handle, "PMPI_Gather");
    if (!out->send || !out->recv || !out->pack || !out->unpack || !out->pack_size || !out->type_size ||
        !out->commit || !out->type_free || !out->barrier || !out->bcast || !out->alltoallw || !out->sendrecv ||
        !out->gather)
        return -1;
    return 0;
}

int bench_intercepted(void)
{
    void *handle = library();

    return handle != NULL && dlsym(RTLD_DEFAULT, "MPI_Send") != dlsym(handle, "MPI_Send");
}

double bench_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t n, double q)
{
    qsort(values, n, sizeof *values, ascending);
    return values[(size_t)(q * (double)(n - 1) + 0.5)];
}

void bench_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}
