/* Building graphs. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "placement/placement.h"

static bool is_cost(struct espi_place_cost cost)
{
    return cost.each >= 0 && cost.each <= ESPI_PLACE_MOST_COST &&
           ((cost.fixed >= 0 && cost.fixed <= ESPI_PLACE_MOST_COST) || (isinf(cost.fixed) && cost.fixed > 0));
}

/* Room for `more` further entries of `size` bytes. */
static espi_status make_room(void **array, size_t size, int used, int more, int *capacity)
{
    if (more > INT_MAX / 2 - used)
        return ESPI_ERR_LIMIT;
    if (used + more <= *capacity)
        return ESPI_OK;
    int wanted = *capacity < 8 ? 8 : *capacity > INT_MAX / 4 ? INT_MAX / 2 : 2 * *capacity;
    if (wanted < used + more)
        wanted = used + more;
    void *grown = (size_t)wanted > SIZE_MAX / size ? NULL : realloc(*array, (size_t)wanted * size);
    if (grown == NULL)
        return ESPI_ERR_MEMORY;
    *array = grown;
    *capacity = wanted;
    return ESPI_OK;
}

espi_status espi_place_graph_init(struct espi_place_graph *graph, int placements)
{
    *graph = ESPI_PLACE_GRAPH_INIT;
    if (placements < 1 || placements > ESPI_PLACE_MOST_PLACEMENTS)
        return ESPI_ERR_ARGUMENT;
    graph->placements = placements;
    return ESPI_OK;
}

void espi_place_graph_release(struct espi_place_graph *graph)
{
    for (int t = 0; t < graph->tables; t++) {
        free(graph->table[t].fixed);
        free(graph->table[t].each);
    }
    for (int o = 0; o < graph->ops; o++) {
        free(graph->op[o].shape);
        free(graph->op[o].cost);
    }
    free(graph->table);
    free(graph->op);
    free(graph->node);
    free(graph->operand);
    *graph = ESPI_PLACE_GRAPH_INIT;
}

espi_status espi_place_add_table(struct espi_place_graph *graph, int *index)
{
    size_t s = (size_t)graph->placements;
    void *array = graph->table;
    espi_status status = make_room(&array, sizeof *graph->table, graph->tables, 1, &graph->table_capacity);
    graph->table = array;
    if (status != ESPI_OK)
        return status;
    struct espi_place_table made = {malloc(s * s * sizeof(double)), calloc(s * s, sizeof(double))};
    if (made.fixed == NULL || made.each == NULL) {
        free(made.fixed);
        free(made.each);
        return ESPI_ERR_MEMORY;
    }
    for (size_t x = 0; x < s * s; x++)
        made.fixed[x] = x / s == x % s ? 0 : INFINITY;
    graph->table[graph->tables] = made;
    *index = graph->tables++;
    return ESPI_OK;
}

espi_status espi_place_set_move(struct espi_place_graph *graph, int table, int from, int to,
                                struct espi_place_cost cost)
{
    int s = graph->placements;
    if (table < 0 || table >= graph->tables || from < 0 || from >= s || to < 0 || to >= s || !is_cost(cost))
        return ESPI_ERR_ARGUMENT;
    size_t at = (size_t)to * (size_t)s + (size_t)from;
    graph->table[table].fixed[at] = cost.fixed;
    graph->table[table].each[at] = cost.each;
    return ESPI_OK;
}

struct espi_place_cost espi_place_entry(const struct espi_place_graph *graph, int table, int from, int to)
{
    size_t at = (size_t)to * (size_t)graph->placements + (size_t)from;
    return (struct espi_place_cost){graph->table[table].fixed[at], graph->table[table].each[at]};
}

espi_status espi_place_add_op(struct espi_place_graph *graph, int arity, int *index)
{
    if (arity < 0 || arity > ESPI_PLACE_MOST_OPERANDS)
        return ESPI_ERR_ARGUMENT;
    void *array = graph->op;
    espi_status status = make_room(&array, sizeof *graph->op, graph->ops, 1, &graph->op_capacity);
    graph->op = array;
    if (status != ESPI_OK)
        return status;
    graph->op[graph->ops] = (struct espi_place_op){.arity = arity};
    *index = graph->ops++;
    return ESPI_OK;
}

