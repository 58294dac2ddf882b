/* Optimal ordered trees over nodes and a network, where each node is a range of the indices.

   What a join costs depends on its two roots only by whether they share a node. So of a range i..j that a later join
   may extend it matters who its root is only if the extension can hold ranks of the root's node, and with contiguous
   nodes that is the node of i (cut by the left border) or that of j (cut by the right one). Three times per range are
   enough:
     any(i,j)    any root,
     left(i,j)   the root is in the node of i, and i-1 is in that node too,
     right(i,j)  the root is in the node of j, and j+1 is in that node too;
   and with a fixed root r its own time for ranges that hold it. A split k joins by the network any(i,k) and
   any(k+1,j), and, if k and k+1 share a node, within it right(i,k) and left(k+1,j). (A join reckoned as one by
   the network whose roots happen to share a node costs no less than it really does, and the real one is also tried.)
   O(n^3) in all; doc/gather-trees.md has the recurrences. */
#include <stdlib.h>

#include "commtree/two_level.h"

#define MOST_RANKS 2048
#define NEVER ESPI_TWO_LEVEL_NEVER

enum state { ANY, LEFT, RIGHT, ROOTED };

/* The three times of all ranges of lo..hi-1, by columns. */
struct times {
    int lo, hi;
    double *any, *left, *right;
};

struct work {
    const struct espi_two_level_problem *in;
    int n, root;     /* ESPI_COMMTREE_BEST: any */
    int *begin, *end; /* first and last index of the node of each index */
    struct times side[2]; /* before and behind the root; all in the first without one */
    double *rooted;       /* columns j >= root of root+1 entries */
};

static size_t column_start(const struct times *t, int j)
{
    size_t x = (size_t)(j - t->lo);
    return x * (x + 1) / 2;
}

static double range_time(const struct work *w, int state, int i, int j)
{
    if (state == ROOTED)
        return w->rooted[(size_t)(j - w->root) * ((size_t)w->root + 1) + (size_t)i];
    const struct times *t = &w->side[w->root != ESPI_COMMTREE_BEST && i > w->root];
    const double *table = state == ANY ? t->any : state == LEFT ? t->left : t->right;
    return table[column_start(t, j) + (size_t)(i - t->lo)];
}

enum { TO_LEFT = 1, TO_RIGHT = 2 };

/* Parts in these states joined by `m`; the left one may receive, or the right one. */
static void try_join(const struct work *w, const struct espi_level_costs *m, int directions, int left, int right,
                     int i, int k, int j, struct espi_two_level_choice *best)
{
    double a = range_time(w, left, i, k), b = range_time(w, right, k + 1, j);
    if (directions & TO_LEFT) {
        double t = espi_two_level_right_sends(w->in, m, i, k, j, a, b);
        if (t < best->cost)
            *best = (struct espi_two_level_choice){t, k, true, left, right};
    }
    if (directions & TO_RIGHT) {
        double t = espi_two_level_left_sends(w->in, m, i, k, j, a, b);
        if (t < best->cost)
            *best = (struct espi_two_level_choice){t, k, false, left, right};
    }
}

