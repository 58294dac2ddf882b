/* Trees for nodes and the network between them, for more ranks than the exact method takes. Each node gathers by its
   optimal tree, then neighbouring nodes are joined by a dynamic program in which a node is one element that is ready
   at its completion time: O(N^3) for N nodes with a tight inner loop. What it gives up is mixing: a node's ranks
   never receive from outside before the node is complete, and no node is left in two parts. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "commtree/two_level.h"

#define MOST_NODES 2048

struct nodes {
    int n, root;       /* root: the node of the fixed root, or ESPI_COMMTREE_BEST */
    int *leader;       /* rank that leads the node */
    bool *alone;       /* the leader has not copied its block yet */
    double *ready, *own;
    double *q;         /* n+1: beta across * (bytes before) */
    double *t;         /* T(i,j) by columns; with a fixed root, of trees with that root where the range holds it */
};

/* Joins inside the nodes go to `joins`; fills leaders and ready times. */
static espi_status join_inside(const struct espi_commtree_problem *problem, const struct espi_commtree_levels *levels,
                               const struct espi_compact *c, struct nodes *nodes, struct espi_joins *joins)
{
    nodes->n = 0;
    nodes->root = ESPI_COMMTREE_BEST;
    nodes->q[0] = 0;
    for (int from = 0, to; from < c->n; from = to) {
        to = from + 1;
        while (to < c->n && levels->node[c->rank[to]] == levels->node[c->rank[from]])
            to++;
        bool here = c->root >= from && c->root < to;
        struct espi_commtree_problem part = {to - from, c->size + from, here ? c->root - from : ESPI_COMMTREE_BEST,
                                             levels->within, problem->max_bytes};
        struct espi_commtree tree;
        int x = nodes->n++;
        espi_status status = espi_commtree_build(ESPI_COMMTREE_OPTIMAL, &part, &tree);
        if (status != ESPI_OK)
            return status;
        status = espi_commtree_time(&tree, part.size, &part.model, ESPI_COMMTREE_GATHER, &nodes->ready[x]);
        nodes->leader[x] = c->rank[from + tree.root];
        nodes->alone[x] = tree.n == 1;
        nodes->own[x] = tree.n == 1 ? part.model.gamma * (double)part.size[tree.root] : 0;
        nodes->q[x + 1] = levels->across.beta * (double)c->prefix[to];
        if (here)
            nodes->root = x;
        for (int v = 0; v < tree.p; v++) {
            for (int e = tree.first[v]; e < tree.first[v + 1]; e++)
                espi_join(joins, c->rank[from + tree.child[e]], c->rank[from + v]);
        }
        espi_commtree_release(&tree);
        if (status != ESPI_OK)
            return status;
    }
    return ESPI_OK;
}

/* Node ranges i..k and k+1..j with times a and b. */
static double right_sends(const struct nodes *w, const struct espi_commtree_model *m, int i, int k, int j, double a,
                          double b)
{
    double ready = i == k && w->alone[i] ? w->own[i] : a;
    return espi_max(ready, b + m->latency) + m->alpha + (w->q[j + 1] - w->q[k + 1]);
}

static double left_sends(const struct nodes *w, const struct espi_commtree_model *m, int i, int k, int j, double a,
                         double b)
{
    double sent = m->alpha + (w->q[k + 1] - w->q[i]);
    if (k + 1 < j || !w->alone[j])
        return espi_max(a + m->latency, b) + sent;
    return m->early_copy ? espi_max(a + m->latency, w->own[j]) + sent : a + m->latency + sent + w->own[j];
}

static double *t_at(const struct nodes *w, int i, int j)
{
    return w->t + (size_t)j * (size_t)w->n + (size_t)i;
}

/* Best split of i..j, fixed root inside or any; `least` and direction. */
static int split_of(const struct nodes *w, const struct espi_commtree_model *m, int i, int j, double *least,
                    bool *to_left)
{
    bool holds = w->root != ESPI_COMMTREE_BEST && i <= w->root && w->root <= j;
    int chosen = i;
    *least = DBL_MAX;
    for (int k = i; k < j; k++) {
        double a = *t_at(w, i, k), b = *t_at(w, k + 1, j);
        double r = holds && w->root > k ? DBL_MAX : right_sends(w, m, i, k, j, a, b);
        double l = holds && w->root <= k ? DBL_MAX : left_sends(w, m, i, k, j, a, b);
        if (espi_min(r, l) < *least) {
            *least = espi_min(r, l);
            *to_left = r <= l;
            chosen = k;
        }
    }
    return chosen;
}

