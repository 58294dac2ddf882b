/*
 * What MPICH's datatype engine takes to go through a type: a model, made from its source (MPICH 4.0.2, Yaksa).
 *
 * The engine has compiled loops ("kernels") for up to three nested vectors, lists and contiguous types over one base
 * type. Everything else, a struct above all, it goes through child by child: one step of general code for each, then
 * the child's kernel, or memcpy where the child is dense.
 *  - As a whole (MPI_Pack, MPI_Unpack, short messages) a type of such a form is one kernel call. A kernel copies
 *    element by element, so that forms of one type map differ in it only by the lists that it reads.
 *  - In parts (longer messages, cut every ESPI_ENGINE_PART bytes) a node in which a cut lies is gone through child by
 *    child. So a list of 8,000 blocks costs 8,000 steps, and cut into a struct of 16-block lists some 600. But copies
 *    at a fixed distance within one block (a contiguous type, a block of a bucket) are not: the engine divides to
 *    find the copy that a part begins with, and takes all whole ones in one kernel call. So a vector of 8,000 blocks
 *    as one block of 8,000 resized copies costs a few steps for each part.
 *
 * What forms of one type map differ in is therefore above all the number of steps. The model counts them, and its
 * constants are measured once in a process, in some microseconds (espi_engine, engine_calibrate.h).
 */
#ifndef ESPI_MPI_TYPEPLAN_ENGINE_COST_H
#define ESPI_MPI_TYPEPLAN_ENGINE_COST_H

#include <stdbool.h>

#include "layout/layout.h"
#include "mpi/packed/stream_type.h"

/* Messages between processes of one node are cut at about this size (a cell of UCX's shared memory, less its head),
   others at more. */
enum { ESPI_ENGINE_PART = ESPI_STREAM_CELL, ESPI_ENGINE_NESTING = 3 };

/* Nanoseconds: of one step, of one element copied by a kernel, of a displacement that a kernel reads, and bytes that
   memcpy copies in one. */
struct espi_engine {
    double step, element, listed, copied;
    bool measured; /* all that is measured was sensible, so that times of programs may be held against the model */
    bool fetches;  /* blocks that are far apart take what fetching them does: Intel's processors (engine_cost.c) */
};
/* Measured on MPICH 4.0.2: 8 to 10 ns a step, 0.26 ns an element whatever its size, 32 bytes a nanosecond; of what a
   list adds AMD's processors (EPYC) take 0.2 ns, Intel's (Xeon, 2 MB of second cache) 0.02 to 0.05. */
#define ESPI_ENGINE_USUAL ((struct espi_engine){9, 0.26, 0.2, 32, false, false})

/* Without gaps, of whatever levels: as a whole, the engine copies it by memcpy. */
bool espi_engine_is_contiguous(const struct espi_node *node);
/* The same of items with this extent, however many. */
bool espi_engine_is_block(const struct espi_node *node, int64_t extent);

/* Whether the engine gets messages of `count` > 0 items in several parts. What has no gaps does not get there. */
bool espi_engine_cuts(const struct espi_node *tree, int64_t extent, int64_t count);

/*
 * Nanoseconds that packing (or unpacking) `count` > 0 items of `tree` takes, as a whole or in parts. Linear in the
 * size of the tree; nodes that are shared are counted where they occur. 0 for an empty type map.
 */
double espi_engine_cost(const struct espi_engine *engine, const struct espi_node *tree, int64_t count, bool parts);

/* The same for a form in which each part takes one kernel, or each dense run one memcpy, whichever is faster: nothing
   can be faster in this engine. */
double espi_engine_least(const struct espi_engine *engine, const struct espi_node *tree, int64_t count, bool parts);

#endif
