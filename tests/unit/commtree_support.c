#include "commtree_support.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "random.h"

double time_of(const struct espi_commtree *tree, const struct espi_commtree_problem *problem)
{
    double gather = -1, scatter = -2;
    ck_assert_int_eq(espi_commtree_time(tree, problem->size, &problem->model, ESPI_COMMTREE_GATHER, &gather),
                     ESPI_OK);
    ck_assert_int_eq(espi_commtree_time(tree, problem->size, &problem->model, ESPI_COMMTREE_SCATTER, &scatter),
                     ESPI_OK);
    ck_assert_msg(fabs(gather - scatter) <= 1e-12 * gather, "gather %.17g, scatter %.17g", gather, scatter);
    return gather;
}

void check_form(const struct espi_commtree *tree, const struct espi_commtree_problem *problem)
{
    int lo[4096], hi[4096], count[4096], seen = 0;
    ck_assert_int_eq(tree->p, problem->p);
    ck_assert_int_eq(tree->parent[tree->root], ESPI_COMMTREE_ROOT);
    if (problem->root != ESPI_COMMTREE_BEST)
        ck_assert_int_eq(tree->root, problem->root);
    for (int v = 0; v < tree->p; v++) {
        lo[v] = hi[v] = v;
        count[v] = 1;
        seen += tree->parent[v] != ESPI_COMMTREE_ABSENT;
        if (tree->parent[v] == ESPI_COMMTREE_ABSENT)
            ck_assert_int_eq(problem->size[v], 0);
        for (int e = tree->first[v]; e < tree->first[v + 1]; e++)
            ck_assert_int_eq(tree->parent[tree->child[e]], v);
    }
    ck_assert_int_eq(seen, tree->n);
    ck_assert_int_eq(tree->first[tree->p], tree->n - 1);
    int order[4096], filled = 1;
    order[0] = tree->root;
    for (int head = 0; head < filled; head++)
        for (int e = tree->first[order[head]]; e < tree->first[order[head] + 1]; e++)
            order[filled++] = tree->child[e];
    ck_assert_int_eq(filled, tree->n);
    for (int x = filled - 1; x > 0; x--) {
        int v = order[x], u = tree->parent[v], inside = 0;
        lo[u] = lo[v] < lo[u] ? lo[v] : lo[u];
        hi[u] = hi[v] > hi[u] ? hi[v] : hi[u];
        count[u] += count[v];
        for (int w = lo[v]; w <= hi[v]; w++)
            inside += tree->parent[w] != ESPI_COMMTREE_ABSENT;
        if (tree->ordered)
            ck_assert_int_eq(inside, count[v]);
    }
}

double build_time(enum espi_commtree_kind kind, const struct espi_commtree_problem *problem)
{
    struct espi_commtree tree;
    ck_assert_int_eq(espi_commtree_build(kind, problem, &tree), ESPI_OK);
    check_form(&tree, problem);
    double t = time_of(&tree, problem);
    if (kind == ESPI_COMMTREE_BINARY) {
        for (int v = 0; v < tree.p; v++)
            ck_assert_int_le(tree.first[v + 1] - tree.first[v], 2);
    }
    espi_commtree_release(&tree);
    return t;
}

void expect_time(double got, double want, const char *what, const struct espi_commtree_problem *pb)
{
    if (fabs(got - want) <= 1e-11 * want)
        return;
    fprintf(stderr, "%s: got %.17g, want %.17g; p %d root %d alpha %g beta %g gamma %g latency %g early %d sizes",
            what, got, want, pb->p, pb->root, pb->model.alpha, pb->model.beta, pb->model.gamma, pb->model.latency,
            pb->model.early_copy);
    for (int v = 0; v < pb->p; v++)
        fprintf(stderr, " %lld", (long long)pb->size[v]);
    fprintf(stderr, "\n");
    ck_abort_msg("%s: got %.17g, want %.17g", what, got, want);
}

/* ---- random problems ---- */

static double constant(void)
{
    switch (random_in(0, 4)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return (double)random_in(0, 200);
    case 3:
        return (double)random_in(0, 100000) / 997.0;
    default:
        return (double)random_in(0, 5);
    }
}

void random_sizes(int p, int64_t *size)
{
    int64_t most = random_in(0, 3) ? random_in(1, 20) : random_in(1, 100000);
    int64_t zeros = random_in(0, 2) ? 0 : random_in(0, 4);
    int shape = (int)random_in(0, 3);
    for (int v = 0; v < p; v++) {
        size[v] = random_in(0, most);
        if (shape == 0 && random_in(0, 3))
            size[v] = random_in(0, 1 + most / 50);
        if (shape == 1)
            size[v] = most;
        if (zeros && random_in(0, zeros) == 0)
            size[v] = 0;
    }
}

struct espi_commtree_problem random_problem(int p, int64_t *size, enum gamma_kind gamma, bool latency)
{
    struct espi_commtree_problem problem = {p, size, (int)random_in(-1, p - 1),
                                            {constant(), constant(), 0, 0, false}, 0};
    struct espi_commtree_model *m = &problem.model;
    random_sizes(p, size);
    m->gamma = gamma == ANY_GAMMA ? constant() : random_in(0, 1) ? m->beta : m->beta * (double)random_in(0, 16) / 16;
    if (latency) {
        m->latency = constant();
        m->early_copy = random_in(0, 4) > 0;
    }
    if (random_in(0, 2) == 0)
        problem.root = ESPI_COMMTREE_BEST;
    return problem;
}

