/* Equal subtrees as one node: a tree becomes a directed acyclic graph, which is what has to be built or compiled. */
#ifndef ESPI_RECONSTRUCT_FOLD_H
#define ESPI_RECONSTRUCT_FOLD_H

#include "layout/layout.h"

struct espi_folded {
    const struct espi_node *tree; /* equal to the tree that was given; equal subtrees are one node */
    int64_t tree_cost;            /* every use of a subtree counted */
    int64_t dag_cost;             /* every node counted once; both saturate at INT64_MAX */
    size_t nodes;                 /* different nodes */
};

/* O(size of the tree) expected time, nodes that are shared already being visited once. New nodes live in `arena`;
   their arrays of displacements and lengths are those of the tree that was given, which has to outlive them. */
espi_status espi_fold(struct espi_arena *arena, const struct espi_node *tree, const struct espi_costs *costs,
                      struct espi_folded *out);

#endif
