/* Data placement planning: which placement (layout) the data take at every step of a composed operation.

   A graph has operations as nodes; each gives one value, which later nodes take as operands. There is a finite set of
   placements, numbered from 0. A node is carried out by one of its operation's methods; a method takes each operand
   in a given placement, leaves its result in a given one, and has a cost. An operand whose producer left it in
   another placement is redistributed, each use of a value for itself, which costs what a table says. The plan of
   least cost chooses a method for every node.

   The formulation, and dynamic programs for it on trees and on graphs that collapse, are those of M. E. Mace,
   "Memory Storage Patterns in Parallel Processing" (Kluwer, 1987), where the problem is shown to be NP-hard on graphs
   in general; the use for composed parallel operations is that of O. Beckmann and P. H. J. Kelly, "Runtime
   interprocedural data placement optimisation for lazy parallel libraries" (Euro-Par 1997). doc/placement.md has the
   recurrences, the proofs and examples.

   Costs are doubles >= 0 in any unit, INFINITY where something is impossible. While all are integers and every sum is
   below 2^53, plans are exact; else the sums are rounded, and plans are the best up to that. Nothing here is shared
   between graphs: a graph may be used by one thread at a time. */
#ifndef ESPI_PLACEMENT_PLACEMENT_H
#define ESPI_PLACEMENT_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum {
    ESPI_PLACE_ANY = -1,  /* as a method's operand: as the producer left it, without redistribution */
    ESPI_PLACE_NONE = -1, /* in a plan: no method, as there is no plan */
    ESPI_PLACE_MOST_PLACEMENTS = 1024,
    ESPI_PLACE_MOST_OPERANDS = 65535 /* of one operation */
};
#define ESPI_PLACE_MOST_COST 1e15

/* A cost that grows with the size of what is worked on: fixed + each * size. */
struct espi_place_cost {
    double fixed; /* 0 .. MOST_COST, or INFINITY: impossible */
    double each;  /* 0 .. MOST_COST */
};

/* ---- graphs (graph.c) ---- */

struct espi_place_table {
    double *fixed, *each; /* placements^2, by [to * placements + from] */
};

struct espi_place_op {
    int arity;
    int methods, capacity;
    int *shape;                   /* methods * (arity + 1): the operands' placements, then the result's */
    struct espi_place_cost *cost; /* of each method */
};

struct espi_place_node {
    int op;
    int first;   /* its operands are operand[first] .. */
    int uses;    /* of its value, by later nodes */
    double size; /* of its value: that of its method's cost, and of redistributions of the value */
};

struct espi_place_operand {
    int from;  /* the node whose value it is */
    int table; /* by which it is redistributed */
};

/* Made by the functions below; for reading elsewhere. */
struct espi_place_graph {
    int placements;
    int tables, ops, nodes, operands;
    int table_capacity, op_capacity, node_capacity, operand_capacity;
    struct espi_place_table *table;
    struct espi_place_op *op;
    struct espi_place_node *node;
    struct espi_place_operand *operand;
    bool shared; /* some value is used more than once */
};
#define ESPI_PLACE_GRAPH_INIT ((struct espi_place_graph){0})

/* An empty graph over 1 .. MOST_PLACEMENTS placements; release it also after errors. In all functions below ARGUMENT
   means an index, a count or a cost out of range, MEMORY or LIMIT (more than INT_MAX of something) that the graph is
   as it was. */
espi_status espi_place_graph_init(struct espi_place_graph *graph, int placements);
void espi_place_graph_release(struct espi_place_graph *graph);

/* A new table; *index says which. Staying costs 0, all redistributions are impossible until they are set. */
espi_status espi_place_add_table(struct espi_place_graph *graph, int *index);
espi_status espi_place_set_move(struct espi_place_graph *graph, int table, int from, int to,
                                struct espi_place_cost cost);

/* A new operation with `arity` operands and no methods yet. */
espi_status espi_place_add_op(struct espi_place_graph *graph, int arity, int *index);
/* A method: `operand` has a placement or ANY for each operand. Methods count from 0. */
espi_status espi_place_add_method(struct espi_place_graph *graph, int op, const int *operand, int result,
                                  struct espi_place_cost cost);
/* A placement relation: for each placement x one method, whose operand i is in map[i][x] and whose result in
   map[arity][x]; a map that is NULL stands for x itself. An operand's entry may be ANY; any other entry outside the
   placements leaves out that x. *methods, if not NULL, is how many there were. On an error none is added. */
