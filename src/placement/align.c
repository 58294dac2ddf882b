#include "placement/align.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "placement/internal.h"

/* Different functions, or pairs of an operation and a view, numbered. */
struct entry {
    UT_hash_handle hh;
    int index;
    union {
        struct espi_place_affine f;
        int pair[2];
    } key;
};

struct set {
    struct entry *first;
    int n;
};

struct carrier {
    const struct espi_place_alignment *alignment;
    const struct espi_place_graph *source;
    struct espi_place_carried *carried;
    struct espi_arena *arena;
    struct set views, placements, ops;
    struct entry **view; /* of each node: from the frame's indices to the node's; NULL: not reached yet */
    int *op;             /* of each node, its operation in the new graph */
    int *next_use;       /* of each operand, the next of the same value */
    int *first_use, *user, *stack; /* of each node; the node that an operand is of */
    int *wrong;
    size_t entries;
};

static espi_status add_to_set(struct carrier *carrier, struct set *set, const void *key, size_t bytes,
                              struct entry **found)
{
    HASH_FIND(hh, set->first, key, bytes, *found);
    if (*found != NULL)
        return ESPI_OK;
    struct entry *entry = espi_arena_calloc(carrier->arena, 1, sizeof *entry);
    if (entry == NULL)
        return ESPI_ERR_MEMORY;
    memcpy(&entry->key, key, bytes);
    entry->index = set->n;
    HASH_ADD_KEYPTR(hh, set->first, &entry->key, bytes, entry);
    if (entry->hh.tbl == NULL)
        return ESPI_ERR_MEMORY;
    set->n++;
    *found = entry;
    return ESPI_OK;
}

static espi_status add_function(struct carrier *carrier, struct set *set, const struct espi_place_affine *f,
                                struct entry **found)
{
    return add_to_set(carrier, set, f, sizeof *f, found);
}

/* A node is seen by this view, or was already. */
static espi_status reach(struct carrier *carrier, int v, const struct espi_place_affine *f, int *top)
{
    struct entry *entry;
    espi_status status = add_function(carrier, &carrier->views, f, &entry);
    if (status != ESPI_OK)
        return status;
    if (carrier->view[v] == NULL) {
        carrier->view[v] = entry;
        carrier->stack[(*top)++] = v;
    }
    return carrier->view[v] == entry ? ESPI_OK : ESPI_ERR_SYNTAX;
}

static espi_status reach_operands(struct carrier *carrier, int v, int *top)
{
    const struct espi_place_node *node = &carrier->source->node[v];
    espi_status status = ESPI_OK;
    for (int i = 0; i < carrier->source->op[node->op].arity && status == ESPI_OK; i++) {
        struct espi_place_affine f;
        *carrier->wrong = v;
        status = espi_place_compose(&carrier->alignment->read[node->op][i], &carrier->view[v]->key.f, &f)
                     ? reach(carrier, carrier->source->operand[node->first + i].from, &f, top)
                     : ESPI_ERR_SYNTAX;
    }
    return status;
}

static espi_status reach_users(struct carrier *carrier, int v, int *top)
{
    espi_status status = ESPI_OK;
    for (int x = carrier->first_use[v]; x >= 0 && status == ESPI_OK; x = carrier->next_use[x]) {
        struct espi_place_affine inverse, f;
        int user = carrier->user[x], op = carrier->source->node[user].op;
        const struct espi_place_affine *read = &carrier->alignment->read[op][x - carrier->source->node[user].first];
        *carrier->wrong = user;
        status = espi_place_invert(read, carrier->alignment->dims, &inverse) &&
                         espi_place_compose(&inverse, &carrier->view[v]->key.f, &f)
                     ? reach(carrier, user, &f, top)
                     : ESPI_ERR_SYNTAX;
    }
    return status;
}

