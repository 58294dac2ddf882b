/* Placement plans against exhaustive search, and examples by hand. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "placement/placement.h"
#include "placement_support.h"
#include "random.h"
#include "runner.h"

enum { ROUNDS = 10000 };

static int uncut; /* graphs that are none for a minimum cut */

static void plan_all_ways(const struct espi_place_graph *graph, enum espi_place_way from)
{
    for (int way = from; way < ESPI_PLACE_WAYS; way++) {
        /* Search with tables so small that they are made in parts. */
        struct espi_place_options options = {.way = (enum espi_place_way)way, .runner_up = random_in(0, 1) == 0,
                                             .max_entries = way == ESPI_PLACE_SEARCH ? (size_t)random_in(1, 40) : 0};
        struct espi_place_plan plan;
        if (way == ESPI_PLACE_TREE && graph->shared)
            continue;
        espi_status status = espi_place_plan(graph, &options, &plan);
        if (way == ESPI_PLACE_CUT && status == ESPI_ERR_ARGUMENT) {
            uncut++;
            continue;
        }
        ck_assert_int_eq(status, ESPI_OK);
        ck_assert(way == ESPI_PLACE_AUTO || plan.way == (enum espi_place_way)way);
        ck_assert((plan.runner_up != NULL) == options.runner_up);
        for (int v = 0; v < graph->nodes && plan.runner_up != NULL; v++)
            ck_assert(!isnan(plan.runner_up[v]));
        expect_best(graph, &plan);
        espi_place_plan_release(&plan);
    }
}

static void compare_many(enum graph_kind kind)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct espi_place_graph graph;
        random_graph(&graph, kind, (enum cost_kind)(round % 3), 2000);
        plan_all_ways(&graph, ESPI_PLACE_AUTO);
        espi_place_graph_release(&graph);
    }
}

START_TEST(chains)
{
    compare_many(CHAINS);
}
END_TEST

START_TEST(trees)
{
    compare_many(TREES);
}
END_TEST

START_TEST(collapsible)
{
    compare_many(COLLAPSIBLE);
}
END_TEST

START_TEST(dags)
{
    compare_many(DAGS);
}
END_TEST

/* Two placements where staying is free, and methods that have all in one of them: always a minimum cut, whatever else
   costs. Of the other graphs some are and some are none. */
START_TEST(cuts)
{
    int most = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct espi_place_graph graph;
        struct espi_place_options options = {.way = ESPI_PLACE_CUT, .runner_up = true};
        struct espi_place_plan plan;
        enum cost_kind costs = (enum cost_kind)(round % 3);
        random_copies(&graph, costs);
        ck_assert_int_eq(espi_place_plan(&graph, &options, &plan), ESPI_OK);
        expect_best(&graph, &plan);
        most = graph.nodes > most ? graph.nodes : most;
        espi_place_plan_release(&plan);
        espi_place_graph_release(&graph);
    }
    ck_assert_int_gt(most, 9);
    uncut = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct espi_place_graph graph;
        random_graph(&graph, (enum graph_kind)(round % GRAPH_KINDS), (enum cost_kind)(round % 3), 1e6);
        for (int o = 0; o < graph.ops; o++) /* as if made so */
            graph.op[o].methods = graph.op[o].methods > 2 ? 2 : graph.op[o].methods;
        plan_all_ways(&graph, ESPI_PLACE_CUT);
        espi_place_graph_release(&graph);
    }
    ck_assert(uncut > 100 && uncut < ROUNDS - 100);
}
END_TEST

static int add_op(struct espi_place_graph *graph, int arity, int methods, const int *shape, const double *cost)
{
    int op;
    ck_assert_int_eq(espi_place_add_op(graph, arity, &op), ESPI_OK);
    for (int j = 0; j < methods; j++)
        ck_assert_int_eq(espi_place_add_method(graph, op, shape + j * (arity + 1), shape[j * (arity + 1) + arity],
                                               (struct espi_place_cost){cost[j], 0}),
                         ESPI_OK);
    return op;
}

static int add_node(struct espi_place_graph *graph, int op, int from, double size)
{
    struct espi_place_operand operand = {from, 0};
    int node;
    ck_assert_int_eq(espi_place_add_node(graph, op, &operand, size, &node), ESPI_OK);
    return node;
}