/* All ways to join i..k and k+1..j with the root that `state` asks for. */
static void try_split(const struct work *w, int state, int i, int k, int j, struct espi_two_level_choice *best)
{
    const struct espi_level_costs *in = &w->in->in, *out = &w->in->out;
    switch (state) {
    case ANY:
        try_join(w, out, TO_LEFT | TO_RIGHT, ANY, ANY, i, k, j, best);
        if (w->end[k] > k)
            try_join(w, in, TO_LEFT | TO_RIGHT, RIGHT, LEFT, i, k, j, best);
        break;
    case LEFT:
        if (k < w->end[i]) { /* i..k lies in the node */
            try_join(w, out, TO_LEFT, ANY, ANY, i, k, j, best);
            try_join(w, in, TO_LEFT | TO_RIGHT, ANY, LEFT, i, k, j, best);
        } else {
            try_join(w, out, TO_LEFT, LEFT, ANY, i, k, j, best);
        }
        break;
    case RIGHT:
        if (k >= w->begin[j]) { /* k+1..j lies in the node */
            try_join(w, out, TO_RIGHT, ANY, ANY, i, k, j, best);
            try_join(w, in, TO_LEFT | TO_RIGHT, RIGHT, ANY, i, k, j, best);
        } else {
            try_join(w, out, TO_RIGHT, ANY, RIGHT, i, k, j, best);
        }
        break;
    default:
        if (k < w->root) {
            try_join(w, out, TO_RIGHT, ANY, ROOTED, i, k, j, best);
            if (k >= w->begin[w->root])
                try_join(w, in, TO_RIGHT, RIGHT, ROOTED, i, k, j, best);
        } else {
            try_join(w, out, TO_LEFT, ROOTED, ANY, i, k, j, best);
            if (k < w->end[w->root])
                try_join(w, in, TO_LEFT, ROOTED, LEFT, i, k, j, best);
        }
    }
}

static void choose_split(const void *data, int state, int i, int j, struct espi_two_level_choice *best)
{
    best->cost = NEVER;
    for (int k = i; k < j; k++)
        try_split(data, state, i, k, j, best);
}

/* ---- filling: the same with the inner loops laid open. A split in the middle has no part of one index. ---- */

/* By one level, for from <= k <= to: a[k] and b[k+1] are the parts' times. Less what does not depend on k. */
struct least {
    double right_sends, left_sends;
};

static struct least least_over(const struct espi_level_costs *m, const double *a, const double *b, int from, int to)
{
    struct least even = {NEVER, NEVER}, odd = {NEVER, NEVER};
    const double *q = m->q, latency = m->latency;
    int k = from;
    for (; k < to; k += 2) {
        double a0 = a[k], b0 = b[k + 1], a1 = a[k + 1], b1 = b[k + 2];
        even.right_sends = espi_min(even.right_sends, espi_max(a0, b0 + latency) - q[k + 1]);
        even.left_sends = espi_min(even.left_sends, espi_max(a0 + latency, b0) + q[k + 1]);
        odd.right_sends = espi_min(odd.right_sends, espi_max(a1, b1 + latency) - q[k + 2]);
        odd.left_sends = espi_min(odd.left_sends, espi_max(a1 + latency, b1) + q[k + 2]);
    }
    if (k == to) {
        even.right_sends = espi_min(even.right_sends, espi_max(a[k], b[k + 1] + latency) - q[k + 1]);
        even.left_sends = espi_min(even.left_sends, espi_max(a[k] + latency, b[k + 1]) + q[k + 1]);
    }
    return (struct least){espi_min(even.right_sends, odd.right_sends), espi_min(even.left_sends, odd.left_sends)};
}

static double least_right_sends(const struct espi_level_costs *m, const double *a, const double *b, int from, int to,
                                int j)
{
    double even = NEVER, odd = NEVER;
    int k = from;
    for (; k < to; k += 2) {
        even = espi_min(even, espi_max(a[k], b[k + 1] + m->latency) - m->q[k + 1]);
        odd = espi_min(odd, espi_max(a[k + 1], b[k + 2] + m->latency) - m->q[k + 2]);
    }
    if (k == to)
        even = espi_min(even, espi_max(a[k], b[k + 1] + m->latency) - m->q[k + 1]);
    return espi_min(even, odd) + m->q[j + 1] + m->alpha;
}

static double least_left_sends(const struct espi_level_costs *m, const double *a, const double *b, int from, int to,
                               int i)
{
    double even = NEVER, odd = NEVER;
    int k = from;
    for (; k < to; k += 2) {
        even = espi_min(even, espi_max(a[k] + m->latency, b[k + 1]) + m->q[k + 1]);
        odd = espi_min(odd, espi_max(a[k + 1] + m->latency, b[k + 2]) + m->q[k + 2]);
    }
    if (k == to)
        even = espi_min(even, espi_max(a[k] + m->latency, b[k + 1]) + m->q[k + 1]);
    return espi_min(even, odd) - m->q[i] + m->alpha;
}

