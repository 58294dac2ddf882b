/* Positions for the values of an expression tree, where placements are so many that a table of them is out of
   question: a node's value may be anywhere, and moving it costs its weight times a distance.

   The sets of best positions and the convex functions that stand for those tables are after J. R. Gilbert and
   R. Schreiber, "Optimal expression evaluation for data parallel architectures" (JPDC 13, 1991) and S. Chatterjee,
   J. R. Gilbert, R. Schreiber, S.-H. Teng, "Optimal evaluation of array expressions on massively parallel machines"
   (TOPLAS 17(1), 1995). doc/placement.md, "Many placements", has the recurrences. */
#ifndef ESPI_PLACEMENT_OFFSETS_H
#define ESPI_PLACEMENT_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum espi_place_space {
    ESPI_PLACE_DISCRETE, /* any two positions are 1 apart */
    ESPI_PLACE_LINE,     /* |a - b|; of a grid of several axes each axis by itself */
    ESPI_PLACE_RING      /* the shorter way round */
};

/* What is moved from a node to its parent goes from its position + shift to the parent's, at weight * distance. */
struct espi_place_spot {
    int parent;    /* a later node, or -1 */
    bool fixed;    /* `at` is given; else it is chosen */
    int64_t at;
    int64_t shift; /* the consumer wants it so much further on */
    double weight; /* >= 0, finite; not looked at where there is no parent */
};

/* Chooses `at` of all nodes that are not fixed, so that the moves cost least, *cost. `around` is the length of a ring
   (positions are 0 .. around-1 in the answer). n nodes in a tree of height h take O(nh) steps for DISCRETE and LINE,
   and O(nk) for RING with k the number of fixed nodes; memory is O(n) for LINE and as the steps for the others, at
   most `max_bytes` (0: 1 GiB). On an error no position was changed. ARGUMENT: parents, weights or `around`; OVERFLOW:
   positions beyond 2^62; LIMIT; MEMORY. */
espi_status espi_place_spots(enum espi_place_space space, int64_t around, struct espi_place_spot *spot, int n,
                             size_t max_bytes, double *cost);

/* What moving a node's value to its parent costs; it has one. */
double espi_place_spot_move(enum espi_place_space space, int64_t around, const struct espi_place_spot *spot,
                            int node);

#endif
