/*
 * Transpacking: data that lie as one type map says are copied to where another one says, entry by entry, driven by
 * one tree over pairs (displacement in, displacement out) instead of packing by one tree and unpacking by another.
 */
#ifndef ESPI_TRANSPACK_TRANSPACK_H
#define ESPI_TRANSPACK_TRANSPACK_H

#include "reconstruct/reconstruct.h"

struct espi_transpacking {
    /* The shared tree, seen from either side: the two have the same kinds, counts, lengths of buckets and base types,
       and differ in strides and displacements alone. flatten(from) and flatten(onto) are the two maps. */
    const struct espi_node *from, *onto;
    int64_t cost;        /* of the shared tree, see espi_transpack_costs */
    int64_t lower_bound; /* proved; equals cost when exact */
    bool exact;
};

/* What a tree over pairs costs when a tree over displacements costs `costs`: each stride and each displacement is one
   word more, and nothing else is (vec, idxbuc +1, bucket +2; per displacement of idx, idxbuc and struc +1). */
struct espi_costs espi_transpack_costs(const struct espi_costs *costs);

/*
 * A least-cost shared tree of two maps of equal signature (the same base types in the same order; else
 * ESPI_ERR_ARGUMENT). Exact wherever espi_reconstruct is and the pairs can be written as single numbers: with A the
 * largest distance in `from` and B that in `onto`, in units of their greatest common
 * divisors, 4 A B < 2^61 or so (two layouts of doubles within 4 GiB each; for the extended set 4 A B n); farther
 * apart, two lists as they are. Never worse than those lists.
 * ESPI_ERR_ARGUMENT also for costs outside 0 .. ESPI_COST_MAX - 2.
 */
espi_status espi_transpack(struct espi_arena *arena, const struct espi_typemap *from, const struct espi_typemap *onto,
                           const struct espi_reconstruct_options *options, struct espi_transpacking *out);

/*
 * The same for two trees, without flattening them where their repetitions have common factors (zip.h): a matrix of
 * n by n entries that is transposed costs two nodes. The result is then normalized, so it is of least cost where
 * espi_normalize is exact, and never worse than what the two trees show at once. Type maps of up to `flatten_limit`
 * entries are flattened where there is no other way; ESPI_ERR_LIMIT when that does not suffice either.
 */
espi_status espi_transpack_trees(struct espi_arena *arena, const struct espi_node *from, const struct espi_node *onto,
                                 const struct espi_reconstruct_options *options, size_t flatten_limit,
                                 struct espi_transpacking *out);

#endif
