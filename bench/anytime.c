/*
 * Beyond the budget: how tree and proved lower bound approach each other as the budget grows, for maps that the exact
 * method does not finish. No MPI, one core. Usage: anytime [N] [LARGEST_BUDGET_MS]; default 100000 and 10000.
 * Columns: kind, n, budget in ms (- for the default bound of work), processor time in ms, cost of the plain list, of
 * the tree, lower bound, tree / bound. First the same words of 2000 entries, for which the last column is the tree /
 * the optimum.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "reconstruct/reconstruct.h"

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Words over small letters; letter x is a step of 8 (x + 1) bytes. */

static int fibonacci(size_t i) /* two letters: the golden ratio's */
{
    return (int)((uint64_t)((double)(i + 1) * 0.6180339887498949) - (uint64_t)((double)i * 0.6180339887498949));
}

static int silver(size_t i) /* likewise, of the square root of two: longer powers */
{
    return (int)((uint64_t)((double)(i + 1) * 0.41421356237309515) - (uint64_t)((double)i * 0.41421356237309515));
}

static int tribonacci(size_t i) /* three letters: 0 -> 01, 1 -> 02, 2 -> 0; places in the numeration of that word */
{
    uint64_t power[64] = {1, 2, 4}, rest = i;
    int k = 2;
    while (power[k] <= i) {
        k++;
        power[k] = power[k - 1] + power[k - 2] + power[k - 3];
    }
    int ones = 0;
    for (; k >= 0; k--) {
        bool digit = rest >= power[k];
        rest -= digit ? power[k] : 0;
        ones = digit ? ones + 1 : 0; /* trailing ones in the end */
    }
    return ones;
}

static int spoilt(size_t i) /* the Fibonacci word with one letter in 997 turned */
{
    return i % 997 == 500 ? 1 - fibonacci(i) : fibonacci(i);
}

static const struct {
    const char *name;
    int (*letter)(size_t i);
} kinds[] = {{"fibonacci", fibonacci}, {"silver", silver}, {"tribonacci", tribonacci}, {"spoilt", spoilt}};

static int word(struct espi_typemap *map, size_t kind, size_t n)
{
    int64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (espi_typemap_append(map, espi_base_find("MPI_DOUBLE", 10), at))
            return 1;
        at += 8 * (1 + kinds[kind].letter(i));
    }
    return 0;
}

/* One line; the optimum is 0 when it is not known. */
static int measure(const struct espi_typemap *map, size_t kind, uint64_t ms, int64_t optimum)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_reconstruct_options options;
    struct espi_reconstruction r;
    char budget[24] = "-";
    espi_reconstruct_defaults(&options);
    options.budget_ns = ms * 1000000;
    if (optimum > 0)
        options.exact_limit = 0;
    if (ms > 0)
        snprintf(budget, sizeof budget, "%" PRIu64, ms);
    uint64_t began = now();
    if (espi_reconstruct(&arena, map, NULL, &options, &r))
        return 1;
    printf("%-11s %8zu %9s %9.1f %9zu %9" PRId64 " %9" PRId64 " %6.2f%s\n", kinds[kind].name, map->n, budget,
           (double)(now() - began) / 1e6, map->n + 5, r.cost, r.lower_bound,
           (double)r.cost / (double)(optimum > 0 ? optimum : r.lower_bound), r.exact ? " exact" : "");
    fflush(stdout);
    espi_arena_release(&arena);
    return 0;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000, count = sizeof kinds / sizeof *kinds;
    uint64_t most = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
    printf("%-11s %8s %9s %9s %9s %9s %9s %6s\n", "#kind", "n", "budget", "ms", "list", "tree", "bound", "ratio");
    for (size_t k = 0; k < 2 * count; k++) {
        struct espi_typemap map = ESPI_TYPEMAP_INIT;
        struct espi_arena arena = ESPI_ARENA_INIT;
        struct espi_reconstruct_options options;
        struct espi_reconstruction r = {0};
        bool is_short = k < count;
        espi_reconstruct_defaults(&options);
        if (word(&map, k % count, is_short ? 2000 : n) ||
            (is_short && espi_reconstruct(&arena, &map, NULL, &options, &r)))
            return 1;
        for (uint64_t ms = is_short ? 1 : 10; ms <= (is_short ? 4 : most); ms *= is_short ? 2 : 10)
            if (measure(&map, k % count, ms, r.cost))
                return 1;
        if (!is_short && measure(&map, k % count, 0, 0))
            return 1;
        espi_arena_release(&arena);
        espi_typemap_release(&map);
    }
    return 0;
}
