/* Trees whose subtrees need not be ranges. Finding the best is NP-hard (Traeff; from PARTITION): exact over all
   subsets for up to 14 ranks with data, beyond that the best ordered tree of the blocks sorted by decreasing size,
   and of the natural order, whichever is faster. A rank may always copy its block while it waits for its first
   child. */
#include <float.h>
#include <stdlib.h>

#include "commtree/internal.h"

#define EXACT_RANKS 14

struct subsets {
    const struct espi_commtree_model *model;
    const double *own;     /* per index: gamma * size */
    const double *bytes;   /* per set: beta * size */
    const double *best;    /* per set: any root */
    const double *rooted;  /* per set that holds the fixed root, or NULL */
    uint32_t root_bit;
};

/* Receiver set a, sender set b. */
static double joined_time(const struct subsets *s, const double *time, uint32_t a, uint32_t b)
{
    double ready = (a & (a - 1)) ? time[a] : s->own[__builtin_ctz(a)];
    return espi_max(ready, s->best[b] + s->model->latency) + s->model->alpha + s->bytes[b];
}

/* Best receiver set within `all`; with `fixed` it must hold the root. */
static uint32_t best_receiver(const struct subsets *s, uint32_t all, bool fixed, double *least)
{
    const double *time = fixed ? s->rooted : s->best;
    uint32_t chosen = 0;
    *least = DBL_MAX;
    for (uint32_t a = (all - 1) & all; a; a = (a - 1) & all) {
        if (fixed && !(a & s->root_bit))
            continue;
        double t = joined_time(s, time, a, all ^ a);
        if (t < *least) {
            *least = t;
            chosen = a;
        }
    }
    return chosen;
}

struct part {
    uint32_t set;
    int parent;
    bool receiver;
};

static espi_status exact_tree(const struct espi_commtree_problem *problem, const struct espi_compact *c,
                              struct espi_commtree *tree)
{
    int n = c->n, nodes = 0, depth = 0, root = 0, scratch[EXACT_RANKS];
    size_t sets = (size_t)1 << n;
    double own[EXACT_RANKS], *bytes = malloc(sets * sizeof(double)), *best = malloc(sets * sizeof(double));
    double *rooted = malloc(sets * sizeof(double)), time;
    struct espi_split split[EXACT_RANKS];
    struct part stack[2 * EXACT_RANKS];
    struct espi_joins joins = {0, 0, NULL, NULL};
    espi_status status = espi_joins_make(n, &joins);
    bool fixed = c->root != ESPI_COMMTREE_BEST;
    if (!bytes || !best || !rooted || status != ESPI_OK) {
        status = ESPI_ERR_MEMORY;
        goto out;
    }
    struct subsets s = {&problem->model, own, bytes, best, rooted, fixed ? 1u << c->root : 0};
    for (int v = 0; v < n; v++)
        own[v] = problem->model.gamma * (double)c->size[v];
    for (uint32_t set = 1; set < sets; set++) {
        int64_t sum = 0;
        for (int v = 0; v < n; v++)
            sum += set >> v & 1 ? c->size[v] : 0;
        bytes[set] = problem->model.beta * (double)sum;
        best[set] = rooted[set] = 0;
        if (!(set & (set - 1)))
            continue;
        best_receiver(&s, set, false, &best[set]);
        if (set & s.root_bit)
            best_receiver(&s, set, true, &rooted[set]);
    }
    stack[depth++] = (struct part){(uint32_t)sets - 1, -1, false};
    while (depth) {
        struct part r = stack[--depth];
        int value = r.set & (r.set - 1) ? nodes : -1 - __builtin_ctz(r.set);
        if (r.parent >= 0)
            *(r.receiver ? &split[r.parent].left : &split[r.parent].right) = value;
        if (value < 0)
            continue;
        uint32_t a = best_receiver(&s, r.set, r.set & s.root_bit, &time);
        split[nodes].to_left = true;
        stack[depth++] = (struct part){a, nodes, true};
        stack[depth++] = (struct part){r.set ^ a, nodes, false};
        nodes++;
    }
    espi_splits_join(split, nodes, 0, scratch, &joins, &root);
    status = espi_joins_tree(&joins, c, problem->p, root, false, tree);
out:
    free(bytes);
    free(best);
    free(rooted);
    espi_joins_release(&joins);
    return status;
}

struct keyed {
    int64_t size;
    int index;
};

static int by_size(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static espi_status sorted_tree(const struct espi_commtree_problem *problem, const struct espi_compact *c,
                               struct espi_commtree *tree)
{
    size_t n = (size_t)c->n;
    struct keyed *keyed = malloc(n * sizeof *keyed);
    int64_t *size = malloc(n * sizeof *size), *prefix = malloc((n + 1) * sizeof *prefix);
    int *rank = malloc(n * sizeof *rank);
    struct espi_commtree plain = ESPI_COMMTREE_INIT;
    espi_status status = ESPI_ERR_MEMORY;
    double time = 0, plain_time = 0;
    if (!keyed || !size || !prefix || !rank)
        goto out;
    struct espi_compact order = {c->n, c->root, rank, size, prefix};
    struct espi_commtree_problem early = *problem;
    early.model.early_copy = true; /* no order to keep, so the copy may come first */
    for (int v = 0; v < c->n; v++)
        keyed[v] = (struct keyed){v == c->root ? INT64_MAX : c->size[v], v};
    qsort(keyed, n, sizeof *keyed, by_size);
    prefix[0] = 0;
    for (int v = 0; v < c->n; v++) {
        rank[v] = c->rank[keyed[v].index];
        size[v] = c->size[keyed[v].index];
        prefix[v + 1] = prefix[v] + size[v];
    }
    if (c->root != ESPI_COMMTREE_BEST)
        order.root = 0;
    status = espi_build_optimal(&early, &order, tree);
    if (status != ESPI_OK)
        goto out;
    tree->ordered = false;
    status = espi_build_optimal(&early, c, &plain);
    if (status != ESPI_OK)
        goto fail;
    plain.ordered = false;
    status = espi_commtree_time(tree, problem->size, &problem->model, ESPI_COMMTREE_GATHER, &time);
    if (status == ESPI_OK)
        status = espi_commtree_time(&plain, problem->size, &problem->model, ESPI_COMMTREE_GATHER, &plain_time);
    if (status != ESPI_OK)
        goto fail;
    if (plain_time < time) {
        espi_commtree_release(tree);
        *tree = plain;
        plain = ESPI_COMMTREE_INIT;
    }
    goto out;
fail:
    espi_commtree_release(tree);
out:
    espi_commtree_release(&plain);
    free(keyed);
    free(size);
    free(prefix);
    free(rank);
    return status;
}

espi_status espi_build_unordered(const struct espi_commtree_problem *problem, const struct espi_compact *c,
                                 struct espi_commtree *tree)
{
    return c->n <= EXACT_RANKS ? exact_tree(problem, c, tree) : sorted_tree(problem, c, tree);
}
