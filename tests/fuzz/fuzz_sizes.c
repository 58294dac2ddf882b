/*
 * A fuzz target for the files that espalier gather reads: block sizes, models and links; scripts/dev/fuzz builds
 * and runs it. The first byte says which, and for sizes the second and third the constants of the model; the rest is
 * the file.
 * A file is read, or refused with a message that names it and a line. Of sizes that were read, every tree is built
 * and held against what must be true of it; over links that were read, the optimal tree against others.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/linkfile.h"
#include "cli/readmodel.h"
#include "cli/sizefile.h"
#include "commtree/commtree.h"
#include "fuzz.h"

enum { RANKS = 40 };

/* A failure says which file, and where in it or why not. */
static void check_failure(int code, const char *name)
{
    size_t len = strlen(name);
    REQUIRE(code == CLI_FAILURE && strncmp(fuzz_message, name, len) == 0 && fuzz_message[len] == ':');
    REQUIRE((fuzz_message[len + 1] >= '1' && fuzz_message[len + 1] <= '9') || fuzz_message[len + 1] == ' ');
}

static void check_trees(const struct espi_commtree_problem *problem)
{
    double bound, times[ESPI_COMMTREE_KINDS], other;
    int64_t sum = 0;
    for (int i = 0; i < problem->p; i++)
        sum += problem->size[i];
    /* The longest that one rank's port can be busy, to fifteen digits less the sums. */
    const struct espi_commtree_model *m = &problem->model;
    double rounding = 1e-13 * ((m->alpha + m->latency) * problem->p + (m->beta + m->gamma) * (double)sum);
    bool fixed = problem->root != ESPI_COMMTREE_BEST, any = sum > 0;
    REQUIRE(espi_commtree_lower_bound(problem, &bound) == ESPI_OK && bound >= 0);
    for (int k = 0; k < ESPI_COMMTREE_KINDS; k++) {
        struct espi_commtree tree = ESPI_COMMTREE_INIT;
        REQUIRE(espi_commtree_build((enum espi_commtree_kind)k, problem, &tree) == ESPI_OK);
        REQUIRE(tree.p == problem->p && tree.n >= 1 && tree.n <= tree.p && tree.root >= 0 && tree.root < tree.p);
        REQUIRE(!fixed || tree.root == problem->root);
        for (int i = 0; i < problem->p; i++)
            REQUIRE(problem->size[i] == 0 || tree.parent[i] != ESPI_COMMTREE_ABSENT);
        REQUIRE(espi_commtree_time(&tree, problem->size, m, ESPI_COMMTREE_GATHER, &times[k]) == ESPI_OK);
        REQUIRE(espi_commtree_time(&tree, problem->size, m, ESPI_COMMTREE_SCATTER, &other) == ESPI_OK);
        REQUIRE(fabs(times[k] - other) <= rounding);
        /* Binary and binomial trees may choose a root without data; optimal trees and the bound are of roots with
           data. */
        if (fixed || !any || problem->size[tree.root] > 0) {
            REQUIRE(bound <= times[k] + rounding);
        } else {
            REQUIRE(k == ESPI_COMMTREE_BINARY || k == ESPI_COMMTREE_BINOMIAL);
            times[k] = INFINITY;
        }
        espi_commtree_release(&tree);
    }
    /* A rank of a binary tree may receive what is far from its block before what is near. The others are compared
       without ranks that have no data: behind such a first child a rank copies its block at once (363 528 4732 0). */
    for (int k = ESPI_COMMTREE_LINEAR; k < ESPI_COMMTREE_OPTIMAL; k++) {
        struct espi_commtree tree = ESPI_COMMTREE_INIT;
        if (k == ESPI_COMMTREE_BINARY)
            continue;
        REQUIRE(espi_commtree_build_compact((enum espi_commtree_kind)k, problem, &tree) == ESPI_OK);
        REQUIRE(espi_commtree_time(&tree, problem->size, m, ESPI_COMMTREE_GATHER, &other) == ESPI_OK);
        REQUIRE(times[ESPI_COMMTREE_OPTIMAL] <= other + rounding);
        espi_commtree_release(&tree);
    }
}

