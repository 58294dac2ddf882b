#include "layout/memo.h"

#include <stdlib.h>

#include "base/hash.h"

enum { FREE_VISITS = 64 };

static struct espi_memo_slot *find_slot(const struct espi_memo *memo, const struct espi_node *node)
{
    size_t at = (size_t)espi_mix(0, (uintptr_t)node) & (memo->size - 1);
    while (memo->slot[at].node != NULL && memo->slot[at].node != node) {
        at = (at + 1) & (memo->size - 1);
    }
    return &memo->slot[at];
}

struct espi_memo_slot *espi_memo_find(const struct espi_memo *memo, const struct espi_node *node)
{
    struct espi_memo_slot *slot = memo->size > 0 ? find_slot(memo, node) : NULL;
    return slot != NULL && slot->node != NULL ? slot : NULL;
}

struct espi_memo_slot *espi_memo_add(struct espi_memo *memo, const struct espi_node *node)
{
    if (2 * (memo->used + 1) > memo->size) {
        struct espi_memo larger = {NULL, memo->size == 0 ? 64 : 2 * memo->size, memo->used, memo->visits};
        larger.slot = calloc(larger.size, sizeof *larger.slot);
        if (larger.slot == NULL) {
            return NULL;
        }
        for (size_t i = 0; i < memo->size; i++) {
            if (memo->slot[i].node != NULL) {
                *find_slot(&larger, memo->slot[i].node) = memo->slot[i];
            }
        }
        free(memo->slot);
        *memo = larger;
    }
    struct espi_memo_slot *slot = find_slot(memo, node);
    memo->used += slot->node == NULL;
    slot->node = node;
    return slot;
}

bool espi_memo_wanted(struct espi_memo *memo)
{
    memo->visits += memo->visits <= FREE_VISITS;
    return memo->visits > FREE_VISITS;
}

void espi_memo_release(struct espi_memo *memo)
{
    free(memo->slot);
    *memo = (struct espi_memo){0};
}
