/* Tables over nodes and their elimination. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "placement/elimination.h"

static int methods_of(const struct espi_place_elimination *e, int node)
{
    return espi_place_methods(e->graph, node);
}

double *espi_place_new_values(struct espi_place_elimination *e, const int *var, int vars, size_t *entries)
{
    size_t n = 1, most = (e->max_bytes - e->bytes) / sizeof(double);
    for (int x = 0; x < vars; x++) {
        size_t m = (size_t)methods_of(e, var[x]);
        if (n > most / m)
            return NULL;
        n *= m;
    }
    if (n > most)
        return NULL;
    double *value = malloc(n * sizeof *value);
    e->bytes += value != NULL ? n * sizeof *value : 0;
    *entries = n;
    return value;
}

/* A new table, which belongs to the step in which the first of its nodes goes; the caller fills in its values. */
static espi_status add_factor(struct espi_place_elimination *e, const int *var, int vars, int source,
                              struct espi_place_factor **added)
{
    size_t entries;
    if (e->factors == e->capacity) {
        int capacity = e->capacity > 0 ? 2 * e->capacity : 64;
        struct espi_place_factor *grown =
            capacity > INT_MAX / 4 ? NULL : realloc(e->factor, (size_t)capacity * sizeof *grown);
        if (grown == NULL)
            return ESPI_ERR_MEMORY;
        e->factor = grown;
        e->capacity = capacity;
    }
    struct espi_place_factor *factor = &e->factor[e->factors];
    *factor = (struct espi_place_factor){.vars = vars, .source = source};
    factor->var = espi_arena_alloc(&e->arena, (size_t)vars * sizeof *factor->var);
    if (factor->var == NULL)
        return ESPI_ERR_MEMORY;
    factor->value = espi_place_new_values(e, var, vars, &entries);
    if (factor->value == NULL)
        return ESPI_ERR_LIMIT;
    memcpy(factor->var, var, (size_t)vars * sizeof *var);
    int step = INT_MAX;
    for (int x = 0; x < vars; x++)
        step = e->step[var[x]] < step ? e->step[var[x]] : step;
    factor->next = e->first[step];
    e->first[step] = e->factors++;
    *added = factor;
    return ESPI_OK;
}

static espi_status add_work(struct espi_place_elimination *e, int v)
{
    struct espi_place_factor *factor;
    espi_status status = add_factor(e, &v, 1, -1, &factor);
    for (int j = 0; status == ESPI_OK && j < methods_of(e, v); j++)
        factor->value[j] = espi_place_work(e->graph, v, j);
    return status;
}

static espi_status add_move(struct espi_place_elimination *e, int v, int i)
{
    const struct espi_place_graph *graph = e->graph;
    int x = graph->node[v].first + i, u = graph->operand[x].from, var[2], vars = 0;
    struct espi_place_factor *factor;
    size_t at = 0;
    /* A node without a choice depends on no other, however many there are around it. */
    if (methods_of(e, u) > 1)
        var[vars++] = u;
    if (methods_of(e, v) > 1 || vars == 0)
        var[vars++] = v;
    espi_status status = add_factor(e, var, vars, -1, &factor);
    for (int j = 0; status == ESPI_OK && j < methods_of(e, v); j++) {
        int to = espi_place_wants(graph, v, j, i);
        for (int k = 0; k < methods_of(e, u); k++)
            factor->value[at++] = espi_place_move(graph, x, espi_place_gives(graph, u, k), to);
    }
    return status;
}

