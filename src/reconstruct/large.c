/* Beyond the exact methods: plain lists, a lower bound, and a bounded search. */
#include <stdlib.h>
#include <string.h>

#include "reconstruct/parts.h"

/* The entries [i, e) of one base type as a leaf or a list. */
static espi_status list(struct espi_arena *arena, const struct espi_typemap *map, size_t i, size_t e, int64_t origin,
                        const struct espi_node **out)
{
    const struct espi_node *leaf;
    espi_status status = espi_node_leaf(arena, map->base[i], &leaf);
    if (status != ESPI_OK || (e == i + 1 && map->disp[i] == origin)) {
        *out = leaf;
        return status;
    }
    int64_t *disp = espi_arena_alloc(arena, (e - i) * sizeof *disp);
    if (disp == NULL) {
        return ESPI_ERR_MEMORY;
    }
    for (size_t k = i; k < e; k++) {
        disp[k - i] = map->disp[k] - origin;
    }
    return espi_node_idx(arena, (int64_t)(e - i), disp, leaf, out);
}

espi_status espi_plain_list(struct espi_arena *arena, const struct espi_typemap *map,
                            const struct espi_reconstruct_options *options, const struct espi_node **out)
{
    size_t children = 0, at = 0;
    (void)options;
    for (size_t i = 0; i < map->n; i++) {
        children += i == 0 || map->base[i] != map->base[i - 1];
    }
    if (children == 1) {
        return list(arena, map, 0, map->n, 0, out);
    }
    int64_t *disp = espi_arena_calloc(arena, children, sizeof *disp);
    const struct espi_node **sub = espi_arena_calloc(arena, children, sizeof *sub);
    if (disp == NULL || sub == NULL) {
        return ESPI_ERR_MEMORY;
    }
    for (size_t i = 0, e; i < map->n; i = e, at++) {
        for (e = i + 1; e < map->n && map->base[e] == map->base[i]; e++) {
        }
        /* A leaf stands at its displacement; a list keeps its own, so that no difference can overflow. */
        disp[at] = e == i + 1 ? map->disp[i] : 0;
        espi_status status = list(arena, map, i, e, disp[at], &sub[at]);
        if (status != ESPI_OK) {
            return status;
        }
    }
    return espi_node_struc(arena, (int64_t)children, disp, sub, out);
}

/* Every base type that occurs needs a leaf; two base types need a struc with a child for each; two entries of one base
   type need a repetition or a struc of two children. */
int64_t espi_lower_bound(const struct espi_typemap *map, const struct espi_reconstruct_options *options)
{
    const struct espi_costs *costs = &options->costs;
    int64_t kinds = 0, least;
    uint64_t seen[(UINT16_MAX + 1) / 64] = {0};
    for (size_t i = 0; i < map->n; i++) {
        uint64_t bit = UINT64_C(1) << (map->base[i] % 64);
        kinds += (seen[map->base[i] / 64] & bit) == 0;
        seen[map->base[i] / 64] |= bit;
    }
    if (kinds == 0) {
        return costs->struc;
    }
    if (kinds > 1) {
        return costs->struc + kinds * (costs->struc_each + costs->leaf);
    }
    if (map->n == 1) {
        return costs->leaf;
    }
    least = costs->struc + 2 * costs->struc_each + costs->leaf;
    least = costs->vec < least ? costs->vec : least;
    least = costs->idx + 2 * costs->idx_each < least ? costs->idx + 2 * costs->idx_each : least;
    if (options->set != ESPI_SET_BASIC && costs->idxbuc + costs->idxbuc_each < least) {
        least = costs->idxbuc + costs->idxbuc_each;
    }
    if (options->set == ESPI_SET_EXTENDED && costs->bucket + costs->bucket_each < least) {
        least = costs->bucket + costs->bucket_each;
    }
    return costs->leaf + least;
}

espi_status espi_reconstruct_large(struct espi_arena *arena, const struct espi_typemap *map,
                                   const struct espi_reconstruct_options *options, const struct espi_node **out)
{
    return espi_plain_list(arena, map, options, out);
}
