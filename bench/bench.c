#define _GNU_SOURCE
#include "bench/bench.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

const struct bench_calls bench_seen = {
#define BENCH_SEEN(member, name) .member = MPI_##name,
    BENCH_CALLS(BENCH_SEEN)
#undef BENCH_SEEN
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
#define BENCH_FIND(member, name)                                                                                     \
    if ((*(void **)&out->member = dlsym(handle, "PMPI_" #name)) == NULL)                                             \
        return -1;
    BENCH_CALLS(BENCH_FIND)
#undef BENCH_FIND
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