espi_status espi_place_add_method(struct espi_place_graph *graph, int op, const int *operand, int result,
                                  struct espi_place_cost cost)
{
    if (op < 0 || op >= graph->ops || result < 0 || result >= graph->placements || !is_cost(cost))
        return ESPI_ERR_ARGUMENT;
    struct espi_place_op *o = &graph->op[op];
    size_t width = (size_t)o->arity + 1;
    for (int i = 0; i < o->arity; i++) {
        if (operand[i] != ESPI_PLACE_ANY && (operand[i] < 0 || operand[i] >= graph->placements))
            return ESPI_ERR_ARGUMENT;
    }
    int capacity = o->capacity; /* of both arrays: only what both have counts */
    void *array = o->cost;
    espi_status status = make_room(&array, sizeof *o->cost, o->methods, 1, &capacity);
    o->cost = array;
    if (status == ESPI_OK) {
        array = o->shape;
        status = make_room(&array, width * sizeof *o->shape, o->methods, 1, &o->capacity);
        o->shape = array;
    }
    if (status != ESPI_OK)
        return status;
    for (int i = 0; i < o->arity; i++)
        o->shape[(size_t)o->methods * width + (size_t)i] = operand[i];
    o->shape[(size_t)o->methods * width + width - 1] = result;
    o->cost[o->methods++] = cost;
    return ESPI_OK;
}

espi_status espi_place_add_relation(struct espi_place_graph *graph, int op, const int *const *map,
                                    struct espi_place_cost cost, int *methods)
{
    if (op < 0 || op >= graph->ops || !is_cost(cost))
        return ESPI_ERR_ARGUMENT;
    struct espi_place_op *o = &graph->op[op];
    int before = o->methods, *row = malloc(((size_t)o->arity + 1) * sizeof *row);
    espi_status status = row != NULL ? ESPI_OK : ESPI_ERR_MEMORY;
    for (int x = 0; x < graph->placements && status == ESPI_OK; x++) {
        bool there = true;
        for (int i = 0; i <= o->arity; i++) {
            row[i] = map[i] != NULL ? map[i][x] : x;
            there = there && row[i] < graph->placements &&
                    (row[i] >= 0 || (row[i] == ESPI_PLACE_ANY && i < o->arity));
        }
        if (there)
            status = espi_place_add_method(graph, op, row, row[o->arity], cost);
    }
    free(row);
    if (status != ESPI_OK)
        o->methods = before;
    if (methods != NULL)
        *methods = o->methods - before;
    return status;
}

espi_status espi_place_add_node(struct espi_place_graph *graph, int op, const struct espi_place_operand *operand,
                                double size, int *index)
{
    if (op < 0 || op >= graph->ops || !(size >= 0 && size <= ESPI_PLACE_MOST_COST))
        return ESPI_ERR_ARGUMENT;
    int arity = graph->op[op].arity;
    for (int i = 0; i < arity; i++) {
        if (operand[i].from < 0 || operand[i].from >= graph->nodes || operand[i].table < 0 ||
            operand[i].table >= graph->tables)
            return ESPI_ERR_ARGUMENT;
    }
    void *array = graph->node;
    espi_status status = make_room(&array, sizeof *graph->node, graph->nodes, 1, &graph->node_capacity);
    graph->node = array;
    if (status == ESPI_OK) {
        array = graph->operand;
        status = make_room(&array, sizeof *graph->operand, graph->operands, arity, &graph->operand_capacity);
        graph->operand = array;
    }
    if (status != ESPI_OK)
        return status;
    graph->node[graph->nodes] = (struct espi_place_node){op, graph->operands, 0, size};
    for (int i = 0; i < arity; i++) {
        graph->operand[graph->operands++] = operand[i];
        graph->shared = graph->node[operand[i].from].uses++ > 0 || graph->shared;
    }
    *index = graph->nodes++;
    return ESPI_OK;
}

double espi_place_move(const struct espi_place_graph *graph, int operand, int from, int to)
{
    const struct espi_place_operand *o = &graph->operand[operand];
    if (to == ESPI_PLACE_ANY)
        return 0;
    struct espi_place_cost cost = espi_place_entry(graph, o->table, from, to);
    return cost.fixed + cost.each * graph->node[o->from].size;
}

double espi_place_work(const struct espi_place_graph *graph, int node, int method)
{
    const struct espi_place_cost *cost = &graph->op[graph->node[node].op].cost[method];
    return cost->fixed + cost->each * graph->node[node].size;
}

int espi_place_wants(const struct espi_place_graph *graph, int node, int method, int i)
{
    const struct espi_place_op *op = &graph->op[graph->node[node].op];
    return op->shape[(size_t)method * ((size_t)op->arity + 1) + (size_t)i];
}

int espi_place_gives(const struct espi_place_graph *graph, int node, int method)
{
    return espi_place_wants(graph, node, method, graph->op[graph->node[node].op].arity);
}

double espi_place_total(const struct espi_place_graph *graph, const int *method)
{
    double sum = 0;
    for (int v = 0; v < graph->nodes; v++) {
        const struct espi_place_node *node = &graph->node[v];
        sum += espi_place_work(graph, v, method[v]);
        for (int i = 0; i < graph->op[node->op].arity; i++) {
            int from = graph->operand[node->first + i].from;
            sum += espi_place_move(graph, node->first + i, espi_place_gives(graph, from, method[from]),
                                   espi_place_wants(graph, v, method[v], i));
        }
    }
    return sum;
}
