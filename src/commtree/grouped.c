/* Trees for any number of ranks: neighbours are joined to groups, groups to larger ones, each by the optimal tree of
   its parts, until few enough are left for one table over all of them. A group that is complete is a part that may
   send or receive from then on. Where ranks share nodes, the first groups are the runs of neighbours of one node.

   What it gives up is mixing: no group receives from outside before it is complete, and none is left in two pieces.
   Whether times grow with the range is not proven for parts that have to be waited for; where they do not, a table
   promises what its tree does not keep, and the tree is still one. */
#include <float.h>
#include <stdlib.h>

#include "commtree/table.h"

/* FEW parts are what grouping aims at, MOST_PARTS what one table joins: quadratic in time, some milliseconds. A group
   that is no node has up to MOST_JOINED parts (the larger, the less is given up, and the longer it takes), and no
   more than HEAVY times the bytes of an even group: whatever is in it travels once more, so large blocks stay by
   themselves. Two neighbouring groups that were cut for that have more than that together, so n parts become at most
   n/each + 2n/(HEAVY*each). */
enum { FEW = ESPI_COMMTREE_GROUPED_RANKS, MOST_PARTS = FEW + FEW / 2, MOST_JOINED = 16, HEAVY = 4 };

struct parts {
    int n, root;   /* root: the part that holds the fixed root, or ESPI_COMMTREE_BEST */
    int *leader;   /* index that leads it */
    int64_t *from; /* n+1: bytes of all parts before */
    double *own, *ready;
    double *q;     /* n+1, of the group that is being joined */
    bool single;   /* each part is one index */
};

static bool times_may_fall(const struct espi_commtree_model *m)
{
    return m->gamma > m->beta || (m->latency > 0 && !m->early_copy && m->gamma > 0);
}

/* The parts begin .. end-1 become the part `to`, which is not behind them. */
static espi_status join_group(const struct espi_commtree_model *m, struct parts *w, int begin, int end, int to,
                              struct espi_joins *joins)
{
    int n = end - begin, leader = 0, base = joins->steps;
    bool holds = w->root >= begin && w->root < end;
    double time = w->ready[begin], own = w->own[begin];
    espi_status status = ESPI_OK;
    for (int v = 0; v <= n; v++)
        w->q[v] = m->beta * (double)(w->from[begin + v] - w->from[begin]);
    if (n > 1) {
        struct espi_table s = {n, w->q, w->own + begin, w->ready + begin, m->alpha, m->latency,
                               m->early_copy || !w->single, w->single && times_may_fall(m),
                               4 * DBL_EPSILON * (w->q[n] + m->alpha)};
        status = espi_table_joins(&s, holds ? w->root - begin : ESPI_COMMTREE_BEST, joins, &leader, &time);
        own = time;
    }
    for (int s = base; s < joins->steps; s++) {
        joins->from[s] = w->leader[begin + joins->from[s]];
        joins->to[s] = w->leader[begin + joins->to[s]];
    }
    w->leader[to] = w->leader[begin + leader];
    w->from[to] = w->from[begin];
    w->own[to] = own;
    w->ready[to] = time;
    if (holds)
        w->root = to;
    return status;
}

/* Parts from `begin` on become a smaller number of parts in the same place; returns the new end. */
static int join_neighbours(const struct espi_commtree_model *m, struct parts *w, int begin, int end,
                           struct espi_joins *joins, espi_status *status)
{
    int n = end - begin, each = (n + FEW - 1) / FEW, to = begin;
    each = each < MOST_JOINED ? each : MOST_JOINED;
    const double heavy = HEAVY * (double)each * (double)(w->from[end] - w->from[begin]) / n;
    for (int first = begin, next; first < end && *status == ESPI_OK; first = next, to++) {
        for (next = first + 1; next < end && next - first < each; next++)
            if ((double)(w->from[next + 1] - w->from[first]) > heavy)
                break;
        *status = join_group(m, w, first, next, to, joins);
    }
    return to;
}

/* The same again and again, until one is left. */
static espi_status join_all(const struct espi_commtree_model *m, struct parts *w, int begin, int end, int to,
                            struct espi_joins *joins)
{
    espi_status status = ESPI_OK;
    int most = w->single ? FEW : MOST_PARTS;
    int64_t last = w->from[end];
    for (; end - begin > most && status == ESPI_OK; most = MOST_PARTS) {
        end = join_neighbours(m, w, begin, end, joins, &status);
        w->from[end] = last;
        w->single = false;
    }
    return status == ESPI_OK ? join_group(m, w, begin, end, to, joins) : status;
}

/* Each run of neighbours of one node becomes a part. */
static espi_status join_nodes(const struct espi_commtree_levels *levels, const struct espi_compact *c,
                              struct parts *w, struct espi_joins *joins)
{
    espi_status status = ESPI_OK;
    int runs = 0;
    bool all_single = true;
    for (int begin = 0, end; begin < c->n && status == ESPI_OK; begin = end, runs++) {
        for (end = begin + 1; end < c->n && levels->node[c->rank[end]] == levels->node[c->rank[begin]];)
            end++;
        w->single = true;
        status = join_all(&levels->within, w, begin, end, runs, joins);
        all_single = all_single && end == begin + 1;
    }
    w->n = runs;
    w->from[runs] = c->prefix[c->n];
    w->single = all_single;
    return status;
}

espi_status espi_commtree_grouped(const struct espi_commtree_problem *problem,
                                  const struct espi_commtree_levels *levels, struct espi_commtree *tree)
{
    const struct espi_commtree_model *m = levels ? &levels->across : &problem->model;
    const double gamma = levels ? levels->within.gamma : m->gamma;
    struct espi_joins joins = {0, 0, NULL, NULL};
    struct espi_compact c;
    struct parts w = {0};
    *tree = ESPI_COMMTREE_INIT;
    espi_status status = espi_commtree_check(problem, NULL);
    if (status == ESPI_OK && levels && !levels->node)
        status = ESPI_ERR_ARGUMENT;
    if (status == ESPI_OK)
        status = espi_compact_make(problem, false, &c);
    if (status != ESPI_OK)
        return status;
    size_t n = (size_t)c.n;
    w = (struct parts){.n = c.n, .root = c.root, .single = true};
    w.leader = malloc(n * sizeof *w.leader);
    w.from = malloc((n + 1) * sizeof *w.from);
    w.own = malloc(n * sizeof *w.own);
    w.ready = calloc(n, sizeof *w.ready);
    w.q = malloc((MOST_PARTS + 1) * sizeof *w.q);
    status = w.leader && w.from && w.own && w.ready && w.q ? espi_joins_make(c.n, &joins) : ESPI_ERR_MEMORY;
    for (int v = 0; v < c.n && status == ESPI_OK; v++) {
        w.leader[v] = v;
        w.from[v] = c.prefix[v];
        w.own[v] = gamma * (double)c.size[v];
    }
    if (status == ESPI_OK) {
        w.from[c.n] = c.prefix[c.n];
        status = levels ? join_nodes(levels, &c, &w, &joins) : ESPI_OK;
    }
    if (status == ESPI_OK)
        status = join_all(m, &w, 0, w.n, 0, &joins);
    if (status == ESPI_OK)
        status = espi_joins_tree(&joins, &c, problem->p, w.leader[0], true, tree);
    espi_joins_release(&joins);
    espi_compact_release(&c);
    free(w.leader);
    free(w.from);
    free(w.own);
    free(w.ready);
    free(w.q);
    return status;
}
