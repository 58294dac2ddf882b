/* Communication trees against plain oracles, exhaustive search and the published table. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commtree/commtree.h"
#include "random.h"

#define MOST 48

static const char *reference_file;

static double time_of(const struct espi_commtree *tree, const struct espi_commtree_problem *problem)
{
    double gather = -1, scatter = -2;
    ck_assert_int_eq(espi_commtree_time(tree, problem->size, &problem->model, ESPI_COMMTREE_GATHER, &gather),
                     ESPI_OK);
    ck_assert_int_eq(espi_commtree_time(tree, problem->size, &problem->model, ESPI_COMMTREE_SCATTER, &scatter),
                     ESPI_OK);
    ck_assert_msg(fabs(gather - scatter) <= 1e-12 * gather, "gather %.17g, scatter %.17g", gather, scatter);
    return gather;
}

/* A tree's form: parents and children agree, ranges are ranges, the root is the wanted one. */
static void check_form(const struct espi_commtree *tree, const struct espi_commtree_problem *problem)
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

static double build_time(enum espi_commtree_kind kind, const struct espi_commtree_problem *problem)
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

static void expect_time(double got, double want, const char *what, const struct espi_commtree_problem *pb)
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

static void random_sizes(int p, int64_t *size)
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

enum gamma_kind { SMALL_GAMMA, ANY_GAMMA };

static struct espi_commtree_problem random_problem(int p, int64_t *size, enum gamma_kind gamma, bool latency)
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

static double oracle_optimal(const struct espi_commtree_problem *problem)
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

/* ---- tests ---- */

START_TEST(optimal_is_the_plain_recurrence)
{
    int64_t size[MOST];
    for (int round = 0; round < 9000; round++) {
        int p = (int)random_in(1, random_in(0, 7) ? 14 : MOST);
        struct espi_commtree_problem problem =
            random_problem(p, size, round % 3 == 0 ? ANY_GAMMA : SMALL_GAMMA, round % 2);
        expect_time(build_time(ESPI_COMMTREE_OPTIMAL, &problem), oracle_optimal(&problem), "optimal", &problem);
    }
}
END_TEST

START_TEST(binary_is_the_plain_recurrence)
{
    int64_t size[MOST];
    for (int round = 0; round < 4000; round++) {
        int p = (int)random_in(1, random_in(0, 7) ? 12 : MOST);
        struct espi_commtree_problem problem = random_problem(p, size, round % 3 ? SMALL_GAMMA : ANY_GAMMA, false);
        oracle_load(&problem, true);
        double want = problem.root == ESPI_COMMTREE_BEST ? binary_any(0, p - 1) : binary_root(0, p - 1, problem.root);
        /* Without any data the best root is any rank, and copies nothing. */
        expect_time(build_time(ESPI_COMMTREE_BINARY, &problem), want, "binary", &problem);
    }
}
END_TEST

/* Every order in which groups can join: any two (neighbouring, if `ordered`) groups, either root. */
static double exhaustive(const struct espi_commtree_problem *problem, int groups, const int *head, int steps,
                         int *from, int *to, bool ordered)
{
    double best = DBL_MAX;
    if (groups == 1) {
        struct espi_commtree tree;
        double t;
        if (problem->root != ESPI_COMMTREE_BEST && head[0] != problem->root)
            return DBL_MAX;
        ck_assert_int_eq(espi_commtree_from_joins(problem->p, head[0], steps, from, to, ordered, &tree), ESPI_OK);
        t = time_of(&tree, problem);
        espi_commtree_release(&tree);
        return t;
    }
    for (int a = 0; a < groups; a++) {
        for (int b = a + 1; b < (ordered ? a + 2 : groups) && b < groups; b++) {
            for (int left = 0; left < 2; left++) {
                int next[8], n = 0;
                for (int g = 0; g < groups; g++) {
                    if (g != b)
                        next[n++] = g == a ? head[left ? a : b] : head[g];
                }
                from[steps] = head[left ? b : a];
                to[steps] = head[left ? a : b];
                best = fmin(best, exhaustive(problem, n, next, steps + 1, from, to, ordered));
            }
        }
    }
    return best;
}

