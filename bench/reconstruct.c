/*
 * Time and cost of exact reconstruction, by shape and length of the type map.
 *
 *   bench/reconstruct [REPEATS]
 *
 * One line per shape and n: least time of REPEATS runs (default 3), cost, MiB of tables' growth, and how the time
 * grew since the line before (as an exponent of n). For n = 48 also the ratio to the plain O(n^4) procedure.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "reconstruct/parts.h"
#include "reconstruct/reconstruct.h"
#include "unit/oracle.h"
#include "unit/random.h"

typedef int64_t (*shape_fn)(int64_t k, int64_t n, int64_t *base);

static int64_t at; /* of shapes that walk */

static int64_t walk(int64_t k, int64_t step)
{
    at = k == 0 ? 0 : at + step;
    return at;
}

static int64_t random_list(int64_t k, int64_t n, int64_t *base)
{
    (void)n;
    (void)base;
    return walk(k, random_in(1, 1000) * 4);
}

static int64_t random_two_steps(int64_t k, int64_t n, int64_t *base)
{
    (void)n;
    (void)base;
    return walk(k, random_in(1, 2) * 8);
}

static int64_t random_mixed(int64_t k, int64_t n, int64_t *base)
{
    (void)n;
    *base = random_in(0, 1);
    return walk(k, random_in(1, 2) * 8);
}

static int64_t equal(int64_t k, int64_t n, int64_t *base)
{
    (void)k;
    (void)n;
    (void)base;
    return 0;
}

static int64_t row_column(int64_t k, int64_t n, int64_t *base)
{
    int64_t side = (n + 1) / 2;
    (void)base;
    return k < side ? 4 * k : 4 * side * (k - side + 1);
}

static int64_t periodic(int64_t k, int64_t period, uint64_t salt)
{
    return walk(k, 4 * (int64_t)(1 + ((uint64_t)(k % period) * 7919 + salt) % 13));
}

static int64_t period_2(int64_t k, int64_t n, int64_t *base)
{
    (void)n;
    (void)base;
    return periodic(k, 2, 1);
}

static int64_t period_7(int64_t k, int64_t n, int64_t *base)
{
    (void)n;
    (void)base;
    return periodic(k, 7, 3);
}

static int64_t period_n_4(int64_t k, int64_t n, int64_t *base)
{
    (void)base;
    return periodic(k, n / 4, 5);
}

/* Binary nest: the step after k entries depends on how often 2 divides k, so blocks repeat at every scale. */
static int64_t nested(int64_t k, int64_t n, int64_t *base)
{
    (void)n;
    (void)base;
    return walk(k, k == 0 ? 0 : 4 + 100 * __builtin_ctzll((uint64_t)k) * __builtin_ctzll((uint64_t)k));
}

static int64_t short_repeats(int64_t k, int64_t n, int64_t *base)
{
    static int64_t length, step;
    (void)n;
    (void)base;
    if (k == 0 || length-- == 0) {
        length = random_in(2, 6);
        step = 4 * random_in(1, 3);
    }
    return walk(k, step);
}

static int64_t blocks_of_3(int64_t k, int64_t n, int64_t *base)
{
    (void)n;
    (void)base;
    return walk(k, k % 3 == 0 ? 8 * random_in(2, 500) : 8);
}

static int64_t alternating(int64_t k, int64_t n, int64_t *base)
{
    (void)n;
    *base = k % 2;
    return walk(k, 8 + 8 * (k % 2 == 0 ? random_in(0, 1) : 0));
}

static int64_t triangle(int64_t k, int64_t n, int64_t *base)
{
    static int64_t row, left;
    int64_t side = (int64_t)sqrt(2.0 * (double)n);
    (void)base;
    if (k == 0) {
        row = 0;
        left = 1;
    }
    if (left == 0) {
        row++;
        left = row + 1;
    }
    left--;
    return 8 * (row * side + row - left);
}

static const struct {
    const char *name;
    shape_fn shape;
} shapes[] = {
    {"random list", random_list},
    {"random, two steps", random_two_steps},
    {"random, two base types", random_mixed},
    {"alternating base types", alternating},
    {"all equal", equal},
    {"row+column", row_column},
    {"period 2", period_2},
    {"period 7", period_7},
    {"period n/4", period_n_4},
    {"binary nest", nested},
    {"many short runs", short_repeats},
    {"blocks of 3, irregular", blocks_of_3},
    {"triangle", triangle},
};

static int one(size_t s, size_t n, int repeats, double *before)
{
    struct espi_reconstruct_options options;
    struct espi_reconstruction result = {0};
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    struct rusage usage;
    double least = 1e99;
    const espi_base bases[] = {espi_base_find("MPI_INT", 7), espi_base_find("MPI_DOUBLE", 10)};
    espi_reconstruct_defaults(&options);
    for (size_t k = 0; k < n; k++) {
        int64_t base = 0, disp = shapes[s].shape((int64_t)k, (int64_t)n, &base);
        if (espi_typemap_append(&map, bases[base], disp) != ESPI_OK) {
            return 1;
        }
    }
    for (int r = 0; r < repeats; r++) {
        struct espi_arena arena = ESPI_ARENA_INIT;
        if (espi_reconstruct_dense(&arena, &map, &options, &result) != ESPI_OK) {
            return 1;
        }
        double ms = (double)result.elapsed_ns / 1e6;
        least = ms < least ? ms : least;
        espi_arena_release(&arena);
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("%-24s %6zu %10.3f ms  cost %6lld  peak %3ld MiB", shapes[s].name, n, least, (long long)result.cost,
           usage.ru_maxrss / 1024);
    if (n == 48) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        int64_t cost = oracle_cost(&map, options.set, &options.costs);
        clock_gettime(CLOCK_MONOTONIC, &b);
        double ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
        printf("  plain %.1f ms, ratio %.0f%s", ms, ms / least, cost == result.cost ? "" : "  COST DIFFERS");
        if (cost != result.cost) {
            return 1;
        }
    } else if (*before > 0) {
        printf("  growth n^%.1f", log(least / *before) / log(2.0));
    }
    *before = n == 48 ? 0 : least;
    printf("\n");
    espi_typemap_release(&map);
    return 0;
}

int main(int argc, char **argv)
{
    const size_t lengths[] = {48, 250, 500, 1000, 2000};
    int repeats = argc > 1 ? atoi(argv[1]) : 3, failed = 0;
    random_seed("bench/reconstruct");
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        double before = 0;
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            failed |= one(s, lengths[k], repeats, &before);
        }
    }
    return failed;
}
