/* Exact reconstruction over finished trees: equal trees are one symbol, whose cost is the tree's. */
#include <stdlib.h>
#include <string.h>

#include "reconstruct/dense/dense.h"
#include "reconstruct/parts.h"

static bool span_fits(size_t n, const int64_t *disp, const struct espi_node *const *node)
{
    const int64_t far = INT64_C(1) << 60;
    for (size_t i = 0; i < n; i++) {
        if (disp[i] < -far || disp[i] > far || node[i]->true_lb < -far || node[i]->true_ub > far) {
            return false;
        }
    }
    return true;
}

espi_status espi_solve_symbols(struct espi_arena *arena, size_t n, const int64_t *disp,
                               const struct espi_node *const *node, const struct espi_reconstruct_options *options,
                               const struct espi_node **out)
{
    struct espi_dense dense = {.n = n, .disp = disp, .set = options->set, .costs = options->costs};
    uint32_t *symbol = malloc(n * sizeof *symbol), *slot = NULL;
    int64_t *weight = malloc(n * sizeof *weight), cost;
    const struct espi_node **item = malloc(n * sizeof *item);
    size_t mask = 1;
    espi_status status = ESPI_ERR_MEMORY;
    while (mask + 1 < 2 * n) {
        mask = 2 * mask + 1;
    }
    slot = calloc(mask + 1, sizeof *slot); /* symbol + 1, or 0 */
    if (symbol == NULL || weight == NULL || item == NULL || slot == NULL) {
        goto done;
    }
    if (n == 0 || !span_fits(n, disp, node)) {
        status = ESPI_ERR_LIMIT;
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)(node[i]->hash >> 7) & mask;
        while (slot[at] != 0 && !espi_node_equal(item[slot[at] - 1], node[i])) {
            at = (at + 1) & mask;
        }
        if (slot[at] == 0) {
            item[dense.symbols] = node[i];
            weight[dense.symbols] = espi_cost(node[i], &options->costs);
            slot[at] = ++dense.symbols;
        }
        symbol[i] = slot[at] - 1;
    }
    dense.symbol = symbol;
    dense.weight = weight;
    status = espi_dense_solve(&dense);
    if (status == ESPI_OK) {
        status = espi_dense_build(&dense, arena, item, out, &cost);
    }
    espi_dense_release(&dense);
done:
    free(symbol);
    free(weight);
    free(item);
    free(slot);
    return status;
}
