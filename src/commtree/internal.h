/* Shared inside src/commtree. */
#ifndef ESPI_COMMTREE_INTERNAL_H
#define ESPI_COMMTREE_INTERNAL_H

#include "commtree/commtree.h"

static inline double espi_max(double a, double b)
{
    return a > b ? a : b;
}

static inline double espi_min(double a, double b)
{
    return a < b ? a : b;
}

/* The ranks of a problem that take part, numbered 0..n-1 in order. */
struct espi_compact {
    int n, root;    /* root: index, or ESPI_COMMTREE_BEST */
    int *rank;      /* index -> rank */
    int64_t *size;
    int64_t *prefix; /* n+1 sums */
};

/* Checks p, root, model, sizes. `total` may be NULL. */
espi_status espi_commtree_check(const struct espi_commtree_problem *problem, int64_t *total);
/* Ranks with data and a fixed root (with keep_empty all ranks). With best root and no data at all: rank 0 alone. */
espi_status espi_compact_make(const struct espi_commtree_problem *problem, bool keep_empty, struct espi_compact *c);
void espi_compact_release(struct espi_compact *c);

/* A list of joins while a tree is built. */
struct espi_joins {
    int steps, capacity;
    int *from, *to;
};
espi_status espi_joins_make(int n, struct espi_joins *joins);
void espi_joins_release(struct espi_joins *joins);
static inline void espi_join(struct espi_joins *joins, int from, int to)
{
    joins->from[joins->steps] = from;
    joins->to[joins->steps++] = to;
}
/* Joins of indices to the tree over ranks. */
espi_status espi_joins_tree(struct espi_joins *joins, const struct espi_compact *c, int p, int root, bool ordered,
                            struct espi_commtree *tree);

/* A fully split range, in preorder; parts are nodes or, negative, single indices -1-index. */
struct espi_split {
    int left, right;
    bool to_left; /* the left part receives */
};
/* Emits joins bottom up; `*root` is the index that holds all. With 0 nodes `single` is the root. */
void espi_splits_join(const struct espi_split *split, int nodes, int single, int *scratch, struct espi_joins *joins,
                      int *root);

/* The constructions; sizes and model already checked. */
espi_status espi_build_linear(const struct espi_commtree_problem *, const struct espi_compact *,
                              struct espi_commtree *);
espi_status espi_build_binomial(const struct espi_commtree_problem *, const struct espi_compact *,
                                struct espi_commtree *);
espi_status espi_build_adaptive(const struct espi_commtree_problem *, const struct espi_compact *,
                                struct espi_commtree *);
espi_status espi_build_binary(const struct espi_commtree_problem *, const struct espi_compact *,
                              struct espi_commtree *);
espi_status espi_build_optimal(const struct espi_commtree_problem *, const struct espi_compact *,
                               struct espi_commtree *);
espi_status espi_build_unordered(const struct espi_commtree_problem *, const struct espi_compact *,
                                 struct espi_commtree *);
espi_status espi_build_twosize(const struct espi_commtree_problem *, const struct espi_compact *,
                               struct espi_commtree *);

#endif
