/* The dense method for a type map: its base types become symbols. */
#include <stdlib.h>

#include "reconstruct/dense/dense.h"
#include "reconstruct/parts.h"

espi_status espi_reconstruct_dense_by(struct espi_arena *arena, const struct espi_typemap *map,
                                      const struct espi_reconstruct_options *options, enum espi_dense_code code,
                                      int least_bits, struct espi_reconstruction *out)
{
    uint64_t start = espi_reconstruct_clock();
    size_t bases = espi_base_count();
    struct espi_dense dense = {.n = map->n, .disp = map->disp, .set = options->set, .costs = options->costs,
                               .code = code, .least_bits = least_bits};
    uint32_t *known = NULL, *symbol = NULL;
    int64_t *weight = NULL;
    const struct espi_node **item = NULL;
    espi_status status = ESPI_ERR_MEMORY;
    if (map->n == 0 || !espi_costs_valid(&options->costs) || !espi_span_fits(map)) {
        return ESPI_ERR_ARGUMENT;
    }
    known = calloc(bases, sizeof *known);
    symbol = malloc(map->n * sizeof *symbol);
    weight = malloc(bases * sizeof *weight);
    item = malloc(bases * sizeof *item);
    if (known == NULL || symbol == NULL || weight == NULL || item == NULL) {
        goto done;
    }
    for (size_t i = 0; i < map->n; i++) {
        espi_base base = map->base[i];
        if (base >= bases) {
            status = ESPI_ERR_ARGUMENT;
            goto done;
        }
        if (known[base] == 0) {
            if ((status = espi_node_leaf(arena, base, &item[dense.symbols])) != ESPI_OK) {
                goto done;
            }
            weight[dense.symbols] = options->costs.leaf;
            known[base] = ++dense.symbols;
        }
        symbol[i] = known[base] - 1;
    }
    dense.symbol = symbol;
    dense.weight = weight;
    status = espi_dense_solve(&dense);
    if (status == ESPI_OK) {
        *out = (struct espi_reconstruction){.exact = true};
        status = espi_dense_build(&dense, arena, item, &out->tree, &out->cost);
        out->lower_bound = out->cost;
        out->elapsed_ns = espi_reconstruct_clock() - start;
    }
    espi_dense_release(&dense);
done:
    free(known);
    free(symbol);
    free(weight);
    free(item);
    return status;
}

espi_status espi_reconstruct_dense(struct espi_arena *arena, const struct espi_typemap *map,
                                   const struct espi_reconstruct_options *options, struct espi_reconstruction *out)
{
    return espi_reconstruct_dense_by(arena, map, options, ESPI_DENSE_BEST, 0, out);
}
