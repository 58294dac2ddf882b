/* Which planner a graph gets. */
#include <stdlib.h>

#include "placement/internal.h"

static const char *const way_names[] = {"auto", "tree", "collapse", "cut", "search"};

const char *espi_place_way_name(enum espi_place_way way)
{
    return (unsigned)way < ESPI_PLACE_WAYS ? way_names[way] : NULL;
}

void *espi_place_array(size_t n, size_t size)
{
    return n > SIZE_MAX / size ? NULL : malloc(n * size > 0 ? n * size : 1);
}

void espi_place_plan_none(const struct espi_place_graph *graph, struct espi_place_plan *plan)
{
    plan->cost = plan->lower_bound = INFINITY;
    plan->exact = true;
    for (int v = 0; v < graph->nodes; v++) {
        plan->method[v] = ESPI_PLACE_NONE;
        if (plan->runner_up != NULL)
            plan->runner_up[v] = INFINITY;
    }
}

void espi_place_plan_release(struct espi_place_plan *plan)
{
    free(plan->method);
    free(plan->runner_up);
    *plan = ESPI_PLACE_PLAN_INIT;
}

static espi_status run(enum espi_place_way way, const struct espi_place_graph *graph,
                       const struct espi_place_options *options, struct espi_place_plan *plan)
{
    plan->way = way;
    switch (way) {
    case ESPI_PLACE_TREE:
        return graph->shared ? ESPI_ERR_ARGUMENT : espi_place_plan_tree(graph, options, plan);
    case ESPI_PLACE_COLLAPSE:
        return espi_place_plan_collapse(graph, options, plan);
    case ESPI_PLACE_CUT:
        return espi_place_plan_cut(graph, options, plan);
    case ESPI_PLACE_SEARCH:
        return espi_place_plan_search(graph, options, plan);
    default:
        return ESPI_ERR_ARGUMENT;
    }
}

espi_status espi_place_plan(const struct espi_place_graph *graph, const struct espi_place_options *options,
                            struct espi_place_plan *plan)
{
    struct espi_place_options o = options != NULL ? *options : (struct espi_place_options){0};
    espi_status status;

    *plan = ESPI_PLACE_PLAN_INIT;
    o.max_bytes = o.max_bytes > 0 ? o.max_bytes : (size_t)1 << 30;
    o.max_entries = o.max_entries > 0 ? o.max_entries : (size_t)1 << 20;
    o.max_steps = o.max_steps > 0 ? o.max_steps : 10000000;
    plan->method = espi_place_array((size_t)graph->nodes, sizeof *plan->method);
    plan->runner_up = o.runner_up ? espi_place_array((size_t)graph->nodes, sizeof *plan->runner_up) : NULL;
    if (plan->method == NULL || (o.runner_up && plan->runner_up == NULL)) {
        status = ESPI_ERR_MEMORY;
    } else if (o.way != ESPI_PLACE_AUTO) {
        status = run(o.way, graph, &o, plan);
    } else if (!graph->shared) {
        status = run(ESPI_PLACE_TREE, graph, &o, plan);
    } else {
        status = run(ESPI_PLACE_COLLAPSE, graph, &o, plan);
        if (status == ESPI_ERR_LIMIT)
            status = run(ESPI_PLACE_CUT, graph, &o, plan);
        if (status == ESPI_ERR_LIMIT || status == ESPI_ERR_ARGUMENT)
            status = run(ESPI_PLACE_SEARCH, graph, &o, plan);
    }
    if (status != ESPI_OK)
        espi_place_plan_release(plan);
    return status;
}
