/* Trees for blocks of two sizes, many small ones and some large ones.

   Blocks of more than half the largest count as large. The small blocks between two large ones (or the root) are
   joined among themselves in rounds; each such run and each large block is then one item. The items go to the root
   in one of three ways, whichever is fastest: each by itself, or joined in rounds like equal blocks, counted from the
   first item or from the last. Where a large block takes longer than all the small ones together, and these lie at
   one end and the root at the other, rounds are optimal, even among trees that keep no order
   (doc/gather-trees.md). O(p). */
#include <stdlib.h>

#include "commtree/internal.h"

struct items {
    int n, root;    /* items, and the one that is the root */
    int *head;      /* leader of each */
    int64_t *bytes; /* held by each */
};

/* Joins in rounds items of start .. start+n-1 (step 1) or start, start-1, ... (step -1); the lighter side sends, but
   the root's receives. Uses up head and bytes. */
static int join_rounds(int start, int step, int n, int root, int *head, int64_t *bytes, struct espi_joins *joins)
{
    for (int width = 1; width < n; width *= 2) {
        for (int x = 0; x < n - width; x += 2 * width) {
            int a = start + step * x, b = start + step * (x + width);
            bool keep = head[a] == root || (head[b] != root && bytes[a] > bytes[b]);
            espi_join(joins, head[keep ? b : a], head[keep ? a : b]);
            head[a] = head[keep ? a : b];
            bytes[a] += bytes[b];
        }
    }
    return head[start];
}

static void make_items(const struct espi_compact *c, int root, struct items *items, int *head, int64_t *bytes,
                       struct espi_joins *joins)
{
    int64_t most = 0;
    for (int v = 0; v < c->n; v++)
        most = c->size[v] > most ? c->size[v] : most;
    items->n = 0;
    for (int v = 0, end; v < c->n; v = end) {
        end = v + 1;
        while (v != root && c->size[v] <= most / 2 && end < c->n && end != root && c->size[end] <= most / 2)
            end++;
        for (int w = v; w < end; w++) {
            head[w] = w;
            bytes[w] = c->size[w];
        }
        if (v == root)
            items->root = items->n;
        items->head[items->n] = join_rounds(v, 1, end - v, -1, head, bytes, joins);
        items->bytes[items->n++] = c->prefix[end] - c->prefix[v];
    }
}

enum way { EACH_BY_ITSELF, FROM_THE_FIRST, FROM_THE_LAST, WAYS };

static espi_status build_tree(const struct espi_commtree_problem *problem, const struct espi_compact *c, int root,
                              enum way way, struct espi_commtree *tree)
{
    size_t n = (size_t)c->n;
    int *head = malloc(2 * n * sizeof *head);
    int64_t *bytes = malloc(2 * n * sizeof *bytes);
    struct espi_joins joins;
    espi_status status = espi_joins_make(c->n, &joins);
    if (status != ESPI_OK || !head || !bytes) {
        status = ESPI_ERR_MEMORY;
        goto out;
    }
    struct items items = {0, 0, head + n, bytes + n};
    make_items(c, root, &items, head, bytes, &joins);
    if (way == EACH_BY_ITSELF) {
        for (int x = items.root + 1; x < items.n; x++)
            espi_join(&joins, items.head[x], root);
        for (int x = items.root - 1; x >= 0; x--)
            espi_join(&joins, items.head[x], root);
    } else {
        bool first = way == FROM_THE_FIRST;
        join_rounds(first ? 0 : items.n - 1, first ? 1 : -1, items.n, root, items.head, items.bytes, &joins);
    }
    status = espi_joins_tree(&joins, c, problem->p, root, true, tree);
out:
    espi_joins_release(&joins);
    free(head);
    free(bytes);
    return status;
}

espi_status espi_build_twosize(const struct espi_commtree_problem *problem, const struct espi_compact *c,
                               struct espi_commtree *tree)
{
    int root = c->root == ESPI_COMMTREE_BEST ? 0 : c->root;
    double best = 0;
    espi_status status = ESPI_OK;
    for (int v = 1; c->root == ESPI_COMMTREE_BEST && v < c->n; v++) {
        if (c->size[v] > c->size[root])
            root = v;
    }
    for (int way = 0; way < WAYS && status == ESPI_OK; way++) {
        struct espi_commtree next;
        double time;
        status = build_tree(problem, c, root, (enum way)way, &next);
        if (status != ESPI_OK)
            break;
        status = espi_commtree_time(&next, problem->size, &problem->model, ESPI_COMMTREE_GATHER, &time);
        if (status == ESPI_OK && (way == 0 || time < best)) {
            espi_commtree_release(tree);
            *tree = next;
            best = time;
        } else {
            espi_commtree_release(&next);
        }
    }
    if (status != ESPI_OK)
        espi_commtree_release(tree);
    return status;
}
