/* Plans for graphs that collapse: every node is eliminated by one joint table over its neighbours. */
#include <stdlib.h>
#include <string.h>

#include "placement/elimination.h"

/* Backwards, each node has the least cost of its tables, as all other nodes in them are chosen. */
static void choose(const struct espi_place_elimination *e, struct espi_place_plan *plan)
{
    for (int step = e->graph->nodes - 1; step >= 0; step--) {
        int v = e->order[step], chosen = 0;
        double best = INFINITY;
        for (int j = 0; j < espi_place_methods(e->graph, v); j++) {
            plan->method[v] = j;
            double cost = espi_place_step_cost(e, step, plan->method);
            if (cost < best) {
                best = cost;
                chosen = j;
            }
        }
        plan->method[v] = chosen;
    }
}

/* What second best plans need beside the elimination. */
struct second {
    int *table; /* those of one step, and what comes down to it */
    int *down;  /* of each step: the table with the cost of all that is outside of it, -1 without one */
    int *all, *in; /* nodes of a step's tables; those that are minimised over */
    double *value;
};

/* The nodes that the tables of a step have, its own first. */
static int nodes_of(const struct espi_place_elimination *e, int step, bool *seen, int *node)
{
    int n = 0;
    node[n++] = e->order[step];
    seen[e->order[step]] = true;
    for (int f = e->first[step]; f >= 0; f = e->factor[f].next) {
        for (int x = 0; x < e->factor[f].vars; x++) {
            int v = e->factor[f].var[x];
            if (!seen[v])
                node[n++] = v;
            seen[v] = true;
        }
    }
    for (int x = 0; x < n; x++)
        seen[node[x]] = false;
    return n;
}

/* Those of `all` that a list lacks. */
static int without(const int *all, int n, const int *list, int listed, bool *seen, int *rest)
{
    int m = 0;
    for (int x = 0; x < listed; x++)
        seen[list[x]] = true;
    for (int x = 0; x < n; x++) {
        if (!seen[all[x]])
            rest[m++] = all[x];
    }
    for (int x = 0; x < listed; x++)
        seen[list[x]] = false;
    return m;
}

/* The second best of the step's node, from the least cost of the whole with each of its methods. */
static espi_status compare_methods(struct espi_place_elimination *e, const struct second *second, int step,
                                   int tables, int n, struct espi_place_plan *plan)
{
    int v = e->order[step];
    double best = INFINITY, other = INFINITY;
    espi_status status = espi_place_project(e, second->table, tables, second->all + 1, n - 1, &v, 1, second->value);
    for (int j = 0; status == ESPI_OK && j < espi_place_methods(e->graph, v); j++) {
        double cost = second->value[j];
        best = cost < best ? cost : best;
        if (j != plan->method[v] && cost < other)
            other = cost;
    }
    plan->runner_up[v] = other - best + plan->cost; /* parts without a connection stay as they are */
    return status;
}

/* The table for a message's sender, over the same nodes; its values are not filled in. NULL: no room. */
static struct espi_place_factor *add_down(struct espi_place_elimination *e, struct second *second, int message)
{
    struct espi_place_factor *down = &e->factor[e->factors];
    size_t entries;
    *down = e->factor[message];
    down->value = espi_place_new_values(e, down->var, down->vars, &entries);
    if (down->value == NULL)
        return NULL;
    second->down[down->source] = e->factors++;
    return down;
}

static void add_values(double *sum, const double *value, int n)
{
    for (int j = 0; j < n; j++)
        sum[j] += value[j];
}

/* Of messages over the step's node alone, which may be many: what all other tables cost is found once, and the sums
   of the other messages from both sides instead of a sum less one: INFINITY cannot be taken away again. */
static espi_status send_sums(struct espi_place_elimination *e, struct second *second, int step, int messages,
                             int tables, int n)
{
    int v = e->order[step], methods = espi_place_methods(e->graph, v);
    const int *others = second->table + messages;
    double *sum = second->value;
    espi_status status = espi_place_project(e, others, tables - messages, second->all + 1, n - 1, &v, 1, sum);
    for (int t = 0; t < messages && status == ESPI_OK; t++) {
        struct espi_place_factor *down = add_down(e, second, second->table[t]);
        if (down == NULL)
            return ESPI_ERR_LIMIT;
        memcpy(down->value, sum, (size_t)methods * sizeof *sum);
        add_values(sum, e->factor[second->table[t]].value, methods);
    }
    memset(sum, 0, (size_t)methods * sizeof *sum);
    for (int t = messages - 1; t >= 0 && status == ESPI_OK; t--) {
        const struct espi_place_factor *message = &e->factor[second->table[t]];
        add_values(e->factor[second->down[message->source]].value, sum, methods);
        add_values(sum, message->value, methods);
    }
    return status;
}

