/* What all ways ask of what they are given and of each other's trees, and the clock that they go by. */
#include <time.h>

#include "layout/memo.h"
#include "reconstruct/parts.h"

uint64_t espi_reconstruct_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

bool espi_costs_valid(const struct espi_costs *costs)
{
    const int64_t all[] = {costs->leaf,        costs->vec,   costs->idx,        costs->idx_each, costs->idxbuc,
                           costs->idxbuc_each, costs->struc, costs->struc_each, costs->bucket,   costs->bucket_each};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i] < 0 || all[i] > ESPI_COST_MAX) {
            return false;
        }
    }
    return true;
}

static bool in_set(const struct espi_node *node, enum espi_set set, struct espi_memo *memo)
{
    for (; node != NULL; node = node->child) {
        if ((node->kind == ESPI_IDXBUC && set == ESPI_SET_BASIC) ||
            (node->kind == ESPI_BUCKET && set != ESPI_SET_EXTENDED)) {
            return false;
        }
        if (node->kind == ESPI_STRUC && espi_memo_wanted(memo)) {
            if (espi_memo_find(memo, node) != NULL) {
                return true; /* or being looked at; a no ends it all */
            }
            espi_memo_add(memo, node);
        }
        for (int64_t j = 0; node->kind == ESPI_STRUC && j < node->count; j++) {
            if ((j == 0 || node->sub[j] != node->sub[j - 1]) && !in_set(node->sub[j], set, memo)) {
                return false;
            }
        }
    }
    return true;
}

bool espi_tree_in_set(const struct espi_node *node, enum espi_set set)
{
    struct espi_memo memo = {0};
    bool yes = in_set(node, set, &memo);
    espi_memo_release(&memo);
    return yes;
}

bool espi_span_fits(const struct espi_typemap *map)
{
    int64_t lo = 0, hi = 0, span;
    for (size_t i = 0; i < map->n; i++) {
        lo = i == 0 || map->disp[i] < lo ? map->disp[i] : lo;
        hi = i == 0 || map->disp[i] > hi ? map->disp[i] : hi;
    }
    /* An extent has 32 bits. */
    return !__builtin_sub_overflow(hi, lo, &span) && span < (INT64_C(1) << 62) - (INT64_C(1) << 33);
}
