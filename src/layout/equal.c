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
