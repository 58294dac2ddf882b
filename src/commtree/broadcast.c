/* Broadcast and reduction trees: every message has the same size. Optimal with latency is the greedy tree, in which
   every reached rank goes on sending (Karp, Sahay, Santos, Schauser 1993). */
#include <math.h>
#include <stdlib.h>

#include "commtree/internal.h"

static espi_status greedy_tree(int p, int root, double busy, double latency, struct espi_commtree *tree)
{
    size_t n = (size_t)p, heads[2] = {0, 0}, tails[2] = {0, 0};
    /* Two sorted queues of possible sends: next sends of ranks that have sent, first sends of ranks just reached. */
    double *start[2] = {malloc(n * sizeof(double)), malloc(n * sizeof(double))};
    int *who[2] = {malloc(n * sizeof(int)), malloc(n * sizeof(int))};
    int *sender = malloc(n * sizeof *sender), *below = malloc(n * sizeof *below), *place = malloc(n * sizeof *place);
    int *next = malloc(n * sizeof *next), steps = 0;
    struct espi_joins joins = {0, 0, NULL, NULL};
    espi_status status = ESPI_ERR_MEMORY;
    if (!start[0] || !start[1] || !who[0] || !who[1] || !sender || !below || !place || !next ||
        espi_joins_make(p, &joins) != ESPI_OK)
        goto out;
    start[0][0] = 0;
    who[0][tails[0]++] = 0;
    for (int k = 1; k < p; k++) {
        int x = heads[0] == tails[0]   ? 1
                : heads[1] == tails[1] ? 0
                                       : start[1][heads[1]] < start[0][heads[0]];
        double at = start[x][heads[x]];
        sender[k] = who[x][heads[x]++];
        start[0][tails[0]] = at + busy;
        who[0][tails[0]++] = sender[k];
        start[1][tails[1]] = at + busy + latency;
        who[1][tails[1]++] = k;
    }
    /* Numbers in preorder, so that a subtree is a range around from the root. */
    for (int k = 0; k < p; k++)
        below[k] = 1;
    for (int k = p - 1; k > 0; k--)
        below[sender[k]] += below[k];
    place[0] = 0;
    next[0] = 1;
    for (int k = 1; k < p; k++) {
        place[k] = next[sender[k]];
        next[sender[k]] += below[k];
        next[k] = place[k] + 1;
    }
    for (int k = p - 1; k > 0; k--, steps++) {
        joins.from[steps] = (int)(((int64_t)root + place[k]) % p);
        joins.to[steps] = (int)(((int64_t)root + place[sender[k]]) % p);
    }
    status = espi_commtree_from_joins(p, root, steps, joins.from, joins.to, false, tree);
out:
    for (int x = 0; x < 2; x++) {
        free(start[x]);
        free(who[x]);
    }
    free(sender);
    free(below);
    free(place);
    free(next);
    espi_joins_release(&joins);
    return status;
}

struct span {
    int lo, hi, root, rounds;
};

/* Root r of lo..hi, which has at most 2^rounds ranks, takes in round t a range of at most 2^t: from the left where
   bit t of the number of ranks on the left is set, else from the right. That exhausts the left exactly, and the
   right too, as what remains of 2^rounds - 1 covers it. */
static espi_status in_rank_order(int p, int root, struct espi_commtree *tree)
{
    struct espi_joins joins = {0, 0, NULL, NULL};
    struct span *stack = malloc(((size_t)p + 1) * sizeof *stack);
    int depth = 0, rounds = 0;
    espi_status status = ESPI_ERR_MEMORY;
    if (!stack || espi_joins_make(p, &joins) != ESPI_OK)
        goto out;
    while (((int64_t)1 << rounds) < p)
        rounds++;
    stack[depth++] = (struct span){0, p - 1, root, rounds};
    while (depth) {
        struct span x = stack[--depth];
        int lo = x.root, hi = x.root, left = x.root - x.lo;
        for (int t = 0; t < x.rounds; t++) {
            int64_t most = (int64_t)1 << t;
            if (left >> t & 1) {
                int from = lo - (int)most;
                stack[depth++] = (struct span){from, lo - 1, lo - 1, t};
                espi_join(&joins, lo - 1, x.root);
                lo = from;
            } else if (hi < x.hi) {
                int to = hi + most < x.hi ? (int)(hi + most) : x.hi;
                stack[depth++] = (struct span){hi + 1, to, hi + 1, t};
                espi_join(&joins, hi + 1, x.root);
                hi = to;
            }
        }
    }
    status = espi_commtree_from_joins(p, root, joins.steps, joins.from, joins.to, true, tree);
out:
    free(stack);
    espi_joins_release(&joins);
    return status;
}

espi_status espi_commtree_broadcast(int p, int root, const struct espi_commtree_traffic *traffic, bool in_order,
                                    struct espi_commtree *tree)
{
    const struct espi_commtree_model *model = traffic->model;
    double busy = model->alpha + model->beta * (double)traffic->bytes;
    *tree = ESPI_COMMTREE_INIT;
    /* Combining keeps the receiver busy as the message does. */
    if (traffic->op == ESPI_COMMTREE_GATHER)
        busy += model->gamma * (double)traffic->bytes;
    if (p < 1 || root < 0 || root >= p || traffic->bytes < 0 || !isfinite(busy) || busy < 0 || !(model->latency >= 0))
        return ESPI_ERR_ARGUMENT;
    return in_order ? in_rank_order(p, root, tree) : greedy_tree(p, root, busy, model->latency, tree);
}
