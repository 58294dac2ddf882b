/* Plans for graphs in which no value is used twice: forests whose edges lead from operands to their consumers.

   The recurrence (Mace; doc/placement.md, "Trees"): up(v, r), the least cost of all that v's value takes when it is
   left in r, is the least over v's methods with result r of their cost and, over the operands, of what it takes to
   deliver each where the method wants it; deliver(u, p) = min over q of up(u, q) + move(q, p). For the second best
   plans the same is done from the roots down: down(v, r), the least cost of all else when v leaves its value in r. */
#include <stdlib.h>
#include <string.h>

#include "placement/internal.h"

/* The placements, in rising order, that the methods of an operation want one of its operands in. */
struct wanted {
    int n;
    bool any; /* some take it as it is */
    int *place;
};

struct work {
    const struct espi_place_graph *graph;
    size_t s;
    struct wanted *wanted; /* of all operands of all operations */
    size_t *first;         /* of each operation, into `wanted` */
    int *places;           /* what `wanted` points into */
    struct espi_place_cost *change; /* of each table that is a discrete metric; else fixed is negative */
    double *up, *down;     /* nodes * s; `down` only for second best plans */
    double *best;          /* of each node with `down`: the least cost of its tree */
    /* Of one node: for each operand s + 1 costs of delivering it, the last for ANY; the same for the costs of all
       else; and sums over the operands before and behind each. */
    double *deliver, *through, *before, *behind;
};

static void release_work(struct work *work)
{
    free(work->wanted);
    free(work->first);
    free(work->places);
    free(work->change);
    free(work->up);
    free(work->down);
    free(work->best);
    free(work->deliver);
    free(work->through);
    free(work->before);
    free(work->behind);
}

/* Whether one wants of operand i of an operation: the placements, into `place`, if not NULL; their number. */
static int find_wanted(const struct espi_place_graph *graph, const struct espi_place_op *op, int i, bool *seen,
                       struct wanted *wanted)
{
    int n = 0;
    memset(seen, 0, (size_t)graph->placements);
    wanted->any = false;
    for (int j = 0; j < op->methods; j++) {
        int p = op->shape[(size_t)j * ((size_t)op->arity + 1) + (size_t)i];
        if (p == ESPI_PLACE_ANY)
            wanted->any = true;
        else if (!seen[p]) {
            seen[p] = true;
            n++;
        }
    }
    wanted->n = n;
    if (wanted->place != NULL) {
        n = 0;
        for (int p = 0; p < graph->placements; p++) {
            if (seen[p])
                wanted->place[n++] = p;
        }
    }
    return n;
}

static espi_status prepare_ops(struct work *work)
{
    const struct espi_place_graph *graph = work->graph;
    bool *seen = espi_place_array(work->s, sizeof *seen);
    size_t operands = 0, places = 0;

    work->first = espi_place_array((size_t)graph->ops, sizeof *work->first);
    for (int o = 0; o < graph->ops && work->first != NULL; o++) {
        work->first[o] = operands;
        operands += (size_t)graph->op[o].arity;
    }
    work->wanted = espi_place_array(operands, sizeof *work->wanted);
    if (seen == NULL || work->first == NULL || work->wanted == NULL) {
        free(seen);
        return ESPI_ERR_MEMORY;
    }
    for (int round = 0; round < 2; round++) { /* counted, then filled in */
        size_t at = 0;
        for (int o = 0; o < graph->ops; o++) {
            for (int i = 0; i < graph->op[o].arity; i++) {
                struct wanted *wanted = &work->wanted[work->first[o] + (size_t)i];
                wanted->place = round > 0 ? work->places + at : NULL;
                at += (size_t)find_wanted(graph, &graph->op[o], i, seen, wanted);
            }
        }
        places = at;
        if (round == 0) {
            work->places = espi_place_array(places, sizeof *work->places);
            if (work->places == NULL)
                break;
        }
    }
    free(seen);
    return work->places != NULL ? ESPI_OK : ESPI_ERR_MEMORY;
}

