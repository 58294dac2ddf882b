/* What each rank has to know of an ordered tree: its own subtree, and nothing else. */
#ifndef ESPI_COMMTREE_PARTS_H
#define ESPI_COMMTREE_PARTS_H

#include "commtree/commtree.h"

/* The records of a tree stand in preorder: a rank, then the subtrees of its children in the order in which a gather
   receives them. So a subtree is a stretch of `n` records, and what a child has to know is a part of what its parent
   knows. */
struct espi_tree_record {
    int64_t size; /* planned bytes of the rank's own block */
    int32_t rank;
    int32_t n;    /* ranks of its subtree, itself among them */
};

/* What a rank has to know to be told the rest: from whom, and how much. */
struct espi_tree_place {
    int32_t parent;      /* or ESPI_COMMTREE_ROOT, ESPI_COMMTREE_ABSENT */
    int32_t n, children; /* of its subtree, 0 where it is absent */
};

/* Fills the tree->n records and the tree->p places of a tree whose subtrees are ranges. ARGUMENT where one is none,
   or where a rank of the tree other than the root has no data; MEMORY. */
espi_status espi_tree_parts(const struct espi_commtree *tree, const int64_t *size, struct espi_tree_record *records,
                            struct espi_tree_place *places);

#endif
