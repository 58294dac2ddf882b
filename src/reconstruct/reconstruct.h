/* Type map to least-cost type tree. See doc/ for the method and its proofs. */
#ifndef ESPI_RECONSTRUCT_RECONSTRUCT_H
#define ESPI_RECONSTRUCT_RECONSTRUCT_H

#include "layout/layout.h"

enum espi_set {
    ESPI_SET_BASIC,   /* leaf, vec, idx, struc */
    ESPI_SET_MPI,     /* and idxbuc */
    ESPI_SET_EXTENDED /* and bucket, each with one copy at least */
};

struct espi_reconstruct_options {
    enum espi_set set;
    struct espi_costs costs;
    size_t exact_limit;  /* up to this many entries the result is exact whatever it takes; default 2000 */
    uint64_t budget_ns;  /* soft bound on the time spent; 0 = none */
};
void espi_reconstruct_defaults(struct espi_reconstruct_options *options);

struct espi_reconstruction {
    const struct espi_node *tree; /* lives in the arena that was given */
    int64_t cost;                 /* of tree, under the options' costs */
    int64_t lower_bound;          /* proved; equals cost when exact */
    bool exact;
    uint64_t elapsed_ns;
};

/*
 * A least-cost tree of `map` over options->set (for n <= options->exact_limit always, beyond that while the work of
 * the sparse method stays within its bound), else one that is never worse than `input` (may be NULL) nor than the
 * plain index list, nor for the extended set than what the sparse method finds for the MPI set within that bound;
 * `exact` and `lower_bound` tell. A larger budget never gives a dearer tree nor a lower bound. flatten(tree) equals
 * the map always. Source: the constructions of Ganian et al.; Lemma 7 of doc/reconstruction.md for type maps that do
 * not start at displacement 0.
 */
espi_status espi_reconstruct(struct espi_arena *arena, const struct espi_typemap *map, const struct espi_node *input,
                             const struct espi_reconstruct_options *options, struct espi_reconstruction *out);

/* The dense exact method on its own, for any n: O(n^3) time, 2 * n * n / 2 values of 2, 4 or 8 bytes.
   ESPI_ERR_MEMORY or ESPI_ERR_LIMIT when that is too much. */
espi_status espi_reconstruct_dense(struct espi_arena *arena, const struct espi_typemap *map,
                                   const struct espi_reconstruct_options *options, struct espi_reconstruction *out);

/* The sparse exact method on its own (doc/reconstruction.md): work where blocks really repeat, near-linear on
   practical layouts, memory in proportion to n and to the repetitions found. ESPI_ERR_LIMIT when `work_limit` units
   of work (0: some 4e9; a unit is a few nanoseconds) do not suffice, which for n <= 2000 does not happen. Equal
   subtrees of the result are one node. */
espi_status espi_reconstruct_sparse(struct espi_arena *arena, const struct espi_typemap *map,
                                    const struct espi_reconstruct_options *options, uint64_t work_limit,
                                    struct espi_reconstruction *out);

/* The same for a tree: flattened where that is affordable, normalized in place where it is not. Never worse than
   `input`. */
espi_status espi_normalize(struct espi_arena *arena, const struct espi_node *input,
                           const struct espi_reconstruct_options *options, struct espi_reconstruction *out);

#endif