static espi_status prepare(struct work *work, const struct espi_place_options *options)
{
    const struct espi_place_graph *graph = work->graph;
    size_t n = (size_t)graph->nodes, arity = 0, width = work->s + 1;
    bool second = options->runner_up;

    for (int o = 0; o < graph->ops; o++)
        arity = (size_t)graph->op[o].arity > arity ? (size_t)graph->op[o].arity : arity;
    if (n > options->max_bytes / (work->s * sizeof(double) * (second ? 2 : 1)) ||
        arity > options->max_bytes / (4 * width * sizeof(double)))
        return ESPI_ERR_LIMIT;
    work->change = espi_place_array((size_t)graph->tables, sizeof *work->change);
    work->up = espi_place_array(n * work->s, sizeof(double));
    work->deliver = espi_place_array(arity * width, sizeof(double));
    if (work->change == NULL || work->up == NULL || work->deliver == NULL)
        return ESPI_ERR_MEMORY;
    if (second) {
        work->down = espi_place_array(n * work->s, sizeof(double));
        work->best = espi_place_array(n, sizeof(double));
        work->through = espi_place_array(arity * width, sizeof(double));
        work->before = espi_place_array(arity + 1, sizeof(double));
        work->behind = espi_place_array(arity + 1, sizeof(double));
        if (work->down == NULL || work->best == NULL || work->through == NULL || work->before == NULL ||
            work->behind == NULL)
            return ESPI_ERR_MEMORY;
    }
    for (int t = 0; t < graph->tables; t++) {
        if (!espi_place_is_discrete(graph, t, &work->change[t]))
            work->change[t].fixed = -1;
    }
    return prepare_ops(work);
}

/* What operand x, left in any placement, costs in placement `to`, and where it is best left for that. */
static double deliver_one(const struct work *work, int x, int to, int *from)
{
    const struct espi_place_operand *operand = &work->graph->operand[x];
    const struct espi_place_table *table = &work->graph->table[operand->table];
    const double *up = work->up + (size_t)operand->from * work->s, size = work->graph->node[operand->from].size;
    bool any = to == ESPI_PLACE_ANY;
    const double *fixed = table->fixed + (any ? 0 : (size_t)to) * work->s;
    const double *each = table->each + (any ? 0 : (size_t)to) * work->s;
    double best = INFINITY;
    *from = 0;
    for (size_t q = 0; q < work->s; q++) {
        double cost = any ? up[q] : up[q] + (fixed[q] + each[q] * size);
        if (cost < best) {
            best = cost;
            *from = (int)q;
        }
    }
    return best;
}

/* What operand x costs in each placement that is wanted, into deliver[placement], deliver[s] for ANY. */
static void deliver_all(const struct work *work, int x, const struct wanted *wanted, double *deliver)
{
    const struct espi_place_operand *operand = &work->graph->operand[x];
    const double *up = work->up + (size_t)operand->from * work->s, size = work->graph->node[operand->from].size;
    struct espi_place_cost change = work->change[operand->table];
    double least = INFINITY;

    if (wanted->any || change.fixed >= 0) {
        for (size_t q = 0; q < work->s; q++)
            least = up[q] < least ? up[q] : least;
        deliver[work->s] = least;
    }
    for (int k = 0; k < wanted->n; k++) {
        size_t to = (size_t)wanted->place[k];
        if (change.fixed >= 0) { /* stay, or come from where it is cheapest: all changes cost the same */
            double changed = least + (change.fixed + change.each * size);
            deliver[to] = up[to] < changed ? up[to] : changed;
            continue;
        }
        const struct espi_place_table *table = &work->graph->table[operand->table];
        const double *fixed = table->fixed + to * work->s, *each = table->each + to * work->s;
        double best = INFINITY;
#pragma omp simd reduction(min : best)
        for (size_t q = 0; q < work->s; q++) {
            double way = up[q] + (fixed[q] + each[q] * size);
            best = way < best ? way : best;
        }
        deliver[to] = best;
    }
}

static void deliver_operands(const struct work *work, int v)
{
    const struct espi_place_node *node = &work->graph->node[v];
    int arity = work->graph->op[node->op].arity;
    for (int i = 0; i < arity; i++)
        deliver_all(work, node->first + i, &work->wanted[work->first[node->op] + (size_t)i],
                    work->deliver + (size_t)i * (work->s + 1));
}