/* How each node is seen from the last of those that it hangs together with. */
static espi_status find_views(struct carrier *carrier)
{
    const struct espi_place_graph *source = carrier->source;
    struct espi_place_affine identity = espi_place_identity(carrier->alignment->dims);
    espi_status status = ESPI_OK;
    int top = 0;

    for (int v = 0; v < source->nodes; v++)
        carrier->first_use[v] = -1;
    for (int v = source->nodes - 1; v >= 0; v--) {
        for (int i = 0; i < espi_place_arity(source, v); i++) {
            int x = source->node[v].first + i, u = source->operand[x].from;
            carrier->user[x] = v;
            carrier->next_use[x] = carrier->first_use[u];
            carrier->first_use[u] = x;
        }
    }
    for (int root = source->nodes - 1; root >= 0 && status == ESPI_OK; root--) {
        if (carrier->view[root] == NULL)
            status = reach(carrier, root, &identity, &top);
        while (top > 0 && status == ESPI_OK) {
            int v = carrier->stack[--top];
            status = reach_operands(carrier, v, &top);
            if (status == ESPI_OK)
                status = reach_users(carrier, v, &top);
        }
    }
    return status;
}

/* A placement that a method names for operand i, or (i the arity) for the result, as the frame sees it. */
static espi_status carry_one(struct carrier *carrier, int op, const struct espi_place_affine *view, int i, int place,
                             int *index)
{
    const struct espi_place_alignment *alignment = carrier->alignment;
    struct espi_place_affine f = *view, composed;
    struct entry *entry;
    if (i < carrier->source->op[op].arity && !espi_place_compose(&alignment->read[op][i], view, &f))
        return ESPI_ERR_SYNTAX;
    if (!espi_place_compose(&alignment->placement[place], &f, &composed))
        return ESPI_ERR_SYNTAX;
    espi_status status = add_function(carrier, &carrier->placements, &composed, &entry);
    *index = status == ESPI_OK ? entry->index : 0;
    return status == ESPI_OK && carrier->placements.n > ESPI_PLACE_MOST_PLACEMENTS ? ESPI_ERR_LIMIT : status;
}

/* The operation of the new graph for each node, and all placements that methods name. */
static espi_status find_ops(struct carrier *carrier)
{
    const struct espi_place_graph *source = carrier->source;
    espi_status status = ESPI_OK;
    int index;
    for (int v = 0; v < source->nodes && status == ESPI_OK; v++) {
        int key[2] = {source->node[v].op, carrier->view[v]->index}, before = carrier->ops.n;
        const struct espi_place_op *op = &source->op[key[0]];
        struct entry *entry = NULL;
        *carrier->wrong = v;
        status = add_to_set(carrier, &carrier->ops, key, sizeof key, &entry);
        carrier->op[v] = status == ESPI_OK ? entry->index : 0;
        if (status != ESPI_OK || carrier->ops.n == before)
            continue;
        for (int x = 0; x < op->methods * (op->arity + 1) && status == ESPI_OK; x++) {
            if (op->shape[x] >= 0 && op->shape[x] < espi_place_open(carrier->alignment))
                status = carry_one(carrier, key[0], &carrier->view[v]->key.f, x % (op->arity + 1), op->shape[x],
                                   &index);
        }
    }
    /* Where everything is open, anything will do. */
    if (status == ESPI_OK && carrier->placements.n == 0) {
        struct entry *entry;
        status = add_function(carrier, &carrier->placements, &carrier->alignment->placement[0], &entry);
    }
    return status;
}

/* Whether open placements need be none but named ones: where costs rise from kind to kind, always; where none is more
   than twice another, on chains. */
static bool is_enough(const struct espi_place_alignment *alignment)
{
    const struct espi_place_cost *change = alignment->change;
    const struct espi_place_graph *source = &alignment->source;
    bool chain = !source->shared;
    if (espi_place_is_at_most(change[0], change[1]) && espi_place_is_at_most(change[1], change[2]))
        return true;
    for (int v = 0; v < source->nodes; v++)
        chain = chain && espi_place_arity(source, v) <= 1;
    for (int a = 0; a < ESPI_PLACE_GENERAL; a++) {
        for (int b = 0; b < ESPI_PLACE_GENERAL; b++)
            chain = chain && espi_place_is_at_most(change[a], (struct espi_place_cost){2 * change[b].fixed,
                                                                                       2 * change[b].each});
    }
    return chain;
}

