/*
 * Gathers and scatters of irregular blocks: the library's call, four trees carried out by the project's own code, and
 * `auto`, that is MPI_Gatherv and MPI_Scatterv under Espalier, all in one run and in turns. On rank 0 prints one row
 * for each operation, distribution and block size, times in microseconds.
 *
 *     trees [--sizes B,..] [--dists NAME,..] [--ops gather,scatter] [--root R] [--rounds N] [--settle N] [--others N]
 *           [--seconds S] [--pause US] [--rho R] [--seed S] [--leave 0|1]
 *
 * Columns: the model's lower bound; medians of `rounds` calls of library, linear (all receives posted at once),
 * binomial, adaptive, optimal; auto: median of `rounds` calls after `settle` calls; auto_all: the mean of all calls
 * of auto, from the first on, with the agreement on methods and the trials in it; method: what auto came to use;
 * control: the library's call measured once more, in the same rounds under another name, which says what the
 * measurement is worth. A round calls all in another order; the four trees only in every `others`-th round.
 *
 * The time of a call: ranks that share a clock begin at an agreed moment, --pause microseconds or more after the call
 * before, and the call ends when it has ended on the last rank. Without one clock they leave a barrier, and it is the
 * longest of all ranks; see bench/trees_clock.c.
 *
 * --seconds ends a row's rounds after that time, with as many as were made (20 at least).
 * --settle is how many calls at most: where the code of leases is called directly they end when it has decided.
 * --leave 1 ends the program without MPI_Finalize, which over MPICH's UCX and TCP may wait for ever for ranks that
 * wait for the launcher.
 *
 * Under the preload library, auto is the program's call; otherwise, and in a simulation with SMPI, the code of leases
 * and trees is called directly. A simulation does not count computation: there auto_all has messages only.
 */
#include "bench/trees.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    int64_t sizes[16];
    int n_sizes, root, rounds, settle, leave, others;
    double pause, seconds;
    int64_t rho;
    uint64_t seed;
    bool dist[ESPI_DISTS], op[2];
};

static const char *const ops[] = {"gather", "scatter"};

static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, n) && (at[n] == ',' || at[n] == 0))
            return true;
    return false;
}

static bool read_options(int argc, char **argv, int p, struct options *o)
{
    *o = (struct options){.sizes = {1, 10, 100, 1000, 10000, 100000}, .n_sizes = 6, .root = p / 2, .rounds = 5,
                          .settle = 200, .others = 1, .pause = 3e-4, .seconds = 1e9, .rho = 5, .seed = 1,
                          .op = {true, true}};
    for (int d = 0; d < ESPI_DISTS; d++)
        o->dist[d] = true;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        char *end = NULL;
        if (!value)
            return false;
        if (!strcmp(argv[i], "--sizes")) {
            o->n_sizes = 0;
            for (const char *at = value; o->n_sizes < 16; at = end + 1) {
                o->sizes[o->n_sizes++] = strtoll(at, &end, 10);
                if (*end != ',')
                    break;
            }
            if (*end)
                return false;
        } else if (!strcmp(argv[i], "--dists")) {
            for (int d = 0; d < ESPI_DISTS; d++)
                o->dist[d] = listed(value, espi_commtree_dist_name((enum espi_commtree_dist)d));
        } else if (!strcmp(argv[i], "--ops")) {
            o->op[0] = listed(value, ops[0]);
            o->op[1] = listed(value, ops[1]);
        } else if (!strcmp(argv[i], "--root")) {
            o->root = atoi(value);
        } else if (!strcmp(argv[i], "--rounds")) {
            o->rounds = atoi(value);
        } else if (!strcmp(argv[i], "--settle")) {
            o->settle = atoi(value);
        } else if (!strcmp(argv[i], "--others")) {
            o->others = atoi(value);
        } else if (!strcmp(argv[i], "--pause")) {
            o->pause = atof(value) * 1e-6;
        } else if (!strcmp(argv[i], "--seconds")) {
            o->seconds = atof(value);
        } else if (!strcmp(argv[i], "--leave")) {
            o->leave = atoi(value);
        } else if (!strcmp(argv[i], "--rho")) {
            o->rho = atoll(value);
        } else if (!strcmp(argv[i], "--seed")) {
            o->seed = strtoull(value, NULL, 0);
        } else {
            return false;
        }
    }
    return o->root >= 0 && o->root < p && o->rounds > 0 && o->rounds <= 10000 && o->settle >= 0 && o->others > 0;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, rising);
    return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

static uint64_t random_of(uint64_t at)
{
    at += 0x9E3779B97F4A7C15u;
    at = (at ^ at >> 30) * 0xBF58476D1CE4E5B9u;
    at = (at ^ at >> 27) * 0x94D049BB133111EBu;
    return at ^ at >> 31;
}

/* Another order in every round, the same on all ranks: what a call takes depends on which came before it. Returns how
   many methods take part. */
