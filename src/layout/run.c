/*
 * Runs: is a type map one dense sequence of equal elements? Decided on the tree, without flattening, so that a
 * vector of a billion elements costs as little as one of two.
 */
#include "layout/memo.h"

static espi_base single_base(const struct espi_node *node, struct espi_memo *memo)
{
    struct espi_memo_slot *known;
    while (node->kind != ESPI_LEAF && node->kind != ESPI_STRUC) {
        if (node->entries == 0)
            return ESPI_BASE_NONE;
        node = node->child;
    }
    if (node->kind == ESPI_LEAF)
        return node->base;
    bool wanted = espi_memo_wanted(memo);
    if (wanted && (known = espi_memo_find(memo, node)) != NULL)
        return (espi_base)known->number[0];
    espi_base base = ESPI_BASE_NONE;
    for (int64_t i = 0; i < node->count; i++) {
        if (node->sub[i]->entries == 0)
            continue;
        espi_base b = single_base(node->sub[i], memo);
        if (b == ESPI_BASE_NONE || (base != ESPI_BASE_NONE && b != base))
            return ESPI_BASE_NONE;
        base = b;
    }
    if (wanted && (known = espi_memo_add(memo, node)) != NULL)
        known->number[0] = base;
    return base;
}

espi_base espi_node_single_base(const struct espi_node *node)
{
    struct espi_memo memo = {0};
    espi_base base = single_base(node, &memo);
    espi_memo_release(&memo);
    return base;
}

/* Appends a piece of `entries` elements at `start` to the run; false when it does not stand right behind it. */
static bool extend_run(int64_t *start, int64_t *entries, int64_t piece_start, int64_t piece_entries, int64_t unit)
{
    int64_t bytes, next;
    if (piece_entries == 0)
        return true;
    if (*entries == 0) {
        *start = piece_start;
        *entries = piece_entries;
        return true;
    }
    if (__builtin_mul_overflow(*entries, unit, &bytes) || __builtin_add_overflow(*start, bytes, &next) ||
        next != piece_start)
        return false;
    *entries += piece_entries;
    return true;
}

/* The copies of a run of n elements that stand at first, first + stride, ... : one run when the stride is the length
   of the run in bytes, or when there is only one copy. */
static bool copies_make_run(int64_t copies, int64_t stride, int64_t n, int64_t unit)
{
    int64_t bytes;
    return copies <= 1 || (!__builtin_mul_overflow(n, unit, &bytes) && stride == bytes);
}

static bool node_run(const struct espi_node *node, int64_t unit, int64_t *start, int64_t *entries,
                     struct espi_memo *memo)
{
    struct espi_memo_slot *known;
    int64_t sub_start = 0, sub_entries = 0;
    *start = *entries = 0;
    if (node->entries == 0)
        return true;
    if (node->kind == ESPI_LEAF) {
        *entries = 1;
        return true;
    }
    if (node->kind == ESPI_STRUC) {
        bool wanted = espi_memo_wanted(memo);
        if (wanted && (known = espi_memo_find(memo, node)) != NULL) {
            *start = known->number[0];
            *entries = known->number[1];
            return true;
        }
        for (int64_t i = 0; i < node->count; i++)
            if (!node_run(node->sub[i], unit, &sub_start, &sub_entries, memo) ||
                !extend_run(start, entries, node->disp[i] + sub_start, sub_entries, unit))
                return false;
        if (wanted && (known = espi_memo_add(memo, node)) != NULL) {
            known->number[0] = *start;
            known->number[1] = *entries;
        }
        return true;
    }
    if (!node_run(node->child, unit, &sub_start, &sub_entries, memo))
        return false;
    if (node->kind == ESPI_VEC) {
        *start = sub_start;
        *entries = node->entries;
        return copies_make_run(node->count, node->stride, sub_entries, unit);
    }
    for (int64_t i = 0; i < node->count; i++) {
        int64_t copies = node->kind == ESPI_IDX ? 1 : node->len[i];
        int64_t stride = node->kind == ESPI_BUCKET ? node->stride2 : node->stride;
        int64_t at = node->kind == ESPI_BUCKET ? i * node->stride : node->disp[i];
        if (!copies_make_run(copies, stride, sub_entries, unit) ||
            !extend_run(start, entries, at + sub_start, copies * sub_entries, unit))
            return false;
    }
    return true;
}

bool espi_node_run(const struct espi_node *node, int64_t unit, int64_t *start, int64_t *entries)
{
    struct espi_memo memo = {0};
    bool yes = node_run(node, unit, start, entries, &memo);
    espi_memo_release(&memo);
    return yes;
}
