/* Plans by a minimum cut, for graphs in which no node has more than two methods.

   A node's method is a bit, and what an operand's redistribution costs a table E of two bits. Such a table is that of
   a cut where E(0, 0) + E(1, 1) <= E(0, 1) + E(1, 0): it is then a cost for each bit by itself, and one that counts
   when the first is 0 and the second 1 (P. L. Hammer, Operations Research 13, 1965; V. Kolmogorov, R. Zabih, PAMI
   26(2), 2004). Where it is the other way round, one of the two nodes has its methods exchanged; that is decided for
   all nodes of a part that hangs together by one of them. With two placements in which staying is free, and methods
   that have operands and result in the same, every graph is of that kind: which values to replicate is the example.
   */
#include <stdlib.h>
#include <string.h>

#include "placement/internal.h"
#include "placement/replicate.h"

struct pair {
    int node[2];
    double cost[2][2]; /* by the methods, once turned by the nodes' bits */
    int sign;          /* 1: a cut as it is, -1: with one of the nodes turned, 0: either */
    int next[2];       /* the next pair at each of the nodes */
};

struct cut {
    const struct espi_place_graph *graph;
    struct pair *pair;
    int pairs, reads;
    int *first;             /* of each node, its first pair */
    int *stack;
    signed char *turned;    /* of each node: its bit is 0 for the second method; -1: not known yet */
    double (*own)[2];       /* of each node, by method and later by bit */
    struct espi_place_copies *copies;
    struct espi_place_read *read;
    bool *bit;
};

static void release_cut(struct cut *cut)
{
    free(cut->pair);
    free(cut->first);
    free(cut->stack);
    free(cut->turned);
    free(cut->own);
    free(cut->copies);
    free(cut->read);
    free(cut->bit);
}

static espi_status prepare_cut(struct cut *cut, const struct espi_place_options *options)
{
    size_t n = (size_t)cut->graph->nodes, operands = (size_t)cut->graph->operands;
    size_t each = sizeof *cut->pair + 2 * sizeof *cut->read + 48, node = 256; /* arcs of the network as well */

    if (n > options->max_bytes / 2 / node || operands > options->max_bytes / 2 / each)
        return ESPI_ERR_LIMIT;
    cut->pair = espi_place_array(operands, sizeof *cut->pair);
    cut->first = espi_place_array(n, sizeof *cut->first);
    cut->stack = espi_place_array(n, sizeof *cut->stack);
    cut->turned = espi_place_array(n, sizeof *cut->turned);
    cut->own = espi_place_array(n, sizeof *cut->own);
    cut->copies = espi_place_array(n, sizeof *cut->copies);
    cut->read = espi_place_array(2 * operands, sizeof *cut->read);
    cut->bit = espi_place_array(n, sizeof *cut->bit);
    return cut->pair != NULL && cut->first != NULL && cut->stack != NULL && cut->turned != NULL && cut->own != NULL &&
                   cut->copies != NULL && cut->read != NULL && cut->bit != NULL
               ? ESPI_OK
               : ESPI_ERR_MEMORY;
}

/* Where a bit is impossible whatever the other is, that is a cost of the bit's own, and the table may say what it
   says for the bit's other value. What is infinite after that is so for one pair of bits, or for one and its
   opposite. */
static void take_out_impossible(struct cut *cut, struct pair *pair)
{
    double(*cost)[2] = pair->cost;
    for (int a = 0; a < 2; a++) {
        if (isinf(cost[a][0]) && isinf(cost[a][1])) {
            cut->own[pair->node[0]][a] = INFINITY;
            memcpy(cost[a], cost[!a], sizeof cost[a]);
        }
    }
    for (int b = 0; b < 2; b++) {
        if (isinf(cost[0][b]) && isinf(cost[1][b])) {
            cut->own[pair->node[1]][b] = INFINITY;
            cost[0][b] = cost[0][!b];
            cost[1][b] = cost[1][!b];
        }
    }
    /* No pair of bits is possible: there is no plan, as the bits' own costs say. */
    if (isinf(cost[0][0]) && isinf(cost[0][1]))
        memset(cost, 0, sizeof pair->cost);
}

