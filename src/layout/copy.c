/* Deep copy that keeps sharing: a table from each old node to its copy. */
#include "layout/layout.h"

#include <stdlib.h>
#include <string.h>

struct pair {
    const struct espi_node *from, *to;
};

struct table {
    struct pair *slot;
    size_t size, used; /* size is a power of two */
};

static struct pair *find_pair(const struct table *table, const struct espi_node *from)
{
    size_t at = (size_t)(((uintptr_t)from >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 17) & (table->size - 1);
    while (table->slot[at].from != NULL && table->slot[at].from != from) {
        at = (at + 1) & (table->size - 1);
    }
    return &table->slot[at];
}

static espi_status remember_pair(struct table *table, const struct espi_node *from, const struct espi_node *to)
{
    if (table->used * 2 >= table->size) {
        struct table larger = {NULL, table->size == 0 ? 64 : table->size * 2, table->used};
        larger.slot = calloc(larger.size, sizeof *larger.slot);
        if (larger.slot == NULL) {
            return ESPI_ERR_MEMORY;
        }
        for (size_t i = 0; i < table->size; i++) {
            if (table->slot[i].from != NULL) {
                *find_pair(&larger, table->slot[i].from) = table->slot[i];
            }
        }
        free(table->slot);
        *table = larger;
    }
    *find_pair(table, from) = (struct pair){from, to};
    table->used++;
    return ESPI_OK;
}

static const int64_t *copy_array(struct espi_arena *arena, int64_t n, const int64_t *from)
{
    int64_t *to = espi_arena_alloc(arena, (size_t)n * sizeof *to);
    if (to != NULL && n > 0) {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
    return to;
}

static espi_status copy_node(struct espi_arena *arena, struct table *table, const struct espi_node *node,
                             const struct espi_node **out)
{
    struct pair *known = table->size > 0 ? find_pair(table, node) : NULL;
    if (known != NULL && known->from != NULL) {
        *out = known->to;
        return ESPI_OK;
    }
    struct espi_node *to = espi_arena_alloc(arena, sizeof *to);
    espi_status status = ESPI_OK;
    if (to == NULL) {
        return ESPI_ERR_MEMORY;
    }
    *to = *node; /* derived values do not change */
    if ((node->disp != NULL && (to->disp = copy_array(arena, node->count, node->disp)) == NULL) ||
        (node->len != NULL && (to->len = copy_array(arena, node->count, node->len)) == NULL)) {
        return ESPI_ERR_MEMORY;
    }
    if (node->child != NULL) {
        status = copy_node(arena, table, node->child, &to->child);
    }
    if (node->sub != NULL) {
        const struct espi_node **sub = espi_arena_calloc(arena, (size_t)node->count, sizeof *sub);
        if (sub == NULL) {
            return ESPI_ERR_MEMORY;
        }
        for (int64_t j = 0; j < node->count && status == ESPI_OK; j++) {
            status = copy_node(arena, table, node->sub[j], &sub[j]);
        }
        to->sub = sub;
    }
    *out = to;
    return status == ESPI_OK ? remember_pair(table, node, to) : status;
}

espi_status espi_node_copy(struct espi_arena *arena, const struct espi_node *node, const struct espi_node **out)
{
    struct table table = {NULL, 0, 0};
    espi_status status = copy_node(arena, &table, node, out);
    free(table.slot);
    return status;
}