/* Where a delivered placement stands among an operand's costs. */
static size_t slot(const struct work *work, int i, int place)
{
    return (size_t)i * (work->s + 1) + (place == ESPI_PLACE_ANY ? work->s : (size_t)place);
}

static void go_up(struct work *work)
{
    const struct espi_place_graph *graph = work->graph;
    for (int v = 0; v < graph->nodes; v++) {
        const struct espi_place_op *op = &graph->op[graph->node[v].op];
        double *up = work->up + (size_t)v * work->s;
        const int *shape = op->shape;
        for (size_t r = 0; r < work->s; r++)
            up[r] = INFINITY;
        deliver_operands(work, v);
        for (int j = 0; j < op->methods; j++, shape += op->arity + 1) {
            double cost = op->cost[j].fixed + op->cost[j].each * graph->node[v].size;
            for (int i = 0; i < op->arity; i++)
                cost += work->deliver[slot(work, i, shape[i])];
            if (cost < up[shape[op->arity]])
                up[shape[op->arity]] = cost;
        }
    }
}

/* The first method that leaves v's value in `result` at least cost. */
static int choose_method(const struct work *work, int v, int result)
{
    const struct espi_place_graph *graph = work->graph;
    const struct espi_place_node *node = &graph->node[v];
    double best = INFINITY;
    int chosen = ESPI_PLACE_NONE, from;
    for (int j = 0; j < espi_place_methods(graph, v); j++) {
        if (espi_place_gives(graph, v, j) != result)
            continue;
        double cost = espi_place_work(graph, v, j);
        for (int i = 0; i < espi_place_arity(graph, v) && cost < best; i++)
            cost += deliver_one(work, node->first + i, espi_place_wants(graph, v, j, i), &from);
        if (cost < best) {
            best = cost;
            chosen = j;
        }
    }
    return chosen;
}

/* Consumers before operands; until its turn comes, plan->method[v] is where v is to leave its value. */
static void choose(const struct work *work, struct espi_place_plan *plan)
{
    const struct espi_place_graph *graph = work->graph;
    for (int v = graph->nodes - 1; v >= 0; v--) {
        const double *up = work->up + (size_t)v * work->s;
        if (graph->node[v].uses == 0) {
            plan->method[v] = 0;
            for (size_t r = 1; r < work->s; r++) {
                if (up[r] < up[plan->method[v]])
                    plan->method[v] = (int)r;
            }
        }
        int method = plan->method[v] = choose_method(work, v, plan->method[v]);
        for (int i = 0; i < espi_place_arity(graph, v); i++) {
            int x = graph->node[v].first + i;
            deliver_one(work, x, espi_place_wants(graph, v, method, i), &plan->method[graph->operand[x].from]);
        }
    }
}

/* What all else costs when v's one operand is delivered in each placement. */
static double look_through_one(const struct work *work, int v, int chosen)
{
    const struct espi_place_op *op = &work->graph->op[work->graph->node[v].op];
    const double *down = work->down + (size_t)v * work->s, size = work->graph->node[v].size;
    double second = INFINITY;
    for (size_t x = 0; x <= work->s; x++)
        work->through[x] = INFINITY;
    for (int j = 0; j < op->methods; j++) {
        size_t at = slot(work, 0, op->shape[2 * j]);
        double cost = op->cost[j].fixed + op->cost[j].each * size + down[op->shape[2 * j + 1]];
        double whole = cost + work->deliver[at];
        work->through[at] = cost < work->through[at] ? cost : work->through[at];
        second = j != chosen && whole < second ? whole : second;
    }
    return second;
}

/* What all else costs when operand i of v is delivered in each placement: `through`, laid out as `deliver`. Also v's
   second best: the best plan with another method than v has. */
