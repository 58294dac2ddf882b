/* Linear, rank-ordered binomial and problem-adaptive binomial trees: O(p), or O(p log p) for a best root. */
#include <stdlib.h>

#include "commtree/internal.h"

espi_status espi_build_linear(const struct espi_commtree_problem *problem, const struct espi_compact *c,
                              struct espi_commtree *tree)
{
    struct espi_joins joins;
    int root = c->root;
    if (root == ESPI_COMMTREE_BEST) {
        /* All roots send equally many messages: the bytes that need not travel count against the copy. */
        double gain = problem->model.beta - problem->model.gamma, best = 0;
        root = 0;
        for (int v = 0; v < c->n; v++) {
            if (v == 0 || gain * (double)c->size[v] > best) {
                best = gain * (double)c->size[v];
                root = v;
            }
        }
    }
    espi_status status = espi_joins_make(c->n, &joins);
    if (status != ESPI_OK)
        return status;
    for (int v = root + 1; v < c->n; v++)
        espi_join(&joins, v, root);
    for (int v = root - 1; v >= 0; v--)
        espi_join(&joins, v, root);
    status = espi_joins_tree(&joins, c, problem->p, root, true, tree);
    espi_joins_release(&joins);
    return status;
}

/* Joins neighbours of 2^k indices, k = 0, 1, ...; `adaptive`: the lighter side sends, the left one when equal; else
   the left side sends. The side with the root receives. */
static espi_status join_rounds(const struct espi_commtree_problem *problem, const struct espi_compact *c, int root,
                               bool adaptive, struct espi_commtree *tree)
{
    struct espi_joins joins;
    int n = c->n, *head = malloc((size_t)n * sizeof *head);
    espi_status status = espi_joins_make(n, &joins);
    if (status != ESPI_OK || !head) {
        free(head);
        if (status == ESPI_OK)
            espi_joins_release(&joins);
        return ESPI_ERR_MEMORY;
    }
    for (int v = 0; v < n; v++)
        head[v] = v;
    /* head[x] leads the x-th group, which starts at x * width. */
    int groups = n;
    for (int64_t width = 1; groups > 1; width *= 2) {
        for (int x = 0; 2 * x + 1 < groups; x++) {
            int64_t from = 2 * x * width, middle = from + width, to = middle + width < n ? middle + width : n;
            bool left = false;
            if (root >= from && root < to)
                left = root < middle;
            else if (adaptive)
                left = c->prefix[middle] - c->prefix[from] > c->prefix[to] - c->prefix[middle];
            int receiver = head[left ? 2 * x : 2 * x + 1], sender = head[left ? 2 * x + 1 : 2 * x];
            espi_join(&joins, sender, receiver);
            head[x] = receiver;
        }
        if (groups % 2)
            head[groups / 2] = head[groups - 1];
        groups = (groups + 1) / 2;
    }
    root = head[0];
    free(head);
    status = espi_joins_tree(&joins, c, problem->p, root, true, tree);
    espi_joins_release(&joins);
    return status;
}

espi_status espi_build_adaptive(const struct espi_commtree_problem *problem, const struct espi_compact *c,
                                struct espi_commtree *tree)
{
    return join_rounds(problem, c, c->root, true, tree);
}

espi_status espi_build_binomial(const struct espi_commtree_problem *problem, const struct espi_compact *c,
                                struct espi_commtree *tree)
{
    if (c->root != ESPI_COMMTREE_BEST)
        return join_rounds(problem, c, c->root, false, tree);
    /* The best of the roots that the groups at the left end have anyway: the last index of 1, 2, 4, ... and all n. */
    double best = 0;
    bool any = false;
    for (int64_t width = 1;; width *= 2) {
        struct espi_commtree next;
        double time;
        int root = (int)(width < c->n ? width : c->n) - 1;
        espi_status status = join_rounds(problem, c, root, false, &next);
        if (status == ESPI_OK) {
            status = espi_commtree_time(&next, problem->size, &problem->model, ESPI_COMMTREE_GATHER, &time);
            if (status != ESPI_OK)
                espi_commtree_release(&next);
        }
        if (status != ESPI_OK) {
            espi_commtree_release(tree);
            return status;
        }
        if (!any || time < best) {
            espi_commtree_release(tree);
            *tree = next;
            best = time;
            any = true;
        } else {
            espi_commtree_release(&next);
        }
        if (width >= c->n)
            return ESPI_OK;
    }
}
