/* Plans for graphs in general, by branch and bound.

   Nodes are chosen in the reverse order of their elimination. What the nodes still open cost at least is the sum of
   the tables that they sent (Dechter and Rish's mini-buckets, see elimination.h; as a bound for searches: K. Kask,
   R. Dechter, AIJ 129, 2001); where no table was split that is what they do cost, and the first descent ends at the
   best plan. */
#include <stdlib.h>
#include <string.h>

#include "placement/elimination.h"

struct branch {
    double bound; /* least cost of all plans from here on, at least */
    int method;
};

/* The branches of a step, best first, and which of them is next. */
struct level {
    struct branch *branch;
    int n, next;
};

struct search {
    struct espi_place_elimination e;
    double best;         /* the least cost so far */
    int *kept;           /* its methods go here; NULL: nowhere */
    int barred, without; /* a node and a method that it is not to have; -1: none */
    struct level *level; /* of each step */
    int *method;         /* those of steps above the present one are chosen */
    int *sent;           /* of each step: its first message; others follow in next_sent */
    int *next_sent;
    uint64_t steps, left; /* that may be made, and those still to be made */
    bool whole;          /* all costs are whole numbers */
    double slack;        /* bounds this near to the best plan are not worth a look: they may be rounded */
};

static int compare_branches(const void *a, const void *b)
{
    const struct branch *x = a, *y = b;
    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    return x->method - y->method;
}

/* The branches of a step below a bound; those that cannot be better than what is known are left out. */
static void open_level(struct search *search, int step, double above)
{
    const struct espi_place_elimination *e = &search->e;
    struct level *level = &search->level[step];
    int v = e->order[step];
    double promised = e->constant[step]; /* what `above` has counted for this node */

    for (int f = search->sent[step]; f >= 0; f = search->next_sent[f])
        promised += espi_place_lookup(e, &e->factor[f], search->method);
    level->n = level->next = 0;
    for (int j = 0; j < espi_place_methods(e->graph, v); j++) {
        if (v == search->barred && j == search->without)
            continue;
        search->method[v] = j;
        double bound = above - promised + espi_place_step_cost(e, step, search->method);
        if (bound < search->best - search->slack)
            level->branch[level->n++] = (struct branch){bound, j};
    }
    qsort(level->branch, (size_t)level->n, sizeof *level->branch, compare_branches);
    search->left -= search->left > 0;
}

static void keep_if_better(struct search *search)
{
    double cost = espi_place_total(search->e.graph, search->method);
    if (cost < search->best) {
        search->best = cost;
        search->slack = search->whole && espi_place_is_exact(cost) ? 0 : cost * 1e-13;
        if (search->kept != NULL)
            memcpy(search->kept, search->method, (size_t)search->e.graph->nodes * sizeof *search->method);
    }
}

/* True at the end, false when steps ran out. */
static bool descend(struct search *search)
{
    int top = search->e.graph->nodes - 1, step = top;
    open_level(search, step, search->e.bound);
    while (step <= top) {
        struct level *level = &search->level[step];
        if (level->next == level->n || level->branch[level->next].bound >= search->best - search->slack) {
            level->next = level->n;
            step++;
            continue;
        }
        if (search->left == 0)
            return false;
        const struct branch *branch = &level->branch[level->next++];
        search->method[search->e.order[step]] = branch->method;
        if (step == 0)
            keep_if_better(search);
        else
            open_level(search, --step, branch->bound);
    }
    return true;
}

/* What was left open could still have cost this. */
static double open_bound(const struct search *search)
{
    double bound = search->best;
    for (int step = 0; step < search->e.graph->nodes; step++) {
        const struct level *level = &search->level[step];
        if (level->next < level->n && level->branch[level->next].bound < bound)
            bound = level->branch[level->next].bound;
    }
    return bound;
}

/* For each node another search, in which its method of the best plan is barred; what is left of the steps is shared
   out to them evenly. The bounds hold as they are: a choice less makes nothing cheaper. */
static void find_second(struct search *search, struct espi_place_plan *plan)
{
    int n = search->e.graph->nodes;
    uint64_t left = search->left;

    search->kept = NULL;
    for (int v = 0; v < n; v++) {
        uint64_t share = left / (uint64_t)(n - v);
        search->barred = v;
        search->without = plan->method[v];
        search->best = INFINITY;
        search->slack = 0;
        search->left = share;
        bool whole = espi_place_methods(search->e.graph, v) == 1 || descend(search);
        plan->runner_up[v] = whole ? search->best : NAN;
        left -= share - search->left;
    }
    search->left = left;
}

