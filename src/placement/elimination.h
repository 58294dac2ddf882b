/* Elimination of nodes one by one, by joining the tables of their neighbours.

   The variables are the nodes, their values the methods. Costs are tables over one node (its work) or two (operands'
   redistribution; nodes with one method only are left out), and, of an eliminated node, over its neighbours: the
   least that the tables it stood in can add up to. This is Mace's collapsing of nodes, and the non-serial dynamic
   programming of U. Bertele and F. Brioschi (Academic Press, 1972). Where the joint table would be too large it is
   made in parts, whose sum is a lower bound (mini-buckets: R. Dechter, I. Rish, JACM 50(2), 2003). */
#ifndef ESPI_PLACEMENT_ELIMINATION_H
#define ESPI_PLACEMENT_ELIMINATION_H

#include "base/arena.h"
#include "placement/internal.h"

struct espi_place_factor {
    int vars;
    int *var;      /* nodes; the first varies fastest in `value` */
    double *value; /* NULL once it is of no more use */
    int source;    /* the step whose message this is; -1: a cost of the graph */
    int next;      /* of the same step; -1: none */
};

struct espi_place_elimination {
    const struct espi_place_graph *graph;
    size_t max_bytes, max_entries, bytes;
    struct espi_arena arena; /* all that lives as long as this */
    int *order, *step;       /* the node eliminated in each step, and the step of each node */
    bool wide;               /* no order was found by which all tables fit max_entries */
    int factors, capacity;
    struct espi_place_factor *factor;
    int *first; /* of each step: the tables that its node joins, of which it is the first to go; -1: none */
    double bound; /* least sum of all tables, or less when a table was made in parts */
    double *constant; /* of each step: what of this is due to it, its tables being of no other node */
    bool split;   /* some table was made in parts */
    int *place;   /* scratch: of each node, its digit in the table that is being made */
};

/* Finds the order: always a node whose table over its neighbours is smallest. */
espi_status espi_place_find_order(struct espi_place_elimination *e);

/* Sets up tables and order; release it also after errors. */
espi_status espi_place_elimination_init(struct espi_place_elimination *e, const struct espi_place_graph *graph,
                                        const struct espi_place_options *options);
void espi_place_elimination_release(struct espi_place_elimination *e);
/* Eliminates all nodes. */
espi_status espi_place_eliminate(struct espi_place_elimination *e);

/* The least sum of some tables (by number) for each choice of the nodes `out`, minimised over those in `in`. The two
   are distinct and hold all nodes of the tables. `value` has an entry for each choice, the first of `out` fastest. */
espi_status espi_place_project(struct espi_place_elimination *e, const int *table, int tables, const int *in, int ins,
                               const int *out, int outs, double *value);
/* A table's value for a choice of methods. */
double espi_place_lookup(const struct espi_place_elimination *e, const struct espi_place_factor *factor,
                         const int *method);
/* The sum of the tables that the node of a step joins, all other nodes in them being chosen. */
double espi_place_step_cost(const struct espi_place_elimination *e, int step, const int *method);

/* A table over nodes, counted; NULL when memory is short or max_bytes are used. */
double *espi_place_new_values(struct espi_place_elimination *e, const int *var, int vars, size_t *entries);

#endif