static espi_status add_moves(struct carrier *carrier)
{
    struct espi_place_graph *graph = &carrier->carried->graph;
    const struct espi_place_affine *placement = carrier->carried->placement;
    int table;
    espi_status status = espi_place_add_table(graph, &table);
    for (int p = 0; p < graph->placements && status == ESPI_OK; p++) {
        for (int q = 0; q < graph->placements && status == ESPI_OK; q++) {
            enum espi_place_change change = espi_place_compare(&placement[p], &placement[q],
                                                               carrier->alignment->rows);
            if (change != ESPI_PLACE_SAME)
                status = espi_place_set_move(graph, table, p, q,
                                             carrier->alignment->change[change - ESPI_PLACE_SHIFT]);
        }
    }
    return status;
}

/* One method of the source, which is one for each placement where it has open ones. `row` has room for it. */
static espi_status add_method(struct carrier *carrier, int op, int source_op, const struct espi_place_affine *view,
                              int method, int *row)
{
    const struct espi_place_alignment *alignment = carrier->alignment;
    const struct espi_place_op *from = &carrier->source->op[source_op];
    const int *shape = from->shape + (size_t)method * ((size_t)from->arity + 1);
    int arity = from->arity, open = espi_place_open(alignment), places = 1;
    espi_status status = ESPI_OK;

    for (int i = 0; i <= arity; i++)
        places = shape[i] == open ? carrier->placements.n : places;
    if ((size_t)places * ((size_t)arity + 1) > carrier->entries)
        return ESPI_ERR_LIMIT;
    carrier->entries -= (size_t)places * ((size_t)arity + 1);
    for (int i = 0; i <= arity && status == ESPI_OK; i++) {
        row[i] = shape[i];
        if (shape[i] >= 0 && shape[i] < open)
            status = carry_one(carrier, source_op, view, i, shape[i], &row[i]);
    }
    for (int p = 0; p < places && status == ESPI_OK; p++) {
        int result = shape[arity] == open ? p : row[arity];
        for (int i = 0; i < arity; i++) {
            if (shape[i] == open || shape[i] == espi_place_aligned(alignment))
                row[i] = shape[i] == open ? p : result;
        }
        status = espi_place_add_method(&carrier->carried->graph, op, row, result, from->cost[method]);
    }
    return status;
}

/* Which method of the source each method is. */
static espi_status note_methods(struct carrier *carrier, int op, const int *before, int methods)
{
    int *list = espi_arena_alloc(carrier->arena, (size_t)carrier->carried->graph.op[op].methods * sizeof *list);
    if (list == NULL)
        return ESPI_ERR_MEMORY;
    for (int j = 0; j < methods; j++) {
        for (int x = before[j]; x < before[j + 1]; x++)
            list[x] = j;
    }
    carrier->carried->method[op] = list;
    return ESPI_OK;
}

static espi_status add_op(struct carrier *carrier, const struct entry *entry, const struct espi_place_affine *view)
{
    struct espi_place_graph *graph = &carrier->carried->graph;
    const struct espi_place_op *from = &carrier->source->op[entry->key.pair[0]];
    int *row = espi_place_array((size_t)from->arity + 1, sizeof *row), op = 0;
    int *before = espi_place_array((size_t)from->methods + 1, sizeof *before);
    espi_status status = row != NULL && before != NULL ? espi_place_add_op(graph, from->arity, &op) : ESPI_ERR_MEMORY;

    for (int j = 0; j < from->methods && status == ESPI_OK; j++) {
        before[j] = graph->op[op].methods;
        status = add_method(carrier, op, entry->key.pair[0], view, j, row);
        before[j + 1] = graph->op[op].methods;
    }
    if (status == ESPI_OK) {
        carrier->carried->op[op] = entry->key.pair[0];
        status = note_methods(carrier, op, before, from->methods);
    }
    free(row);
    free(before);
    return status;
}

