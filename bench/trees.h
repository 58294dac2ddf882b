/* The methods that bench/trees compares, and how one call is timed. */
#ifndef ESPI_BENCH_TREES_H
#define ESPI_BENCH_TREES_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"
#include "mpi/gather/lease.h"

enum { TREES_LIBRARY, TREES_LINEAR, TREES_BINOMIAL, TREES_ADAPTIVE, TREES_OPTIMAL, TREES_AUTO, TREES_CONTROL,
       TREES_METHODS };

/* One operation on one set of blocks, on one rank. */
struct trees_cell {
    int op; /* 0 gather, 1 scatter */
    int p, rank, root;
    const int64_t *size;
    struct espi_commtree_model model;
    MPI_Comm comm, seen; /* for the engine, and for the program's call */
    int *counts, *displs;
    char *all, *own;     /* `all` at the root only */
    struct espi_subtree_plan plan[TREES_AUTO];
    struct espi_lease lease;
    struct espi_lease_comm lease_comm;
    int64_t syncs; /* calls begun by TREES_AUTO */
    long calls;
};

/* The clock. `pause`: seconds between calls, at least; it lets the links come to rest. Collective; true when all
   ranks have one clock. _begin waits for the moment at which a call begins, and returns it; _took is called on all
   ranks when the call has ended here, and returns seconds of it on all ranks: until its end on the last one, or,
   without one clock, the longest of all ranks. Negative: a rank began too late, so it does not count. */
bool trees_clock_start(MPI_Comm comm, double pause);
double trees_clock_begin(MPI_Comm comm);
double trees_clock_took(MPI_Comm comm, double begin);

/* Seconds since some moment, and rank 0's number on all ranks. */
double trees_now(void);
double trees_agreed(const struct trees_cell *cell, double number);

/* Before anything else; collective. True when auto is the program's own call, which a preload library sees. */
bool trees_start(MPI_Comm world, struct espi_commtree_model *model);

/* Collective; `size` must live as long as the cell. NULL when memory is short or a size does not fit an int. */
struct trees_cell *trees_cell_make(int op, const int64_t *size, int root, const struct espi_commtree_model *model);
void trees_cell_free(struct trees_cell *cell);

/* Seconds of one call; on all ranks. Makes it again where the clock says so. Checks what arrived; a wrong byte ends
   the program. TREES_CONTROL is the library's call once more: what it differs by is what the measurement is worth. */
double trees_time(struct trees_cell *cell, int method);

/* Auto has come to a decision; on all ranks. Always false where only the preload library knows. */
bool trees_settled(const struct trees_cell *cell);

/* What auto uses now: name of a tree, "library", or "-" where only the preload library knows and does not say so
   (ESPALIER_LOG=debug, which is read here instead of shown). Collective; rank 0's answer counts. */
const char *trees_method(const struct trees_cell *cell);

#endif