START_TEST(optimal_beats_every_tree)
{
    int64_t size[6];
    int from[6], to[6], head[6];
    double bound;
    for (int round = 0; round < 400; round++) {
        int p = (int)random_in(1, round < 390 ? 5 : 6);
        struct espi_commtree_problem problem = random_problem(p, size, ANY_GAMMA, round % 2);
        for (int v = 0; v < p; v++) {
            size[v] += !size[v];
            head[v] = v;
        }
        expect_time(build_time(ESPI_COMMTREE_OPTIMAL, &problem), exhaustive(&problem, p, head, 0, from, to, true),
                    "all ordered trees", &problem);
        if (p <= 5) {
            double least = exhaustive(&problem, p, head, 0, from, to, false);
            expect_time(build_time(ESPI_COMMTREE_UNORDERED, &problem), least, "all trees", &problem);
            ck_assert_int_eq(espi_commtree_lower_bound(&problem, &bound), ESPI_OK);
            ck_assert_double_le(bound, least * (1 + 1e-12));
        }
    }
}
END_TEST

START_TEST(no_tree_is_below_the_bound)
{
    int64_t size[MOST];
    for (int round = 0; round < 3000; round++) {
        int p = (int)random_in(1, MOST);
        struct espi_commtree_problem problem = random_problem(p, size, SMALL_GAMMA, round % 2);
        double bound, optimal = build_time(ESPI_COMMTREE_OPTIMAL, &problem);
        struct espi_commtree_choice choice;
        struct espi_commtree tree;
        ck_assert_int_eq(espi_commtree_lower_bound(&problem, &bound), ESPI_OK);
        ck_assert_double_le(bound, optimal * (1 + 1e-12));
        for (int k = 0; k < ESPI_COMMTREE_KINDS; k++) {
            double t = build_time((enum espi_commtree_kind)k, &problem);
            ck_assert_msg(bound <= t * (1 + 1e-12), "%s: bound %g, time %g", espi_commtree_kind_name(k), bound, t);
            if (k == ESPI_COMMTREE_UNORDERED)
                ck_assert_msg(t <= optimal * (1 + 1e-11), "unordered %.17g, ordered %.17g", t, optimal);
            ck_assert_int_eq(espi_commtree_build_compact((enum espi_commtree_kind)k, &problem, &tree), ESPI_OK);
            check_form(&tree, &problem);
            t = time_of(&tree, &problem);
            espi_commtree_release(&tree);
            if (k != ESPI_COMMTREE_UNORDERED && k != ESPI_COMMTREE_BINARY)
                ck_assert_msg(optimal <= t * (1 + 1e-11), "%s: optimal %.17g, time %.17g",
                              espi_commtree_kind_name(k), optimal, t);
        }
        ck_assert_int_eq(espi_commtree_choose(&problem, 0, &tree, &choice), ESPI_OK);
        check_form(&tree, &problem);
        ck_assert_double_eq(time_of(&tree, &problem), choice.time);
        ck_assert_double_eq(choice.predicted[choice.kind], choice.time);
        ck_assert_double_le(choice.time, optimal * (1 + 1e-11));
        ck_assert_double_eq(choice.bound, bound);
        espi_commtree_release(&tree);
    }
}
END_TEST

START_TEST(published_table)
{
    char line[1000], dist_name[64], root_name[16];
    FILE *file = fopen(reference_file, "r");
    int rows = 0;
    int64_t *size = malloc(2000 * sizeof *size);
    static const enum espi_commtree_kind kinds[] = {ESPI_COMMTREE_LINEAR, ESPI_COMMTREE_BINARY,
                                                    ESPI_COMMTREE_BINOMIAL,
                                                    ESPI_COMMTREE_ADAPTIVE, ESPI_COMMTREE_OPTIMAL};
    ck_assert_msg(file != NULL, "%s cannot be read", reference_file);
    while (fgets(line, sizeof line, file)) {
        int alpha, gamma, det;
        long long m, want[5], sum = 0;
        enum espi_commtree_dist dist;
        if (sscanf(line, "%d %d %63s %d %15s %lld %lld %lld %lld %lld %lld", &alpha, &gamma, dist_name, &det,
                   root_name, &m, &want[0], &want[1], &want[2], &want[3], &want[4]) != 11 || !det)
            continue;
        ck_assert(espi_commtree_dist_parse(dist_name, &dist));
        ck_assert_int_eq(espi_commtree_dist_fill(dist, 2000, 1000, 5, 1, size), ESPI_OK);
        for (int v = 0; v < 2000; v++)
            sum += size[v];
        ck_assert_int_eq(sum, m);
        struct espi_commtree_problem problem = {2000, size, strcmp(root_name, "best") ? 1000 : ESPI_COMMTREE_BEST,
                                                {alpha, 1, gamma, 0, false}, 0};
        for (int k = 0; k < 5; k++) {
            double t = build_time(kinds[k], &problem);
            bool bettered = kinds[k] == ESPI_COMMTREE_OPTIMAL && gamma == 0 && dist == ESPI_DIST_INCREASING &&
                            problem.root == ESPI_COMMTREE_BEST;
            ck_assert_msg(t == (double)(want[k] - bettered), "%s gamma %d root %s %s: %.17g, published %lld",
                          dist_name, gamma, root_name, espi_commtree_kind_name(kinds[k]), t, want[k]);
        }
        rows++;
    }
    fclose(file);
    free(size);
    ck_assert_int_eq(rows, 24);
    printf("published table: %d rows, five trees each\n", rows);
}
END_TEST

