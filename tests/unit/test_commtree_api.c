/* Arguments, names, distributions, pictures. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commtree_support.h"
#include "random.h"

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
    const TTest *const tests[] = {
        wrong_arguments,
        distributions,
    };
    return run_tests("test-commtree-api", tests, (int)(sizeof tests / sizeof *tests));
}
