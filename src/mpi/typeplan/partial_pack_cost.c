#include "mpi/typeplan/partial_pack_cost.h"

/* Steps below one node that is cut `cuts` times at most. */
static double steps(const struct espi_node *node, double cuts)
{
    double below = 0, most = 0, one;
    int64_t i;

    if (node->kind == ESPI_LEAF || (node->kind == ESPI_VEC && node->child->size == node->stride &&
                                    node->child->kind == ESPI_LEAF))
        return 0;
    if (node->kind != ESPI_STRUC) {
        below = steps(node->child, 1 + cuts / (double)node->count);
        return (double)node->count + (cuts < (double)node->count ? cuts : (double)node->count) * below;
    }
    for (i = 0; i < node->count; i++) {
        one = steps(node->sub[i], 1 + cuts / (double)node->count);
        below += one;
        most = one > most ? one : most;
    }
    return (double)node->count + (below < cuts * most ? below : cuts * most);
}

uint64_t espi_partial_pack_cost(const struct espi_node *tree, int64_t count)
{
    double bytes = (double)tree->size * (double)count, cuts = bytes / ESPI_MODEL_PART, ns;

    if (bytes <= ESPI_MODEL_PART)
        return 0;
    /* Items that are not cut run as a whole. */
    ns = steps(tree, 1 + cuts / (double)count) * (cuts < (double)count ? cuts : (double)count) * ESPI_MODEL_STEP_NS;
    return ns < 1e18 ? (uint64_t)ns : (uint64_t)1e18;
}