struct node_range {
    int i, j, parent;
    bool right;
};

static espi_status join_across(const struct espi_commtree_levels *levels, const struct nodes *w,
                               struct espi_joins *joins, int *root)
{
    const struct espi_commtree_model *m = &levels->across;
    size_t n = (size_t)w->n;
    int count = 0, depth = 0, top = 0, base = joins->steps;
    struct espi_split *split = malloc(n * sizeof *split);
    struct node_range *stack = malloc((n + 1) * sizeof *stack);
    int *scratch = malloc(n * sizeof *scratch);
    espi_status status = split && stack && scratch ? ESPI_OK : ESPI_ERR_MEMORY;
    bool to_left = true;
    if (status != ESPI_OK)
        goto out;
    /* T(i,j) any root, or with the root where the range holds it: one table serves, since those never mix. */
    for (int i = w->n - 1; i >= 0; i--) {
        *t_at(w, i, i) = w->ready[i];
        for (int j = i + 1; j < w->n; j++)
            split_of(w, m, i, j, t_at(w, i, j), &to_left);
    }
    stack[depth++] = (struct node_range){0, w->n - 1, -1, false};
    while (depth) {
        struct node_range x = stack[--depth];
        int value = x.i == x.j ? -1 - x.i : count;
        double time;
        if (x.parent >= 0)
            *(x.right ? &split[x.parent].right : &split[x.parent].left) = value;
        if (value < 0)
            continue;
        int k = split_of(w, m, x.i, x.j, &time, &to_left);
        split[count].to_left = to_left;
        stack[depth++] = (struct node_range){x.i, k, count, false};
        stack[depth++] = (struct node_range){k + 1, x.j, count, true};
        count++;
    }
    espi_splits_join(split, count, 0, scratch, joins, &top);
    for (int s = base; s < joins->steps; s++) {
        joins->from[s] = w->leader[joins->from[s]];
        joins->to[s] = w->leader[joins->to[s]];
    }
    *root = w->leader[top];
out:
    free(split);
    free(stack);
    free(scratch);
    return status;
}

espi_status espi_two_level_composed(const struct espi_commtree_problem *problem,
                                    const struct espi_commtree_levels *levels, struct espi_commtree *tree)
{
    struct espi_compact c;
    struct nodes w;
    struct espi_joins joins = {0, 0, NULL, NULL};
    int root = 0;
    *tree = ESPI_COMMTREE_INIT;
    memset(&w, 0, sizeof w);
    espi_status status = espi_compact_make(problem, false, &c);
    if (status != ESPI_OK)
        return status;
    size_t n = (size_t)c.n, runs = 1;
    for (int v = 1; v < c.n; v++)
        runs += levels->node[c.rank[v]] != levels->node[c.rank[v - 1]];
    w.leader = malloc(n * sizeof *w.leader);
    w.alone = malloc(n * sizeof *w.alone);
    w.ready = malloc(n * sizeof *w.ready);
    w.own = malloc(n * sizeof *w.own);
    w.q = malloc((n + 1) * sizeof *w.q);
    w.t = runs <= MOST_NODES ? malloc(runs * runs * sizeof *w.t) : NULL;
    if (!w.leader || !w.alone || !w.ready || !w.own || !w.q || !w.t)
        status = runs > MOST_NODES ? ESPI_ERR_LIMIT : ESPI_ERR_MEMORY;
    if (status == ESPI_OK)
        status = espi_joins_make(c.n, &joins);
    if (status == ESPI_OK)
        status = join_inside(problem, levels, &c, &w, &joins);
    if (status == ESPI_OK)
        status = join_across(levels, &w, &joins, &root);
    if (status == ESPI_OK)
        status = espi_commtree_from_joins(problem->p, root, joins.steps, joins.from, joins.to, true, tree);
    espi_joins_release(&joins);
    espi_compact_release(&c);
    free(w.leader);
    free(w.alone);
    free(w.ready);
    free(w.own);
    free(w.q);
    free(w.t);
    return status;
}
