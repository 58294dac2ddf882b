/* Type map to least-cost type tree. See doc/ for the method and its proofs. */
#ifndef ESPI_RECONSTRUCT_RECONSTRUCT_H
#define ESPI_RECONSTRUCT_RECONSTRUCT_H

#include "reconstruct/options.h"

void espi_reconstruct_defaults(struct espi_reconstruct_options *options);

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

/* The same for a tree: flattened where that is affordable, normalized in place where it is not. Never worse than
   `input`. */
espi_status espi_normalize(struct espi_arena *arena, const struct espi_node *input,
                           const struct espi_reconstruct_options *options, struct espi_reconstruction *out);

#endif
