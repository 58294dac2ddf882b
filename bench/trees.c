/*
 * Gathers and scatters of irregular blocks: the library's call, four trees carried out by the project's own code, and `auto`,
 * that is MPI_Gatherv and MPI_Scatterv under Espalier, all in one run and in turns. On rank 0 prints one row for each
 * operation, distribution and block size, times in microseconds.
 *
 *     trees [--sizes B,..] [--dists NAME,..] [--ops gather,scatter] [--root R] [--rounds N] [--settle N] [--rho R] [--seed S]
 *           [--leave 0|1]
 *
 * Columns: the model's lower bound; medians of `rounds` calls of library, linear (all receives posted at once), binomial,
 * adaptive, optimal; auto: median of `rounds` calls after `settle` calls; auto_all: the mean of all calls of auto, from the
 * first on, with the agreement on methods and the trials in it; method: what auto came to use. The time of a call is the
 * longest of all ranks, which begin together.
 *
 * --settle is how many calls at most: where the code of leases is called directly they end when it has decided. --leave 1 ends
 * the program without MPI_Finalize, which over MPICH's UCX and TCP may wait for ever for ranks that wait for the launcher.
 *
 * Under the preload library, auto is the program's call; otherwise, and in a simulation with SMPI, the code of leases and
 * trees is called directly. A simulation does not count computation: there auto_all has messages only.
 */
#include "bench/trees.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    int64_t sizes[16];
    int n_sizes, root, rounds, settle, leave;
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
    *o = (struct options){{1, 10, 100, 1000, 10000, 100000}, 6, p / 2, 5, 200, 0, 5, 1, {false}, {true, true}};
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
    return o->root >= 0 && o->root < p && o->rounds > 0 && o->rounds <= 1000 && o->settle >= 0;
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

/* Another order in every round, the same on all ranks: what a call takes depends on which came before it. */
static void shuffle(int *order, int round)
{
    uint64_t state = 88172645463325252u + (uint64_t)round * 0x9E3779B97F4A7C15u;
    for (int i = 0; i < TREES_METHODS; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        int k = (int)(state % (uint64_t)(i + 1));
        order[i] = order[k];
        order[k] = i;
    }
}

/* One row. */
static void measure(const struct options *o, struct trees_cell *cell, const char *dist, int64_t b, int rank)
{
    double *times = malloc((size_t)(o->rounds * TREES_METHODS) * sizeof *times), total = 0, bound = 0;
    int64_t bytes = 0;
    int agreed = 0;
    if (!times)
        MPI_Abort(MPI_COMM_WORLD, 1);
    int settled = 0, order[TREES_METHODS];
    for (; settled < o->settle && !(settled > 1 && trees_settled(cell)); settled++)
        total += trees_time(cell, TREES_AUTO);
    for (int m = 0; m < TREES_AUTO; m++) /* connections, buffers */
        trees_time(cell, m);
    for (int i = 0; i < o->rounds; i++) {
        shuffle(order, i);
        for (int k = 0; k < TREES_METHODS; k++)
            times[order[k] * o->rounds + i] = trees_time(cell, order[k]);
    }
    if (rank == 0) {
        struct espi_commtree_problem problem = {cell->p, cell->size, cell->root, cell->model, 0};
        espi_commtree_lower_bound(&problem, &bound);
        for (int i = 0; i < o->rounds; i++, agreed++)
            total += times[TREES_AUTO * o->rounds + i];
        for (int i = 0; i < cell->p; i++)
            bytes += cell->size[i];
        printf("%s\t%s\t%lld\t%lld\t%d\t%d\t%.2f", ops[cell->op], dist, (long long)b, (long long)bytes, cell->p, cell->root,
               bound * 1e6);
        for (int m = 0; m < TREES_METHODS; m++)
            printf("\t%.2f", median(times + m * o->rounds, o->rounds) * 1e6);
    }
    const char *method = trees_method(cell);
    if (rank == 0) {
        printf("\t%.2f\t%s\n", total / (settled + agreed) * 1e6, method);
        fflush(stdout);
    }
    free(times);
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
    if (rank == 0) {
        printf("#@auto=%s\n#@model=alpha %.3g latency %.3g beta %.3g gamma %.3g (seconds, bytes)\n",
               seen ? "the program's call under the preload library" : "leases and trees called directly", model.alpha,
               model.latency, model.beta, model.gamma);
        printf("op\tdist\tb\tbytes\tp\troot\tbound\tlibrary\tlinear\tbinomial\tadaptive\toptimal\tauto\tauto_all\tmethod\n");
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
