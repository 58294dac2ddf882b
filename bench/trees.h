/* The methods that bench/trees compares, and how one call is timed. */
#ifndef ESPI_BENCH_TREES_H
#define ESPI_BENCH_TREES_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"
#include "mpi/lease.h"

enum { TREES_LIBRARY, TREES_LINEAR, TREES_BINOMIAL, TREES_ADAPTIVE, TREES_OPTIMAL, TREES_AUTO, TREES_METHODS };

/* One operation on one set of blocks, on one rank. */
struct trees_cell {
    int op; /* 0 gather, 1 scatter */
    int p, rank, root;
    const int64_t *size;
    struct espi_commtree_model model;
    MPI_Comm comm, seen; /* for the engine, and for the program's call */
    int *counts, *displs;
    char *all, *own;     /* `all` at the root only */
    struct espi_treeplan plan[TREES_AUTO];
    struct espi_lease lease;
    struct espi_lease_comm lease_comm;
    long calls;
};

/* Before anything else; collective. True when auto is the program's own call, which a preload library sees. */
bool trees_start(MPI_Comm world, struct espi_commtree_model *model);

/* Collective; `size` must live as long as the cell. NULL when memory is short or a size does not fit an int. */
struct trees_cell *trees_cell_make(int op, const int64_t *size, int root, const struct espi_commtree_model *model);
void trees_cell_free(struct trees_cell *cell);

/* Seconds of one call, the longest of all ranks; on all ranks. Checks what arrived; a wrong byte ends the program. */
double trees_time(struct trees_cell *cell, int method);

/* Auto has come to a decision; on all ranks. Always false where only the preload library knows. */
bool trees_settled(const struct trees_cell *cell);

/* What auto uses now: name of a tree, "library", or "-" where only the preload library knows. */
const char *trees_method(const struct trees_cell *cell);

#endif
