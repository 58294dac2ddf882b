/* Completion times and lower bounds. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "commtree/internal.h"

/* Cost of one message: constants by pair, by level, or the same for all. */
struct link_costs {
    const struct espi_commtree_model *model;   /* all alike, or NULL */
    const struct espi_commtree_links *links;   /* by pair, or NULL */
    const struct espi_commtree_levels *levels; /* by node */
    double gamma, combine;
    const int64_t *equal; /* bytes of every message, or NULL */
    bool early;
    double *start, *finish; /* when not NULL: of each rank's message to or from its parent */
};

static double message_time(const struct link_costs *cost, int from, int to, int64_t size)
{
    if (cost->equal)
        return cost->model->alpha + cost->model->beta * (double)*cost->equal;
    if (!size)
        return 0;
    if (cost->model)
        return cost->model->alpha + cost->model->beta * (double)size;
    if (cost->links) {
        size_t at = (size_t)from * (size_t)cost->links->p + (size_t)to;
        return cost->links->alpha[at] + cost->links->beta[at] * (double)size;
    }
    bool same = cost->levels->node[from] == cost->levels->node[to];
    const struct espi_commtree_model *m = same ? &cost->levels->within : &cost->levels->across;
    return m->alpha + m->beta * (double)size;
}

static double message_delay(const struct link_costs *cost, int from, int to)
{
    if (cost->model)
        return cost->model->latency;
    if (cost->links)
        return 0;
    return cost->levels->node[from] == cost->levels->node[to] ? cost->levels->within.latency
                                                              : cost->levels->across.latency;
}

/* After how many of its children the rank copies its own block: before all of them when the first child lies behind
   it (or the model allows it), else as soon as the child that lies next before it has been received. */
static int copy_after(const struct espi_commtree *tree, bool early, int v)
{
    int from = tree->first[v], to = tree->first[v + 1], next = 0;
    if (from == to)
        return -1;
    if (early || !tree->ordered || tree->child[from] > v)
        return 0;
    for (int e = from; e < to; e++) {
        if (tree->child[e] < v && tree->child[e] >= tree->child[from + next])
            next = e - from;
    }
    return next + 1;
}

static espi_status evaluate_tree(const struct espi_commtree *tree, const int64_t *size, const struct link_costs *cost,
                                 enum espi_commtree_op op, double *time)
{
    espi_status status = ESPI_OK;
    size_t p = (size_t)tree->p;
    int *order = malloc((size_t)tree->n * sizeof *order);
    int64_t *held = malloc(p * sizeof *held);
    double *at = malloc(p * sizeof *at), end = 0;
    if (!order || !held || !at) {
        status = ESPI_ERR_MEMORY;
        goto out;
    }
    int filled = 1;
    order[0] = tree->root;
    for (int head = 0; head < filled; head++) {
        int v = order[head];
        for (int e = tree->first[v]; e < tree->first[v + 1]; e++)
            order[filled++] = tree->child[e];
    }
    for (int x = filled - 1; x >= 0; x--) {
        int v = order[x];
        held[v] = size ? size[v] : 0;
        for (int e = tree->first[v]; e < tree->first[v + 1]; e++)
            held[v] += held[tree->child[e]];
    }
    if (op == ESPI_COMMTREE_GATHER) {
        for (int x = filled - 1; x >= 0; x--) {
            int v = order[x], copy = cost->equal ? -1 : copy_after(tree, cost->early, v);
            double t = 0, own = size ? cost->gamma * (double)size[v] : 0;
            if (copy == 0)
                t = own;
            for (int e = tree->first[v]; e < tree->first[v + 1]; e++) {
                int c = tree->child[e];
                bool sent = held[c] || cost->equal;
                t = espi_max(t, at[c] + (sent ? message_delay(cost, c, v) : 0));
                if (cost->start)
                    cost->start[c] = t;
                t += message_time(cost, c, v, held[c]) + cost->combine;
                if (cost->finish)
                    cost->finish[c] = t;
                if (e - tree->first[v] + 1 == copy)
                    t += own;
            }
            at[v] = t;
        }
        end = at[tree->root];
    } else {
        at[tree->root] = 0;
        for (int x = 0; x < filled; x++) {
            int v = order[x], copy = cost->equal ? -1 : copy_after(tree, cost->early, v);
            double t = at[v], own = size ? cost->gamma * (double)size[v] : 0;
            for (int e = tree->first[v + 1] - 1; e >= tree->first[v]; e--) {
                int c = tree->child[e];
                bool sent = held[c] || cost->equal;
                if (e - tree->first[v] + 1 == copy)
                    t += own;
                if (cost->start)
                    cost->start[c] = t;
                t += message_time(cost, v, c, held[c]) + cost->combine;
                at[c] = t + (sent ? message_delay(cost, c, v) : 0);
                if (cost->finish)
                    cost->finish[c] = t;
            }
            end = espi_max(end, copy == 0 ? t + own : t);
        }
    }
    *time = end;
out:
    free(order);
    free(held);
    free(at);
    return status;
}