/* Either may send. */
static double least_sends(const struct espi_level_costs *m, const double *a, const double *b, int from, int to, int i,
                          int j)
{
    struct least x = least_over(m, a, b, from, to);
    return espi_min(x.right_sends + m->q[j + 1], x.left_sends - m->q[i]) + m->alpha;
}

/* The splits next to the ends, where a part has one index. */
static double at_ends(const struct work *w, int state, int i, int j)
{
    struct espi_two_level_choice best = {NEVER, i, true, ANY, ANY};
    try_split(w, state, i, i, j, &best);
    if (j - 1 > i)
        try_split(w, state, i, j - 1, j, &best);
    return best.cost;
}

/* Rows and columns of the three tables, by index: a column holds i..j of this j, a row i..k of this i. */
struct lines {
    const double *any, *left, *right;
};

static void fill_cell(const struct work *w, int i, int j, const struct lines *row, const struct lines *col,
                      double *any, double *left, double *right)
{
    const struct espi_level_costs *in = &w->in->in, *out = &w->in->out;
    int from = i + 1, to = j - 2, e = w->end[i], b = w->begin[j];
    double t = espi_min(least_sends(out, row->any, col->any, from, to, i, j),
                        least_sends(in, row->right, col->left, from, to, i, j));
    *any = espi_min(t, at_ends(w, ANY, i, j));
    *left = *right = NEVER;
    if (e >= j) { /* in one node */
        if (w->begin[i] < i)
            *left = *any;
        if (e > j)
            *right = *any;
        return;
    }
    if (w->begin[i] < i) {
        t = least_right_sends(out, row->any, col->any, from, e - 1, j);
        t = espi_min(t, least_sends(in, row->any, col->left, from, e - 1, i, j));
        t = espi_min(t, least_right_sends(out, row->left, col->any, e > from ? e : from, to, j));
        *left = espi_min(t, at_ends(w, LEFT, i, j));
    }
    if (w->end[j] > j) {
        t = least_left_sends(out, row->any, col->any, b > from ? b : from, to, i);
        t = espi_min(t, least_sends(in, row->right, col->any, b > from ? b : from, to, i, j));
        t = espi_min(t, least_left_sends(out, row->any, col->right, from, b - 1 < to ? b - 1 : to, i));
        *right = espi_min(t, at_ends(w, RIGHT, i, j));
    }
}

static espi_status fill_times(struct work *w, int lo, int hi, struct times *t)
{
    size_t n = (size_t)(hi - lo), cells = n * (n + 1) / 2;
    t->lo = lo;
    t->hi = hi;
    if (n == 0)
        return ESPI_OK;
    double *rows = malloc(3 * n * sizeof *rows);
    t->any = malloc(cells * sizeof *t->any);
    t->left = malloc(cells * sizeof *t->left);
    t->right = malloc(cells * sizeof *t->right);
    if (!rows || !t->any || !t->left || !t->right) {
        free(rows);
        return ESPI_ERR_MEMORY;
    }
    double *any = rows - lo, *left = any + n, *right = left + n;
    struct lines row = {any, left, right};
    for (int i = hi - 1; i >= lo; i--) {
        for (int j = i; j < hi; j++) {
            size_t base = column_start(t, j), at = base + (size_t)(i - lo);
            struct lines col = {t->any + base - lo, t->left + base - lo, t->right + base - lo};
            if (i == j) {
                any[j] = 0;
                left[j] = w->begin[i] < i ? 0 : NEVER;
                right[j] = w->end[i] > i ? 0 : NEVER;
            } else {
                fill_cell(w, i, j, &row, &col, &any[j], &left[j], &right[j]);
            }
            t->any[at] = any[j];
            t->left[at] = left[j];
            t->right[at] = right[j];
        }
    }
    free(rows);
    return ESPI_OK;
}