espi_status espi_place_add_relation(struct espi_place_graph *graph, int op, const int *const *map,
                                    struct espi_place_cost cost, int *methods);

/* A new node that uses the values of earlier ones, so that a graph never has a cycle; size 0 .. MOST_COST. */
espi_status espi_place_add_node(struct espi_place_graph *graph, int op, const struct espi_place_operand *operand,
                                double size, int *index);

/* An entry of a table. */
struct espi_place_cost espi_place_entry(const struct espi_place_graph *graph, int table, int from, int to);
/* What redistributing operand `operand` (an index into graph->operand) costs. `to` may be ANY. */
double espi_place_move(const struct espi_place_graph *graph, int operand, int from, int to);
/* The cost of carrying out a node by a method, without redistributions. */
double espi_place_work(const struct espi_place_graph *graph, int node, int method);
/* The placement that a method wants operand i of a node in, or leaves its result in. */
int espi_place_wants(const struct espi_place_graph *graph, int node, int method, int i);
int espi_place_gives(const struct espi_place_graph *graph, int node, int method);
/* The cost of a whole choice of methods, one for each node; in the order of the nodes. */
double espi_place_total(const struct espi_place_graph *graph, const int *method);

/* ---- plans (plan.c) ---- */

enum espi_place_way {
    ESPI_PLACE_AUTO,     /* the first of these that fits */
    ESPI_PLACE_TREE,     /* no value is used twice: by the tree, O(sum over nodes of arity (m + min(s, m) s)) */
    ESPI_PLACE_COLLAPSE, /* nodes are collapsed one by one, O(n m^(d+1)) while none has more than d neighbours */
    ESPI_PLACE_CUT,      /* a minimum cut, O(n^2 operands): no node has more than two methods, and costs are such that
                            this works (cut.c); always so with two placements where staying is free and each method
                            has all in one of them */
    ESPI_PLACE_SEARCH,   /* branch and bound, with bounds from collapsing what fits */
    ESPI_PLACE_WAYS
};
/* "auto", "tree", "collapse", "cut", "search"; NULL outside the enum. */
const char *espi_place_way_name(enum espi_place_way way);

struct espi_place_options {
    enum espi_place_way way;
    bool runner_up;      /* fill in plan->runner_up */
    size_t max_bytes;    /* of memory for tables, about; 0: 1 GiB */
    size_t max_entries;  /* of one table of COLLAPSE and SEARCH; 0: 2^20 */
    uint64_t max_steps;  /* of SEARCH: partial choices that are continued, at least two a node; 0: 10^7. What the best
                            plan leaves of them is shared out to the second best */
};

struct espi_place_plan {
    enum espi_place_way way; /* what was used */
    double cost;        /* INFINITY: no choice of methods is possible, and `method` has NONE throughout */
    bool exact;         /* no choice costs less; false only when SEARCH came to its limit */
    double lower_bound; /* equals cost when exact */
    uint64_t steps;     /* of SEARCH */
    int *method;        /* of each node */
    double *runner_up;  /* of each node: what the best plan costs that carries this node out by another method
                           (INFINITY: there is none; NAN: SEARCH came to its limit before it was found); NULL unless
                           asked for, where SEARCH ended with a plan that is not exact, and where COLLAPSE would need
                           more than max_bytes for it */
};
#define ESPI_PLACE_PLAN_INIT ((struct espi_place_plan){0})

/* The plan of least cost; of several the choice is the same in every run. `options` may be NULL. On success the
   caller owns the plan. ARGUMENT: TREE for a graph that shares a value, CUT for one that is none; LIMIT: max_bytes or
   (COLLAPSE) max_entries do not suffice, or SEARCH found no plan in max_steps; MEMORY. */
espi_status espi_place_plan(const struct espi_place_graph *graph, const struct espi_place_options *options,
                            struct espi_place_plan *plan);
void espi_place_plan_release(struct espi_place_plan *plan);

/* ---- what a table is like (metric.c) ---- */

struct espi_place_metric {
    bool symmetric; /* and, as in all tables, not negative */
    bool zero;      /* staying costs nothing */
    bool separate;  /* everything else costs something, for any size above 0 */
    bool triangle;  /* no redistribution is cheaper by way of a third placement, whatever the size */
    bool discrete;  /* staying costs nothing, everything else `change` */
    struct espi_place_cost change;
    int from, by, to; /* without `triangle`: a way round that is cheaper */
};
/* Looks at one table, O(placements^3). */
void espi_place_table_metric(const struct espi_place_graph *graph, int table, struct espi_place_metric *metric);

#endif