START_TEST(not_all_trees_are_ordered)
{
    /* Sums to halves only out of order, as in the reduction from PARTITION. */
    int64_t size[14];
    int better = 0;
    for (int round = 0; round < 60; round++) {
        int p = (int)random_in(4, 9);
        struct espi_commtree_problem problem = {p, size, random_in(0, 1) ? (int)random_in(0, p - 1) : -1,
                                                {1, 1, 0, 0, false}, 0};
        for (int v = 0; v < p; v++)
            size[v] = random_in(1, 60);
        double ordered = build_time(ESPI_COMMTREE_OPTIMAL, &problem);
        double any = build_time(ESPI_COMMTREE_UNORDERED, &problem);
        ck_assert_double_le(any, ordered);
        better += any < ordered;
    }
    ck_assert_int_gt(better, 0);
}
END_TEST

/* ---- different links ---- */

static struct espi_commtree_links links;

/* Plain recursion over ranges and roots, directly in terms of messages. */
static double links_plain(const int64_t *m, int i, int j, int r, enum espi_commtree_op op)
{
    double best = DBL_MAX;
    if (i == j)
        return 0;
    for (int k = i; k < j; k++) {
        bool left = r <= k;
        int from = left ? k + 1 : i, to = left ? j : k;
        int64_t bytes = 0;
        for (int v = from; v <= to; v++)
            bytes += m[v];
        for (int s = from; s <= to; s++) {
            int a = op == ESPI_COMMTREE_GATHER ? s : r, b = op == ESPI_COMMTREE_GATHER ? r : s;
            double sent = links.alpha[a * links.p + b] + links.beta[a * links.p + b] * (double)bytes;
            double other = links_plain(m, from, to, s, op), own = links.gamma * (double)m[r];
            bool alone = left ? i == k : k + 1 == j;
            double mine = alone ? 0 : links_plain(m, left ? i : k + 1, left ? k : j, r, op);
            double t = !alone ? fmax(mine, other) + sent : left ? fmax(own, other) + sent : other + sent + own;
            best = fmin(best, t);
        }
    }
    return best;
}

START_TEST(links_are_exact)
{
    double alpha[36], beta[36], t;
    int64_t size[6];
    for (int round = 0; round < 300; round++) {
        int p = (int)random_in(1, 6), root = (int)random_in(-1, p - 1);
        enum espi_commtree_op op = random_in(0, 1) ? ESPI_COMMTREE_GATHER : ESPI_COMMTREE_SCATTER;
        struct espi_commtree tree;
        for (int x = 0; x < p * p; x++) {
            alpha[x] = (double)random_in(0, 50);
            beta[x] = (double)random_in(0, 8) / 4;
        }
        links = (struct espi_commtree_links){p, alpha, beta, (double)random_in(0, 4) / 4};
        for (int v = 0; v < p; v++)
            size[v] = random_in(1, 40);
        ck_assert_int_eq(espi_commtree_optimal_links(&links, size, root, op, &tree), ESPI_OK);
        ck_assert_int_eq(espi_commtree_time_links(&tree, size, &links, op, &t), ESPI_OK);
        double want = DBL_MAX;
        for (int r = 0; r < p; r++) {
            if (root < 0 || r == root)
                want = fmin(want, links_plain(size, 0, p - 1, r, op));
        }
        ck_assert_msg(fabs(t - want) <= 1e-12 * want, "p %d: %.17g, plain %.17g", p, t, want);
        espi_commtree_release(&tree);
    }
}
END_TEST