static int shuffle(int *order, int round, int others)
{
    int n = 0;
    for (int m = 0; m < TREES_METHODS; m++) {
        bool tree = m > TREES_LIBRARY && m < TREES_AUTO;
        if (tree && round % others)
            continue;
        int k = (int)(random_of((uint64_t)round * TREES_METHODS + (uint64_t)m) % (uint64_t)(n + 1));
        order[n++] = order[k];
        order[k] = m;
    }
    return n;
}

struct times {
    int n[TREES_METHODS];
    double *s[TREES_METHODS];
    double auto_all;
};

/* All rounds of a row; false: memory is short. */
static bool run_rounds(const struct options *o, struct trees_cell *cell, struct times *times)
{
    int settled = 0, order[TREES_METHODS];
    double total = 0, spent = 0;
    memset(times, 0, sizeof *times);
    for (int m = 0; m < TREES_METHODS; m++)
        if (!(times->s[m] = malloc((size_t)o->rounds * sizeof *times->s[m])))
            return false;
    for (; settled < o->settle && !(settled > 1 && trees_settled(cell)); settled++)
        total += trees_time(cell, TREES_AUTO);
    for (int m = 0; m < TREES_AUTO; m++) /* connections, buffers */
        trees_time(cell, m);
    double begun = trees_now();
    for (int i = 0; i < o->rounds && (i < 20 || spent < o->seconds); i++) {
        int n = shuffle(order, i, o->others);
        for (int k = 0; k < n; k++)
            times->s[order[k]][times->n[order[k]]++] = trees_time(cell, order[k]);
        if (i % 8 == 7)
            spent = trees_agreed(cell, trees_now() - begun);
    }
    for (int i = 0; i < times->n[TREES_AUTO]; i++)
        total += times->s[TREES_AUTO][i];
    times->auto_all = total / (settled + times->n[TREES_AUTO]);
    return true;
}

/* One row. */
static void measure(const struct options *o, struct trees_cell *cell, const char *dist, int64_t b, int rank)
{
    struct times times;
    double bound = 0;
    int64_t bytes = 0;
    if (!run_rounds(o, cell, &times))
        MPI_Abort(MPI_COMM_WORLD, 1);
    const char *method = trees_method(cell);
    if (rank == 0) {
        struct espi_commtree_problem problem = {cell->p, cell->size, cell->root, cell->model, 0};
        espi_commtree_lower_bound(&problem, &bound);
        for (int i = 0; i < cell->p; i++)
            bytes += cell->size[i];
        printf("%s\t%s\t%lld\t%lld\t%d\t%d\t%.2f", ops[cell->op], dist, (long long)b, (long long)bytes, cell->p,
               cell->root, bound * 1e6);
        for (int m = 0; m < TREES_CONTROL; m++)
            printf("\t%.2f", median(times.s[m], times.n[m]) * 1e6);
        printf("\t%.2f\t%s\t%.2f\t%d\n", times.auto_all * 1e6, method,
               median(times.s[TREES_CONTROL], times.n[TREES_CONTROL]) * 1e6, times.n[TREES_CONTROL]);
        fflush(stdout);
    }
    for (int m = 0; m < TREES_METHODS; m++)
        free(times.s[m]);
}

int main(int argc, char **argv)
{
    struct options o;
    struct espi_commtree_model model;
    int rank, p;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    if (!read_options(argc, argv, p, &o)) {
        if (rank == 0)
            fprintf(stderr, "trees: wrong arguments; see bench/trees.c\n");
        MPI_Finalize();
        return 2;
    }
    bool seen = trees_start(MPI_COMM_WORLD, &model);
    bool clock = trees_clock_start(MPI_COMM_WORLD, o.pause);
    if (rank == 0) {
        printf("#@clock=%s\n",
               clock ? "one for all ranks: calls begin at an agreed moment" : "one per rank: barriers");
        printf("#@auto=%s\n#@model=alpha %.3g latency %.3g beta %.3g gamma %.3g (seconds, bytes)\n",
               seen ? "the program's call under the preload library" : "leases and trees called directly",
               model.alpha, model.latency, model.beta, model.gamma);
        printf("op\tdist\tb\tbytes\tp\troot\tbound\tlibrary\tlinear\tbinomial\tadaptive\toptimal\tauto\tauto_all"
               "\tmethod\tcontrol\trounds\n");
    }
    int64_t *size = malloc((size_t)p * sizeof *size);
    for (int op = 0; op < 2; op++)
        for (int d = 0; d < ESPI_DISTS; d++)
            for (int s = 0; s < o.n_sizes; s++) {
                enum espi_commtree_dist dist = (enum espi_commtree_dist)d;
                struct trees_cell *cell = NULL;
                if (!o.op[op] || !o.dist[d])
                    continue;
                if (!size || espi_commtree_dist_fill(dist, p, o.sizes[s], o.rho, o.seed, size) ||
                    !(cell = trees_cell_make(op, size, o.root, &model)))
                    MPI_Abort(MPI_COMM_WORLD, 1);
                measure(&o, cell, espi_commtree_dist_name(dist), o.sizes[s], rank);
                trees_cell_free(cell);
            }
    free(size);
    if (o.leave) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Abort(MPI_COMM_WORLD, 0);
    }
    MPI_Finalize();
    return 0;
}