/* ---- oracle: the recurrences as they are defined, every split, memoised ---- */

static struct oracle {
    int n, root;
    double m[MOST], sum[MOST + 1];
    const struct espi_commtree_model *model;
    double t[MOST][MOST], f[MOST][MOST];
} o;

static double send(int i, int j)
{
    return o.sum[j + 1] == o.sum[i] ? 0 : o.model->alpha + o.model->beta * (o.sum[j + 1] - o.sum[i]);
}

/* The root's part, alone or not, and another range behind or before it, sending. */
static double receive_behind(bool alone, int root, double own_time, double other, int i, int j)
{
    double ready = alone ? o.model->gamma * o.m[root] : own_time;
    return fmax(ready, other + o.model->latency) + send(i, j);
}

static double receive_before(bool alone, int root, double own_time, double other, int i, int j)
{
    double own = o.model->gamma * o.m[root];
    if (!alone)
        return fmax(own_time, other + o.model->latency) + send(i, j);
    return o.model->early_copy ? fmax(own, other + o.model->latency) + send(i, j)
                               : other + o.model->latency + send(i, j) + own;
}

static double best_any(int i, int j)
{
    if (i == j)
        return 0;
    if (o.t[i][j] >= 0)
        return o.t[i][j];
    double best = DBL_MAX;
    for (int k = i; k < j; k++) {
        double a = best_any(i, k), b = best_any(k + 1, j);
        best = fmin(best, receive_behind(i == k, i, a, b, k + 1, j));
        best = fmin(best, receive_before(k + 1 == j, j, b, a, i, k));
    }
    return o.t[i][j] = best;
}

static double best_fixed(int i, int j)
{
    if (i == j)
        return 0;
    if (o.f[i][j] >= 0)
        return o.f[i][j];
    double best = DBL_MAX;
    for (int k = o.root; k < j; k++)
        best = fmin(best, receive_behind(i == k, i, best_fixed(i, k), best_any(k + 1, j), k + 1, j));
    for (int k = i; k < o.root; k++)
        best = fmin(best, receive_before(k + 1 == j, j, best_fixed(k + 1, j), best_any(i, k), i, k));
    return o.f[i][j] = best;
}

static void oracle_load(const struct espi_commtree_problem *problem, bool keep)
{
    o.n = 0;
    o.root = -1;
    o.sum[0] = 0;
    o.model = &problem->model;
    for (int v = 0; v < problem->p; v++) {
        if (!problem->size[v] && v != problem->root && !keep)
            continue;
        if (v == problem->root)
            o.root = o.n;
        o.m[o.n] = (double)problem->size[v];
        o.sum[o.n + 1] = o.sum[o.n] + o.m[o.n];
        o.n++;
    }
    for (int i = 0; i < MOST; i++)
        for (int j = 0; j < MOST; j++)
            o.t[i][j] = o.f[i][j] = -1;
}

double oracle_optimal(const struct espi_commtree_problem *problem)
{
    oracle_load(problem, false);
    if (o.n == 0)
        return 0;
    return problem->root == ESPI_COMMTREE_BEST ? best_any(0, o.n - 1) : best_fixed(0, o.n - 1);
}

/* Binary: at most two children, from left to right. */
static double binary_any(int i, int j);

static double binary_root(int i, int j, int r)
{
    double own = o.model->gamma * o.m[r], best = DBL_MAX;
    if (i == j)
        return 0;
    if (i < r && r < j)
        return fmax(binary_any(i, r - 1) + send(i, r - 1) + own, binary_any(r + 1, j)) + send(r + 1, j);
    if (r == i) {
        best = fmax(own, binary_any(i + 1, j)) + send(i + 1, j);
        for (int k = i + 1; k < j; k++)
            best = fmin(best, fmax(fmax(own, binary_any(i + 1, k)) + send(i + 1, k), binary_any(k + 1, j)) +
                                  send(k + 1, j));
    } else {
        best = binary_any(i, j - 1) + send(i, j - 1) + own;
        for (int k = i; k < j - 1; k++)
            best = fmin(best, fmax(binary_any(i, k) + send(i, k), binary_any(k + 1, j - 1)) + send(k + 1, j - 1) +
                                  own);
    }
    return best;
}

static double binary_any(int i, int j)
{
    if (i == j)
        return 0;
    if (o.t[i][j] >= 0)
        return o.t[i][j];
    double best = DBL_MAX;
    for (int r = i; r <= j; r++)
        best = fmin(best, binary_root(i, j, r));
    return o.t[i][j] = best;
}

double oracle_binary(const struct espi_commtree_problem *problem)
{
    oracle_load(problem, true);
    return problem->root == ESPI_COMMTREE_BEST ? binary_any(0, problem->p - 1)
                                               : binary_root(0, problem->p - 1, problem->root);
}
