/* Trees made from joins, names of the kinds, and the entry point of all constructions. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commtree/internal.h"

static const char *const kind_names[ESPI_COMMTREE_KINDS] = {"linear",  "binary",    "binomial", "adaptive",
                                                            "optimal", "unordered", "two-size"};

const char *espi_commtree_kind_name(enum espi_commtree_kind kind)
{
    return (unsigned)kind < ESPI_COMMTREE_KINDS ? kind_names[kind] : NULL;
}

bool espi_commtree_kind_parse(const char *name, enum espi_commtree_kind *kind)
{
    for (int k = 0; k < ESPI_COMMTREE_KINDS; k++) {
        if (strcmp(name, kind_names[k]) == 0) {
            *kind = (enum espi_commtree_kind)k;
            return true;
        }
    }
    if (strcmp(name, "oblivious") == 0) { /* the published name */
        *kind = ESPI_COMMTREE_BINOMIAL;
        return true;
    }
    return false;
}

void espi_commtree_release(struct espi_commtree *tree)
{
    free(tree->parent);
    free(tree->first);
    free(tree->child);
    *tree = ESPI_COMMTREE_INIT;
}

espi_status espi_commtree_from_joins(int p, int root, int steps, const int *from, const int *to, bool ordered,
                                     struct espi_commtree *tree)
{
    espi_status status = ESPI_ERR_ARGUMENT;
    bool timely = true; /* nobody receives after having sent, so that there is no cycle */
    *tree = ESPI_COMMTREE_INIT;
    if (p < 1 || root < 0 || root >= p || steps < 0 || steps >= p)
        return ESPI_ERR_ARGUMENT;
    tree->p = p;
    tree->root = root;
    tree->n = steps + 1;
    tree->ordered = ordered;
    tree->parent = malloc((size_t)p * sizeof *tree->parent);
    tree->first = calloc((size_t)p + 2, sizeof *tree->first);
    tree->child = malloc((size_t)(steps ? steps : 1) * sizeof *tree->child);
    if (!tree->parent || !tree->first || !tree->child) {
        status = ESPI_ERR_MEMORY;
        goto fail;
    }
    for (int v = 0; v < p; v++)
        tree->parent[v] = ESPI_COMMTREE_ABSENT;
    tree->parent[root] = ESPI_COMMTREE_ROOT;
    /* Counting sort by receiver, stable, so time order is kept. first[] is shifted by two, filled, then right. */
    for (int s = 0; s < steps; s++) {
        int f = from[s], t = to[s];
        if (f < 0 || f >= p || t < 0 || t >= p || f == root || tree->parent[f] != ESPI_COMMTREE_ABSENT)
            goto fail;
        timely = timely && tree->parent[t] < 0;
        tree->parent[f] = t;
        tree->first[t + 2]++;
    }
    for (int v = 0; v < p; v++)
        tree->first[v + 2] += tree->first[v + 1];
    for (int s = 0; s < steps; s++)
        tree->child[tree->first[to[s] + 1]++] = from[s];
    /* n-1 edges and distinct senders: it is a tree if every sender's parent is in it and there is no cycle, that
       is, if all are reached from the root. */
    for (int s = 0; s < steps; s++) {
        if (tree->parent[to[s]] == ESPI_COMMTREE_ABSENT)
            goto fail;
    }
    if (timely)
        return ESPI_OK;
    int reached = 1, *queue = malloc((size_t)tree->n * sizeof *queue);
    if (!queue) {
        status = ESPI_ERR_MEMORY;
        goto fail;
    }
    queue[0] = root;
    for (int head = 0; head < reached; head++) {
        for (int e = tree->first[queue[head]]; e < tree->first[queue[head] + 1]; e++)
            queue[reached++] = tree->child[e];
    }
    free(queue);
    if (reached == tree->n)
        return ESPI_OK;
fail:
    espi_commtree_release(tree);
    return status;
}

espi_status espi_joins_make(int n, struct espi_joins *joins)
{
    joins->steps = 0;
    joins->capacity = n;
    joins->from = malloc((size_t)n * sizeof *joins->from);
    joins->to = malloc((size_t)n * sizeof *joins->to);
    if (joins->from && joins->to)
        return ESPI_OK;
    espi_joins_release(joins);
    return ESPI_ERR_MEMORY;
}

void espi_joins_release(struct espi_joins *joins)
{
    free(joins->from);
    free(joins->to);
    joins->from = joins->to = NULL;
}

espi_status espi_joins_tree(struct espi_joins *joins, const struct espi_compact *c, int p, int root, bool ordered,
                            struct espi_commtree *tree)
{
    for (int s = 0; s < joins->steps; s++) {
        joins->from[s] = c->rank[joins->from[s]];
        joins->to[s] = c->rank[joins->to[s]];
    }
    return espi_commtree_from_joins(p, c->rank[root], joins->steps, joins->from, joins->to, ordered, tree);
}

