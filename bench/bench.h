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
#define BENCH_CALLS(X)                                                                                               \
    X(send, Send) X(recv, Recv) X(isend, Isend) X(irecv, Irecv) X(wait, Wait) X(waitall, Waitall)                    \
    X(sendrecv, Sendrecv) X(send_init, Send_init) X(recv_init, Recv_init) X(startall, Startall)                      \
    X(request_free, Request_free) X(pack, Pack) X(unpack, Unpack) X(pack_size, Pack_size)                            \
    X(type_size, Type_size) X(vector, Type_vector) X(indexed, Type_indexed)                                          \
    X(indexed_block, Type_create_indexed_block)                                                                      \
    X(commit, Type_commit) X(type_free, Type_free)                                                                   \
    X(barrier, Barrier) X(bcast, Bcast) X(gather, Gather) X(gatherv, Gatherv) X(scatter, Scatter)                    \
    X(scatterv, Scatterv) X(allgather, Allgather) X(allgatherv, Allgatherv) X(alltoall, Alltoall)                    \
    X(alltoallv, Alltoallv) X(alltoallw, Alltoallw) X(neighbor_allgather, Neighbor_allgather)                        \
    X(neighbor_alltoall, Neighbor_alltoall) X(neighbor_alltoallw, Neighbor_alltoallw) X(ibcast, Ibcast)              \
    X(iallgather, Iallgather) X(ialltoall, Ialltoall) X(ialltoallw, Ialltoallw)    \
    X(reduce, Reduce)
struct bench_calls {
#define BENCH_MEMBER(member, name) __typeof__(&MPI_##name) member;
    BENCH_CALLS(BENCH_MEMBER)
#undef BENCH_MEMBER
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
