/* Trees out of order, for two sizes of blocks, for broadcasts and reductions. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commtree_support.h"
#include "random.h"
#include "runner.h"

/* ---- out of order: the reduction from PARTITION (doc/gather-trees.md, "Trees out of order") ---- */

/* The same numbers as the example of the paper, 982 against 983, on blocks of our own. Items of 280 bytes in all are
   halved only by taking them out of order. */
START_TEST(partition_example)
{
    int64_t size[13] = {1, 60, 60, 60, 40, 40, 20, 142, 142, 142, 83, 83, 107};
    int64_t uneven[11] = {1, 60, 60, 60, 100, 142, 142, 142, 83, 83, 107};
    struct espi_commtree_problem problem = {13, size, 0, {1, 1, 0, 0, false}, 0};
    struct espi_commtree tree;
    ck_assert_double_eq(build_time(ESPI_COMMTREE_UNORDERED, &problem), 982);
    ck_assert_double_eq(build_time(ESPI_COMMTREE_OPTIMAL, &problem), 983);
    ck_assert_int_eq(espi_commtree_build(ESPI_COMMTREE_UNORDERED, &problem, &tree), ESPI_OK);
    ck_assert(!tree.ordered);
    espi_commtree_release(&tree);
    /* 60, 60, 60 and 100 cannot be halved at all. */
    problem = (struct espi_commtree_problem){11, uneven, 0, {1, 1, 0, 0, false}, 0};
    ck_assert_double_eq(build_time(ESPI_COMMTREE_UNORDERED, &problem), 983);
}
END_TEST

/* n items of multiples of 20 and six more blocks: the root can do with three messages exactly if the items can be
   halved. */
START_TEST(three_messages_decide_partition)
{
    int yes = 0, no = 0;
    for (int round = 0; round < 60; round++) {
        int n = (int)random_in(4, round % 10 ? 5 : 6), sum = 0, half = 0, most = 0;
        int64_t size[13] = {random_in(0, 30)}, total = 0;
        bool halves = false;
        for (int v = 1; v <= n; v++)
            sum += (int)(size[v] = random_in(1, 8));
        if (sum % 2)
            sum += 1, size[n]++;
        for (int set = 0; set < 1 << n; set++) {
            half = 0;
            for (int v = 0; v < n; v++)
                half += set >> v & 1 ? (int)size[v + 1] : 0;
            halves = halves || 2 * half == sum;
        }
        half = 10 * sum;
        int64_t slack = 3 * n, large = half + n - 1, fill = 4 * large + 1 - slack - 2 * half;
        int64_t third = fill / 3 - (fill / 3 - (n + 1)) % 20;
        for (int v = 1; v <= n; v++) {
            size[v] *= 20;
            most = size[v] > most ? (int)size[v] : most;
        }
        for (int v = n + 1; v <= n + 3; v++)
            size[v] = large;
        size[n + 4] = size[n + 5] = third;
        size[n + 6] = fill - 2 * third;
        for (int v = 1; v < n + 7; v++)
            total += size[v];
        /* The argument wants fillers and items well below the large blocks, and two fillers above one. */
        int64_t highest = most > size[n + 6] ? most : size[n + 6];
        if (highest + slack >= large || third + slack >= large || 2 * third <= large)
            continue;
        struct espi_commtree_problem problem = {n + 7, size, 0, {1, 1, 0, 0, false}, 0};
        double t = build_time(ESPI_COMMTREE_UNORDERED, &problem);
        if (halves)
            expect_time(t, (double)total + 3, "items that can be halved", &problem);
        else
            ck_assert_msg(t >= (double)total + 4, "items that cannot be halved: %g, not %g", t, (double)total + 4);
        *(halves ? &yes : &no) += 1;
    }
    printf("PARTITION: %d instances with a solution, %d without\n", yes, no);
    ck_assert_int_gt(yes, 2);
    ck_assert_int_gt(no, 2);
}
END_TEST

