/* Positions on trees and replication, against exhaustive search. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "placement/offsets.h"
#include "placement/replicate.h"
#include "random.h"
#include "runner.h"

enum { MOST = 6, DOMAIN_SIZE = 27 };

static double plain_distance(enum espi_place_space space, int64_t around, int64_t a, int64_t b)
{
    int64_t far = llabs(a - b);
    if (space == ESPI_PLACE_RING) {
        far %= around;
        far = far < around - far ? far : around - far;
    }
    return space == ESPI_PLACE_DISCRETE ? far != 0 : (double)far;
}

static double plain_cost(enum espi_place_space space, int64_t around, const struct espi_place_spot *spot, int n)
{
    double cost = 0;
    for (int v = 0; v < n; v++) {
        if (spot[v].parent >= 0)
            cost += spot[v].weight *
                    plain_distance(space, around, spot[v].at + spot[v].shift, spot[spot[v].parent].at);
    }
    return cost;
}

/* All positions of all nodes that are not fixed. */
static double best_cost(enum espi_place_space space, int64_t around, struct espi_place_spot *spot, int n, int v)
{
    double best = INFINITY;
    int64_t first = space == ESPI_PLACE_RING ? 0 : -DOMAIN_SIZE / 2;
    int64_t last = space == ESPI_PLACE_RING ? around - 1 : DOMAIN_SIZE / 2;
    if (v == n)
        return plain_cost(space, around, spot, n);
    if (spot[v].fixed)
        return best_cost(space, around, spot, n, v + 1);
    for (spot[v].at = first; spot[v].at <= last; spot[v].at++) {
        double cost = best_cost(space, around, spot, n, v + 1);
        best = cost < best ? cost : best;
    }
    return best;
}

/* Few nodes to be chosen, as each takes all positions of the domain. Weights are in parts of a unit. */
static int random_spots(struct espi_place_spot *spot, int most_free, int unit)
{
    int n = (int)random_in(1, MOST), unset = most_free;
    for (int v = 0; v < n; v++) {
        bool choose = unset > 0 && random_in(0, 2) != 0;
        unset -= choose;
        spot[v] = (struct espi_place_spot){v + 1 < n && random_in(0, 7) ? (int)random_in(v + 1, n - 1) : -1, !choose,
                                           choose ? 99 : random_in(-3, 3), random_in(0, 1) ? 0 : random_in(-2, 2),
                                           (double)random_in(0, 5 * unit) / unit};
    }
    return n;
}

START_TEST(spots)
{
    for (int round = 0; round < 6000; round++) {
        enum espi_place_space space = (enum espi_place_space)(round % 3);
        struct espi_place_spot spot[MOST], before[MOST];
        int64_t around = random_in(1, 9);
        const double slack = round % 2 != 0 ? 1e-12 : 0;
        int n = random_spots(spot, space == ESPI_PLACE_RING ? 4 : 2, slack > 0 ? 100 : 2);
        double cost;
        memcpy(before, spot, sizeof spot);
        ck_assert_int_eq(espi_place_spots(space, around, spot, n, 0, &cost), ESPI_OK);
        double plain = plain_cost(space, around, spot, n);
        ck_assert_msg(fabs(cost - plain) <= slack, "space %d: cost %g, positions %g", space, cost, plain);
        for (int v = 0; v < n; v++) {
            ck_assert(space != ESPI_PLACE_RING || (spot[v].at >= 0 && spot[v].at < around));
            ck_assert(!before[v].fixed || plain_distance(space, around, spot[v].at, before[v].at) == 0);
        }
        double best = best_cost(space, around, before, n, 0);
        ck_assert_msg(fabs(cost - best) <= slack, "space %d around %d: cost %g, best %g", space,
                      (int)around, cost, best);
    }
}
END_TEST