static int sign_of(const double cost[2][2])
{
    double same = cost[0][0] + cost[1][1], other = cost[0][1] + cost[1][0], rounded = 0;
    if (isinf(same) || isinf(other))
        return isinf(same) ? -1 : 1;
    /* What differs by rounding only is the same. */
    for (int k = 0; k < 4; k++)
        if (!espi_place_is_exact(cost[k / 2][k % 2]))
            rounded = 1e-13 * (same + other);
    return fabs(same - other) <= rounded ? 0 : same < other ? 1 : -1;
}

/* The costs of operand i of v, with their tables or as part of a node's own. */
static void add_operand(struct cut *cut, int v, int i)
{
    const struct espi_place_graph *graph = cut->graph;
    int x = graph->node[v].first + i, u = graph->operand[x].from;
    int choices[2] = {espi_place_methods(graph, u), espi_place_methods(graph, v)};
    struct pair pair = {.node = {u, v}};

    for (int a = 0; a < choices[0]; a++) {
        for (int b = 0; b < choices[1]; b++)
            pair.cost[a][b] = espi_place_move(graph, x, espi_place_gives(graph, u, a),
                                              espi_place_wants(graph, v, b, i));
    }
    if (choices[0] == 1 || choices[1] == 1) {
        for (int a = 0; a < choices[0] && choices[1] == 1; a++)
            cut->own[u][a] += pair.cost[a][0];
        for (int b = 0; b < choices[1] && choices[1] > 1; b++)
            cut->own[v][b] += pair.cost[0][b];
        return;
    }
    take_out_impossible(cut, &pair);
    pair.sign = sign_of(pair.cost);
    for (int end = 0; end < 2; end++) {
        pair.next[end] = cut->first[pair.node[end]];
        cut->first[pair.node[end]] = 2 * cut->pairs + end;
    }
    cut->pair[cut->pairs++] = pair;
}

/* Which nodes are turned, so that all pairs are cuts; false if that cannot be. */
static bool turn_nodes(struct cut *cut)
{
    int n = cut->graph->nodes, top = 0;
    memset(cut->turned, -1, (size_t)n);
    for (int root = 0; root < n; root++) {
        if (cut->turned[root] >= 0)
            continue;
        cut->turned[root] = 0;
        cut->stack[top++] = root;
        while (top > 0) {
            int v = cut->stack[--top];
            for (int end = cut->first[v]; end >= 0; end = cut->pair[end / 2].next[end % 2]) {
                const struct pair *pair = &cut->pair[end / 2];
                int u = pair->node[!(end % 2)];
                signed char wanted = pair->sign < 0 ? !cut->turned[v] : cut->turned[v];
                if (pair->sign == 0 || cut->turned[u] == wanted)
                    continue;
                if (cut->turned[u] >= 0)
                    return false;
                cut->turned[u] = wanted;
                cut->stack[top++] = u;
            }
        }
    }
    return true;
}

/* The pair's table as costs of single bits and of 0 before 1. Costs of bits may become negative: they differ from
   what they stand for by a constant, and only which is the least counts. */
static void add_pair(struct cut *cut, const struct pair *pair)
{
    int u = pair->node[0], v = pair->node[1];
    double cost[2][2];
    for (int x = 0; x < 4; x++)
        cost[x / 2][x % 2] = pair->cost[x / 2 ^ cut->turned[u]][x % 2 ^ cut->turned[v]];
    if (isinf(cost[1][0])) { /* the same table seen from v: only there a cost before the other may be infinite */
        bool equal = isinf(cost[0][1]);
        cut->own[u][1] += cost[1][1] - (equal ? cost[0][0] : cost[0][1]);
        cut->own[v][1] += equal ? 0 : cost[0][1] - cost[0][0];
        cut->read[cut->reads++] = (struct espi_place_read){v, u, INFINITY};
        if (equal)
            cut->read[cut->reads++] = (struct espi_place_read){u, v, INFINITY};
        return;
    }
    double both = pair->sign != 0 ? cost[0][1] + cost[1][0] - cost[0][0] - cost[1][1] : 0;
    cut->own[u][1] += cost[1][0] - cost[0][0];
    cut->own[v][1] += cost[1][1] - cost[1][0];
    if (both > 0)
        cut->read[cut->reads++] = (struct espi_place_read){u, v, both};
}

