/*
 * What the benchmark programs share: a clock, medians, and MPI's own functions fetched past any preloaded library, so
 * that one process can compare a call that Espalier sees with the same call made natively, in turns, on the same
 * types.
 */
#ifndef ESPI_BENCH_H
#define ESPI_BENCH_H

#include <mpi.h>
#include <stddef.h>

/* MPI calls of one origin: as the program writes them (and a preload library sees them), or the library's own
   PMPI_X. */
struct bench_calls {
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    int (*recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    int (*pack)(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);
    int (*unpack)(const void *, int, int *, void *, int, MPI_Datatype, MPI_Comm);
    int (*pack_size)(int, MPI_Datatype, MPI_Comm, int *);
    int (*type_size)(MPI_Datatype, int *);
    int (*commit)(MPI_Datatype *);
    int (*type_free)(MPI_Datatype *);
    int (*barrier)(MPI_Comm);
    int (*bcast)(void *, int, MPI_Datatype, int, MPI_Comm);
    int (*alltoallw)(const void *, const int[], const int[], const MPI_Datatype[], void *, const int[], const int[],
                     const MPI_Datatype[], MPI_Comm);
    int (*sendrecv)(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
                    MPI_Status *);
    int (*gather)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm);
};

/* As written in a program. */
extern const struct bench_calls bench_seen;

/* The MPI library's own functions. Returns 0, or -1 when the library can not be looked into. */
int bench_native(struct bench_calls *out);

/* 1 when some other object stands before the MPI library for MPI_Send in this process. */
int bench_intercepted(void);

/* Seconds since some fixed moment. */
double bench_now(void);

/* The q-quantile (0 <= q <= 1) of n >= 1 numbers; sorts them. */
double bench_quantile(double *values, size_t n, double q);

/* For a benchmark program only: says what failed on stderr and aborts the MPI job. */
void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
