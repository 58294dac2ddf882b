/* Tree to type map. Repeated children are flattened once and then copied with an offset, so the time is
   proportional to the result, whatever the tree looks like. */
#include "layout/layout.h"

#include <string.h>

/* Sums of displacements may wrap on the way to a result that does not: bounds were checked when the node was made. */
static int64_t sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Appends a copy of the `m` entries at `from`, moved by `by`. Memory was reserved. */
static void repeat_entries(struct espi_typemap *map, size_t from, size_t m, int64_t by)
{
    int64_t *disp = map->disp + map->n;
    const int64_t *source = map->disp + from;
    for (size_t k = 0; k < m; k++) {
        disp[k] = sum(source[k], by);
    }
    memcpy(map->base + map->n, map->base + from, m * sizeof *map->base);
    map->n += m;
}

static void append_node(const struct espi_node *node, int64_t shift, struct espi_typemap *map);

/* Appends one child at `at`: the first time by walking it, then by copying what stands at `from`. */
static void append_child(const struct espi_node *child, int64_t at, size_t *from, int64_t *from_at,
                         struct espi_typemap *map)
{
    if (*from == SIZE_MAX) {
        *from = map->n;
        *from_at = at;
        append_node(child, at, map);
    } else {
        repeat_entries(map, *from, (size_t)child->entries, difference(at, *from_at));
    }
}

static void append_node(const struct espi_node *node, int64_t shift, struct espi_typemap *map)
{
    size_t from = SIZE_MAX;
    int64_t from_at = 0;
    if (node->entries == 0) {
        return;
    }
    switch (node->kind) {
    case ESPI_LEAF:
        map->disp[map->n] = shift;
        map->base[map->n] = node->base;
        map->n++;
        break;
    case ESPI_VEC:
        for (int64_t j = 0; j < node->count; j++) {
            append_child(node->child, sum(shift, j * node->stride), &from, &from_at, map);
        }
        break;
    case ESPI_IDX:
        for (int64_t j = 0; j < node->count; j++) {
            append_child(node->child, sum(shift, node->disp[j]), &from, &from_at, map);
        }
        break;
    case ESPI_IDXBUC:
        for (int64_t j = 0; j < node->count; j++) {
            for (int64_t k = 0; k < node->len[j]; k++) {
                append_child(node->child, sum(shift, sum(node->disp[j], k * node->stride)), &from, &from_at, map);
            }
        }
        break;
    case ESPI_BUCKET:
        for (int64_t j = 0; j < node->count; j++) {
            for (int64_t k = 0; k < node->len[j]; k++) {
                append_child(node->child, sum(shift, sum(j * node->stride, k * node->stride2)), &from, &from_at, map);
            }
        }
        break;
    case ESPI_STRUC:
        for (int64_t j = 0; j < node->count; j++) {
            if (node->sub[j]->entries > 0) {
                append_node(node->sub[j], sum(shift, node->disp[j]), map);
            }
        }
        break;
    case ESPI_KIND_COUNT:
        break;
    }
}

espi_status espi_flatten(const struct espi_node *node, int64_t shift, size_t limit, struct espi_typemap *map)
{
    int64_t lb, ub;
    if (map->n > limit || (uint64_t)node->entries > limit - map->n) {
        return ESPI_ERR_LIMIT;
    }
    if (__builtin_add_overflow(shift, node->true_lb, &lb) || __builtin_add_overflow(shift, node->true_ub, &ub)) {
        return ESPI_ERR_OVERFLOW;
    }
    espi_status status = espi_typemap_reserve(map, map->n + (size_t)node->entries);
    if (status == ESPI_OK) {
        append_node(node, shift, map);
    }
    return status;
}