espi_status espi_place_elimination_init(struct espi_place_elimination *e, const struct espi_place_graph *graph,
                                        const struct espi_place_options *options)
{
    size_t n = (size_t)graph->nodes;
    *e = (struct espi_place_elimination){.graph = graph, .max_bytes = options->max_bytes,
                                         .max_entries = options->max_entries};
    e->order = espi_arena_calloc(&e->arena, n, sizeof *e->order);
    e->step = espi_arena_calloc(&e->arena, n, sizeof *e->step);
    e->first = espi_arena_calloc(&e->arena, n, sizeof *e->first);
    e->place = espi_arena_calloc(&e->arena, n, sizeof *e->place);
    e->constant = espi_arena_calloc(&e->arena, n, sizeof *e->constant);
    if (e->order == NULL || e->step == NULL || e->first == NULL || e->place == NULL || e->constant == NULL)
        return ESPI_ERR_MEMORY;
    for (size_t k = 0; k < n; k++)
        e->first[k] = -1;
    espi_status status = espi_place_find_order(e);
    if (status == ESPI_OK && e->wide && options->way != ESPI_PLACE_SEARCH)
        status = ESPI_ERR_LIMIT;
    return status;
}

/* The tables of the graph itself. */
static espi_status add_costs(struct espi_place_elimination *e)
{
    espi_status status = ESPI_OK;
    for (int v = 0; v < e->graph->nodes && status == ESPI_OK; v++) {
        status = add_work(e, v);
        for (int i = 0; i < espi_place_arity(e->graph, v) && status == ESPI_OK; i++)
            status = add_move(e, v, i);
    }
    return status;
}

void espi_place_elimination_release(struct espi_place_elimination *e)
{
    for (int f = 0; f < e->factors; f++)
        free(e->factor[f].value);
    free(e->factor);
    espi_arena_release(&e->arena);
}

/* Which way a table is walked while all nodes are counted through. */
struct walk {
    const double *at;
    ptrdiff_t *stride; /* of each digit */
};

espi_status espi_place_project(struct espi_place_elimination *e, const int *table, int tables, const int *in, int ins,
                               const int *out, int outs, double *value)
{
    int digits = ins + outs;
    int *count = calloc((size_t)digits + 1, sizeof *count), *base = calloc((size_t)digits + 1, sizeof *base);
    struct walk *walk = calloc((size_t)tables + 1, sizeof *walk);
    ptrdiff_t *strides = calloc((size_t)tables * (size_t)digits + 1, sizeof *strides);
    size_t inner = 1, at = 0;

    if (count == NULL || base == NULL || walk == NULL || strides == NULL) {
        free(count);
        free(base);
        free(walk);
        free(strides);
        return ESPI_ERR_MEMORY;
    }
    for (int d = 0; d < digits; d++) {
        int v = d < ins ? in[d] : out[d - ins];
        base[d] = methods_of(e, v);
        e->place[v] = d;
        inner *= d < ins ? (size_t)base[d] : 1;
    }
    for (int t = 0; t < tables; t++) {
        const struct espi_place_factor *factor = &e->factor[table[t]];
        ptrdiff_t stride = 1;
        walk[t] = (struct walk){factor->value, strides + (size_t)t * (size_t)digits};
        for (int x = 0; x < factor->vars; x++) {
            walk[t].stride[e->place[factor->var[x]]] = stride;
            stride *= methods_of(e, factor->var[x]);
        }
    }
    for (int d = 0; d < digits;) {
        double best = INFINITY;
        for (size_t x = 0; x < inner; x++) {
            double sum = 0;
            for (int t = 0; t < tables; t++)
                sum += *walk[t].at;
            best = sum < best ? sum : best;
            for (d = 0; d < digits; d++) { /* count on */
                if (++count[d] < base[d])
                    break;
                count[d] = 0;
                for (int t = 0; t < tables; t++)
                    walk[t].at -= walk[t].stride[d] * (base[d] - 1);
            }
            for (int t = 0; t < tables && d < digits; t++)
                walk[t].at += walk[t].stride[d];
        }
        value[at++] = best;
    }
    free(count);
    free(base);
    free(walk);
    free(strides);
    return ESPI_OK;
}

