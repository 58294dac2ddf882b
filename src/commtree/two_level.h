/* Trees over nodes and a network: shared by the files two_level*.c. */
#ifndef ESPI_COMMTREE_TWO_LEVEL_H
#define ESPI_COMMTREE_TWO_LEVEL_H

#include "commtree/internal.h"

/* The constants of one level. */
struct espi_level_costs {
    double alpha, latency;
    const double *q; /* n+1: beta * (bytes before) */
};

/* Indices with the node of each; what both exact methods work on. */
struct espi_two_level_problem {
    const struct espi_compact *c;
    int p;
    struct espi_level_costs in, out; /* within a node, between nodes: in <= out, part by part */
    const double *own;               /* gamma * size */
    bool early;
    const int *node;                 /* n entries in 0 .. nodes-1 */
    int nodes;
    size_t max_bytes;                /* 0: no limit */
};

#define ESPI_TWO_LEVEL_NEVER 1e300 /* the time of what cannot be */

/* Part i..k and part k+1..j, ready at a and b; the right one sends, or the left one. `lone` parts of one index that
   receive copy their block. */
static inline double espi_two_level_right_sends(const struct espi_two_level_problem *w,
                                                const struct espi_level_costs *m, int i, int k, int j, double a,
                                                double b)
{
    double ready = i == k && a < ESPI_TWO_LEVEL_NEVER ? w->own[i] : a;
    return espi_max(ready, b + m->latency) + m->alpha + (m->q[j + 1] - m->q[k + 1]);
}

static inline double espi_two_level_left_sends(const struct espi_two_level_problem *w,
                                               const struct espi_level_costs *m, int i, int k, int j, double a,
                                               double b)
{
    double sent = m->alpha + (m->q[k + 1] - m->q[i]);
    if (k + 1 < j || b >= ESPI_TWO_LEVEL_NEVER)
        return espi_max(a + m->latency, b) + sent;
    return w->early ? espi_max(a + m->latency, w->own[j]) + sent : a + m->latency + sent + w->own[j];
}

/* Exact over all ordered trees where each node is a range of indices: O(n^3). LIMIT beyond 2,048 indices. */
espi_status espi_two_level_exact(const struct espi_two_level_problem *w, struct espi_commtree *tree);
/* The same for nodes in any places: O(n^3 * nodes). LIMIT beyond about a second. */
espi_status espi_two_level_mixed(const struct espi_two_level_problem *w, struct espi_commtree *tree);
/* Splits a range from the top: `choose` fills the best split of i..j in `state`, with the states of its parts. */
struct espi_two_level_choice {
    double cost;
    int k;
    bool to_left;
    int left, right;
};
typedef void espi_two_level_chooser(const void *data, int state, int i, int j, struct espi_two_level_choice *best);
espi_status espi_two_level_walk(const struct espi_two_level_problem *w, const void *data,
                                espi_two_level_chooser *choose, int state, struct espi_commtree *tree);

#endif
