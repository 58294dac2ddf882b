/*
 * Placement plans: time and memory. No MPI, one core. Usage: placement [ROUNDS]; default 9. Columns: graph,
 * placements, methods of each node, nodes, planner, ms (median of the rounds, processor time of planning alone), the
 * fastest, and ms with second best plans ("-" where there are none), MiB (peak so far), cost over lower bound.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "placement/placement.h"

enum { MOST_ROUNDS = 99 };

static uint64_t state = 1;

/* Numbers that look random, the same in every run. */
static int below(int n)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static void require(bool ok)
{
    if (!ok) {
        fprintf(stderr, "placement: no memory, or a plan failed\n");
        exit(1);
    }
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

enum shape { CHAIN, TREE, SERIES, GRID };
static const char *const shape_names[] = {"chain", "binary tree", "beside edges", "grid of 6 rows"};

/* 16 operations of each arity with random methods; redistributions between all placements. */
static void begin(struct espi_place_graph *graph, int placements, int methods)
{
    int table;
    require(espi_place_graph_init(graph, placements) == ESPI_OK && espi_place_add_table(graph, &table) == ESPI_OK);
    for (int p = 0; p < placements; p++) {
        for (int q = 0; q < placements; q++)
            require(espi_place_set_move(graph, table, p, q,
                                        (struct espi_place_cost){p == q ? 0 : 5 + below(20), p == q ? 0 : 1}) ==
                    ESPI_OK);
    }
    for (int arity = 0; arity <= 2; arity++) {
        for (int k = 0; k < 16; k++) {
            int op, row[2];
            require(espi_place_add_op(graph, arity, &op) == ESPI_OK);
            for (int j = 0; j < methods; j++) {
                row[0] = below(placements);
                row[1] = below(placements);
                require(espi_place_add_method(graph, op, row, j < placements ? j : below(placements),
                                              (struct espi_place_cost){below(50), below(3)}) == ESPI_OK);
            }
        }
    }
}

static int add(struct espi_place_graph *graph, int arity, int a, int b)
{
    struct espi_place_operand operand[2] = {{a, 0}, {b, 0}};
    int node;
    require(espi_place_add_node(graph, 16 * arity + below(16), operand, 1 + below(9), &node) == ESPI_OK);
    return node;
}

static void fill(struct espi_place_graph *graph, enum shape shape, int nodes)
{
    int (*edge)[2] = malloc(sizeof *edge * 2 * (size_t)nodes), edges = 0;
    require(edge != NULL);
    for (int v = 0; v < nodes; v++) {
        if (v == 0) {
            add(graph, 0, 0, 0);
        } else if (shape == CHAIN) {
            add(graph, 1, v - 1, 0);
        } else if (shape == TREE) { /* the leaves first */
            int leaves = (nodes + 1) / 2, inner = v - leaves;
            add(graph, inner < 0 ? 0 : 2, 2 * inner, 2 * inner + 1);
        } else if (shape == SERIES) {
            int e = edges > 0 ? below(edges) : 0, a = edges > 0 ? edge[e][0] : 0, b = edges > 0 ? edge[e][1] : 0;
            add(graph, edges > 0 ? 2 : 1, a, b);
            edge[edges][0] = a;
            edge[edges++][1] = v;
            edge[edges][0] = b;
            edge[edges++][1] = v;
        } else {
            add(graph, v < 6 || v % 6 == 0 ? 1 : 2, v % 6 == 0 ? v - 6 : v - 1, v - 6);
        }
    }
    free(edge);
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The times of the rounds, in order; what the plan says last. */
static void measure(const struct espi_place_graph *graph, bool runner_up, int rounds, double *ms,
                    struct espi_place_plan *said)
{
    struct espi_place_options options = {.runner_up = runner_up, .max_steps = 100000};
    for (int x = 0; x < rounds; x++) {
        struct espi_place_plan plan;
        double start = now_ms();
        require(espi_place_plan(graph, &options, &plan) == ESPI_OK);
        ms[x] = now_ms() - start;
        *said = plan;
        espi_place_plan_release(&plan);
    }
    qsort(ms, (size_t)rounds, sizeof *ms, compare_times);
}

static void row(enum shape shape, int placements, int methods, int nodes, int rounds)
{
    struct espi_place_graph graph;
    struct espi_place_plan plan;
    struct rusage usage;
    double ms[MOST_ROUNDS], second[MOST_ROUNDS];
    begin(&graph, placements, methods);
    fill(&graph, shape, nodes);
    measure(&graph, false, rounds, ms, &plan);
    bool search = plan.way == ESPI_PLACE_SEARCH;
    if (!search)
        measure(&graph, true, rounds, second, &plan);
    getrusage(RUSAGE_SELF, &usage);
    printf("%s\t%d\t%d\t%d\t%s\t%.2f\t%.2f\t", shape_names[shape], placements, methods, nodes,
           espi_place_way_name(plan.way), ms[rounds / 2], ms[0]);
    if (search)
        printf("-");
    else
        printf("%.2f", second[rounds / 2]);
    printf("\t%.0f\t%.4f\n", (double)usage.ru_maxrss / 1024, plan.cost / plan.lower_bound);
    espi_place_graph_release(&graph);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 9;
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "placement: expected the number of rounds (1 to %d), found '%s'\n", MOST_ROUNDS, argv[1]);
        return 2;
    }
    printf("graph\tplacements\tmethods\tnodes\tplanner\tms\tfastest\tms with second best\tMiB\tcost/bound\n");
    row(TREE, 8, 8, 9999, rounds);
    row(TREE, 8, 8, 99999, rounds);
    row(TREE, 64, 64, 9999, rounds);
    row(CHAIN, 8, 8, 10000, rounds);
    row(CHAIN, 8, 8, 1000000, rounds);
    row(SERIES, 8, 8, 1000, rounds);
    row(SERIES, 8, 8, 10000, rounds);
    row(GRID, 4, 4, 240, rounds);
    row(GRID, 8, 8, 240, 1 + rounds / 4);
    return 0;
}
