/*
 * A plain, slow simulation of MPICH's datatype engine, as src/mpi/typeplan/engine_cost.h describes it: it goes
 * through a tree child by child and through a message part by part, and counts what is done.
 */
#ifndef ESPI_TESTS_WHITEBOX_ENGINE_SIM_H
#define ESPI_TESTS_WHITEBOX_ENGINE_SIM_H

#include "layout/layout.h"

/* Steps of general code, elements that kernels copy, displacements that are read, bytes that memcpy copies. */
struct work {
    double steps, elements, listed, bytes;
};

/* Of `count` items, as a whole or in parts. `phase`: where in a part the data begin, in bytes. */
struct work simulate(const struct espi_node *tree, int64_t count, bool parts, int64_t phase);

#endif