START_TEST(equal_links_are_the_homogeneous_model)
{
    double alpha[400], beta[400], t;
    int64_t size[20];
    for (int round = 0; round < 200; round++) {
        int p = (int)random_in(1, 20);
        struct espi_commtree_problem problem = random_problem(p, size, SMALL_GAMMA, false);
        struct espi_commtree tree;
        for (int x = 0; x < p * p; x++) {
            alpha[x] = problem.model.alpha;
            beta[x] = problem.model.beta;
        }
        links = (struct espi_commtree_links){p, alpha, beta, problem.model.gamma};
        ck_assert_int_eq(espi_commtree_optimal_links(&links, size, problem.root, ESPI_COMMTREE_GATHER, &tree),
                         ESPI_OK);
        ck_assert_int_eq(espi_commtree_time_links(&tree, size, &links, ESPI_COMMTREE_GATHER, &t), ESPI_OK);
        expect_time(t, oracle_optimal(&problem), "equal links", &problem);
        espi_commtree_release(&tree);
    }
}
END_TEST

START_TEST(two_levels)
{
    static int64_t size[1024];
    static int node[1024];
    double worst = 1;
    for (int round = 0; round < 60; round++) {
        int p = (int)random_in(66, 128), width = (int)random_in(1, 12);
        struct espi_commtree_problem problem = {p, size, (int)random_in(-1, p - 1), {20, 1, 0.25, 0, false}, 0};
        struct espi_commtree_levels levels = {node, {(double)random_in(1, 20), 0.25, 0.25, 0, false},
                                              {(double)random_in(20, 200), 1, 0.25, 0, false}};
        struct espi_commtree tree, best;
        double t, least, *alpha = malloc(sizeof *alpha * (size_t)(p * p));
        double *beta = malloc(sizeof *beta * (size_t)(p * p));
        for (int v = 0; v < p; v++) {
            node[v] = v / width;
            size[v] = random_in(0, 3) ? random_in(0, 100) : random_in(0, 2000);
        }
        for (int x = 0; x < p * p; x++) {
            bool same = node[x / p] == node[x % p];
            alpha[x] = same ? levels.within.alpha : levels.across.alpha;
            beta[x] = same ? levels.within.beta : levels.across.beta;
        }
        struct espi_commtree_links all = {p, alpha, beta, 0.25};
        ck_assert_int_eq(espi_commtree_two_level(&problem, &levels, &tree), ESPI_OK);
        check_form(&tree, &problem);
        ck_assert_int_eq(espi_commtree_time_levels(&tree, size, &levels, ESPI_COMMTREE_GATHER, &t), ESPI_OK);
        espi_commtree_release(&tree);
        if (round % 6 == 0) {
            ck_assert_int_eq(espi_commtree_optimal_links(&all, size, problem.root, ESPI_COMMTREE_GATHER, &best),
                             ESPI_OK);
            ck_assert_int_eq(espi_commtree_time_links(&best, size, &all, ESPI_COMMTREE_GATHER, &least), ESPI_OK);
            espi_commtree_release(&best);
            ck_assert_double_ge(t, least * (1 - 1e-12));
            worst = fmax(worst, t / least);
        }
        free(alpha);
        free(beta);
    }
    printf("two levels: worst of ten against the exact optimum %.4f\n", worst);
    ck_assert_double_le(worst, 2);
    for (int v = 0; v < 1024; v++) {
        node[v] = v / 16;
        size[v] = random_in(0, 100);
    }
    struct espi_commtree_problem problem = {1024, size, 512, {20, 1, 0.25, 0, false}, 0};
    struct espi_commtree_levels levels = {node, {1, 0.25, 0.25, 0, false}, {20, 1, 0.25, 0, false}};
    struct espi_commtree tree;
    ck_assert_int_eq(espi_commtree_two_level(&problem, &levels, &tree), ESPI_OK);
    check_form(&tree, &problem);
    espi_commtree_release(&tree);
}
END_TEST

/* ---- broadcast ---- */