/* For each message that came to this step: the cost of all that its sender does not know. */
static espi_status send_down(struct espi_place_elimination *e, struct second *second, int step, int tables, int n,
                             bool *seen)
{
    espi_status status = ESPI_OK;
    int messages = 0, *table = second->table;
    bool alone = true;
    for (int t = 0; t < tables; t++) { /* messages to the front */
        int f = table[t];
        if (e->factor[f].source < 0 || f == second->down[step])
            continue;
        table[t] = table[messages];
        table[messages++] = f;
        alone = alone && e->factor[f].vars == 1;
    }
    if (alone)
        return messages > 0 ? send_sums(e, second, step, messages, tables, n) : ESPI_OK;
    for (int t = 0; t < messages && status == ESPI_OK; t++) {
        int f = table[t];
        const struct espi_place_factor *down = add_down(e, second, f);
        if (down == NULL)
            return ESPI_ERR_LIMIT;
        int ins = without(second->all, n, down->var, down->vars, seen, second->in);
        table[t] = table[tables - 1]; /* all but this one */
        status = espi_place_project(e, table, tables - 1, second->in, ins, down->var, down->vars, down->value);
        table[t] = f;
    }
    return status;
}

static espi_status find_second(struct espi_place_elimination *e, struct espi_place_plan *plan)
{
    size_t n = (size_t)e->graph->nodes, most = (size_t)e->factors + 1, methods = 1;
    for (int o = 0; o < e->graph->ops; o++)
        methods = (size_t)e->graph->op[o].methods > methods ? (size_t)e->graph->op[o].methods : methods;
    struct second second = {espi_place_array(most, sizeof(int)), espi_place_array(n, sizeof(int)),
                            espi_place_array(n, sizeof(int)), espi_place_array(n, sizeof(int)),
                            espi_place_array(methods, sizeof(double))};
    bool *seen = calloc(n + 1, sizeof *seen);
    /* One table down for each message up. */
    struct espi_place_factor *grown = realloc(e->factor, ((size_t)e->factors + n) * sizeof *grown);
    espi_status status = ESPI_OK;

    e->factor = grown != NULL ? grown : e->factor;
    if (second.table == NULL || second.down == NULL || second.all == NULL || second.in == NULL ||
        second.value == NULL || seen == NULL || grown == NULL)
        status = ESPI_ERR_MEMORY;
    for (size_t k = 0; status == ESPI_OK && k < n; k++)
        second.down[k] = -1;
    for (int step = e->graph->nodes - 1; step >= 0 && status == ESPI_OK; step--) {
        int tables = 0, nodes = nodes_of(e, step, seen, second.all);
        for (int f = e->first[step]; f >= 0; f = e->factor[f].next)
            second.table[tables++] = f;
        if (second.down[step] >= 0)
            second.table[tables++] = second.down[step];
        status = compare_methods(e, &second, step, tables, nodes, plan);
        if (status == ESPI_OK)
            status = send_down(e, &second, step, tables, nodes, seen);
    }
    free(second.table);
    free(second.down);
    free(second.all);
    free(second.in);
    free(second.value);
    free(seen);
    return status;
}

espi_status espi_place_plan_collapse(const struct espi_place_graph *graph, const struct espi_place_options *options,
                                     struct espi_place_plan *plan)
{
    struct espi_place_elimination e;
    for (int v = 0; v < graph->nodes; v++) {
        if (espi_place_methods(graph, v) == 0) {
            espi_place_plan_none(graph, plan);
            return ESPI_OK;
        }
    }
    espi_status status = espi_place_elimination_init(&e, graph, options);
    if (status == ESPI_OK)
        status = espi_place_eliminate(&e);
    if (status == ESPI_OK && isinf(e.bound)) {
        espi_place_plan_none(graph, plan);
    } else if (status == ESPI_OK) {
        choose(&e, plan);
        plan->cost = plan->lower_bound = espi_place_total(graph, plan->method);
        plan->exact = true;
        if (plan->runner_up != NULL)
            status = find_second(&e, plan);
        if (status == ESPI_ERR_LIMIT) { /* the plan itself is complete */
            free(plan->runner_up);
            plan->runner_up = NULL;
            status = ESPI_OK;
        }
    }
    espi_place_elimination_release(&e);
    return status;
}