/* Ranges that hold the fixed root: it goes on receiving from either side. */
static espi_status fill_rooted(struct work *w)
{
    const struct espi_level_costs *in = &w->in->in, *out = &w->in->out;
    int root = w->root, b = w->begin[root], e = w->end[root];
    size_t height = (size_t)root + 1, width = (size_t)(w->n - root);
    double *rows = malloc((2 * height + width) * sizeof *rows);
    w->rooted = malloc(height * width * sizeof *w->rooted);
    if (!rows || !w->rooted) {
        free(rows);
        return ESPI_ERR_MEMORY;
    }
    double *any = rows, *right = any + height, *mine = right + height - root;
    const struct times *behind = &w->side[1];
    for (int i = root; i >= 0; i--) {
        for (int k = i; k < root; k++) {
            any[k] = range_time(w, ANY, i, k);
            right[k] = range_time(w, RIGHT, i, k);
        }
        for (int j = root; j < w->n; j++) {
            double *col = w->rooted + (size_t)(j - root) * height, t = NEVER;
            struct espi_two_level_choice best = {NEVER, i, true, ANY, ANY};
            if (i < root) {
                /* The root alone receives (j == root, k == root-1): with its copy. */
                int to = j == root ? root - 2 : root - 1;
                t = espi_min(t, least_left_sends(out, any, col, i, to, i));
                t = espi_min(t, least_left_sends(in, right, col, i > b ? i : b, to, i));
                if (j == root)
                    try_split(w, ROOTED, i, root - 1, j, &best);
            }
            if (j > root) {
                size_t base = column_start(behind, j);
                int from = i == root ? root + 1 : root;
                t = espi_min(t, least_right_sends(out, mine, behind->any + base - behind->lo, from, j - 1, j));
                t = espi_min(t, least_right_sends(in, mine, behind->left + base - behind->lo, from,
                                                  e - 1 < j - 1 ? e - 1 : j - 1, j));
                if (i == root)
                    try_split(w, ROOTED, i, root, j, &best);
            }
            col[i] = mine[j] = i == root && j == root ? 0 : espi_min(t, best.cost);
        }
    }
    free(rows);
    return ESPI_OK;
}

espi_status espi_two_level_exact(const struct espi_two_level_problem *problem, struct espi_commtree *tree)
{
    int n = problem->c->n, root = problem->c->root;
    struct work w = {problem, n, root, NULL, NULL, {{0, 0, NULL, NULL, NULL}, {0, 0, NULL, NULL, NULL}}, NULL};
    espi_status status = ESPI_ERR_MEMORY;
    if (n > MOST_RANKS || (problem->max_bytes && 3 * (size_t)n * (size_t)n * sizeof(double) / 2 > problem->max_bytes))
        return ESPI_ERR_LIMIT;
    w.begin = malloc((size_t)n * sizeof *w.begin);
    w.end = malloc((size_t)n * sizeof *w.end);
    if (!w.begin || !w.end)
        goto out;
    for (int v = 0; v < n; v++)
        w.begin[v] = v && problem->node[v] == problem->node[v - 1] ? w.begin[v - 1] : v;
    for (int v = n - 1; v >= 0; v--)
        w.end[v] = v + 1 < n && problem->node[v] == problem->node[v + 1] ? w.end[v + 1] : v;
    if (root == ESPI_COMMTREE_BEST) {
        status = fill_times(&w, 0, n, &w.side[0]);
    } else {
        status = fill_times(&w, 0, root, &w.side[0]);
        if (status == ESPI_OK)
            status = fill_times(&w, root + 1, n, &w.side[1]);
        if (status == ESPI_OK)
            status = fill_rooted(&w);
    }
    if (status == ESPI_OK)
        status = espi_two_level_walk(problem, &w, choose_split, root == ESPI_COMMTREE_BEST ? ANY : ROOTED, tree);
out:
    for (int x = 0; x < 2; x++) {
        free(w.side[x].any);
        free(w.side[x].left);
        free(w.side[x].right);
    }
    free(w.rooted);
    free(w.begin);
    free(w.end);
    return status;
}
