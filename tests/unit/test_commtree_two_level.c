/* Trees over links that differ: by pair of ranks, or within and between nodes. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commtree_support.h"
#include "random.h"
#include "runner.h"

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
            double near = alone ? 0 : links_plain(m, left ? i : k + 1, left ? k : j, r, op);
            double t = !alone ? fmax(near, other) + sent : left ? fmax(own, other) + sent : other + sent + own;
            best = fmin(best, t);
        }
    }
    return best;
}

static espi_status links_time(const struct espi_commtree *tree, const int64_t *size, enum espi_commtree_op op,
                              double *time)
{
    struct espi_commtree_traffic traffic = {op, size, 0, NULL, &links};
    return espi_commtree_schedule(tree, &traffic, NULL, NULL, time);
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
        ck_assert_int_eq(links_time(&tree, size, op, &t), ESPI_OK);
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
        ck_assert_int_eq(links_time(&tree, size, ESPI_COMMTREE_GATHER, &t), ESPI_OK);
        expect_time(t, oracle_optimal(&problem), "equal links", &problem);
        espi_commtree_release(&tree);
    }
}
END_TEST

/* ---- nodes and a network ---- */

/* The recurrence over ranges of the order `rank[]` and their roots, as it is defined. */
static struct {
    int n, root;
    const int *rank;
    const int64_t *size;
    const struct espi_commtree_levels *levels;
    bool early;
    double t[MOST][MOST][MOST]; /* negative: not known */
} o;

static double levels_plain(int i, int j, int r)
{
    double best = DBL_MAX, own = o.levels->within.gamma * (double)o.size[o.rank[r]];
    if (i == j)
        return 0;
    if (o.t[i][j][r] >= 0)
        return o.t[i][j][r];
    for (int k = i; k < j; k++) {
        bool left = r <= k, alone = left ? i == k : k + 1 == j;
        int from = left ? k + 1 : i, to = left ? j : k;
        double bytes = 0, near = alone ? own : levels_plain(left ? i : k + 1, left ? k : j, r);
        for (int v = from; v <= to; v++)
            bytes += (double)o.size[o.rank[v]];
        for (int s = from; s <= to; s++) {
            bool same = o.levels->node[o.rank[s]] == o.levels->node[o.rank[r]];
            const struct espi_commtree_model *m = same ? &o.levels->within : &o.levels->across;
            double other = levels_plain(from, to, s) + m->latency, sent = m->alpha + m->beta * bytes;
            best = fmin(best, alone && !left && !o.early ? other + sent + own : fmax(near, other) + sent);
        }
    }
    return o.t[i][j][r] = best;
}

static double levels_oracle(const int *rank, int n, const struct espi_commtree_problem *problem,
                            const struct espi_commtree_levels *levels)
{
    double best = DBL_MAX;
    o.n = n;
    o.rank = rank;
    o.size = problem->size;
    o.levels = levels;
    o.early = levels->within.early_copy;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int r = 0; r < n; r++)
                o.t[i][j][r] = -1;
    for (int r = 0; r < n; r++) {
        if (problem->root == ESPI_COMMTREE_BEST || rank[r] == problem->root)
            best = fmin(best, levels_plain(0, n - 1, r));
    }
    return n ? best : 0;
}

static int taking_part(const struct espi_commtree_problem *problem, int *rank)
{
    int n = 0;
    for (int v = 0; v < problem->p; v++) {
        if (problem->size[v] || v == problem->root)
            rank[n++] = v;
    }
    return n;
}

static double levels_time(const struct espi_commtree_problem *problem, const struct espi_commtree_levels *levels)
{
    struct espi_commtree tree;
    double gather, scatter;
    ck_assert_int_eq(espi_commtree_two_level(problem, levels, &tree), ESPI_OK);
    check_form(&tree, problem);
    ck_assert_int_eq(espi_commtree_time_levels(&tree, problem->size, levels, ESPI_COMMTREE_GATHER, &gather), ESPI_OK);
    ck_assert_int_eq(espi_commtree_time_levels(&tree, problem->size, levels, ESPI_COMMTREE_SCATTER, &scatter),
                     ESPI_OK);
    ck_assert_msg(fabs(gather - scatter) <= 1e-12 * gather, "gather %.17g, scatter %.17g", gather, scatter);
    ck_assert(tree.ordered);
    espi_commtree_release(&tree);
    return gather;
}

enum placing { RANGES, ROUND_ROBIN, ANYWHERE };