static void set_copies(struct cut *cut, int v)
{
    const double *own = cut->own[v];
    double least = own[0] < own[1] ? own[0] : own[1];
    least = isinf(least) ? 0 : least;
    cut->copies[v] = (struct espi_place_copies){own[0] - least, own[1] - least};
}

/* A node with one method has the bit 0. */
static void set_costs(struct cut *cut)
{
    const struct espi_place_graph *graph = cut->graph;
    for (int v = 0; v < graph->nodes; v++) {
        if (cut->turned[v] == 1) {
            double first = cut->own[v][0];
            cut->own[v][0] = cut->own[v][1];
            cut->own[v][1] = first;
        }
    }
    for (int x = 0; x < cut->pairs; x++)
        add_pair(cut, &cut->pair[x]);
    for (int v = 0; v < graph->nodes; v++)
        set_copies(cut, v);
}

/* The least cost, with the methods; INFINITY, and no methods, where there is none. */
static espi_status solve(struct cut *cut, int *method, double *cost)
{
    const struct espi_place_graph *graph = cut->graph;
    espi_status status = espi_place_replicate(cut->copies, graph->nodes, cut->read, cut->reads, cut->bit, cost);
    if (status != ESPI_OK || isinf(*cost))
        return status;
    for (int v = 0; v < graph->nodes; v++)
        method[v] = cut->bit[v] ^ (cut->turned[v] == 1);
    *cost = espi_place_total(graph, method);
    return ESPI_OK;
}

/* For each node another cut, without its method of the best plan. */
static espi_status find_second(struct cut *cut, struct espi_place_plan *plan)
{
    const struct espi_place_graph *graph = cut->graph;
    int *other = espi_place_array((size_t)graph->nodes, sizeof *other);
    espi_status status = other != NULL ? ESPI_OK : ESPI_ERR_MEMORY;
    for (int v = 0; v < graph->nodes && status == ESPI_OK; v++) {
        plan->runner_up[v] = INFINITY;
        if (espi_place_methods(graph, v) == 1)
            continue;
        bool bit = plan->method[v] ^ (cut->turned[v] == 1);
        *(bit ? &cut->copies[v].replicated : &cut->copies[v].once) = INFINITY;
        status = solve(cut, other, &plan->runner_up[v]);
        set_copies(cut, v);
    }
    free(other);
    return status;
}

espi_status espi_place_plan_cut(const struct espi_place_graph *graph, const struct espi_place_options *options,
                                struct espi_place_plan *plan)
{
    struct cut cut = {.graph = graph};
    bool possible = true;

    for (int v = 0; v < graph->nodes; v++) {
        if (espi_place_methods(graph, v) > 2)
            return ESPI_ERR_ARGUMENT;
        possible = possible && espi_place_methods(graph, v) > 0;
    }
    if (!possible) {
        espi_place_plan_none(graph, plan);
        return ESPI_OK;
    }
    espi_status status = prepare_cut(&cut, options);
    for (int v = 0; v < graph->nodes && status == ESPI_OK; v++) {
        cut.first[v] = -1;
        cut.own[v][1] = INFINITY;
        for (int j = 0; j < espi_place_methods(graph, v); j++)
            cut.own[v][j] = espi_place_work(graph, v, j);
        for (int i = 0; i < espi_place_arity(graph, v); i++)
            add_operand(&cut, v, i);
    }
    if (status == ESPI_OK && !turn_nodes(&cut))
        status = ESPI_ERR_ARGUMENT;
    if (status == ESPI_OK) {
        set_costs(&cut);
        status = solve(&cut, plan->method, &plan->cost);
    }
    if (status == ESPI_OK) {
        plan->exact = true;
        plan->lower_bound = plan->cost;
        if (isinf(plan->cost))
            espi_place_plan_none(graph, plan);
        else if (plan->runner_up != NULL)
            status = find_second(&cut, plan);
    }
    release_cut(&cut);
    return status;
}
