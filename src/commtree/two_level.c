/* Two levels, nodes and the network between them: chooses the method. */
#include <float.h>
#include <stdlib.h>

#include "commtree/two_level.h"

struct part {
    int i, j, state, parent;
    bool right;
};

espi_status espi_two_level_walk(const struct espi_two_level_problem *w, const void *data,
                                espi_two_level_chooser *choose, int state, struct espi_commtree *tree)
{
    size_t n = (size_t)w->c->n;
    int nodes = 0, depth = 0, top = 0;
    struct espi_split *split = malloc(n * sizeof *split);
    struct part *stack = malloc((n + 1) * sizeof *stack);
    int *scratch = malloc(n * sizeof *scratch);
    struct espi_joins joins = {0, 0, NULL, NULL};
    espi_status status = ESPI_ERR_MEMORY;
    if (!split || !stack || !scratch || espi_joins_make(w->c->n, &joins) != ESPI_OK)
        goto out;
    stack[depth++] = (struct part){0, w->c->n - 1, state, -1, false};
    while (depth) {
        struct part x = stack[--depth];
        struct espi_two_level_choice best;
        int at = x.i == x.j ? -1 - x.i : nodes;
        if (x.parent >= 0)
            *(x.right ? &split[x.parent].right : &split[x.parent].left) = at;
        if (at < 0)
            continue;
        choose(data, x.state, x.i, x.j, &best);
        split[nodes].to_left = best.to_left;
        stack[depth++] = (struct part){x.i, best.k, best.left, nodes, false};
        stack[depth++] = (struct part){best.k + 1, x.j, best.right, nodes, true};
        nodes++;
    }
    espi_splits_join(split, nodes, 0, scratch, &joins, &top);
    status = espi_joins_tree(&joins, w->c, w->p, top, true, tree);
out:
    free(split);
    free(stack);
    free(scratch);
    espi_joins_release(&joins);
    return status;
}

struct numbered {
    int node, index;
};

static int by_node(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Numbers the nodes 0, 1, ... in the order of their first indices, and says whether each is a range. */
static espi_status number_nodes(const struct espi_compact *c, const int *given, int *node, int *nodes, bool *ranges)
{
    size_t n = (size_t)c->n;
    struct numbered *sorted = malloc(n * sizeof *sorted);
    int *first = malloc(n * sizeof *first), *number = malloc(n * sizeof *number);
    espi_status status = sorted && first && number ? ESPI_OK : ESPI_ERR_MEMORY;
    if (status == ESPI_OK) {
        for (int v = 0; v < c->n; v++)
            sorted[v] = (struct numbered){given[c->rank[v]], v};
        qsort(sorted, n, sizeof *sorted, by_node);
        for (int x = 0; x < c->n; x++) {
            bool same = x && sorted[x].node == sorted[x - 1].node;
            first[sorted[x].index] = same ? first[sorted[x - 1].index] : sorted[x].index;
        }
        *nodes = 0;
        *ranges = true;
        for (int v = 0; v < c->n; v++) {
            if (first[v] == v)
                number[v] = (*nodes)++;
            node[v] = number[first[v]];
            *ranges = *ranges && (v == 0 || node[v] >= node[v - 1]);
        }
    }
    free(sorted);
    free(first);
    free(number);
    return status;
}

/* One of the exact methods. LIMIT where none applies. */
static espi_status exact_tree(const struct espi_commtree_problem *problem, const struct espi_commtree_levels *levels,
                              struct espi_commtree *tree)
{
    const struct espi_commtree_model *in = &levels->within, *out = &levels->across;
    struct espi_compact c;
    espi_status status = espi_compact_make(problem, false, &c);
    if (status != ESPI_OK)
        return status;
    size_t n = (size_t)c.n;
    int *node = malloc(n * sizeof *node), nodes = 0;
    double *q = malloc((3 * n + 2) * sizeof *q), *q_out = q + n + 1, *own = q_out + n + 1;
    bool ranges = true;
    status = node && q ? number_nodes(&c, levels->node, node, &nodes, &ranges) : ESPI_ERR_MEMORY;
    if (status == ESPI_OK) {
        /* Where the network is faster than the node, the method takes it for equally fast. */
        double beta = espi_max(in->beta, out->beta);
        for (size_t v = 0; v <= n; v++) {
            q[v] = in->beta * (double)c.prefix[v];
            q_out[v] = beta * (double)c.prefix[v];
        }
        for (size_t v = 0; v < n; v++)
            own[v] = in->gamma * (double)c.size[v];
        struct espi_two_level_problem w = {
            .c = &c, .p = problem->p, .in = {in->alpha, in->latency, q},
            .out = {espi_max(in->alpha, out->alpha), espi_max(in->latency, out->latency), q_out}, .own = own,
            .early = in->early_copy, .node = node, .nodes = nodes,
            .max_bytes = problem->max_bytes};
        status = ranges ? espi_two_level_exact(&w, tree) : espi_two_level_mixed(&w, tree);
    }
    espi_compact_release(&c);
    free(node);
    free(q);
    return status;
}

static espi_status candidate_tree(int which, const struct espi_commtree_problem *problem,
                                  const struct espi_commtree_levels *levels, struct espi_commtree *tree)
{
    struct espi_commtree_problem flat = *problem;
    flat.model = which == 1 ? levels->within : levels->across;
    flat.model.gamma = levels->within.gamma;
    switch (which) {
    case 0:
        return exact_tree(problem, levels, tree);
    case 1:
    case 2:
        return espi_commtree_build(ESPI_COMMTREE_OPTIMAL, &flat, tree);
    case 3:
        return espi_commtree_grouped(problem, levels, tree);
    default:
        return espi_commtree_build_compact(ESPI_COMMTREE_ADAPTIVE, &flat, tree);
    }
}

espi_status espi_commtree_two_level(const struct espi_commtree_problem *problem,
                                    const struct espi_commtree_levels *levels, struct espi_commtree *tree)
{
    const struct espi_commtree_model *in = &levels->within, *out = &levels->across;
    struct espi_commtree_problem checked = *problem;
    double best = DBL_MAX;
    *tree = ESPI_COMMTREE_INIT;
    espi_status status = espi_commtree_check(problem, NULL);
    for (int x = 0; status == ESPI_OK && x < 2; x++) {
        checked.model = x ? *out : *in;
        status = espi_commtree_check(&checked, NULL);
    }
    if (status == ESPI_OK && (!levels->node || in->early_copy != out->early_copy))
        status = ESPI_ERR_ARGUMENT;
    if (status != ESPI_OK)
        return status;
    bool usual = in->alpha <= out->alpha && in->beta <= out->beta && in->latency <= out->latency;
    bool done = false; /* the optimum is found */
    for (int x = 0; x < 5 && !done; x++) {
        struct espi_commtree next = ESPI_COMMTREE_INIT;
        double time = 0;
        status = candidate_tree(x, problem, levels, &next);
        if (status == ESPI_OK)
            status = espi_commtree_time_levels(&next, problem->size, levels, ESPI_COMMTREE_GATHER, &time);
        if (status == ESPI_OK && time < best) {
            espi_commtree_release(tree);
            *tree = next;
            best = time;
            done = done || (x == 0 && usual);
        } else {
            espi_commtree_release(&next);
        }
        if (status != ESPI_OK && status != ESPI_ERR_LIMIT) {
            espi_commtree_release(tree);
            return status;
        }
    }
    return ESPI_OK;
}