static struct espi_commtree_problem levels_problem(int p, int64_t *size, int *node, enum placing placing,
                                                   struct espi_commtree_levels *levels)
{
    struct espi_commtree_problem problem = random_problem(p, size, ANY_GAMMA, random_in(0, 1));
    int nodes = (int)random_in(1, random_in(0, 1) ? 4 : p), last = 0;
    for (int v = 0; v < p; v++) {
        if (placing == RANGES)
            last += random_in(0, p / nodes) == 0;
        node[v] = placing == RANGES ? 7 * last - 3 : placing == ROUND_ROBIN ? v % nodes : (int)random_in(1, nodes);
    }
    levels->node = node;
    levels->within = levels->across = problem.model;
    levels->across.alpha *= 1 + (double)random_in(0, 20) / 4;
    levels->across.beta *= 1 + (double)random_in(0, 20) / 4;
    levels->across.latency *= 1 + (double)random_in(0, 8) / 4;
    if (random_in(0, 3) == 0)
        levels->within.alpha = 0;
    return problem;
}

START_TEST(levels_are_exact)
{
    static int64_t size[MOST];
    static int node[MOST], rank[MOST];
    static const char *const placed[] = {"nodes are ranges", "nodes round-robin", "nodes anywhere"};
    for (int round = 0; round < 3000; round++) {
        int p = (int)random_in(1, round % 100 ? 10 : 32);
        struct espi_commtree_levels levels;
        struct espi_commtree_problem problem = levels_problem(p, size, node, (enum placing)(round % 3), &levels);
        int n = taking_part(&problem, rank);
        double t = levels_time(&problem, &levels);
        expect_time(t, levels_oracle(rank, n, &problem, &levels), placed[round % 3], &problem);
    }
}
END_TEST

/* Two or three nodes with several ranks each, so that nodes are often cut in the middle: most ranges of the problems
   above have their node whole. */
START_TEST(levels_of_large_nodes)
{
    static int64_t size[MOST];
    static int node[MOST], rank[MOST];
    for (int round = 0; round < 1500; round++) {
        int p = (int)random_in(6, 13), cut = (int)random_in(0, 3), nodes = (int)random_in(2, 3);
        struct espi_commtree_levels levels = {node, {0, 0, 0, 0, false}, {0, 0, 0, 0, false}};
        bool early = random_in(0, 1);
        struct espi_commtree_problem problem = {p, size, (int)random_in(-1, p - 1), {0, 0, 0, 0, false}, 0};
        for (int v = 0; v < p; v++) {
            node[v] = v < cut ? 9 : (v - cut) * nodes / p;
            size[v] = random_in(0, 3) ? random_in(1, 20) : random_in(1, 200);
        }
        double gamma = (double)random_in(0, 2) / 2;
        levels.within = (struct espi_commtree_model){(double)random_in(0, 9), (double)random_in(0, 4) / 4, gamma,
                                                     random_in(0, 1) ? (double)random_in(0, 9) : 0, early};
        levels.across = levels.within;
        /* A network hardly slower than the node: ranges may leave their node and return. */
        bool near = random_in(0, 3);
        levels.across.alpha += (double)random_in(0, near ? 2 : 40);
        levels.across.beta += (double)random_in(0, near ? 1 : 4) / (near ? 16 : 4);
        levels.across.latency += random_in(0, 1) ? (double)random_in(0, near ? 3 : 40) : 0;
        problem.model = levels.within;
        int n = taking_part(&problem, rank);
        expect_time(levels_time(&problem, &levels), levels_oracle(rank, n, &problem, &levels), "large nodes",
                    &problem);
    }
}
END_TEST

/* A range that leaves its node in the middle and comes back: a join by the network of two parts of one node. */
START_TEST(levels_that_leave_and_return)
{
    int64_t size[8] = {50, 42, 51, 2, 1, 12, 13, 20}, late[7] = {6, 19, 11, 19, 6, 4, 17};
    int node[8] = {9, 0, 0, 0, 0, 1, 1, 1};
    struct espi_commtree_levels levels = {node, {2, 1, 0, 0, false}, {2, 1.0625, 0, 0, false}};
    struct espi_commtree_problem problem = {8, size, 1, {0, 0, 0, 0, false}, 0};
    expect_time(levels_time(&problem, &levels), 157.875, "the node of the left end", &problem);
    for (int i = 0, j = 7; i < j; i++, j--) {
        int64_t bytes = size[i];
        int of = node[i];
        size[i] = size[j], node[i] = node[j];
        size[j] = bytes, node[j] = of;
    }
    problem.root = 6;
    expect_time(levels_time(&problem, &levels), 157.875, "the node of the right end", &problem);
    levels = (struct espi_commtree_levels){(const int[]){9, 0, 0, 0, 0, 1, 1}, {6, 0.25, 1.5, 6, false},
                                           {6, 0.3125, 1.5, 8, false}};
    problem = (struct espi_commtree_problem){7, late, ESPI_COMMTREE_BEST, {0, 0, 0, 0, false}, 0};
    expect_time(levels_time(&problem, &levels), 55.5, "late copies", &problem);
}
END_TEST

