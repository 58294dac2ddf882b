#include "placement_support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "random.h"

static struct espi_place_cost random_cost(enum cost_kind costs)
{
    struct espi_place_cost cost = {(double)random_in(0, 9), (double)random_in(0, 2)};
    if (costs == FREE_COSTS && random_in(0, 7) == 0)
        cost.fixed = INFINITY;
    if (costs == REAL_COSTS) {
        cost.fixed += (double)random_in(0, 999) / 1000;
        cost.each /= 3;
    }
    return cost;
}

static void add_random_table(struct espi_place_graph *graph, enum cost_kind costs)
{
    int point[ESPI_PLACE_MOST_PLACEMENTS], table;
    struct espi_place_cost change = random_cost(costs);
    bool discrete = random_in(0, 1) == 0;
    ck_assert_int_eq(espi_place_add_table(graph, &table), ESPI_OK);
    for (int p = 0; p < graph->placements; p++)
        point[p] = (int)random_in(0, 9);
    for (int p = 0; p < graph->placements; p++) {
        for (int q = 0; q < graph->placements; q++) {
            struct espi_place_cost cost = random_cost(costs);
            if (costs == METRIC_COSTS && p != q)
                cost = discrete ? change : (struct espi_place_cost){abs(point[p] - point[q]), 0};
            if (p == q && (costs == METRIC_COSTS || random_in(0, 4) != 0))
                continue;
            ck_assert_int_eq(espi_place_set_move(graph, table, p, q, cost), ESPI_OK);
        }
    }
}

/* A node of its own operation, with methods of any kind. */
static void add_random_node(struct espi_place_graph *graph, enum cost_kind costs, int arity, const int *from,
                            double *choices)
{
    struct espi_place_operand operand[8];
    int op, node, row[8], methods = (int)random_in(1, 4), added;
    const int *map[9] = {NULL};
    ck_assert_int_eq(espi_place_add_op(graph, arity, &op), ESPI_OK);
    if (random_in(0, 4) == 0 && graph->placements <= *choices) { /* all in the same placement, whichever */
        ck_assert_int_eq(espi_place_add_relation(graph, op, map, random_cost(METRIC_COSTS), &added), ESPI_OK);
        ck_assert_int_eq(added, graph->placements);
        methods = 0;
    }
    for (int j = 0; j < methods && (j == 0 || *choices >= j + 1); j++) {
        for (int i = 0; i < arity; i++)
            row[i] = (int)random_in(random_in(0, 2) == 0 ? ESPI_PLACE_ANY : 0, graph->placements - 1);
        ck_assert_int_eq(espi_place_add_method(graph, op, row, (int)random_in(0, graph->placements - 1),
                                               random_cost(costs == FREE_COSTS && random_in(0, 3) ? METRIC_COSTS
                                                                                                  : costs)),
                         ESPI_OK);
    }
    *choices /= graph->op[op].methods;
    for (int i = 0; i < arity; i++)
        operand[i] = (struct espi_place_operand){from[i], (int)random_in(0, graph->tables - 1)};
    ck_assert_int_eq(espi_place_add_node(graph, op, operand, (double)random_in(0, 3), &node), ESPI_OK);
}

/* The operands of the next node of such a graph; their number. */
static int choose_operands(const struct espi_place_graph *graph, enum graph_kind kind, int *from, int edge[][2],
                           int *edges)
{
    int n = graph->nodes, arity = 0;
    if (n == 0)
        return 0;
    switch (kind) {
    case CHAINS:
        from[0] = n - 1;
        return 1;
    case TREES:
        for (int u = 0; u < n && arity < 6; u++) {
            if (graph->node[u].uses == 0 && random_in(0, 2) != 0)
                from[arity++] = u;
        }
        return arity;
    case COLLAPSIBLE: /* beside one node, or beside two that are neighbours */
        if (*edges == 0 || random_in(0, 2) == 0) {
            from[0] = (int)random_in(0, n - 1);
            edge[*edges][0] = from[0];
            edge[(*edges)++][1] = n;
            return 1;
        }
        {
            int e = (int)random_in(0, *edges - 1);
            from[0] = edge[e][0];
            from[1] = edge[e][1];
            edge[*edges][0] = from[0];
            edge[(*edges)++][1] = n;
            edge[*edges][0] = from[1];
            edge[(*edges)++][1] = n;
            return 2;
        }
    default:
        for (int k = (int)random_in(0, 3); k > 0; k--) /* the same value twice, too */
            from[arity++] = (int)random_in(0, n - 1);
        return arity;
    }
}

void random_graph(struct espi_place_graph *graph, enum graph_kind kind, enum cost_kind costs, double choices)
{
    int from[8], edge[64][2], edges = 0, nodes = (int)random_in(1, 9);
    ck_assert_int_eq(espi_place_graph_init(graph, (int)random_in(1, 4)), ESPI_OK);
    for (int64_t t = random_in(1, 2); t > 0; t--)
        add_random_table(graph, costs);
    for (int v = 0; v < nodes; v++) {
        int arity = choose_operands(graph, kind, from, edge, &edges);
        add_random_node(graph, costs, arity, from, &choices);
    }
    ck_assert(kind > TREES || !graph->shared);
}

