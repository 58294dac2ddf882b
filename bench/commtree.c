/*
 * Construction of gather trees: time, memory and growth. No MPI, one core. Usage: commtree [LARGEST_P]; default 8000.
 * Every row is measured in a process of its own, so that memory is its own; the short series come first. Columns:
 * algorithm, distribution, root, p, ms (CPU time of the first construction in a fresh process: page faults included),
 * ms again (best of further ones), MiB (peak of the process), growth (exponent of the time against the row before),
 * time of the tree over its lower bound.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commtree/commtree.h"

struct row {
    double first, again, mib, over_bound;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* With `width` > 0 the tree over nodes of that many ranks, a message within one ten times as fast. */
static struct row measure(enum espi_commtree_kind kind, enum espi_commtree_dist dist, int p, bool best,
                          const struct espi_commtree_model *model, int width)
{
    struct row row = {0, 1e300, 0, 0};
    int64_t *size = malloc((size_t)p * sizeof *size);
    struct espi_commtree_problem problem = {p, size, best ? ESPI_COMMTREE_BEST : p / 2, *model, 0};
    struct rusage usage;
    struct espi_commtree_levels levels = {NULL, *model, *model};
    int *node = width ? malloc((size_t)p * sizeof *node) : NULL;
    for (int v = 0; node && v < p; v++)
        node[v] = v / width;
    levels.node = node;
    levels.within.alpha /= 10;
    levels.within.beta /= 10;
    if (!size || (width && !node) || espi_commtree_dist_fill(dist, p, 1000, 5, 1, size) != ESPI_OK)
        exit(1);
    int rounds = width ? 2 : p <= 2000 ? 5 : p <= 8000 || kind == ESPI_COMMTREE_ADAPTIVE ? 3 : 2;
    for (int x = 0; x < rounds; x++) {
        struct espi_commtree tree;
        double start = now_ms(), bound, time;
        espi_status status = node ? espi_commtree_two_level(&problem, &levels, &tree)
                                  : espi_commtree_build(kind, &problem, &tree);
        if (status != ESPI_OK)
            exit(1);
        double ms = now_ms() - start;
        if (x == 0)
            row.first = ms;
        else if (ms < row.again)
            row.again = ms;
        status = node ? espi_commtree_time_levels(&tree, size, &levels, ESPI_COMMTREE_GATHER, &time)
                      : espi_commtree_time(&tree, size, model, ESPI_COMMTREE_GATHER, &time);
        if (status != ESPI_OK || espi_commtree_lower_bound(&problem, &bound) != ESPI_OK)
            exit(1);
        row.over_bound = node ? 0 : time / bound;
        espi_commtree_release(&tree);
    }
    getrusage(RUSAGE_SELF, &usage);
    row.mib = (double)usage.ru_maxrss / 1024;
    free(size);
    free(node);
    return row;
}

static struct row in_a_child(enum espi_commtree_kind kind, enum espi_commtree_dist dist, int p, bool best,
                             const struct espi_commtree_model *model, int width)
{
    struct row row;
    int ends[2], status;
    if (pipe(ends) != 0)
        exit(1);
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        exit(1);
    if (child == 0) {
        row = measure(kind, dist, p, best, model, width);
        _exit(write(ends[1], &row, sizeof row) == (ssize_t)sizeof row ? 0 : 1);
    }
    close(ends[1]);
    bool got = read(ends[0], &row, sizeof row) == (ssize_t)sizeof row;
    close(ends[0]);
    if (waitpid(child, &status, 0) != child || status != 0 || !got) {
        fprintf(stderr, "commtree: a measurement failed\n");
        exit(1);
    }
    return row;
}

static void series(enum espi_commtree_kind kind, enum espi_commtree_dist dist, bool best, int from, int to,
                   int factor, const struct espi_commtree_model *model, int width, const char *note)
{
    double before = 0;
    for (int p = from; p <= to; p *= factor) {
        struct row row = in_a_child(kind, dist, p, best, model, width);
        printf("%s%s\t%s\t%s\t%d\t%.2f\t%.2f\t%.1f\t", espi_commtree_kind_name(kind), note,
               espi_commtree_dist_name(dist), best ? "best" : "fixed", p, row.first, row.again, row.mib);
        if (before > 0)
            printf("%.2f", log(row.again / before) / log(factor));
        else
            printf("-");
        if (row.over_bound > 0)
            printf("\t%.3f\n", row.over_bound);
        else
            printf("\t-\n");
        before = row.again;
    }
}

int main(int argc, char **argv)
{
    static const enum espi_commtree_dist dists[] = {ESPI_DIST_SAME, ESPI_DIST_RANDOM, ESPI_DIST_DECREASING,
                                                    ESPI_DIST_SPIKES, ESPI_DIST_SKEWED};
    struct espi_commtree_model model = {100, 1, 1, 0, false}, latency = {10, 0.01, 0.01, 90, true};
    int largest = argc > 1 ? atoi(argv[1]) : 8000;
    if (largest < 500 || largest > 60000) {
        fprintf(stderr, "commtree: expected the largest p (500 to 60000), found '%s'\n", argv[1]);
        return 2;
    }
    printf("algorithm\tsizes\troot\tp\tms\tms again\tMiB\tgrowth\ttime/bound\n");
    for (int best = 1; best >= 0; best--)
        series(ESPI_COMMTREE_ADAPTIVE, ESPI_DIST_RANDOM, best, 1000, 1000000, 10, &model, 0, "");
    for (int best = 1; best >= 0; best--)
        series(ESPI_COMMTREE_OPTIMAL, ESPI_DIST_RANDOM, best, 256, 1024, 2, &model, 16, " (nodes of 16)");
    for (size_t d = 0; d < sizeof dists / sizeof dists[0]; d++) {
        for (int best = 1; best >= 0; best--)
            series(ESPI_COMMTREE_OPTIMAL, dists[d], best, 500, largest, 2, &model, 0, "");
    }
    series(ESPI_COMMTREE_BINARY, ESPI_DIST_RANDOM, true, 500, largest < 2000 ? largest : 2000, 2, &model, 0, "");
    series(ESPI_COMMTREE_OPTIMAL, ESPI_DIST_RANDOM, false, 500, largest, 2, &latency, 0, " (latency)");
    return 0;
}