/* Two steps that each are cheap in their own placement: 1 + move + 1 against 1 + 9, by the size of what is moved. */
START_TEST(by_hand)
{
    for (int size = 1; size <= 9; size += 8) {
        struct espi_place_graph graph;
        struct espi_place_options options = {.runner_up = true};
        struct espi_place_plan plan;
        int table;
        ck_assert_int_eq(espi_place_graph_init(&graph, 2), ESPI_OK);
        ck_assert_int_eq(espi_place_add_table(&graph, &table), ESPI_OK);
        for (int p = 0; p < 2; p++)
            ck_assert_int_eq(espi_place_set_move(&graph, table, p, !p, (struct espi_place_cost){1, 1}), ESPI_OK);
        int load = add_op(&graph, 0, 1, (int[]){0}, (double[]){0});
        int rows = add_op(&graph, 1, 2, (int[]){0, 0, 1, 1}, (double[]){1, 9});
        int columns = add_op(&graph, 1, 2, (int[]){0, 0, 1, 1}, (double[]){9, 1});
        int v = add_node(&graph, load, 0, size);
        v = add_node(&graph, rows, v, size);
        add_node(&graph, columns, v, size);
        ck_assert_int_eq(espi_place_plan(&graph, &options, &plan), ESPI_OK);
        ck_assert_double_eq(plan.cost, size == 1 ? 1 + 2 + 1 : 1 + 9);
        ck_assert_int_eq(plan.method[1], 0);
        ck_assert_int_eq(plan.method[2], size == 1);
        ck_assert_double_eq(plan.runner_up[0], INFINITY);
        ck_assert_double_eq(plan.runner_up[1], size == 1 ? 2 + 9 + 1 : 10 + 9 + 1);
        ck_assert_double_eq(plan.runner_up[2], size == 1 ? 10 : 1 + 10 + 1);
        ck_assert_int_eq(plan.way, ESPI_PLACE_TREE);
        espi_place_plan_release(&plan);
        espi_place_graph_release(&graph);
    }
}
END_TEST

/* Nothing at all, an operation without methods, and one that can have its operand nowhere. */
START_TEST(impossible)
{
    struct espi_place_graph graph;
    int table;
    ck_assert_int_eq(espi_place_graph_init(&graph, 2), ESPI_OK);
    plan_all_ways(&graph, ESPI_PLACE_AUTO);
    ck_assert_int_eq(espi_place_add_table(&graph, &table), ESPI_OK);
    int none = add_op(&graph, 0, 0, NULL, NULL), one = add_op(&graph, 0, 1, (int[]){1}, (double[]){3});
    int use = add_op(&graph, 1, 1, (int[]){0, 0}, (double[]){1});
    int v = add_node(&graph, one, 0, 1);
    plan_all_ways(&graph, ESPI_PLACE_AUTO);
    add_node(&graph, use, v, 1);
    plan_all_ways(&graph, ESPI_PLACE_AUTO);
    ck_assert_int_eq(espi_place_set_move(&graph, table, 1, 0, (struct espi_place_cost){5, 0}), ESPI_OK);
    plan_all_ways(&graph, ESPI_PLACE_AUTO);
    add_node(&graph, none, 0, 1);
    plan_all_ways(&graph, ESPI_PLACE_AUTO);
    espi_place_graph_release(&graph);
}
END_TEST