START_TEST(not_all_trees_are_ordered)
{
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

/* Beyond 14 ranks with data: the natural order, or that by decreasing size. With no more than 14 of many ranks it is
   exact, and may be faster than both. */
START_TEST(many_ranks_out_of_order)
{
    static int64_t size[300], sorted[300];
    int better = 0;
    for (int round = 0; round < 40; round++) {
        int p = (int)random_in(15, 300), n = 0;
        struct espi_commtree_problem problem = {p, size, round % 2 ? 0 : ESPI_COMMTREE_BEST,
                                                {(double)random_in(1, 100), 1, 0, 0, false}, 0};
        random_sizes(p, size);
        for (int v = round % 2; v < p; v++)
            sorted[n++] = size[v];
        for (int x = 1; x < n; x++) {
            int64_t m = sorted[x];
            int y = x;
            for (; y && sorted[y - 1] < m; y--)
                sorted[y] = sorted[y - 1];
            sorted[y] = m;
        }
        if (round % 2) { /* the fixed root first */
            memmove(sorted + 1, sorted, (size_t)n * sizeof *sorted);
            sorted[0] = size[0];
        }
        double natural = build_time(ESPI_COMMTREE_OPTIMAL, &problem);
        double any = build_time(ESPI_COMMTREE_UNORDERED, &problem);
        problem.size = sorted;
        double by_size = build_time(ESPI_COMMTREE_OPTIMAL, &problem);
        int with_data = 0;
        for (int v = 0; v < p; v++)
            with_data += size[v] > 0;
        if (with_data > 14)
            expect_time(any, fmin(natural, by_size), "the better of two orders", &problem);
        else
            ck_assert_double_le(any, fmin(natural, by_size) * (1 + 1e-9));
        better += by_size < natural;
    }
    ck_assert_int_gt(better, 3);
}
END_TEST

/* ---- two sizes of blocks (doc/gather-trees.md, "Two sizes") ---- */

static int rounds_of(int n)
{
    int rounds = 0;
    while (1 << rounds < n)
        rounds++;
    return rounds;
}

/* The closed form, for l >= 1 large blocks and s >= 1 small ones besides the root's. */
static double two_size_time(int l, int s, double large, double small, double alpha)
{
    return alpha * rounds_of(l + 2) + l * large + s * small;
}

/* Least time of all trees, ordered or not: only the numbers of blocks of each size in a subtree matter. */
static double count_best(int l, int s, double large, double small, double alpha, double *memo, int width)
{
    double *t = &memo[l * width + s], best = DBL_MAX;
    if (l + s == 1)
        return 0;
    if (*t >= 0)
        return *t;
    for (int a = 0; a <= l; a++) {
        for (int b = 0; b <= s; b++) {
            if (a + b == 0 || a + b == l + s)
                continue;
            best = fmin(best, fmax(count_best(a, b, large, small, alpha, memo, width),
                                   count_best(l - a, s - b, large, small, alpha, memo, width)) +
                                  alpha + (l - a) * large + (s - b) * small);
        }
    }
    return *t = best;
}

START_TEST(two_sizes_are_optimal)
{
    static int64_t size[2000];
    static double memo[33 * 33];
    int exact = 0;
    for (int round = 0; round < 400; round++) {
        int l = (int)random_in(1, round % 4 ? 8 : 200), s = (int)random_in(1, round % 4 ? 8 : 1000), p = l + s + 1;
        int64_t small = random_in(1, 20), alpha = random_in(0, 100), root_size = random_in(0, 1) ? small : 0;
        int64_t large = rounds_of(s) * alpha + (2 * s - 1) * small + (random_in(0, 1) ? 0 : random_in(0, 5000));
        struct espi_commtree_problem problem = {p, size, 0, {(double)alpha, 1, 0, 0, false}, 0};
        if (large < small)
            large = small;
        size[0] = random_in(0, 1) ? large : root_size;
        for (int v = 1; v < p; v++)
            size[v] = v <= l ? large : small;
        double want = two_size_time(l, s, (double)large, (double)small, (double)alpha);
        expect_time(build_time(ESPI_COMMTREE_TWOSIZE, &problem), want, "two sizes", &problem);
        expect_time(build_time(ESPI_COMMTREE_OPTIMAL, &problem), want, "ordered optimum, two sizes", &problem);
        if (p <= 11) {
            expect_time(build_time(ESPI_COMMTREE_UNORDERED, &problem), want, "all trees, two sizes", &problem);
            exact++;
        }
        /* The mirror image. */
        for (int v = 0; v < p / 2; v++) {
            int64_t other = size[v];
            size[v] = size[p - 1 - v];
            size[p - 1 - v] = other;
        }
        problem.root = p - 1;
        expect_time(build_time(ESPI_COMMTREE_TWOSIZE, &problem), want, "two sizes, mirrored", &problem);
    }
    ck_assert_int_gt(exact, 20);
    for (int round = 0; round < 40; round++) {
        int l = (int)random_in(1, 40), s = (int)random_in(1, 100), p = l + s + 1;
        int64_t alpha = random_in(0, 50), large = rounds_of(s) * alpha + (2 * s - 1) * 3 + 1;
        struct espi_commtree_problem problem = {p, size, ESPI_COMMTREE_BEST, {(double)alpha, 1, 0, 0, false}, 0};
        for (int v = 0; v < p; v++)
            size[v] = v <= l ? large : 3;
        double want = two_size_time(l, s, (double)large, 3, (double)alpha);
        expect_time(build_time(ESPI_COMMTREE_TWOSIZE, &problem), want, "two sizes, best root", &problem);
        expect_time(build_time(ESPI_COMMTREE_OPTIMAL, &problem), want, "optimum, two sizes, best root", &problem);
    }
    /* Any root: the best is a large one, so one large block less travels. Against all trees of up to 64 ranks. */
    for (int round = 0; round < 30; round++) {
        int l = (int)random_in(2, 32), s = (int)random_in(1, 32);
        double small = (double)random_in(1, 20), alpha = (double)random_in(0, 100);
        double large = rounds_of(s) * alpha + (2 * s - 1) * small + (double)random_in(0, 100);
        for (int x = 0; x < 33 * 33; x++)
            memo[x] = -1;
        ck_assert_double_eq(count_best(l, s, large, small, alpha, memo, 33),
                            two_size_time(l - 1, s, large, small, alpha));
    }
}
END_TEST

START_TEST(two_sizes_where_the_form_does_not_hold)
{
    /* Five large blocks, the first the root's, and 59 small ones: three rounds. */
    int64_t size[64];
    struct espi_commtree_problem problem = {64, size, 0, {10, 1, 0, 0, false}, 0};
    for (int v = 0; v < 64; v++)
        size[v] = v < 5 ? 1000000 : 1;
    ck_assert_double_eq(build_time(ESPI_COMMTREE_TWOSIZE, &problem), 3 * 10 + 4e6 + 59);
    /* With latency every large block by itself costs no more overhead, and the small ones need rounds. */
    problem.model = (struct espi_commtree_model){1, 1, 0, 1000, true};
    ck_assert_double_eq(build_time(ESPI_COMMTREE_TWOSIZE, &problem), 1000 + 5 + 4e6 + 59);
}
END_TEST

/* The most ranks that can be reached in time t. */
static int64_t reach(double t, double busy, double latency)
{
    return t < busy + latency - 1e-9 ? 1 : reach(t - busy, busy, latency) + reach(t - busy - latency, busy, latency);
}

/* Broadcasts and reductions; what combining takes is part of each message's time at its receiver. */
START_TEST(broadcast_is_optimal)
{
    for (int round = 0; round < 1000; round++) {
        int p = (int)random_in(1, 40), root = (int)random_in(0, p - 1), rounds = 0;
        struct espi_commtree_model model = {(double)random_in(1, 4), 1, (double)random_in(0, 2),
                                            (double)random_in(0, 6), false};
        struct espi_commtree_traffic traffic = {round % 2 ? ESPI_COMMTREE_GATHER : ESPI_COMMTREE_SCATTER, NULL,
                                                random_in(0, 3), &model, NULL};
        struct espi_commtree tree;
        double t, m = (double)traffic.bytes, busy = model.alpha + m + (round % 2 ? model.gamma * m : 0);
        ck_assert_int_eq(espi_commtree_broadcast(p, root, &traffic, false, &tree), ESPI_OK);
        ck_assert_int_eq(espi_commtree_schedule(&tree, &traffic, NULL, NULL, &t), ESPI_OK);
        ck_assert_int_eq(tree.n, p);
        ck_assert_int_eq(tree.root, root);
        ck_assert_int_ge(reach(t, busy, model.latency), p);
        ck_assert_msg(p == 1 || reach(t - 0.5, busy, model.latency) < p, "p %d is reached before %g", p, t);
        espi_commtree_release(&tree);
        while (1 << rounds < p)
            rounds++;
        ck_assert_int_eq(espi_commtree_broadcast(p, root, &traffic, true, &tree), ESPI_OK);
        model.latency = 0;
        ck_assert_int_eq(espi_commtree_schedule(&tree, &traffic, NULL, NULL, &t), ESPI_OK);
        ck_assert_double_eq(t, rounds * busy);
        int64_t nothing[40] = {0};
        struct espi_commtree_problem problem = {p, nothing, root, model, 0};
        check_form(&tree, &problem);
        espi_commtree_release(&tree);
    }
    struct espi_commtree_model model = {1, 1, 0, 0, false};
    struct espi_commtree_traffic negative = {ESPI_COMMTREE_SCATTER, NULL, -1, &model, NULL};
    struct espi_commtree tree;
    ck_assert_int_eq(espi_commtree_broadcast(4, 0, &negative, false, &tree), ESPI_ERR_ARGUMENT);
    negative.bytes = 1;
    ck_assert_int_eq(espi_commtree_broadcast(4, 4, &negative, false, &tree), ESPI_ERR_ARGUMENT);
    ck_assert_int_eq(espi_commtree_broadcast(0, 0, &negative, false, &tree), ESPI_ERR_ARGUMENT);
    model.beta = -2;
    ck_assert_int_eq(espi_commtree_broadcast(4, 0, &negative, false, &tree), ESPI_ERR_ARGUMENT);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        partition_example,
        three_messages_decide_partition,
        not_all_trees_are_ordered,
        many_ranks_out_of_order,
        two_sizes_are_optimal,
        two_sizes_where_the_form_does_not_hold,
        broadcast_is_optimal,
    };
    return run_suite("test-commtree-special", 240, NULL, NULL, tests, (int)(sizeof tests / sizeof *tests));
}
