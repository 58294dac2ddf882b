/* What the tests of placement plans share: random graphs and exhaustive search. */
#ifndef ESPI_TESTS_PLACEMENT_SUPPORT_H
#define ESPI_TESTS_PLACEMENT_SUPPORT_H

#include "placement/placement.h"

enum graph_kind {
    CHAINS,     /* each node uses the one before */
    TREES,      /* forests of any arity */
    COLLAPSIBLE, /* series-parallel in the undirected sense, each new node beside an edge: two neighbours at most */
    DAGS,       /* any */
    GRAPH_KINDS
};
enum cost_kind {
    FREE_COSTS, /* any; some redistributions and methods impossible */
    METRIC_COSTS, /* distances of points, or a discrete metric */
    REAL_COSTS  /* with fractions */
};

/* A random graph with at most `choices` choices of methods in all. */
void random_graph(struct espi_place_graph *graph, enum graph_kind kind, enum cost_kind costs, double choices);

/* A random graph of any form over two placements, in which staying costs nothing and a node has all its operands and
   its result in one of them, or takes operands as they are. */
void random_copies(struct espi_place_graph *graph, enum cost_kind costs);

/* The least cost over all choices of methods, and of those in which a node has a method: best[v * most + j], `most`
   the largest number of methods. The caller frees `best`. */
struct exhaustive {
    double cost;
    int most;
    double *best;
};
void search_all(const struct espi_place_graph *graph, struct exhaustive *found);

/* Fails the test unless the plan is one of least cost and says so, and its second best are right. */
void expect_best(const struct espi_place_graph *graph, const struct espi_place_plan *plan);

#endif
