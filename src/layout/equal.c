#include <string.h>

#include "layout/memo.h"

static bool same_array(int64_t n, const int64_t *a, const int64_t *b)
{
    return a == b || n == 0 || (a != NULL && b != NULL && memcmp(a, b, (size_t)n * sizeof *a) == 0);
}

/* The node that stands for all that were found equal to this one so far. */
static const struct espi_node *stands_for(const struct espi_memo *memo, const struct espi_node *node)
{
    for (struct espi_memo_slot *slot; (slot = espi_memo_find(memo, node)) != NULL && slot->same != node;) {
        struct espi_memo_slot *next = espi_memo_find(memo, slot->same);
        if (next == NULL) {
            return slot->same;
        }
        node = slot->same = next->same;
    }
    return node;
}

static bool equal_nodes(const struct espi_node *a, const struct espi_node *b, struct espi_memo *memo)
{
    while (a != b) {
        /* The hash says no almost always where the answer is no, so the walk below is mostly one that succeeds. */
        if (a->hash != b->hash || a->kind != b->kind || a->base != b->base || a->count != b->count ||
            a->stride != b->stride || a->stride2 != b->stride2 || !same_array(a->count, a->disp, b->disp) ||
            !same_array(a->count, a->len, b->len)) {
            return false;
        }
        if (a->kind == ESPI_LEAF) {
            return true;
        }
        if (a->kind == ESPI_STRUC) {
            bool wanted = espi_memo_wanted(memo);
            if (wanted) {
                a = stands_for(memo, a);
                b = stands_for(memo, b);
                if (a == b) {
                    return true;
                }
            }
            for (int64_t j = 0; j < a->count; j++) {
                bool again = j > 0 && a->sub[j] == a->sub[j - 1] && b->sub[j] == b->sub[j - 1];
                if (!again && !equal_nodes(a->sub[j], b->sub[j], memo)) {
                    return false;
                }
            }
            struct espi_memo_slot *slot = wanted ? espi_memo_add(memo, a) : NULL;
            if (slot != NULL) {
                slot->same = b;
            }
            return true;
        }
        a = a->child;
        b = b->child;
    }
    return true;
}

bool espi_node_equal(const struct espi_node *a, const struct espi_node *b)
{
    struct espi_memo memo = {0};
    bool same = equal_nodes(a, b, &memo);
    espi_memo_release(&memo);
    return same;
}

int64_t espi_node_numbers(const struct espi_node *node, int64_t most)
{
    int64_t n = node->kind == ESPI_LEAF || node->kind == ESPI_VEC ? 0 : node->count;

    if (node->kind == ESPI_LEAF || n >= most)
        return n;
    if (node->kind != ESPI_STRUC)
        return n + espi_node_numbers(node->child, most - n);
    for (int64_t i = 0; i < node->count && n < most; i++)
        if (i == 0 || node->sub[i] != node->sub[i - 1])
            n += espi_node_numbers(node->sub[i], most - n);
    return n;
}

/* ---- whether two trees have one type map: all of it, or samples of a long one ---- */

static bool same_part(const struct espi_node *a, const struct espi_node *b, int64_t first, int64_t last)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_typemap one = ESPI_TYPEMAP_INIT, other = ESPI_TYPEMAP_INIT;
    bool same = espi_node_slice(&arena, a, first, last, 0, &a) == ESPI_OK &&
                espi_node_slice(&arena, b, first, last, 0, &b) == ESPI_OK &&
                espi_flatten(a, 0, (size_t)(last - first), &one) == ESPI_OK &&
                espi_flatten(b, 0, (size_t)(last - first), &other) == ESPI_OK && espi_typemap_equal(&one, &other);
    espi_typemap_release(&one);
    espi_typemap_release(&other);
    espi_arena_release(&arena);
    return same;
}

/* Nothing but vectors, and perhaps one displacement of all: samples show each stride again and again, and to compare
   all entries would take longer than all else that is done with such trees, most of it for pages that are touched for
   the first time. */
static bool is_regular(const struct espi_node *node)
{
    return espi_node_numbers(node, 2) < 2;
}

bool espi_node_same_map(const struct espi_node *a, const struct espi_node *b)
{
    static const struct comparison {
        int64_t whole, samples, each; /* entries: compared as a whole up to so many; of each of so many samples */
    } usual = {1 << 16, 64, 512}, of_regular = {1 << 12, 16, 64};

    if (a->entries != b->entries || a->true_lb != b->true_lb || a->true_ub != b->true_ub)
        return false;
    const struct comparison *const by = is_regular(a) && is_regular(b) ? &of_regular : &usual;
    if (a->entries <= by->whole)
        return same_part(a, b, 0, a->entries);
    for (int64_t i = 0; i < by->samples; i++) {
        int64_t first = (a->entries - by->each) / (by->samples - 1) * i;
        if (!same_part(a, b, first, first + by->each))
            return false;
    }
    return same_part(a, b, a->entries - by->each, a->entries);
}
