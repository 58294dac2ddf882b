/* Deep copy that keeps sharing: each old node is remembered with its copy. */
#include "layout/layout.h"

#include <string.h>

#include "layout/memo.h"

static const int64_t *copy_array(struct espi_arena *arena, int64_t n, const int64_t *from)
{
    int64_t *to = espi_arena_alloc(arena, (size_t)n * sizeof *to);
    if (to != NULL && n > 0) {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
    return to;
}

static espi_status copy_node(struct espi_arena *arena, struct espi_memo *copies, const struct espi_node *node,
                             const struct espi_node **out)
{
    struct espi_memo_slot *known = espi_memo_find(copies, node);
    if (known != NULL) {
        *out = known->same;
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
        status = copy_node(arena, copies, node->child, &to->child);
    }
    if (node->sub != NULL) {
        const struct espi_node **sub = espi_arena_calloc(arena, (size_t)node->count, sizeof *sub);
        if (sub == NULL) {
            return ESPI_ERR_MEMORY;
        }
        for (int64_t j = 0; j < node->count && status == ESPI_OK; j++) {
            status = copy_node(arena, copies, node->sub[j], &sub[j]);
        }
        to->sub = sub;
    }
    if (status != ESPI_OK) {
        return status;
    }
    known = espi_memo_add(copies, node);
    if (known == NULL) {
        return ESPI_ERR_MEMORY;
    }
    known->same = *out = to;
    return ESPI_OK;
}

espi_status espi_node_copy(struct espi_arena *arena, const struct espi_node *node, const struct espi_node **out)
{
    struct espi_memo copies = {0};
    espi_status status = copy_node(arena, &copies, node, out);
    espi_memo_release(&copies);
    return status;
}