START_TEST(a_network_faster_than_the_nodes)
{
    static int64_t size[MOST];
    static int node[MOST];
    for (int round = 0; round < 300; round++) {
        int p = (int)random_in(1, 12);
        struct espi_commtree_levels levels;
        struct espi_commtree tree;
        double flat;
        struct espi_commtree_problem problem = levels_problem(p, size, node, (enum placing)(round % 3), &levels);
        if (round % 2)
            levels.within.alpha = levels.across.alpha * 3 + 1;
        else
            levels.within.beta = levels.across.beta * 3 + 1;
        problem.model = levels.across;
        ck_assert_int_eq(espi_commtree_build(ESPI_COMMTREE_OPTIMAL, &problem, &tree), ESPI_OK);
        ck_assert_int_eq(espi_commtree_time_levels(&tree, size, &levels, ESPI_COMMTREE_GATHER, &flat), ESPI_OK);
        espi_commtree_release(&tree);
        ck_assert_double_le(levels_time(&problem, &levels), flat * (1 + 1e-12));
    }
}
END_TEST

/* Where the exact methods do not reach: still a tree, and no slower than one that knows no nodes. */
START_TEST(levels_of_many_ranks)
{
    static const struct {
        int p, nodes;
        bool round_robin;
    } cases[] = {{1024, 64, false}, {512, 128, true}, {1400, 350, true}, {2100, 131, false}};
    static int64_t size[4096];
    static int node[4096];
    for (size_t x = 0; x < sizeof cases / sizeof *cases; x++) {
        int p = cases[x].p, nodes = cases[x].nodes;
        struct espi_commtree_problem problem = {p, size, p / 2, {20, 1, 0.25, 0, false}, 0};
        struct espi_commtree_levels levels = {node, {1, 0.25, 0.25, 0, false}, {20, 1, 0.25, 0, false}};
        struct espi_commtree tree;
        double flat, t;
        for (int v = 0; v < p; v++) {
            node[v] = cases[x].round_robin ? v % nodes : v / (p / nodes);
            size[v] = random_in(0, 100);
        }
        ck_assert_int_eq(espi_commtree_build(ESPI_COMMTREE_OPTIMAL, &problem, &tree), ESPI_OK);
        ck_assert_int_eq(espi_commtree_time_levels(&tree, size, &levels, ESPI_COMMTREE_GATHER, &flat), ESPI_OK);
        espi_commtree_release(&tree);
        t = levels_time(&problem, &levels);
        ck_assert_double_le(t, flat);
        printf("%d ranks in %d nodes%s: no nodes known %.0f, nodes known %.0f\n", p, nodes,
               cases[x].round_robin ? ", round-robin" : "", flat, t);
    }
}
END_TEST

START_TEST(wrong_levels)
{
    int64_t size[2] = {1, 1};
    int node[2] = {0, 1};
    struct espi_commtree_problem problem = {2, size, 0, {1, 1, 0, 0, false}, 0};
    struct espi_commtree_levels good = {node, {1, 1, 0, 0, false}, {2, 2, 0, 0, false}}, bad = good;
    struct espi_commtree tree;
    bad.across.early_copy = true;
    ck_assert_int_eq(espi_commtree_two_level(&problem, &bad, &tree), ESPI_ERR_ARGUMENT);
    bad = good;
    bad.across.beta = NAN;
    ck_assert_int_eq(espi_commtree_two_level(&problem, &bad, &tree), ESPI_ERR_ARGUMENT);
    bad = good;
    bad.node = NULL;
    ck_assert_int_eq(espi_commtree_two_level(&problem, &bad, &tree), ESPI_ERR_ARGUMENT);
    problem.root = 2;
    ck_assert_int_eq(espi_commtree_two_level(&problem, &good, &tree), ESPI_ERR_ARGUMENT);
    ck_assert_ptr_null(tree.parent);
    struct espi_commtree_links one = {2, (double[]){0, 1, 1, 0}, (double[]){0, 1, -1, 0}, 0};
    ck_assert_int_eq(espi_commtree_optimal_links(&one, size, 0, ESPI_COMMTREE_GATHER, &tree), ESPI_ERR_ARGUMENT);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        links_are_exact,
        equal_links_are_the_homogeneous_model,
        levels_are_exact,
        levels_of_large_nodes,
        levels_that_leave_and_return,
        a_network_faster_than_the_nodes,
        levels_of_many_ranks,
        wrong_levels,
    };
    return run_suite("test-commtree-two-level", 240, NULL, NULL, tests, (int)(sizeof tests / sizeof *tests));
}
