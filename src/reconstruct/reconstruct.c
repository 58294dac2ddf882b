/* The front of reconstruction: choice of the method, comparison with the input. */
#include "reconstruct/reconstruct.h"

#include "reconstruct/anytime.h"
#include "reconstruct/parts.h"

void espi_reconstruct_defaults(struct espi_reconstruct_options *options)
{
    *options = (struct espi_reconstruct_options){
        .set = ESPI_SET_MPI, .costs = espi_costs_default, .exact_limit = 2000};
}

/* The sparse method with as much work as the budget allows: one unit per 10 ns of budget; without a budget enough for
   the near-linear cases of any size. With what search_windows() then does, a million entries of any kind stay within
   3 s. Where the dense method is next, only about as much as that takes. */
static espi_status try_sparse(struct espi_arena *arena, const struct espi_typemap *map,
                              const struct espi_reconstruct_options *options, struct espi_reconstruction *out)
{
    uint64_t limit = UINT64_C(10000000) + 20 * (uint64_t)map->n;
    if (map->n <= options->exact_limit) {
        uint64_t thousands = map->n / 1000 + 1, n = map->n;
        limit = 500000 + (thousands < 1000 ? n * n * n / 8000 : UINT32_MAX);
    } else if (options->budget_ns > 0) {
        limit = options->budget_ns / 10 + 1;
    }
    return espi_reconstruct_sparse(arena, map, options, limit, out);
}

/* out->tree = tree where that is cheaper. */
static void take_cheaper(const struct espi_reconstruct_options *options, const struct espi_node *tree,
                         struct espi_reconstruction *out)
{
    int64_t cost = espi_cost(tree, &options->costs);
    if (cost < out->cost) {
        out->tree = tree;
        out->cost = cost;
    }
}

/* Windows as far as they go for the price of a few looks at every entry; the anytime method with some of the
   repetitions, and with all where they can be listed; for the extended set what is exact without strided buckets.
   Each gives no worse answer for more work. */
static espi_status search_windows(struct espi_arena *arena, const struct espi_typemap *map,
                                  const struct espi_reconstruct_options *options, struct espi_reconstruction *out)
{
    uint64_t work = options->budget_ns > 0 ? options->budget_ns / 10 + 1 : UINT64_C(36000000) + 10 * (uint64_t)map->n;
    uint64_t windows = UINT64_C(1000000) + 10 * (uint64_t)map->n, thin = UINT64_C(10000000) + 60 * (uint64_t)map->n;
    uint64_t all;
    struct espi_reconstruct_options narrower = *options;
    struct espi_reconstruction found;
    const struct espi_node *tree;
    espi_status status = espi_reconstruct_windowed(arena, map, options, work < windows ? work : windows, &tree);
    if (status != ESPI_OK) {
        return status;
    }
    take_cheaper(options, tree, out);
    if (options->budget_ns > 0 && work < thin) {
        thin = work;
    }
    status = espi_reconstruct_thin(arena, map, options, thin, &found, &all);
    if (status == ESPI_OK) {
        take_cheaper(options, found.tree, out);
    }
    status = all > work ? ESPI_ERR_LIMIT : espi_reconstruct_anytime(arena, map, options, work, &found);
    if (status == ESPI_OK) {
        take_cheaper(options, found.tree, out);
        if (found.lower_bound > out->lower_bound) {
            out->lower_bound = found.lower_bound;
        }
    }
    if (options->set == ESPI_SET_EXTENDED && (status == ESPI_OK || status == ESPI_ERR_LIMIT)) {
        narrower.set = ESPI_SET_MPI;
        status = try_sparse(arena, map, &narrower, &found);
        if (status == ESPI_OK) {
            take_cheaper(options, found.tree, out);
        }
    }
    return status == ESPI_ERR_LIMIT || status == ESPI_ERR_MEMORY ? ESPI_OK : status;
}

/* What no exact method takes: the best of the plain list, the search and the input. */
static espi_status best_bounded(struct espi_arena *arena, const struct espi_typemap *map,
                                const struct espi_node *input, const struct espi_reconstruct_options *options,
                                struct espi_reconstruction *out)
{
    espi_status status = espi_plain_list(arena, map, options, &out->tree);
    if (status != ESPI_OK) {
        return status;
    }
    out->cost = espi_cost(out->tree, &options->costs);
    out->lower_bound = espi_lower_bound(map, options);
    if (espi_span_fits(map)) {
        status = search_windows(arena, map, options, out);
    }
    if (status == ESPI_OK && input != NULL && espi_tree_in_set(input, options->set)) {
        int64_t cost = espi_cost(input, &options->costs);
        if (cost < out->cost) {
            status = espi_node_copy(arena, input, &out->tree);
            out->cost = cost;
        }
    }
    out->exact = out->cost == out->lower_bound;
    return status;
}

espi_status espi_reconstruct(struct espi_arena *arena, const struct espi_typemap *map, const struct espi_node *input,
                             const struct espi_reconstruct_options *options, struct espi_reconstruction *out)
{
    uint64_t start = espi_reconstruct_clock();
    espi_status status;
    *out = (struct espi_reconstruction){0};
    if (!espi_costs_valid(&options->costs)) {
        return ESPI_ERR_ARGUMENT;
    }
    if (map->n == 0) {
        status = espi_node_struc(arena, 0, NULL, NULL, &out->tree);
        out->cost = options->costs.struc;
        out->lower_bound = espi_lower_bound(map, options);
        out->exact = out->cost == out->lower_bound; /* not where a struc is set dearer than a leaf repeated 0 times */
    } else {
        status = espi_span_fits(map) ? try_sparse(arena, map, options, out) : ESPI_ERR_LIMIT;
        if (status == ESPI_ERR_LIMIT && espi_span_fits(map) && map->n <= options->exact_limit) {
            status = espi_reconstruct_dense(arena, map, options, out);
        }
        if (status == ESPI_ERR_MEMORY || status == ESPI_ERR_LIMIT) {
            status = best_bounded(arena, map, input, options, out);
        }
    }
    out->elapsed_ns = espi_reconstruct_clock() - start;
    return status;
}