/* A long line of free nodes between fixed ones, a wide star, and what does not fit. */
START_TEST(large_spots)
{
    enum { N = 20000 };
    static struct espi_place_spot spot[N];
    double cost;
    for (int v = 0; v < N; v++)
        spot[v] = (struct espi_place_spot){v + 1 < N ? v + 1 : -1, v == 0 || v == N - 1, v == 0 ? 0 : 1000000000, 0,
                                           2};
    spot[N / 2].weight = 1;
    for (int space = ESPI_PLACE_DISCRETE; space <= ESPI_PLACE_RING; space++) {
        ck_assert_int_eq(espi_place_spots((enum espi_place_space)space, INT64_C(1) << 40, spot, N, 0, &cost),
                         ESPI_OK);
        ck_assert_double_eq(cost, space == ESPI_PLACE_DISCRETE ? 1 : 1e9);
    }
    for (int v = 0; v < N; v++)
        spot[v] = (struct espi_place_spot){v + 1 < N ? N - 1 : -1, v + 1 < N, v, 0, 1};
    ck_assert_int_eq(espi_place_spots(ESPI_PLACE_LINE, 0, spot, N, 0, &cost), ESPI_OK);
    ck_assert_int_eq(spot[N - 1].at, (N - 2) / 2);
    ck_assert_int_eq(espi_place_spots(ESPI_PLACE_RING, N, spot, N, 1 << 20, &cost), ESPI_ERR_LIMIT);
    ck_assert_int_eq(espi_place_spots(ESPI_PLACE_RING, 0, spot, N, 0, &cost), ESPI_ERR_ARGUMENT);
    spot[5].weight = NAN;
    ck_assert_int_eq(espi_place_spots(ESPI_PLACE_LINE, 0, spot, N, 0, &cost), ESPI_ERR_ARGUMENT);
    spot[5] = (struct espi_place_spot){5, false, 0, 0, 1};
    ck_assert_int_eq(espi_place_spots(ESPI_PLACE_LINE, 0, spot, N, 0, &cost), ESPI_ERR_ARGUMENT);
    spot[5] = (struct espi_place_spot){6, true, INT64_MAX, 0, 1};
    ck_assert_int_eq(espi_place_spots(ESPI_PLACE_LINE, 0, spot, N, 0, &cost), ESPI_ERR_OVERFLOW);
    ck_assert_int_eq(spot[N - 1].at, (N - 2) / 2);
}
END_TEST

static double copies_cost(const struct espi_place_copies *node, int n, const struct espi_place_read *read, int reads,
                          const bool *replicated)
{
    double cost = 0;
    for (int v = 0; v < n; v++)
        cost += replicated[v] ? node[v].replicated : node[v].once;
    for (int r = 0; r < reads; r++)
        cost += !replicated[read[r].from] && replicated[read[r].to] ? read[r].broadcast : 0;
    return cost;
}

START_TEST(replication)
{
    int possible = 0, some = 0;
    for (int round = 0; round < 10000; round++) {
        struct espi_place_copies node[8];
        struct espi_place_read read[16];
        bool chosen[8], other[8];
        int n = (int)random_in(1, 8), reads = (int)random_in(0, 16), fewest = 9, count = 0;
        double cost, best = INFINITY;
        for (int v = 0; v < n; v++) {
            node[v] = (struct espi_place_copies){(double)random_in(0, 9), (double)random_in(0, 9)};
            if (random_in(0, 4) == 0)
                *(random_in(0, 1) ? &node[v].once : &node[v].replicated) = INFINITY;
        }
        for (int r = 0; r < reads; r++)
            read[r] = (struct espi_place_read){(int)random_in(0, n - 1), (int)random_in(0, n - 1),
                                               random_in(0, 9) ? (double)random_in(0, 9) : INFINITY};
        ck_assert_int_eq(espi_place_replicate(node, n, read, reads, chosen, &cost), ESPI_OK);
        for (int set = 0; set < 1 << n; set++) {
            for (int v = 0; v < n; v++)
                other[v] = (set >> v & 1) != 0;
            double all = copies_cost(node, n, read, reads, other);
            if (all < best || (all == best && __builtin_popcount((unsigned)set) < fewest)) {
                best = all;
                fewest = __builtin_popcount((unsigned)set);
            }
        }
        ck_assert_double_eq(cost, best);
        if (isinf(best))
            continue;
        for (int v = 0; v < n; v++)
            count += chosen[v];
        ck_assert_double_eq(copies_cost(node, n, read, reads, chosen), best);
        ck_assert_int_eq(count, fewest);
        possible++;
        some += count > 0 && count < n;
    }
    ck_assert(possible > 1000 && some > 1000);
    double cost;
    struct espi_place_copies wrong = {NAN, 0};
    ck_assert_int_eq(espi_place_replicate(&wrong, 1, NULL, 0, NULL, &cost), ESPI_ERR_ARGUMENT);
    struct espi_place_copies good = {0, 0};
    struct espi_place_read beyond = {0, 1, 0};
    ck_assert_int_eq(espi_place_replicate(&good, 1, &beyond, 1, NULL, &cost), ESPI_ERR_ARGUMENT);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test_placement_spots", 120, NULL, NULL, spots, large_spots, replication);
}