void espi_splits_join(const struct espi_split *split, int nodes, int single, int *scratch, struct espi_joins *joins,
                      int *root)
{
    *root = single;
    /* In reverse preorder parts come before wholes, and of two joins of one receiver the inner one first. */
    for (int v = nodes - 1; v >= 0; v--) {
        int l = split[v].left < 0 ? -1 - split[v].left : scratch[split[v].left];
        int r = split[v].right < 0 ? -1 - split[v].right : scratch[split[v].right];
        scratch[v] = split[v].to_left ? l : r;
        espi_join(joins, split[v].to_left ? r : l, scratch[v]);
        *root = scratch[v];
    }
}

static bool constant_ok(double x)
{
    return isfinite(x) && x >= 0;
}

espi_status espi_commtree_check(const struct espi_commtree_problem *problem, int64_t *total)
{
    const struct espi_commtree_model *m = &problem->model;
    int64_t sum = 0;
    if (problem->p < 1 || problem->p == INT_MAX || !problem->size || problem->root < ESPI_COMMTREE_BEST ||
        problem->root >= problem->p)
        return ESPI_ERR_ARGUMENT;
    if (!constant_ok(m->alpha) || !constant_ok(m->beta) || !constant_ok(m->gamma) || !constant_ok(m->latency))
        return ESPI_ERR_ARGUMENT;
    for (int v = 0; v < problem->p; v++) {
        if (problem->size[v] < 0)
            return ESPI_ERR_ARGUMENT;
        if (__builtin_add_overflow(sum, problem->size[v], &sum))
            return ESPI_ERR_OVERFLOW;
    }
    if (total)
        *total = sum;
    return ESPI_OK;
}

espi_status espi_compact_make(const struct espi_commtree_problem *problem, bool keep_empty, struct espi_compact *c)
{
    size_t p = (size_t)problem->p;
    c->n = 0;
    c->root = ESPI_COMMTREE_BEST;
    c->rank = malloc(p * sizeof *c->rank);
    c->size = malloc(p * sizeof *c->size);
    c->prefix = malloc((p + 1) * sizeof *c->prefix);
    if (!c->rank || !c->size || !c->prefix) {
        espi_compact_release(c);
        return ESPI_ERR_MEMORY;
    }
    c->prefix[0] = 0;
    for (int v = 0; v < problem->p; v++) {
        if (!problem->size[v] && v != problem->root && !keep_empty)
            continue;
        if (v == problem->root)
            c->root = c->n;
        c->rank[c->n] = v;
        c->size[c->n] = problem->size[v];
        c->prefix[c->n + 1] = c->prefix[c->n] + problem->size[v];
        c->n++;
    }
    if (c->n == 0) {
        c->n = 1;
        c->rank[0] = 0;
        c->size[0] = 0;
        c->prefix[1] = 0;
    }
    return ESPI_OK;
}

void espi_compact_release(struct espi_compact *c)
{
    free(c->rank);
    free(c->size);
    free(c->prefix);
    c->rank = NULL;
    c->size = c->prefix = NULL;
}

static espi_status build_kind(enum espi_commtree_kind kind, const struct espi_commtree_problem *problem,
                              bool keep_empty, struct espi_commtree *tree)
{
    static espi_status (*const builders[ESPI_COMMTREE_KINDS])(
        const struct espi_commtree_problem *, const struct espi_compact *, struct espi_commtree *) = {
        espi_build_linear,  espi_build_binary,    espi_build_binomial, espi_build_adaptive,
        espi_build_optimal, espi_build_unordered, espi_build_twosize};
    struct espi_compact c;
    *tree = ESPI_COMMTREE_INIT;
    if ((unsigned)kind >= ESPI_COMMTREE_KINDS)
        return ESPI_ERR_ARGUMENT;
    espi_status status = espi_commtree_check(problem, NULL);
    if (status == ESPI_OK)
        status = espi_compact_make(problem, keep_empty, &c);
    if (status != ESPI_OK)
        return status;
    status = builders[kind](problem, &c, tree);
    espi_compact_release(&c);
    return status;
}

espi_status espi_commtree_build(enum espi_commtree_kind kind, const struct espi_commtree_problem *problem,
                                struct espi_commtree *tree)
{
    bool keep = kind == ESPI_COMMTREE_BINARY || kind == ESPI_COMMTREE_BINOMIAL || kind == ESPI_COMMTREE_ADAPTIVE;
    return build_kind(kind, problem, keep, tree);
}

espi_status espi_commtree_build_compact(enum espi_commtree_kind kind, const struct espi_commtree_problem *problem,
                                        struct espi_commtree *tree)
{
    return build_kind(kind, problem, false, tree);
}
