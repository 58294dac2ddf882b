/* Normalization: the state of a run, and the rules on one node. */
#ifndef ESPI_RECONSTRUCT_NORMALIZE_H
#define ESPI_RECONSTRUCT_NORMALIZE_H

#include "layout/memo.h"
#include "reconstruct/parts.h"

struct espi_normalizer {
    struct espi_arena *arena;
    const struct espi_reconstruct_options *options;
    uint64_t end; /* no exact solving after this time */
    struct espi_memo memo; /* normal forms */
    int64_t dissolved;     /* parts of structs in structs so far */
    size_t most;           /* bytes of the arena beyond which it is given up */
};

/* Sums of displacements may wrap on the way to a result that does not; constructors check the result. */
static inline int64_t espi_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* n cleared numbers in the arena; NULL when memory is short. */
int64_t *espi_normalizer_array(struct espi_normalizer *z, int64_t n);
/* *best = other where that costs less or *best is NULL. */
void espi_keep_cheaper(const struct espi_normalizer *z, const struct espi_node **best, const struct espi_node *other);

/* Kinds that the set does not have, in kinds that it has: a bucket as idxbuc, an idxbuc as struc of vec. */
espi_status espi_into_set(struct espi_normalizer *z, const struct espi_node *node, const struct espi_node **out);
/* Takes the displacement of the first entry out of a normal tree as far as that costs nothing: the tree is *out moved
   by *d. */
espi_status espi_strip_shift(struct espi_normalizer *z, const struct espi_node *node, const struct espi_node **out,
                             int64_t *d);
/* A normal tree moved by d (Lemma 7): into the displacements of the first list or struc below vec nodes, or as one
   bucket, or under a list of one. */
espi_status espi_displace(struct espi_normalizer *z, const struct espi_node *node, int64_t d,
                          const struct espi_node **out);
/* Keeps in *best the cheapest that the rules make of a vec, or of an idx, over a normal child. */
espi_status espi_simplify_vec(struct espi_normalizer *z, int64_t count, int64_t stride, const struct espi_node *child,
                              const struct espi_node **best);
espi_status espi_simplify_list(struct espi_normalizer *z, int64_t count, const int64_t *disp,
                               const struct espi_node *child, const struct espi_node **best);
/* The same of a struct of n > 0 normal parts: equal ones are a list, runs of one thing at one stride a bucket
   list. */
espi_status espi_simplify_struc(struct espi_normalizer *z, int64_t n, const int64_t *disp,
                                const struct espi_node *const *sub, const struct espi_node **best);

#endif
