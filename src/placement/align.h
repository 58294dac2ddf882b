/* Alignment: placements that are affine functions from an array's indices to processors, skewed ones among them,
   where a method may leave open which it takes.

   Element x of a result is made of element read(x) of each operand, so a placement P of the result and P' of the
   operand are aligned where P'(read(x)) = P(x). Seen from one value of the graph, its frame, to be aligned is to be
   equal: every value's placement is composed with the reads between it and the frame. What is left is a graph over
   those placements that methods name, as they are seen from there. doc/placement.md, "Alignment", has the proofs that
   open placements need no others. After S. Chatterjee, J. R. Gilbert, R. Schreiber, S.-H. Teng, "Automatic array
   alignment in data-parallel programs" (POPL 1993), and O. Beckmann, P. H. J. Kelly (see placement.h). */
#ifndef ESPI_PLACEMENT_ALIGN_H
#define ESPI_PLACEMENT_ALIGN_H

#include "base/arena.h"
#include "placement/affine.h"
#include "placement/placement.h"

/* The operations, methods and nodes are those of `source`. Its placements are the named ones and two more: OPEN, any
   that is the same in the whole method, seen from the frame; and ALIGNED, for an operand, with the result. It has one
   table, which is not looked at. */
struct espi_place_alignment {
    int dims, rows;                      /* indices; coordinates of a processor */
    int named;                           /* placements with a name */
    struct espi_place_graph source;
    struct espi_place_affine *placement; /* the named ones */
    const struct espi_place_affine **read; /* of each operation, one of each operand; unimodular */
    struct espi_place_cost change[ESPI_PLACE_GENERAL]; /* of a redistribution: shift, permute, general */
};

static inline int espi_place_open(const struct espi_place_alignment *alignment)
{
    return alignment->named;
}

static inline int espi_place_aligned(const struct espi_place_alignment *alignment)
{
    return alignment->named + 1;
}

/* The graph that is to be planned: its nodes are those of the source; its operations are the source's, once for each
   frame that they are seen from. All in the arena but the graph. */
struct espi_place_carried {
    struct espi_place_graph graph;
    struct espi_place_affine *placement; /* seen from the frame */
    struct espi_place_affine *back;      /* of each view: from a value's indices to those of its frame */
    int *view;                           /* of each node */
    int *op;                             /* of each operation, the source's */
    int **method;                        /* of each operation and method, the source's */
    bool all; /* no choice of whatever placements costs less than a plan for the graph; else none of named ones */
};

/* On success the caller releases carried->graph; after errors there is nothing to release but the arena. SYNTAX: two
   ways between values read different elements, or numbers beyond 64 bits come up; at node *wrong in both cases.
   LIMIT: more placements than a graph can have, or more than `entries` placements in all methods. MEMORY. */
espi_status espi_place_carry(const struct espi_place_alignment *alignment, size_t entries, struct espi_arena *arena,
                             struct espi_place_carried *carried, int *wrong);

/* Placement `place` of the carried graph as a function of a node's own indices. */
bool espi_place_seen(const struct espi_place_carried *carried, int node, int place, struct espi_place_affine *f);

#endif