double espi_place_lookup(const struct espi_place_elimination *e, const struct espi_place_factor *factor,
                         const int *method)
{
    size_t at = 0, stride = 1;
    for (int x = 0; x < factor->vars; x++) {
        at += stride * (size_t)method[factor->var[x]];
        stride *= (size_t)methods_of(e, factor->var[x]);
    }
    return factor->value[at];
}

double espi_place_step_cost(const struct espi_place_elimination *e, int step, const int *method)
{
    double sum = 0;
    for (int f = e->first[step]; f >= 0; f = e->factor[f].next)
        sum += espi_place_lookup(e, &e->factor[f], method);
    return sum;
}

/* Some of a node's tables, and the other nodes in them. */
struct part {
    int tables, nodes;
    double entries; /* of a table over the nodes */
    int *table, *node;
};

/* The entries of the part's table with those nodes of a table added that it lacks; they are added if `add`. */
static double extend(const struct espi_place_elimination *e, struct part *part,
                     const struct espi_place_factor *factor, int without, bool add)
{
    double entries = part->entries;
    for (int x = 0; x < factor->vars; x++) {
        int v = factor->var[x], y = 0;
        while (y < part->nodes && part->node[y] != v)
            y++;
        if (v == without || y < part->nodes)
            continue;
        entries *= methods_of(e, v);
        if (add)
            part->node[part->nodes++] = v;
    }
    return entries;
}

static espi_status send(struct espi_place_elimination *e, const struct part *part, int step)
{
    struct espi_place_factor *factor;
    if (part->nodes == 0) {
        double value;
        espi_status status = espi_place_project(e, part->table, part->tables, &e->order[step], 1, NULL, 0, &value);
        e->bound += status == ESPI_OK ? value : 0;
        e->constant[step] += status == ESPI_OK ? value : 0;
        return status;
    }
    espi_status status = add_factor(e, part->node, part->nodes, step, &factor);
    if (status == ESPI_OK)
        status = espi_place_project(e, part->table, part->tables, &e->order[step], 1, part->node, part->nodes,
                                    factor->value);
    return status;
}

/* Joins the node's tables, all of them if that fits, else as many at a time as do. */
static espi_status eliminate_one(struct espi_place_elimination *e, int step, struct part *part, int *left)
{
    int n = 0;
    for (int f = e->first[step]; f >= 0; f = e->factor[f].next)
        left[n++] = f;
    for (int parts = 0; n > 0; parts++) {
        int kept = 0;
        part->tables = part->nodes = 0;
        part->entries = 1;
        for (int x = 0; x < n; x++) {
            const struct espi_place_factor *factor = &e->factor[left[x]];
            double entries = extend(e, part, factor, e->order[step], false);
            if (part->tables > 0 && entries > (double)e->max_entries) {
                left[kept++] = left[x];
                continue;
            }
            part->entries = extend(e, part, factor, e->order[step], true);
            part->table[part->tables++] = left[x];
        }
        e->split = e->split || kept > 0;
        n = kept;
        espi_status status = send(e, part, step);
        if (status != ESPI_OK)
            return status;
    }
    return ESPI_OK;
}

espi_status espi_place_eliminate(struct espi_place_elimination *e)
{
    size_t n = (size_t)e->graph->nodes;
    espi_status status = add_costs(e);
    /* No more tables than costs and messages are ever there at once, a message less than its parts. */
    size_t most = (size_t)e->factors + n + 1;
    struct part part = {.table = espi_place_array(most, sizeof(int)), .node = espi_place_array(n, sizeof(int))};
    int *left = espi_place_array(most, sizeof *left);

    if (status == ESPI_OK && (part.table == NULL || part.node == NULL || left == NULL))
        status = ESPI_ERR_MEMORY;
    for (int step = 0; step < e->graph->nodes && status == ESPI_OK; step++)
        status = eliminate_one(e, step, &part, left);
    free(part.table);
    free(part.node);
    free(left);
    return status;
}