START_TEST(arguments)
{
    struct espi_place_graph graph;
    struct espi_place_plan plan;
    struct espi_place_cost good = {1, 1};
    const struct espi_place_cost bad[] = {{-1, 0}, {0, -1}, {NAN, 0}, {0, NAN}, {0, INFINITY}, {2e15, 0}, {0, 2e15}};
    int table, op, node, place = 2, beyond[2] = {0, 7};
    const int *map[2] = {beyond, NULL};
    ck_assert_int_eq(espi_place_graph_init(&graph, 0), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_place_graph_init(&graph, ESPI_PLACE_MOST_PLACEMENTS + 1), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_place_graph_init(&graph, 2), ESPI_OK);
    ck_assert_int_eq(espi_place_add_table(&graph, &table), ESPI_OK);
    ck_assert_int_eq(espi_place_add_op(&graph, -1, &op), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_place_add_op(&graph, 1, &op), ESPI_OK);
    for (size_t x = 0; x < sizeof bad / sizeof *bad; x++) {
        ck_assert_int_eq(espi_place_set_move(&graph, table, 0, 1, bad[x]), ESPI_ERR_ARGUMENT);
        ck_assert_int_eq(espi_place_add_method(&graph, op, (int[]){0}, 0, bad[x]), ESPI_ERR_ARGUMENT);
        ck_assert_int_eq(espi_place_add_relation(&graph, op, map, bad[x], NULL), ESPI_ERR_ARGUMENT);
    }
    ck_assert_int_eq(espi_place_set_move(&graph, table + 1, 0, 1, good), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_place_set_move(&graph, table, 2, 1, good), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_place_set_move(&graph, table, 0, -1, good), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_place_add_method(&graph, op, &place, 0, good), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_place_add_method(&graph, op, (int[]){0}, ESPI_PLACE_ANY, good), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_place_add_method(&graph, op + 1, (int[]){0}, 0, good), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(graph.op[op].methods, 0);
    ck_assert_int_eq(espi_place_add_relation(&graph, op, map, good, &node), ESPI_OK);
    ck_assert_int_eq(node, 1); /* the other leads nowhere */
    struct espi_place_operand wrong = {0, 0};
    ck_assert_int_eq(espi_place_add_node(&graph, op, &wrong, 1, &node), ESPI_ERR_ARGUMENT);
    int leaf = add_op(&graph, 0, 1, (int[]){0}, (double[]){3});
    int v = add_node(&graph, leaf, 0, 1);
    wrong = (struct espi_place_operand){v, 1};
    ck_assert_int_eq(espi_place_add_node(&graph, op, &wrong, 1, &node), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_place_add_node(&graph, leaf, NULL, -1, &node), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_place_add_node(&graph, leaf, NULL, NAN, &node), ESPI_ERR_ARGUMENT);
    add_node(&graph, op, v, 1);
    add_node(&graph, op, v, 1);
    ck_assert(graph.shared);
    ck_assert_int_eq(espi_place_plan(&graph, &(struct espi_place_options){.way = ESPI_PLACE_TREE}, &plan),
                     ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_place_plan(&graph, &(struct espi_place_options){.way = ESPI_PLACE_WAYS}, &plan),
                     ESPI_ERR_ARGUMENT);
    ck_assert_ptr_null(plan.method);
    ck_assert_ptr_null(espi_place_way_name(ESPI_PLACE_WAYS));
    espi_place_graph_release(&graph);
}
END_TEST

/* A graph of `n` nodes each of which uses all before it. */
static void make_dense(struct espi_place_graph *graph, int n, int placements)
{
    int table;
    ck_assert_int_eq(espi_place_graph_init(graph, placements), ESPI_OK);
    ck_assert_int_eq(espi_place_add_table(graph, &table), ESPI_OK);
    for (int p = 0; p < placements; p++) {
        for (int q = 0; q < placements; q++)
            ck_assert_int_eq(espi_place_set_move(graph, table, p, q,
                                                 (struct espi_place_cost){p == q ? 0 : (double)random_in(1, 9), 0}),
                             ESPI_OK);
    }
    for (int v = 0; v < n; v++) {
        struct espi_place_operand operand[64];
        int op, node, shape[65];
        ck_assert_int_eq(espi_place_add_op(graph, v, &op), ESPI_OK);
        for (int j = 0; j < 3; j++) {
            for (int i = 0; i <= v; i++)
                shape[i] = (int)random_in(0, placements - 1);
            ck_assert_int_eq(espi_place_add_method(graph, op, shape, shape[v],
                                                   (struct espi_place_cost){(double)random_in(0, 20), 0}),
                             ESPI_OK);
        }
        for (int i = 0; i < v; i++)
            operand[i] = (struct espi_place_operand){i, 0};
        ck_assert_int_eq(espi_place_add_node(graph, op, operand, 1, &node), ESPI_OK);
    }
}

/* Limits end a search with a plan and a bound that hold, and everything else with LIMIT. */
START_TEST(limits)
{
    int found[2] = {0, 0}; /* second best plans, and those for which the steps did not suffice */
    for (int round = 0; round < 20; round++) {
        struct espi_place_graph graph;
        struct espi_place_plan best, plan;
        make_dense(&graph, 9, 4);
        ck_assert_int_eq(espi_place_plan(&graph, NULL, &best), ESPI_OK);
        expect_best(&graph, &best);
        ck_assert_int_eq(best.way, ESPI_PLACE_COLLAPSE);
        struct espi_place_options options = {.max_entries = 9, .max_steps = (uint64_t)random_in(1, 60)};
        ck_assert_int_eq(espi_place_plan(&graph, &options, &plan), ESPI_OK);
        ck_assert_int_eq(plan.way, ESPI_PLACE_SEARCH);
        ck_assert(plan.steps <= (options.max_steps > 18 ? options.max_steps : 18));
        ck_assert( plan.lower_bound <= best.cost && plan.cost >= best.cost);
        ck_assert(plan.exact == (plan.lower_bound == plan.cost));
        ck_assert_double_eq(espi_place_total(&graph, plan.method), plan.cost);
        espi_place_plan_release(&plan);
        options.max_steps = (uint64_t)random_in(300, 3000);
        options.runner_up = true;
        ck_assert_int_eq(espi_place_plan(&graph, &options, &plan), ESPI_OK);
        ck_assert(plan.steps <= options.max_steps && (plan.runner_up != NULL) == plan.exact);
        for (int v = 0; v < graph.nodes && plan.exact; v++)
            found[isnan(plan.runner_up[v])]++;
        if (plan.exact)
            expect_best(&graph, &plan);
        espi_place_plan_release(&plan);
        options.way = ESPI_PLACE_COLLAPSE;
        ck_assert_int_eq(espi_place_plan(&graph, &options, &plan), ESPI_ERR_LIMIT);
        options = (struct espi_place_options){.max_bytes = 500};
        ck_assert_int_eq(espi_place_plan(&graph, &options, &plan), ESPI_ERR_LIMIT);
        espi_place_plan_release(&best);
        espi_place_graph_release(&graph);
    }
    ck_assert(found[0] > 0 && found[1] > 0);
    struct espi_place_graph graph;
    struct espi_place_plan plan;
    make_dense(&graph, 1, 4);
    ck_assert_int_eq(espi_place_plan(&graph, &(struct espi_place_options){.max_bytes = 31}, &plan), ESPI_ERR_LIMIT);
    espi_place_graph_release(&graph);
}
END_TEST

/* Far too wide for tables: the search still ends, with a plan that is as good as its bound says. */
START_TEST(wide)
{
    struct espi_place_graph graph;
    struct espi_place_plan plan;
    make_dense(&graph, 40, 5);
    ck_assert_int_eq(espi_place_plan(&graph, &(struct espi_place_options){.max_entries = 1000, .max_steps = 5000},
                                     &plan),
                     ESPI_OK);
    ck_assert_int_eq(plan.way, ESPI_PLACE_SEARCH);
    ck_assert_double_eq(espi_place_total(&graph, plan.method), plan.cost);
    ck_assert(plan.lower_bound <= plan.cost && plan.lower_bound > 0);
    espi_place_plan_release(&plan);
    espi_place_graph_release(&graph);
}
END_TEST

static double at_size(struct espi_place_cost cost, double size)
{
    return cost.fixed + cost.each * size;
}

/* Properties of tables, by their definitions, for sizes that tell. */
START_TEST(metrics)
{
    const double sizes[] = {0, 0.5, 1, 1e6};
    int seen[2] = {0, 0};
    for (int round = 0; round < 2000; round++) {
        struct espi_place_graph graph;
        struct espi_place_metric metric;
        random_graph(&graph, CHAINS, (enum cost_kind)(round % 3), 1);
        int s = graph.placements;
        bool symmetric = true, zero = true, separate = true, triangle = true, discrete = true;
        for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++) {
            double first = s > 1 ? at_size(espi_place_entry(&graph, 0, 0, 1), sizes[z]) : 0;
            for (int p = 0; p < s; p++) {
                for (int q = 0; q < s; q++) {
                    double one = at_size(espi_place_entry(&graph, 0, p, q), sizes[z]);
                    symmetric = symmetric && one == at_size(espi_place_entry(&graph, 0, q, p), sizes[z]);
                    zero = zero && (p != q || one == 0);
                    separate = separate && (p == q || one > 0 || sizes[z] == 0);
                    discrete = discrete && one == (p == q ? 0 : first);
                    for (int by = 0; by < s; by++)
                        triangle = triangle && one <= at_size(espi_place_entry(&graph, 0, p, by), sizes[z]) +
                                                          at_size(espi_place_entry(&graph, 0, by, q), sizes[z]);
                }
            }
        }
        espi_place_table_metric(&graph, 0, &metric);
        ck_assert_int_eq(metric.symmetric, symmetric);
        ck_assert_int_eq(metric.zero, zero);
        ck_assert_int_eq(metric.separate, separate);
        ck_assert_int_eq(metric.discrete, discrete);
        /* Whatever the size: with fractions sums are rounded. */
        if (round % 3 != REAL_COSTS)
            ck_assert_int_eq(metric.triangle, triangle);
        if (!metric.triangle)
            ck_assert(metric.from >= 0 && metric.by >= 0 && metric.to >= 0);
        seen[metric.triangle]++;
        espi_place_graph_release(&graph);
    }
    ck_assert(seen[0] > 100 && seen[1] > 100);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test_placement", 300, NULL, NULL, chains, trees, collapsible, dags, cuts, by_hand, impossible,
                     arguments, limits, wide, metrics);
}
