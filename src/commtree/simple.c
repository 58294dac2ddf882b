/* Linear, rank-ordered binomial, problem-adaptive binomial and two-size trees: O(p), or O(p log p) for a best root.
   */
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
static espi_status rounds(const struct espi_commtree_problem *problem, const struct espi_compact *c, int root,
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
    return rounds(problem, c, c->root, true, tree);
}

espi_status espi_build_binomial(const struct espi_commtree_problem *problem, const struct espi_compact *c,
                                struct espi_commtree *tree)
{
    if (c->root != ESPI_COMMTREE_BEST)
        return rounds(problem, c, c->root, false, tree);
    /* The best of the roots that the groups at the left end have anyway: the last index of 1, 2, 4, ... and all n. */
    double best = 0;
    bool any = false;
    for (int64_t width = 1;; width *= 2) {
        struct espi_commtree next;
        double time;
        int root = (int)(width < c->n ? width : c->n) - 1;
        espi_status status = rounds(problem, c, root, false, &next);
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

/* Blocks of at least half the largest count as large. The small blocks between two large ones (and the root)
   are joined among themselves in rounds and then travel as one message; each large block travels once, straight to
   the root. For large blocks of beta*m well above alpha times the number of rounds this is close to the bound
   alpha*(messages) + beta*(all but the root's), and the ranges stay in order. */
espi_status espi_build_twosize(const struct espi_commtree_problem *problem, const struct espi_compact *c,
                               struct espi_commtree *tree)
{
    struct espi_joins joins;
    int n = c->n, root = c->root, *head = malloc((size_t)n * sizeof *head);
    int64_t most = 0;
    espi_status status = espi_joins_make(n, &joins);
    if (status != ESPI_OK || !head) {
        free(head);
        if (status == ESPI_OK)
            espi_joins_release(&joins);
        return ESPI_ERR_MEMORY;
    }
    for (int v = 0; v < n; v++) {
        if (c->size[v] > most) {
            most = c->size[v];
            if (c->root == ESPI_COMMTREE_BEST)
                root = v;
        }
    }
    if (root == ESPI_COMMTREE_BEST)
        root = 0;
    /* head[v]: leader of the run of small blocks that starts at v; -1 inside a run. */
    for (int v = 0; v < n;) {
        int end = v + 1, width;
        if (v != root && c->size[v] <= most / 2) {
            while (end < n && end != root && c->size[end] <= most / 2)
                end++;
        }
        for (int w = v; w < end; w++)
            head[w] = w;
        for (width = 1; width < end - v; width *= 2) {
            for (int w = v; w + width < end; w += 2 * width) {
                bool left = c->prefix[w + width] - c->prefix[w] >
                            c->prefix[w + 2 * width < end ? w + 2 * width : end] - c->prefix[w + width];
                int other = head[w + width];
                espi_join(&joins, left ? other : head[w], left ? head[w] : other);
                head[w] = left ? head[w] : other;
            }
        }
        for (int w = v + 1; w < end; w++)
            head[w] = -1;
        v = end;
    }
    for (int v = root + 1; v < n; v++) {
        if (head[v] >= 0)
            espi_join(&joins, head[v], root);
    }
    for (int v = root - 1; v >= 0; v--) {
        if (head[v] >= 0)
            espi_join(&joins, head[v], root);
    }
    status = espi_joins_tree(&joins, c, problem->p, root, true, tree);
    free(head);
    espi_joins_release(&joins);
    return status;
}
