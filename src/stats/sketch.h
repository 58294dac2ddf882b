/*
 * Which records are the busiest over all ranks, before any rank has seen those of the others: a count-min sketch
 * (Cormode and Muthukrishnan, An improved data stream summary, J. Algorithms 55, 2005). Each rank adds what its
 * records weigh to a few cells that their keys hash to; cells of all ranks are summed; the least of a key's cells
 * then is at least the key's sum, and more than it by e/WIDTH of the sum over all keys only with probability e^-ROWS.
 *
 * Sums of whole numbers come out alike in any order, so all ranks get the same estimates, and by them the same order.
 */
#ifndef ESPI_STATS_SKETCH_H
#define ESPI_STATS_SKETCH_H

#include <stdint.h>

enum espi_weight { /* what is summed, each by itself */
    ESPI_WEIGHT_SAVED, ESPI_WEIGHT_BYTES, ESPI_WEIGHT_USES, /* of types */
    ESPI_WEIGHT_TIME, ESPI_WEIGHT_CALLS,                    /* of gathers and scatters */
    ESPI_WEIGHTS
};

enum { ESPI_SKETCH_ROWS = 3, ESPI_SKETCH_WIDTH = 512 };
#define ESPI_SKETCH_CELLS ((size_t)ESPI_WEIGHTS * ESPI_SKETCH_ROWS * ESPI_SKETCH_WIDTH)

/* Zeros: nothing was added. No other form than these cells: ranks sum them as they are. */
struct espi_sketch {
    uint64_t cell[ESPI_WEIGHTS][ESPI_SKETCH_ROWS][ESPI_SKETCH_WIDTH];
};

/* Cells stop at UINT64_MAX. */
void espi_sketch_add(struct espi_sketch *sketch, enum espi_weight what, uint64_t key, uint64_t value);
/* Bounds each cell, so that the sum over `ranks` such sketches cannot overflow. */
void espi_sketch_bound(struct espi_sketch *sketch, uint64_t ranks);
/* At least the sum of what was added under this key (where nothing was bounded). */
uint64_t espi_sketch_estimate(const struct espi_sketch *sketch, enum espi_weight what, uint64_t key);

#endif
