/* Gather and scatter trees against plain oracles, exhaustive search and the published table. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commtree_support.h"
#include "random.h"
#include "runner.h"

static const char *reference_file;

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

/* Where times need not grow with the range: the fast method gives more than these, whichever part of its condition
   (doc/gather-trees.md) is left out. */
START_TEST(optimal_where_the_fast_method_does_not_hold)
{
    static const struct {
        int p, root;
        struct espi_commtree_model model;
        int64_t size[6];
        double time;
    } cases[] = {
        {5, 1, {5, 2, 3, 0, false}, {13, 28, 27, 19, 1}, 214}, /* a short block behind a long one */
        {6, -1, {5, 1, 3, 0, false}, {1, 5, 5, 5, 5, 5}, 48},  /* and before one */
        {5, 4, {4, 1, 1, 9, false}, {1, 30, 1, 29, 4}, 85},    /* latency, and copies that wait for it */
    };
    for (size_t x = 0; x < sizeof cases / sizeof *cases; x++) {
        struct espi_commtree_problem problem = {cases[x].p, cases[x].size, cases[x].root, cases[x].model, 0};
        expect_time(oracle_optimal(&problem), cases[x].time, "plain recurrence", &problem);
        expect_time(build_time(ESPI_COMMTREE_OPTIMAL, &problem), cases[x].time, "optimal", &problem);
    }
}
END_TEST

START_TEST(binary_is_the_plain_recurrence)
{
    int64_t size[MOST];
    for (int round = 0; round < 4000; round++) {
        int p = (int)random_in(1, random_in(0, 7) ? 12 : MOST);
        struct espi_commtree_problem problem = random_problem(p, size, round % 3 ? SMALL_GAMMA : ANY_GAMMA, false);
        double want = oracle_binary(&problem);
        /* Without any data the best root is any rank, and copies nothing. */
        expect_time(build_time(ESPI_COMMTREE_BINARY, &problem), want, "binary", &problem);
    }
}
END_TEST

/* With latency the binary tree is the best one of a model in which it is paid with every message. */
START_TEST(binary_with_latency)
{
    int64_t size[MOST];
    for (int round = 0; round < 400; round++) {
        struct espi_commtree_problem problem = random_problem((int)random_in(3, 12), size, SMALL_GAMMA, false);
        struct espi_commtree_problem paid = problem;
        struct espi_commtree tree;
        problem.model.latency = (double)random_in(1, 60);
        paid.model.alpha += problem.model.latency;
        ck_assert_int_eq(espi_commtree_build(ESPI_COMMTREE_BINARY, &problem, &tree), ESPI_OK);
        expect_time(time_of(&tree, &paid), oracle_binary(&paid), "binary with latency", &problem);
        espi_commtree_release(&tree);
    }
}
END_TEST

START_TEST(bound_of_two_ranks)
{
    int64_t size[2] = {5, 7};
    struct espi_commtree_problem problem = {2, size, 0, {3, 2, 1, 50, true}, 0};
    double bound;
    /* The copy and the latency overlap, and the message comes after both. */
    ck_assert_int_eq(espi_commtree_lower_bound(&problem, &bound), ESPI_OK);
    ck_assert_double_eq(bound, 50 + 3 + 2 * 7);
    ck_assert_double_eq(build_time(ESPI_COMMTREE_OPTIMAL, &problem), bound);
    problem.model.gamma = 20;
    ck_assert_int_eq(espi_commtree_lower_bound(&problem, &bound), ESPI_OK);
    ck_assert_double_eq(bound, 20 * 5 + 3 + 2 * 7);
    ck_assert_double_eq(build_time(ESPI_COMMTREE_OPTIMAL, &problem), bound);
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

int main(void)
{
    const TTest *const tests[] = {
        optimal_is_the_plain_recurrence,
        optimal_where_the_fast_method_does_not_hold,
        binary_is_the_plain_recurrence,
        binary_with_latency,
        bound_of_two_ranks,
        optimal_beats_every_tree,
        no_tree_is_below_the_bound,
        published_table,
    };
    static char path[4096];
    const char *folder = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/unit/data/gather-trees-alpha100.tsv", folder ? folder : ".");
    reference_file = path;
    return run_suite("test-commtree", 240, NULL, NULL, tests, (int)(sizeof tests / sizeof *tests));
}