static void fuzz_size_file(const uint8_t *data, size_t size)
{
    static const double constants[] = {0, 1, 100, 0.5, 1e-6, 1e-12, 1e15, 3};
    uint8_t first = size > 0 ? data[0] : 0, second = size > 1 ? data[1] : 0;
    struct espi_commtree_problem problem = {
        .model = {constants[first & 7], constants[first >> 3 & 7], constants[second & 7],
                  first & 64 ? constants[second >> 3 & 7] : 0, (first & 64) != 0}};
    size_t skip = size < 2 ? size : 2;
    char name[FUZZ_NAME];
    int64_t *sizes = NULL, sum = 0;
    int file = fuzz_file(data + skip, size - skip, name);
    fuzz_message[0] = '\0';
    int code = cli_read_sizes(name, &sizes, &problem.p);
    close(file);
    if (code != CLI_OK) {
        REQUIRE(sizes == NULL);
        check_failure(code, name);
        return;
    }
    REQUIRE(fuzz_message[0] == '\0' && sizes != NULL && problem.p >= 1 && (size_t)problem.p <= size);
    for (int i = 0; i < problem.p; i++)
        REQUIRE(sizes[i] >= 0 && !__builtin_add_overflow(sum, sizes[i], &sum));
    if (problem.p > RANKS)
        problem.p = RANKS;
    problem.size = sizes;
    problem.root = second & 64 ? second % problem.p : ESPI_COMMTREE_BEST;
    check_trees(&problem);
    free(sizes);
}

static void fuzz_model_file(const uint8_t *data, size_t size)
{
    struct espi_commtree_model model;
    char name[FUZZ_NAME];
    int file = fuzz_file(data, size, name);
    fuzz_message[0] = '\0';
    int code = cli_read_model(name, NULL, &model);
    close(file);
    if (code != CLI_OK) {
        check_failure(code, name);
        return;
    }
    double all[] = {model.alpha, model.beta, model.gamma, model.latency};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        REQUIRE(isfinite(all[i]) && all[i] >= 0);
}

static void fuzz_link_file(const uint8_t *data, size_t size)
{
    int p = size > 0 ? data[0] % 9 + 1 : 1;
    struct espi_commtree_links links = {.p = p, .gamma = 0.5};
    struct espi_commtree_traffic traffic = {ESPI_COMMTREE_GATHER, NULL, 0, NULL, &links};
    double *alpha = NULL, *beta = NULL, best, other;
    char name[FUZZ_NAME];
    size_t skip = size < 1 ? size : 1;
    int file = fuzz_file(data + skip, size - skip, name);
    fuzz_message[0] = '\0';
    int code = cli_read_links(name, p, &alpha, &beta);
    close(file);
    if (code != CLI_OK) {
        REQUIRE(alpha == NULL && beta == NULL);
        check_failure(code, name);
        return;
    }
    int64_t sizes[9];
    struct espi_commtree_problem problem = {.p = p, .size = sizes, .root = (int)(size % (size_t)p)};
    struct espi_commtree tree;
    for (int i = 0; i < p; i++)
        sizes[i] = i * i % 7;
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++)
            REQUIRE(i == j || (alpha[i * p + j] >= 0 && alpha[i * p + j] <= 1e15 && beta[i * p + j] >= 0 &&
                               beta[i * p + j] <= 1e15));
    links.alpha = alpha;
    links.beta = beta;
    traffic.size = sizes;
    REQUIRE(espi_commtree_optimal_links(&links, sizes, problem.root, traffic.op, &tree) == ESPI_OK);
    REQUIRE(espi_commtree_schedule(&tree, &traffic, NULL, NULL, &best) == ESPI_OK);
    espi_commtree_release(&tree);
    REQUIRE(espi_commtree_build(ESPI_COMMTREE_LINEAR, &problem, &tree) == ESPI_OK);
    REQUIRE(espi_commtree_schedule(&tree, &traffic, NULL, NULL, &other) == ESPI_OK);
    espi_commtree_release(&tree);
    REQUIRE(best <= other * (1 + 1e-12));
    free(alpha);
    free(beta);
}

int fuzz_sizes(const uint8_t *data, size_t size)
{
    if (size > 0)
        ((data[0] & 1) == 0 ? fuzz_size_file : (data[0] & 2) == 0 ? fuzz_model_file : fuzz_link_file)(data + 1,
                                                                                                      size - 1);
    return 0;
}
