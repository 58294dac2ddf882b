/* Optimal ordered trees where every pair of ranks has its own constants.

   T(i, j, r), the least time in which r holds all of i..j, is the least over the splits k, and over the roots s of
   the part that does not hold r, of max(T(part of r, r), T(other part, s)) + alpha_sr + beta_sr * (size of the
   other part). */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "commtree/internal.h"

struct links_table {
    const struct espi_compact *c;
    const double *alpha, *beta; /* n*n: [s*n+r] for a message that s's part and r's part exchange */
    const double *own;
    double *t; /* [(i*n + j)*n + r] */
};

static double *range_times(const struct links_table *w, int i, int j)
{
    return w->t + ((size_t)i * (size_t)w->c->n + (size_t)j) * (size_t)w->c->n;
}

/* Parts i..k and k+1..j; `to_left`: r is in the left one, s in the right. */
static double joined_time(const struct links_table *w, int i, int k, int j, bool to_left, int r, int s)
{
    const int64_t *sum = w->c->prefix;
    size_t at = (size_t)s * (size_t)w->c->n + (size_t)r;
    double a = to_left ? range_times(w, i, k)[r] : range_times(w, k + 1, j)[r];
    double b = to_left ? range_times(w, k + 1, j)[s] : range_times(w, i, k)[s];
    int64_t bytes = to_left ? sum[j + 1] - sum[k + 1] : sum[k + 1] - sum[i];
    double sent = bytes ? w->alpha[at] + w->beta[at] * (double)bytes : 0;
    if (to_left)
        return espi_max(i == k ? w->own[r] : a, b) + sent;
    return espi_max(a, b) + sent + (k + 1 == j ? w->own[r] : 0);
}

struct links_choice {
    double cost;
    int k, sender;
};

static struct links_choice best_join(const struct links_table *w, int i, int j, int r)
{
    struct links_choice best = {DBL_MAX, i, i};
    for (int k = i; k < j; k++) {
        bool to_left = r <= k;
        int from = to_left ? k + 1 : i, to = to_left ? j : k;
        for (int s = from; s <= to; s++) {
            double t = joined_time(w, i, k, j, to_left, r, s);
            if (t < best.cost)
                best = (struct links_choice){t, k, s};
        }
    }
    return best;
}

struct ranged {
    int i, j, root, parent;
    bool right;
};

static espi_status walk_back(const struct links_table *w, int root, int p, struct espi_commtree *tree)
{
    int n = w->c->n, nodes = 0, depth = 0, top = 0, scratch[ESPI_COMMTREE_LINKS_RANKS];
    struct espi_split split[ESPI_COMMTREE_LINKS_RANKS];
    struct ranged stack[2 * ESPI_COMMTREE_LINKS_RANKS];
    struct espi_joins joins;
    espi_status status = espi_joins_make(n, &joins);
    if (status != ESPI_OK)
        return status;
    stack[depth++] = (struct ranged){0, n - 1, root, -1, false};
    while (depth) {
        struct ranged x = stack[--depth];
        int value = x.i == x.j ? -1 - x.i : nodes;
        if (x.parent >= 0)
            *(x.right ? &split[x.parent].right : &split[x.parent].left) = value;
        if (value < 0)
            continue;
        struct links_choice at = best_join(w, x.i, x.j, x.root);
        bool to_left = x.root <= at.k;
        split[nodes].to_left = to_left;
        stack[depth++] = (struct ranged){x.i, at.k, to_left ? x.root : at.sender, nodes, false};
        stack[depth++] = (struct ranged){at.k + 1, x.j, to_left ? at.sender : x.root, nodes, true};
        nodes++;
    }
    espi_splits_join(split, nodes, 0, scratch, &joins, &top);
    status = espi_joins_tree(&joins, w->c, p, top, true, tree);
    espi_joins_release(&joins);
    return status;
}

espi_status espi_commtree_optimal_links(const struct espi_commtree_links *links, const int64_t *size, int root,
                                        enum espi_commtree_op op, struct espi_commtree *tree)
{
    struct espi_commtree_problem problem = {links->p, size, root, {0, 0, links->gamma, 0, false}, 0};
    struct espi_compact c;
    *tree = ESPI_COMMTREE_INIT;
    espi_status status = espi_commtree_check(&problem, NULL);
    if (status == ESPI_OK)
        status = espi_compact_make(&problem, false, &c);
    if (status != ESPI_OK)
        return status;
    size_t n = (size_t)c.n;
    double *alpha = NULL, *beta = NULL, *own = NULL, *t = NULL;
    if (n > ESPI_COMMTREE_LINKS_RANKS) {
        status = ESPI_ERR_LIMIT;
        goto out;
    }
    status = ESPI_ERR_MEMORY;
    alpha = malloc(n * n * sizeof *alpha);
    beta = malloc(n * n * sizeof *beta);
    own = malloc(n * sizeof *own);
    t = calloc(n * n * n, sizeof *t);
    if (!alpha || !beta || !own || !t)
        goto out;
    struct links_table w = {&c, alpha, beta, own, t};
    for (int s = 0; s < c.n; s++) {
        own[s] = links->gamma * (double)c.size[s];
        for (int r = 0; r < c.n; r++) {
            size_t from = (size_t)(op == ESPI_COMMTREE_GATHER ? c.rank[s] : c.rank[r]);
            size_t to = (size_t)(op == ESPI_COMMTREE_GATHER ? c.rank[r] : c.rank[s]);
            size_t at = (size_t)s * n + (size_t)r;
            alpha[at] = links->alpha[from * (size_t)links->p + to];
            beta[at] = links->beta[from * (size_t)links->p + to];
            if (s != r && !(isfinite(alpha[at]) && isfinite(beta[at]) && alpha[at] >= 0 && beta[at] >= 0)) {
                status = ESPI_ERR_ARGUMENT;
                goto out;
            }
        }
    }
    for (int length = 2; length <= c.n; length++) {
        for (int i = 0; i + length <= c.n; i++) {
            for (int r = i; r < i + length; r++)
                range_times(&w, i, i + length - 1)[r] = best_join(&w, i, i + length - 1, r).cost;
        }
    }
    int best = c.root == ESPI_COMMTREE_BEST ? 0 : c.root;
    for (int r = 0; c.root == ESPI_COMMTREE_BEST && r < c.n; r++) {
        if (range_times(&w, 0, c.n - 1)[r] < range_times(&w, 0, c.n - 1)[best])
            best = r;
    }
    status = walk_back(&w, best, links->p, tree);
    if (status == ESPI_OK && c.n == 1)
        tree->root = c.rank[0];
out:
    espi_compact_release(&c);
    free(alpha);
    free(beta);
    free(own);
    free(t);
    return status;
}