/* The most ranks that can be reached in time t. */
static int64_t reach(double t, double busy, double latency)
{
    return t < busy + latency - 1e-9 ? 1 : reach(t - busy, busy, latency) + reach(t - busy - latency, busy, latency);
}

START_TEST(broadcast_is_optimal)
{
    for (int round = 0; round < 500; round++) {
        int p = (int)random_in(1, 40), root = (int)random_in(0, p - 1), rounds = 0;
        struct espi_commtree_model model = {(double)random_in(1, 4), 1, 0, (double)random_in(0, 6), false};
        struct espi_commtree tree;
        double t, g, m = (double)random_in(0, 3), busy = model.alpha + m;
        ck_assert_int_eq(espi_commtree_broadcast(p, root, m, &model, false, &tree), ESPI_OK);
        ck_assert_int_eq(espi_commtree_time_equal(&tree, m, 0, &model, ESPI_COMMTREE_SCATTER, &t), ESPI_OK);
        ck_assert_int_eq(espi_commtree_time_equal(&tree, m, 0, &model, ESPI_COMMTREE_GATHER, &g), ESPI_OK);
        ck_assert_double_eq(t, g);
        ck_assert_int_eq(tree.n, p);
        ck_assert_int_ge(reach(t, busy, model.latency), p);
        ck_assert_msg(p == 1 || reach(t - 0.5, busy, model.latency) < p, "p %d is reached before %g", p, t);
        espi_commtree_release(&tree);
        while (1 << rounds < p)
            rounds++;
        model.latency = 0;
        ck_assert_int_eq(espi_commtree_broadcast(p, root, m, &model, true, &tree), ESPI_OK);
        ck_assert_int_eq(espi_commtree_time_equal(&tree, m, 2, &model, ESPI_COMMTREE_GATHER, &t), ESPI_OK);
        ck_assert_double_eq(t, rounds * (busy + 2));
        int64_t nothing[40] = {0};
        struct espi_commtree_problem problem = {p, nothing, root, model, 0};
        check_form(&tree, &problem);
        espi_commtree_release(&tree);
    }
}
END_TEST

START_TEST(two_sizes)
{
    /* A few large blocks and many small ones: large ones straight to the root, small ones by rounds in one message.
       */
    int64_t size[64];
    struct espi_commtree_problem problem = {64, size, 0, {10, 1, 0, 0, false}, 0};
    for (int v = 0; v < 64; v++)
        size[v] = v < 5 ? 1000000 : 1;
    double two = build_time(ESPI_COMMTREE_TWOSIZE, &problem), optimal = build_time(ESPI_COMMTREE_OPTIMAL, &problem);
    /* 4 large messages and one with the 59 small blocks. */
    ck_assert_double_eq(two, 5 * 10 + 4 * 1e6 + 59);
    ck_assert_double_le(two, optimal * 1.0001);
}
END_TEST