void random_copies(struct espi_place_graph *graph, enum cost_kind costs)
{
    int nodes = (int)random_in(1, 11), table, op, node, row[8], from[8];
    ck_assert_int_eq(espi_place_graph_init(graph, 2), ESPI_OK);
    for (int64_t t = random_in(1, 2); t > 0; t--) {
        ck_assert_int_eq(espi_place_add_table(graph, &table), ESPI_OK);
        for (int p = 0; p < 2; p++)
            ck_assert_int_eq(espi_place_set_move(graph, table, p, !p, random_cost(costs)), ESPI_OK);
    }
    for (int v = 0; v < nodes; v++) {
        struct espi_place_operand operand[8];
        int arity = choose_operands(graph, DAGS, from, NULL, NULL);
        ck_assert_int_eq(espi_place_add_op(graph, arity, &op), ESPI_OK);
        int first = (int)random_in(0, 1), last = random_in(0, 5) ? !first : first; /* in either order, or one only */
        for (int p = first;; p = last) {
            for (int i = 0; i < arity; i++)
                row[i] = random_in(0, 5) ? p : ESPI_PLACE_ANY;
            ck_assert_int_eq(espi_place_add_method(graph, op, row, p, random_cost(costs)), ESPI_OK);
            if (p == last)
                break;
        }
        for (int i = 0; i < arity; i++)
            operand[i] = (struct espi_place_operand){from[i], (int)random_in(0, graph->tables - 1)};
        ck_assert_int_eq(espi_place_add_node(graph, op, operand, (double)random_in(0, 3), &node), ESPI_OK);
    }
}

struct walk {
    const struct espi_place_graph *graph;
    struct exhaustive *found;
    int method[16];
};

static double price(struct espi_place_cost cost, double size)
{
    return cost.fixed + cost.each * size;
}

/* What node v adds to the choice of methods so far; by the definition, not by the library's functions. */
static double own_cost(const struct walk *walk, int v)
{
    const struct espi_place_graph *graph = walk->graph;
    const struct espi_place_node *node = &graph->node[v];
    const struct espi_place_op *op = &graph->op[node->op];
    double sum = price(op->cost[walk->method[v]], node->size);
    for (int i = 0; i < op->arity; i++) {
        int u = graph->operand[node->first + i].from, to = op->shape[walk->method[v] * (op->arity + 1) + i];
        const struct espi_place_op *before = &graph->op[graph->node[u].op];
        int gives = before->shape[walk->method[u] * (before->arity + 1) + before->arity];
        if (to != ESPI_PLACE_ANY)
            sum += price(espi_place_entry(graph, graph->operand[node->first + i].table, gives, to),
                         graph->node[u].size);
    }
    return sum;
}

static void walk_from(struct walk *walk, int v, double cost)
{
    struct exhaustive *found = walk->found;
    if (v == walk->graph->nodes) {
        found->cost = cost < found->cost ? cost : found->cost;
        for (int u = 0; u < v; u++) {
            double *best = &found->best[u * found->most + walk->method[u]];
            *best = cost < *best ? cost : *best;
        }
        return;
    }
    for (int j = 0; j < walk->graph->op[walk->graph->node[v].op].methods; j++) {
        walk->method[v] = j;
        walk_from(walk, v + 1, cost + own_cost(walk, v));
    }
}

void search_all(const struct espi_place_graph *graph, struct exhaustive *found)
{
    struct walk walk = {.graph = graph, .found = found};
    *found = (struct exhaustive){INFINITY, 1, NULL};
    ck_assert_int_le(graph->nodes, 16);
    for (int o = 0; o < graph->ops; o++)
        found->most = graph->op[o].methods > found->most ? graph->op[o].methods : found->most;
    found->best = malloc(sizeof *found->best * (size_t)(found->most * graph->nodes + 1));
    ck_assert_ptr_nonnull(found->best);
    for (int x = 0; x < found->most * graph->nodes; x++)
        found->best[x] = INFINITY;
    walk_from(&walk, 0, 0);
}

static bool is_near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-11 * (fabs(a) + fabs(b));
}

void expect_best(const struct espi_place_graph *graph, const struct espi_place_plan *plan)
{
    struct exhaustive found;
    search_all(graph, &found);
    ck_assert_msg(is_near(plan->cost, found.cost), "%s: cost %.17g, best %.17g", espi_place_way_name(plan->way),
                  plan->cost, found.cost);
    ck_assert(plan->exact && is_near(plan->lower_bound, plan->cost));
    if (isinf(found.cost)) {
        for (int v = 0; v < graph->nodes; v++)
            ck_assert_int_eq(plan->method[v], ESPI_PLACE_NONE);
    } else {
        ck_assert_msg(is_near(espi_place_total(graph, plan->method), found.cost), "the methods do not cost that");
    }
    for (int v = 0; v < graph->nodes && plan->runner_up != NULL; v++) {
        double second = INFINITY;
        for (int j = 0; j < graph->op[graph->node[v].op].methods; j++) {
            if (j != plan->method[v] && found.best[v * found.most + j] < second)
                second = found.best[v * found.most + j];
        }
        bool ended = plan->way == ESPI_PLACE_SEARCH && isnan(plan->runner_up[v]); /* before it was found */
        ck_assert_msg(is_near(plan->runner_up[v], second) || ended,
                      "%s: second best of node %d: %.17g, should be %.17g", espi_place_way_name(plan->way), v,
                      plan->runner_up[v], second);
    }
    free(found.best);
}
