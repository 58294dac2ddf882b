/* Arguments, names, distributions, pictures. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commtree_support.h"
#include "random.h"
#include "runner.h"

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
    ck_assert_int_eq(espi_commtree_dist_fill(ESPI_DIST_SAME, 2, 1, 0, 1, size), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_commtree_dist_fill(ESPI_DIST_SAME, 2, -1, 1, 1, size), ESPI_ERR_ARGUMENT);
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

START_TEST(random_distributions)
{
    int64_t size[1000], least = INT64_MAX, most = 0;
    int spikes = 0;
    ck_assert_int_eq(espi_commtree_dist_fill(ESPI_DIST_SPIKES, 1000, 100, 7, 3, size), ESPI_OK);
    for (int v = 0; v < 1000; v++) {
        ck_assert(size[v] == 1 || size[v] == 700);
        spikes += size[v] == 700;
    }
    ck_assert_int_eq(spikes, 1000 / 7);
    ck_assert_int_eq(espi_commtree_dist_fill(ESPI_DIST_RANDOM, 1000, 100, 7, 3, size), ESPI_OK);
    for (int v = 0; v < 1000; v++) {
        least = size[v] < least ? size[v] : least;
        most = size[v] > most ? size[v] : most;
    }
    ck_assert(least >= 1 && least < 5 && most > 195 && most < 200);
    ck_assert_int_eq(espi_commtree_dist_fill(ESPI_DIST_BUCKET, 1000, 100, 4, 3, size), ESPI_OK);
    least = INT64_MAX;
    most = 0;
    for (int v = 0; v < 1000; v++) {
        least = size[v] < least ? size[v] : least;
        most = size[v] > most ? size[v] : most;
    }
    ck_assert(least >= 75 && least < 78 && most > 122 && most <= 125);
}
END_TEST

/* ---- schedules and pictures ---- */

/* No rank is part of two messages at once, messages last as long as they should, and the last one ends the whole. */
static void check_schedule(const struct espi_commtree *tree, const struct espi_commtree_problem *problem,
                           enum espi_commtree_op op)
{
    double start[MOST], finish[MOST], time, last = 0;
    int64_t held[MOST];
    struct espi_commtree_traffic traffic = {op, problem->size, 0, &problem->model, NULL};
    ck_assert_int_eq(espi_commtree_schedule(tree, &traffic, start, finish, &time), ESPI_OK);
    for (int v = 0; v < tree->p; v++)
        held[v] = 0;
    for (int v = 0; v < tree->p; v++) {
        for (int u = v; u >= 0 && tree->parent[u] != ESPI_COMMTREE_ABSENT; u = tree->parent[u])
            held[u] += problem->size[v];
    }
    for (int v = 0; v < tree->p; v++) {
        if (tree->parent[v] < 0)
            continue;
        double lasts = held[v] ? problem->model.alpha + problem->model.beta * (double)held[v] : 0;
        ck_assert(fabs(finish[v] - start[v] - lasts) <= 1e-9 * (finish[v] + 1));
        last = fmax(last, finish[v]);
        for (int u = 0; u < tree->p; u++) {
            bool share = u != v && tree->parent[u] >= 0 &&
                         (u == tree->parent[v] || v == tree->parent[u] || tree->parent[u] == tree->parent[v]);
            double slack = 1e-9 * (last + 1);
            ck_assert_msg(!share || finish[u] <= start[v] + slack || finish[v] <= start[u] + slack,
                          "messages of %d and %d overlap", u, v);
        }
    }
    if (problem->model.gamma == 0 && problem->model.latency == 0)
        ck_assert(fabs(last - time) <= 1e-9 * (time + 1));
}

START_TEST(schedules)
{
    int64_t size[MOST];
    for (int round = 0; round < 300; round++) {
        struct espi_commtree_problem problem = random_problem((int)random_in(1, 20), size, ANY_GAMMA, round % 2);
        struct espi_commtree tree;
        if (round % 3)
            problem.model.gamma = 0;
        for (int k = 0; k < ESPI_COMMTREE_KINDS; k++) {
            if (k == ESPI_COMMTREE_UNORDERED && problem.p > 8)
                continue;
            ck_assert_int_eq(espi_commtree_build((enum espi_commtree_kind)k, &problem, &tree), ESPI_OK);
            check_schedule(&tree, &problem, ESPI_COMMTREE_GATHER);
            check_schedule(&tree, &problem, ESPI_COMMTREE_SCATTER);
            espi_commtree_release(&tree);
        }
    }
}
END_TEST

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