START_TEST(wrong_arguments)
{
    int64_t size[3] = {1, INT64_MAX, 1}, bad[2] = {1, -1}, big[2] = {INT64_MAX - 1, 1}, none[3] = {0, 0, 0};
    struct espi_commtree tree;
    double t;
    for (int k = 0; k < ESPI_COMMTREE_KINDS; k++) {
        enum espi_commtree_kind kind = (enum espi_commtree_kind)k, back;
        struct espi_commtree_problem problem = {3, size, 0, {1, 1, 1, 0, false}, 0};
        ck_assert_int_eq(espi_commtree_build(kind, &problem, &tree), ESPI_ERR_OVERFLOW);
        ck_assert_ptr_null(tree.parent);
        problem.size = none;
        ck_assert_double_eq(build_time(kind, &problem), 0);
        problem.root = ESPI_COMMTREE_BEST;
        ck_assert_double_eq(build_time(kind, &problem), 0);
        problem.p = 2;
        problem.size = big;
        ck_assert_double_le(1e0, build_time(kind, &problem));
        problem.size = bad;
        ck_assert_int_eq(espi_commtree_build(kind, &problem, &tree), ESPI_ERR_ARGUMENT);
        problem.size = none;
        problem.root = 2;
        ck_assert_int_eq(espi_commtree_build(kind, &problem, &tree), ESPI_ERR_ARGUMENT);
        problem.root = -2;
        ck_assert_int_eq(espi_commtree_build(kind, &problem, &tree), ESPI_ERR_ARGUMENT);
        problem.root = 0;
        problem.p = 0;
        ck_assert_int_eq(espi_commtree_build(kind, &problem, &tree), ESPI_ERR_ARGUMENT);
        problem.p = 2;
        problem.model.beta = NAN;
        ck_assert_int_eq(espi_commtree_build(kind, &problem, &tree), ESPI_ERR_ARGUMENT);
        problem.model.beta = -1;
        ck_assert_int_eq(espi_commtree_lower_bound(&problem, &t), ESPI_ERR_ARGUMENT);
        ck_assert(espi_commtree_kind_parse(espi_commtree_kind_name(kind), &back) && back == kind);
    }
    ck_assert_ptr_null(espi_commtree_kind_name(ESPI_COMMTREE_KINDS));
    int from[2] = {1, 2}, to[2] = {2, 1};
    ck_assert_int_eq(espi_commtree_from_joins(3, 0, 2, from, to, true, &tree), ESPI_ERR_ARGUMENT);
    to[0] = 0;
    from[1] = 1;
    ck_assert_int_eq(espi_commtree_from_joins(3, 0, 2, from, to, true, &tree), ESPI_ERR_ARGUMENT);
    struct espi_commtree_problem many = {3, (int64_t[]){1, 1, 1}, 0, {1, 1, 1, 0, false}, 1};
    ck_assert_int_eq(espi_commtree_build(ESPI_COMMTREE_OPTIMAL, &many, &tree), ESPI_ERR_LIMIT);
    ck_assert_int_eq(espi_commtree_dist_fill(ESPI_DIST_SAME, 2, INT64_MAX, 1, 1, size), ESPI_ERR_OVERFLOW);
    ck_assert_int_eq(espi_commtree_dist_fill(ESPI_DIST_SAME, 0, 1, 1, 1, size), ESPI_ERR_ARGUMENT);
}
END_TEST

START_TEST(distributions)
{
    int64_t size[1000], again[1000];
    for (int d = 0; d < ESPI_DISTS; d++) {
        enum espi_commtree_dist dist = (enum espi_commtree_dist)d, back;
        double sum = 0;
        ck_assert(espi_commtree_dist_parse(espi_commtree_dist_name(dist), &back) && back == dist);
        ck_assert_int_eq(espi_commtree_dist_fill(dist, 1000, 100, 5, 42, size), ESPI_OK);
        ck_assert_int_eq(espi_commtree_dist_fill(dist, 1000, 100, 5, 42, again), ESPI_OK);
        ck_assert_mem_eq(size, again, sizeof size);
        for (int v = 0; v < 1000; v++) {
            sum += (double)size[v];
            if (v && dist == ESPI_DIST_RANDOM_DECREASING)
                ck_assert_int_le(size[v], size[v - 1]);
            if (v && dist == ESPI_DIST_RANDOM_INCREASING)
                ck_assert_int_ge(size[v], size[v - 1]);
            if (dist == ESPI_DIST_BUCKET)
                ck_assert(size[v] >= 80 && size[v] <= 120);
        }
        ck_assert_msg(sum > 90e3 && sum < 110e3, "%s: %g", espi_commtree_dist_name(dist), sum);
    }
}
END_TEST

int main(void)
{
    const char *folder = getenv("srcdir");
    static char path[4096];
    snprintf(path, sizeof path, "%s/tests/unit/data/gather-trees-alpha100.tsv", folder ? folder : ".");
    reference_file = path;
    random_seed("test-commtree");
    Suite *suite = suite_create("commtree");
    TCase *tc = tcase_create("trees");
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, optimal_is_the_plain_recurrence);
    tcase_add_test(tc, binary_is_the_plain_recurrence);
    tcase_add_test(tc, optimal_beats_every_tree);
    tcase_add_test(tc, no_tree_is_below_the_bound);
    tcase_add_test(tc, published_table);
    tcase_add_test(tc, not_all_trees_are_ordered);
    tcase_add_test(tc, links_are_exact);
    tcase_add_test(tc, equal_links_are_the_homogeneous_model);
    tcase_add_test(tc, two_levels);
    tcase_add_test(tc, broadcast_is_optimal);
    tcase_add_test(tc, two_sizes);
    tcase_add_test(tc, wrong_arguments);
    tcase_add_test(tc, distributions);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
