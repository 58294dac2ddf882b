#include "layout/layout.h"

#include <string.h>

static bool same_array(int64_t n, const int64_t *a, const int64_t *b)
{
    return a == b || n == 0 || (a != NULL && b != NULL && memcmp(a, b, (size_t)n * sizeof *a) == 0);
}

bool espi_node_equal(const struct espi_node *a, const struct espi_node *b)
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
            for (int64_t j = 0; j < a->count; j++) {
                bool again = j > 0 && a->sub[j] == a->sub[j - 1] && b->sub[j] == b->sub[j - 1];
                if (!again && !espi_node_equal(a->sub[j], b->sub[j])) {
                    return false;
                }
            }
            return true;
        }
        a = a->child;
        b = b->child;
    }
    return true;
}
