/* What the planners share. */
#ifndef ESPI_PLACEMENT_INTERNAL_H
#define ESPI_PLACEMENT_INTERNAL_H

#include <math.h>

#include "placement/placement.h"

/* Whether the table is a discrete metric (see espi_place_metric); *change is then what any change costs. O(s^2). */
bool espi_place_is_discrete(const struct espi_place_graph *graph, int table, struct espi_place_cost *change);

/* The planners. All limits in `options` are set. plan->method has an entry for each node and plan->runner_up is as it
   should be; they set what else the plan has. Errors as for espi_place_plan. */
espi_status espi_place_plan_tree(const struct espi_place_graph *graph, const struct espi_place_options *options,
                                 struct espi_place_plan *plan);
espi_status espi_place_plan_collapse(const struct espi_place_graph *graph, const struct espi_place_options *options,
                                     struct espi_place_plan *plan);
espi_status espi_place_plan_cut(const struct espi_place_graph *graph, const struct espi_place_options *options,
                                struct espi_place_plan *plan);
espi_status espi_place_plan_search(const struct espi_place_graph *graph, const struct espi_place_options *options,
                                   struct espi_place_plan *plan);

/* plan->cost is INFINITY: no methods, no second best. */
void espi_place_plan_none(const struct espi_place_graph *graph, struct espi_place_plan *plan);

/* n objects of `size` bytes each, not cleared; NULL also when that overflows. */
void *espi_place_array(size_t n, size_t size);

/* For every size >= 0; what is impossible is impossible whatever the other part says. */
static inline bool espi_place_is_at_most(struct espi_place_cost a, struct espi_place_cost b)
{
    return isinf(b.fixed) || (a.fixed <= b.fixed && a.each <= b.each);
}

/* Whether sums of such costs are exact, as long as they are such themselves. */
static inline bool espi_place_is_exact(double cost)
{
    return cost < 0x1p53 && cost == floor(cost);
}

static inline int espi_place_arity(const struct espi_place_graph *graph, int node)
{
    return graph->op[graph->node[node].op].arity;
}

static inline int espi_place_methods(const struct espi_place_graph *graph, int node)
{
    return graph->op[graph->node[node].op].methods;
}

#endif