espi_status espi_commtree_time(const struct espi_commtree *tree, const int64_t *size,
                               const struct espi_commtree_model *model, enum espi_commtree_op op, double *time)
{
    struct link_costs cost = {.model = model, .gamma = model->gamma,
                              .early = model->early_copy};
    return evaluate_tree(tree, size, &cost, op, time);
}

espi_status espi_commtree_schedule(const struct espi_commtree *tree, const struct espi_commtree_traffic *traffic,
                                   double *start, double *finish, double *time)
{
    const struct espi_commtree_model *model = traffic->model;
    struct link_costs cost = {.model = model, .links = traffic->links, .start = start, .finish = finish};
    if (model) {
        cost.gamma = model->gamma;
        cost.early = model->early_copy;
    } else {
        if (!traffic->size || traffic->links->p != tree->p)
            return ESPI_ERR_ARGUMENT;
        cost.gamma = traffic->links->gamma;
    }
    if (!traffic->size) {
        cost.equal = &traffic->bytes;
        cost.combine = traffic->op == ESPI_COMMTREE_GATHER ? cost.gamma * (double)traffic->bytes : 0;
    }
    return evaluate_tree(tree, traffic->size, &cost, traffic->op, time);
}

espi_status espi_commtree_time_levels(const struct espi_commtree *tree, const int64_t *size,
                                      const struct espi_commtree_levels *levels, enum espi_commtree_op op,
                                      double *time)
{
    struct link_costs cost = {.levels = levels, .gamma = levels->within.gamma,
                              .early = levels->within.early_copy};
    return evaluate_tree(tree, size, &cost, op, time);
}

/* Least time in which n ranks can exchange empty messages with one of them, by the greedy broadcast: every rank that
   is reached goes on sending, each message `busy` long and `latency` under way. O(n) with two queues of times. */
static espi_status spread_time(int n, double busy, double latency, double *time)
{
    /* Sends in order of their starts: a rank's next send starts `busy` later, the reached rank's first one
       busy + latency later. Both streams are sorted, so a merge of two queues keeps the order. */
    size_t heads[2] = {0, 0}, tails[2] = {0, 0};
    double *queue[2] = {malloc((size_t)n * sizeof(double)), malloc((size_t)n * sizeof(double))}, last = 0;
    espi_status status = queue[0] && queue[1] ? ESPI_OK : ESPI_ERR_MEMORY;
    if (status == ESPI_OK) {
        queue[0][tails[0]++] = 0;
        for (int k = 1; k < n; k++) {
            int q = heads[0] == tails[0]   ? 1
                    : heads[1] == tails[1] ? 0
                                           : queue[1][heads[1]] < queue[0][heads[0]];
            double start = queue[q][heads[q]++];
            last = espi_max(last, start + busy + latency);
            queue[0][tails[0]++] = start + busy;
            queue[1][tails[1]++] = start + busy + latency;
        }
    }
    free(queue[0]);
    free(queue[1]);
    *time = last;
    return status;
}

espi_status espi_commtree_lower_bound(const struct espi_commtree_problem *problem, double *bound)
{
    const struct espi_commtree_model *m = &problem->model;
    int64_t total = 0, least = INT64_MAX;
    int data = 0;
    *bound = 0;
    espi_status status = espi_commtree_check(problem, &total);
    if (status != ESPI_OK)
        return status;
    for (int v = 0; v < problem->p; v++) {
        data += problem->size[v] > 0;
        if (problem->size[v] > 0 && problem->size[v] < least)
            least = problem->size[v];
    }
    /* The root receives or sends every other block, in at least one message, and copies its own; only the copy and
       the latency of the first message may overlap. */
    double port = DBL_MAX;
    for (int v = 0; v < problem->p; v++) {
        bool candidate = problem->root == ESPI_COMMTREE_BEST ? problem->size[v] > 0 : v == problem->root;
        if (!candidate)
            continue;
        double own = m->gamma * (double)problem->size[v], rest = m->beta * (double)(total - problem->size[v]);
        if (data - (problem->size[v] > 0) == 0)
            port = espi_min(port, 0);
        else
            port = espi_min(port, espi_max(own, m->latency) + m->alpha + rest);
    }
    if (data == 0 || port == 0)
        return ESPI_OK;
    int n = data + (problem->root != ESPI_COMMTREE_BEST && !problem->size[problem->root]);
    double spread = 0;
    status = spread_time(n, m->alpha + m->beta * (double)least, m->latency, &spread);
    *bound = espi_max(port, spread);
    return status;
}