static espi_status add_ops_and_nodes(struct carrier *carrier)
{
    const struct espi_place_graph *source = carrier->source;
    struct espi_place_graph *graph = &carrier->carried->graph;
    const struct entry *entry = carrier->ops.first; /* in the order of their numbers */
    espi_status status = ESPI_OK;
    int index;

    for (int v = 0; v < source->nodes && status == ESPI_OK; v++) {
        if (carrier->op[v] == graph->ops) { /* the first node of its operation */
            status = add_op(carrier, entry, &carrier->view[v]->key.f);
            entry = entry->hh.next;
        }
        if (status == ESPI_OK)
            status = espi_place_add_node(graph, carrier->op[v], source->operand + source->node[v].first,
                                         source->node[v].size, &index);
    }
    return status;
}

/* The answer's own arrays, once it is known how many there are of everything. */
static espi_status describe(struct carrier *carrier)
{
    struct espi_place_carried *carried = carrier->carried;
    size_t n = (size_t)carrier->source->nodes;

    carried->placement = espi_arena_calloc(carrier->arena, (size_t)carrier->placements.n, sizeof *carried->placement);
    carried->back = espi_arena_calloc(carrier->arena, (size_t)carrier->views.n, sizeof *carried->back);
    carried->view = espi_arena_calloc(carrier->arena, n, sizeof *carried->view);
    carried->op = espi_arena_calloc(carrier->arena, (size_t)carrier->ops.n, sizeof *carried->op);
    carried->method = espi_arena_calloc(carrier->arena, (size_t)carrier->ops.n, sizeof *carried->method);
    if (carried->placement == NULL || carried->back == NULL || carried->view == NULL || carried->op == NULL ||
        carried->method == NULL)
        return ESPI_ERR_MEMORY;
    for (const struct entry *e = carrier->placements.first; e != NULL; e = e->hh.next)
        carried->placement[e->index] = e->key.f;
    for (size_t v = 0; v < n; v++)
        carried->view[v] = carrier->view[v]->index;
    *carrier->wrong = carrier->source->nodes - 1; /* their frame: numbers may be too large for the way back only */
    for (const struct entry *e = carrier->views.first; e != NULL; e = e->hh.next) {
        if (!espi_place_invert(&e->key.f, carrier->alignment->dims, &carried->back[e->index]))
            return ESPI_ERR_SYNTAX;
    }
    carried->all = is_enough(carrier->alignment);
    return espi_place_graph_init(&carried->graph, carrier->placements.n);
}

espi_status espi_place_carry(const struct espi_place_alignment *alignment, size_t entries, struct espi_arena *arena,
                             struct espi_place_carried *carried, int *wrong)
{
    struct carrier carrier = {.alignment = alignment, .source = &alignment->source, .carried = carried,
                              .arena = arena, .wrong = wrong, .entries = entries};
    size_t n = (size_t)alignment->source.nodes, operands = (size_t)alignment->source.operands;
    espi_status status = ESPI_ERR_MEMORY;

    *carried = (struct espi_place_carried){.graph = ESPI_PLACE_GRAPH_INIT};
    carrier.view = calloc(n + 1, sizeof *carrier.view);
    int *all = calloc(3 * n + 2 * operands + 1, sizeof *all);
    if (carrier.view != NULL && all != NULL) {
        carrier.op = all;
        carrier.first_use = all + n;
        carrier.stack = all + 2 * n;
        carrier.next_use = all + 3 * n;
        carrier.user = all + 3 * n + operands;
        status = find_views(&carrier);
        if (status == ESPI_OK)
            status = find_ops(&carrier);
        if (status == ESPI_OK)
            status = describe(&carrier);
        if (status == ESPI_OK)
            status = add_moves(&carrier);
        if (status == ESPI_OK)
            status = add_ops_and_nodes(&carrier);
    }
    HASH_CLEAR(hh, carrier.views.first);
    HASH_CLEAR(hh, carrier.placements.first);
    HASH_CLEAR(hh, carrier.ops.first);
    free(carrier.view);
    free(all);
    if (status != ESPI_OK)
        espi_place_graph_release(&carried->graph);
    return status;
}

bool espi_place_seen(const struct espi_place_carried *carried, int node, int place, struct espi_place_affine *f)
{
    return espi_place_compose(&carried->placement[place], &carried->back[carried->view[node]], f);
}