static double look_through(const struct work *work, int v, int chosen)
{
    const struct espi_place_op *op = &work->graph->op[work->graph->node[v].op];
    const double *down = work->down + (size_t)v * work->s;
    const int *shape = op->shape;
    double second = INFINITY;
    if (op->arity == 1) /* the same without sums over the other operands */
        return look_through_one(work, v, chosen);
    for (size_t x = 0; x < (size_t)op->arity * (work->s + 1); x++)
        work->through[x] = INFINITY;
    for (int j = 0; j < op->methods; j++, shape += op->arity + 1) {
        /* Sums from both sides instead of a sum less one part: INFINITY cannot be taken away again. */
        work->before[0] = espi_place_work(work->graph, v, j) + down[shape[op->arity]];
        work->behind[op->arity] = 0;
        for (int i = 0; i < op->arity; i++)
            work->before[i + 1] = work->before[i] + work->deliver[slot(work, i, shape[i])];
        for (int i = op->arity; i > 0; i--)
            work->behind[i - 1] = work->behind[i] + work->deliver[slot(work, i - 1, shape[i - 1])];
        for (int i = 0; i < op->arity; i++) {
            double *through = &work->through[slot(work, i, shape[i])], cost = work->before[i] + work->behind[i + 1];
            *through = cost < *through ? cost : *through;
        }
        if (j != chosen && work->before[op->arity] < second)
            second = work->before[op->arity];
    }
    return second;
}

/* What all else costs when operand x leaves its value in each placement, given what it costs by where it is wanted.
   */
static void take_down(const struct work *work, int x, const struct wanted *wanted, const double *through)
{
    const struct espi_place_operand *operand = &work->graph->operand[x];
    const struct espi_place_table *table = &work->graph->table[operand->table];
    double *down = work->down + (size_t)operand->from * work->s, size = work->graph->node[operand->from].size;
    double as_left = wanted->any ? through[work->s] : INFINITY;
    for (size_t q = 0; q < work->s; q++)
        down[q] = as_left;
    for (int k = 0; k < wanted->n; k++) {
        size_t to = (size_t)wanted->place[k];
        const double *fixed = table->fixed + to * work->s, *each = table->each + to * work->s, rest = through[to];
#pragma omp simd
        for (size_t q = 0; q < work->s; q++) {
            double cost = rest + (fixed[q] + each[q] * size);
            down[q] = cost < down[q] ? cost : down[q];
        }
    }
}

static void go_down(struct work *work, struct espi_place_plan *plan)
{
    const struct espi_place_graph *graph = work->graph;
    for (int v = graph->nodes - 1; v >= 0; v--) {
        const struct espi_place_node *node = &graph->node[v];
        const struct wanted *wanted = work->wanted + work->first[node->op];
        if (node->uses == 0) {
            const double *up = work->up + (size_t)v * work->s;
            work->best[v] = up[espi_place_gives(graph, v, plan->method[v])];
            for (size_t r = 0; r < work->s; r++)
                work->down[(size_t)v * work->s + r] = 0;
        }
        deliver_operands(work, v);
        /* Of v's tree; the other trees stay as they are. */
        plan->runner_up[v] = look_through(work, v, plan->method[v]) - work->best[v] + plan->cost;
        for (int i = 0; i < espi_place_arity(graph, v); i++) {
            work->best[graph->operand[node->first + i].from] = work->best[v];
            take_down(work, node->first + i, &wanted[i], work->through + slot(work, i, 0));
        }
    }
}

espi_status espi_place_plan_tree(const struct espi_place_graph *graph, const struct espi_place_options *options,
                                 struct espi_place_plan *plan)
{
    struct work work = {.graph = graph, .s = (size_t)graph->placements};
    espi_status status = prepare(&work, options);

    if (status == ESPI_OK) {
        go_up(&work);
        plan->cost = 0;
        for (int v = 0; v < graph->nodes; v++) {
            double best = INFINITY;
            for (size_t r = 0; graph->node[v].uses == 0 && r < work.s; r++)
                best = work.up[(size_t)v * work.s + r] < best ? work.up[(size_t)v * work.s + r] : best;
            plan->cost += graph->node[v].uses == 0 ? best : 0;
        }
        plan->exact = true;
        plan->lower_bound = plan->cost;
        if (isinf(plan->cost)) {
            espi_place_plan_none(graph, plan);
        } else {
            choose(&work, plan);
            if (plan->runner_up != NULL)
                go_down(&work, plan);
        }
    }
    release_work(&work);
    return status;
}
