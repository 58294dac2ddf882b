/*
 * What is known of a node already: walks over trees whose subtrees are shared use it, so that they take time in
 * proportion to the different nodes, not to the paths to them. Small trees never allocate.
 */
#ifndef ESPI_LAYOUT_MEMO_H
#define ESPI_LAYOUT_MEMO_H

#include "layout/layout.h"

struct espi_memo_slot {
    const struct espi_node *node;
    union {
        int64_t number[2];
        const struct espi_node *same, *pair[2];
    };
};

/* {0} is an empty one. */
struct espi_memo {
    struct espi_memo_slot *slot;
    size_t size, used; /* size is a power of two, or 0 */
    unsigned visits;
};

/* What was stored for the node, or NULL. */
struct espi_memo_slot *espi_memo_find(const struct espi_memo *memo, const struct espi_node *node);
/* A slot for a node that has none, its contents to be filled in; NULL when memory is short: the walk then goes on
   without. Slots move when another one is added. */
struct espi_memo_slot *espi_memo_add(struct espi_memo *memo, const struct espi_node *node);
/* Counts a visit: false for the first few of a walk, which are cheaper done again than looked up. */
bool espi_memo_wanted(struct espi_memo *memo);
void espi_memo_release(struct espi_memo *memo);

#endif