START_TEST(pictures)
{
    int64_t size[5] = {3, 1, 4, 0, 5};
    int from[3] = {4, 2, 0}, to[3] = {2, 1, 1};
    struct espi_commtree_model model = {10, 1, 0, 0, false};
    struct espi_commtree_traffic traffic = {ESPI_COMMTREE_GATHER, size, 0, &model, NULL};
    struct espi_commtree tree;
    char *text = NULL;
    size_t bytes;
    ck_assert_int_eq(espi_commtree_from_joins(5, 1, 3, from, to, true, &tree), ESPI_OK);
    FILE *out = open_memstream(&text, &bytes);
    ck_assert_int_eq(espi_commtree_write_dot(out, &tree, &traffic), ESPI_OK);
    fclose(out);
    /* Of rank 1 the first child is 2 with the 9 bytes of 2 and 4, the second 0. */
    ck_assert_ptr_nonnull(strstr(text, "1 -> 2 [label=\"1: 9\"]"));
    ck_assert_ptr_nonnull(strstr(text, "1 -> 0 [label=\"2: 3\"]"));
    ck_assert_ptr_nonnull(strstr(text, "2 -> 4 [label=\"1: 5\"]"));
    ck_assert_ptr_nonnull(strstr(text, "1 [label=\"1\\n1\", style=bold]"));
    ck_assert_int_eq(count(text, "->"), 3);
    ck_assert_int_eq(count(text, "\\n"), 4);
    free(text);
    out = open_memstream(&text, &bytes);
    ck_assert_int_eq(espi_commtree_write_svg(out, &tree, &traffic), ESPI_OK);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "<title>Gather to rank 1 in time 47</title>"));
    ck_assert_ptr_nonnull(strstr(text, "<title>4 to 2: 5 bytes, 0 to 15</title>"));
    ck_assert_ptr_nonnull(strstr(text, "<title>2 to 1: 9 bytes, 15 to 34</title>"));
    ck_assert_ptr_nonnull(strstr(text, "<title>0 to 1: 3 bytes, 34 to 47</title>"));
    ck_assert_int_eq(count(text, "<line"), 4 + 3);
    free(text);
    out = open_memstream(&text, &bytes);
    traffic.op = ESPI_COMMTREE_SCATTER;
    ck_assert_int_eq(espi_commtree_write_svg(out, &tree, &traffic), ESPI_OK);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "<title>Scatter from rank 1 in time 47</title>"));
    ck_assert_ptr_nonnull(strstr(text, "<title>1 to 0: 3 bytes, 0 to 13</title>"));
    ck_assert_ptr_nonnull(strstr(text, "<title>2 to 4: 5 bytes, 32 to 47</title>"));
    free(text);
    espi_commtree_release(&tree);
    /* A rank without data has no message in the picture. */
    size[4] = 0;
    ck_assert_int_eq(espi_commtree_from_joins(5, 1, 3, from, to, true, &tree), ESPI_OK);
    out = open_memstream(&text, &bytes);
    traffic.op = ESPI_COMMTREE_GATHER;
    ck_assert_int_eq(espi_commtree_write_svg(out, &tree, &traffic), ESPI_OK);
    fclose(out);
    ck_assert_int_eq(count(text, "#06c"), 2);
    free(text);
    /* In a reduction all messages are alike, and combining an operand is part of its time. */
    model.gamma = 2;
    traffic = (struct espi_commtree_traffic){ESPI_COMMTREE_GATHER, NULL, 5, &model, NULL};
    out = open_memstream(&text, &bytes);
    ck_assert_int_eq(espi_commtree_write_svg(out, &tree, &traffic), ESPI_OK);
    ck_assert_int_eq(espi_commtree_write_dot(out, &tree, &traffic), ESPI_OK);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "<title>Reduce to rank 1 in time 75</title>"));
    ck_assert_ptr_nonnull(strstr(text, "<title>4 to 2: 5 bytes, 0 to 25</title>"));
    ck_assert_ptr_nonnull(strstr(text, "<title>0 to 1: 5 bytes, 50 to 75</title>"));
    ck_assert_ptr_nonnull(strstr(text, "1 [label=\"1\", style=bold]"));
    ck_assert_ptr_nonnull(strstr(text, "1 -> 2 [label=\"1: 5\"]"));
    free(text);
    traffic.op = ESPI_COMMTREE_SCATTER;
    traffic.bytes = 0;
    out = open_memstream(&text, &bytes);
    ck_assert_int_eq(espi_commtree_write_svg(out, &tree, &traffic), ESPI_OK);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "<title>Broadcast from rank 1 in time 30</title>"));
    ck_assert_int_eq(count(text, "#06c"), 3);
    free(text);
    espi_commtree_release(&tree);
}
END_TEST

/* Joins listed out of time order are fine as long as those of one receiver are in order. */
START_TEST(joins_in_any_order)
{
    int from[4] = {1, 2, 3, 4}, to[4] = {0, 1, 2, 2}, cycle_from[3] = {1, 2, 3}, cycle_to[3] = {2, 3, 1};
    struct espi_commtree tree;
    ck_assert_int_eq(espi_commtree_from_joins(5, 0, 4, from, to, true, &tree), ESPI_OK);
    ck_assert(tree.n == 5 && tree.parent[4] == 2 && tree.child[tree.first[2] + 1] == 4);
    espi_commtree_release(&tree);
    ck_assert_int_eq(espi_commtree_from_joins(4, 0, 3, cycle_from, cycle_to, true, &tree), ESPI_ERR_ARGUMENT);
    /* Two trees. */
    ck_assert_int_eq(espi_commtree_from_joins(4, 0, 2, (int[]){1, 2}, (int[]){0, 3}, true, &tree),
                     ESPI_ERR_ARGUMENT);
    /* One rank sends twice. */
    ck_assert_int_eq(espi_commtree_from_joins(4, 0, 2, (int[]){1, 1}, (int[]){0, 2}, true, &tree),
                     ESPI_ERR_ARGUMENT);
    ck_assert_ptr_null(tree.parent);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        wrong_arguments,
        distributions,
        random_distributions,
        schedules,
        pictures,
        joins_in_any_order,
    };
    return run_suite("test-commtree-api", 240, NULL, NULL, tests, (int)(sizeof tests / sizeof *tests));
}