static size_t entries_of(const struct espi_place_elimination *e, const struct espi_place_factor *factor)
{
    size_t entries = 1;
    for (int x = 0; x < factor->vars; x++)
        entries *= (size_t)espi_place_methods(e->graph, factor->var[x]);
    return entries;
}

/* Tables of the graph itself have no source; what is impossible is in no sum that counts. */
static bool has_whole_costs(const struct espi_place_elimination *e)
{
    for (int f = 0; f < e->factors; f++) {
        const struct espi_place_factor *factor = &e->factor[f];
        if (factor->source >= 0)
            continue;
        for (size_t x = 0; x < entries_of(e, factor); x++)
            if (!isinf(factor->value[x]) && !espi_place_is_exact(factor->value[x]))
                return false;
    }
    return true;
}

/* Where the tables do not fit, smaller ones do: the bounds are less sharp then, and hold. */
static espi_status find_bounds(struct search *search, const struct espi_place_graph *graph,
                               const struct espi_place_options *options)
{
    enum { PART = 16 };
    struct espi_place_options o = *options;

    o.way = ESPI_PLACE_SEARCH;
    for (;; o.max_entries /= PART) {
        espi_status status = espi_place_elimination_init(&search->e, graph, &o);
        if (status == ESPI_OK)
            status = espi_place_eliminate(&search->e);
        if (status != ESPI_ERR_LIMIT || o.max_entries < PART)
            return status;
        espi_place_elimination_release(&search->e);
    }
}

static espi_status prepare(struct search *search)
{
    struct espi_place_elimination *e = &search->e;
    size_t n = (size_t)e->graph->nodes;

    search->level = espi_arena_calloc(&e->arena, n, sizeof *search->level);
    search->method = espi_arena_calloc(&e->arena, n, sizeof *search->method);
    search->sent = espi_arena_alloc(&e->arena, n * sizeof *search->sent);
    search->next_sent = espi_arena_alloc(&e->arena, (size_t)e->factors * sizeof *search->next_sent);
    if (search->level == NULL || search->method == NULL || search->sent == NULL || search->next_sent == NULL)
        return ESPI_ERR_MEMORY;
    for (size_t k = 0; k < n; k++) {
        size_t methods = (size_t)espi_place_methods(e->graph, e->order[k]);
        search->level[k].branch = espi_arena_alloc(&e->arena, methods * sizeof *search->level[k].branch);
        if (search->level[k].branch == NULL)
            return ESPI_ERR_MEMORY;
        search->sent[k] = -1;
    }
    for (int f = 0; f < e->factors; f++) {
        if (e->factor[f].source >= 0) {
            search->next_sent[f] = search->sent[e->factor[f].source];
            search->sent[e->factor[f].source] = f;
        }
    }
    search->whole = has_whole_costs(e);
    return ESPI_OK;
}

espi_status espi_place_plan_search(const struct espi_place_graph *graph, const struct espi_place_options *options,
                                   struct espi_place_plan *plan)
{
    struct search search = {.best = INFINITY, .kept = plan->method, .barred = -1};
    uint64_t descent = 2 * (uint64_t)graph->nodes; /* enough for a first plan, where everything is possible */

    search.steps = search.left = options->max_steps > descent ? options->max_steps : descent;
    for (int v = 0; v < graph->nodes; v++) {
        if (espi_place_methods(graph, v) == 0) {
            espi_place_plan_none(graph, plan);
            return ESPI_OK;
        }
    }
    espi_status status = find_bounds(&search, graph, options);
    if (status == ESPI_OK)
        status = prepare(&search);
    if (status == ESPI_OK) {
        plan->exact = graph->nodes == 0 || isinf(search.e.bound) || descend(&search);
        plan->cost = graph->nodes == 0 ? 0 : search.best;
        plan->lower_bound = plan->exact ? plan->cost : open_bound(&search);
        if (isinf(plan->cost) && !plan->exact)
            status = ESPI_ERR_LIMIT;
        else if (isinf(plan->cost))
            espi_place_plan_none(graph, plan);
        else if (plan->exact && plan->runner_up != NULL)
            find_second(&search, plan);
        plan->steps = search.steps - search.left;
    }
    if (!plan->exact) {
        free(plan->runner_up);
        plan->runner_up = NULL;
    }
    espi_place_elimination_release(&search.e);
    return status;
}
