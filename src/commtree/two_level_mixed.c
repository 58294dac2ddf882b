/* Optimal ordered trees over nodes and a network, where the ranks of a node lie anywhere (placed round-robin, say).

   T(i,j,c), the least time with a root in node c, and any(i,j), the least of them. A join whose receiver is in c
   costs a message within the node if the sender is in c too, else one between nodes, from whichever root is ready
   first: O(n^3 * nodes). */
#include <stdlib.h>

#include "commtree/two_level.h"

#define NEVER ESPI_TWO_LEVEL_NEVER
#define MOST_STEPS 1.5e8 /* n^3/6 * nodes: about a second */

enum { ANY = -1, ROOTED = -2 }; /* states; else a node */

struct work {
    const struct espi_two_level_problem *in;
    int n, root, nodes;
    double *t;      /* [cell * nodes + node], cell = j*(j+1)/2 + i */
    double *any;    /* [cell] */
    double *rooted; /* [cell], where the range holds the fixed root */
};

static size_t cell_of(int i, int j)
{
    return (size_t)j * ((size_t)j + 1) / 2 + (size_t)i;
}

static double time_of(const struct work *w, int state, int i, int j)
{
    if (state == ROOTED)
        return w->rooted[cell_of(i, j)];
    return state == ANY ? w->any[cell_of(i, j)] : w->t[cell_of(i, j) * (size_t)w->nodes + (size_t)state];
}

static void to_left(const struct work *w, const struct espi_level_costs *m, int left, int right, int i, int k, int j,
                    struct espi_two_level_choice *best)
{
    double t = espi_two_level_right_sends(w->in, m, i, k, j, time_of(w, left, i, k), time_of(w, right, k + 1, j));
    if (t < best->cost)
        *best = (struct espi_two_level_choice){t, k, true, left, right};
}

static void to_right(const struct work *w, const struct espi_level_costs *m, int left, int right, int i, int k, int j,
                     struct espi_two_level_choice *best)
{
    double t = espi_two_level_left_sends(w->in, m, i, k, j, time_of(w, left, i, k), time_of(w, right, k + 1, j));
    if (t < best->cost)
        *best = (struct espi_two_level_choice){t, k, false, left, right};
}

static void try_split(const struct work *w, int state, int i, int k, int j, struct espi_two_level_choice *best)
{
    const struct espi_level_costs *in = &w->in->in, *out = &w->in->out;
    int node = state == ROOTED ? w->in->node[w->root] : state;
    if (state != ROOTED || w->root <= k) {
        to_left(w, out, state, ANY, i, k, j, best);
        to_left(w, in, state, node, i, k, j, best);
    }
    if (state != ROOTED || w->root > k) {
        to_right(w, out, ANY, state, i, k, j, best);
        to_right(w, in, node, state, i, k, j, best);
    }
}

static void choose_split(const void *data, int state, int i, int j, struct espi_two_level_choice *best)
{
    const struct work *w = data;
    for (int c = 0; state == ANY && c < w->nodes; c++) {
        if (time_of(w, c, i, j) == time_of(w, ANY, i, j))
            state = c;
    }
    best->cost = NEVER;
    for (int k = i; k < j; k++)
        try_split(w, state, i, k, j, best);
}

/* All nodes at once for a split whose parts both have several indices. */
static void split_all(const struct work *w, int i, int k, int j, double *restrict best)
{
    const struct espi_level_costs *in = &w->in->in, *out = &w->in->out;
    const double *restrict a = w->t + cell_of(i, k) * (size_t)w->nodes;
    const double *restrict b = w->t + cell_of(k + 1, j) * (size_t)w->nodes;
    double any_a = time_of(w, ANY, i, k), any_b = time_of(w, ANY, k + 1, j);
    double right_out = out->alpha + (out->q[j + 1] - out->q[k + 1]);
    double right_in = in->alpha + (in->q[j + 1] - in->q[k + 1]);
    double left_out = out->alpha + (out->q[k + 1] - out->q[i]);
    double left_in = in->alpha + (in->q[k + 1] - in->q[i]);
    for (int c = 0; c < w->nodes; c++) {
        double x = espi_min(espi_max(a[c], any_b + out->latency) + right_out,
                            espi_max(any_a + out->latency, b[c]) + left_out);
        double y = espi_min(espi_max(a[c], b[c] + in->latency) + right_in,
                            espi_max(a[c] + in->latency, b[c]) + left_in);
        best[c] = espi_min(best[c], espi_min(x, y));
    }
}

static void fill_cell(struct work *w, int i, int j)
{
    double *t = w->t + cell_of(i, j) * (size_t)w->nodes, least = NEVER;
    for (int c = 0; c < w->nodes; c++)
        t[c] = i == j && w->in->node[i] == c ? 0 : NEVER;
    for (int k = i + 1; k < j - 1; k++)
        split_all(w, i, k, j, t);
    for (int c = 0; c < w->nodes && i < j; c++) {
        struct espi_two_level_choice best = {NEVER, i, true, ANY, ANY};
        try_split(w, c, i, i, j, &best);
        try_split(w, c, i, j - 1, j, &best);
        t[c] = espi_min(t[c], best.cost);
    }
    for (int c = 0; c < w->nodes; c++)
        least = espi_min(least, t[c]);
    w->any[cell_of(i, j)] = least;
}

espi_status espi_two_level_mixed(const struct espi_two_level_problem *problem, struct espi_commtree *tree)
{
    int n = problem->c->n;
    struct work w = {problem, n, problem->c->root, problem->nodes, NULL, NULL, NULL};
    size_t cells = cell_of(0, n), bytes = cells * ((size_t)w.nodes + 2) * sizeof(double);
    espi_status status = ESPI_ERR_MEMORY;
    if ((double)n * n * n / 6 * w.nodes > MOST_STEPS || (problem->max_bytes && bytes > problem->max_bytes))
        return ESPI_ERR_LIMIT;
    w.t = malloc(cells * (size_t)w.nodes * sizeof *w.t);
    w.any = malloc(cells * sizeof *w.any);
    w.rooted = malloc(cells * sizeof *w.rooted);
    if (!w.t || !w.any || !w.rooted)
        goto out;
    for (int j = 0; j < n; j++) {
        for (int i = j; i >= 0; i--) {
            bool holds = w.root != ESPI_COMMTREE_BEST && i <= w.root && w.root <= j;
            if (!holds) {
                fill_cell(&w, i, j);
            } else if (i == j) {
                w.rooted[cell_of(i, j)] = 0;
            } else {
                struct espi_two_level_choice best;
                choose_split(&w, ROOTED, i, j, &best);
                w.rooted[cell_of(i, j)] = best.cost;
            }
        }
    }
    status = espi_two_level_walk(problem, &w, choose_split, w.root == ESPI_COMMTREE_BEST ? ANY : ROOTED, tree);
out:
    free(w.t);
    free(w.any);
    free(w.rooted);
    return status;
}
