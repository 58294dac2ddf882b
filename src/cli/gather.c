/* espalier gather: completion times and pictures of gather and scatter trees. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"
#include "cli/readmodel.h"
#include "cli/sizefile.h"
#include "commtree/commtree.h"

enum { FORMAT_TSV, FORMAT_JSON, FORMAT_DOT, FORMAT_SVG };

static const char *const op_names[] = {"gather", "scatter", NULL}; /* enum espi_commtree_op */
static const char *const format_names[] = {"tsv", "json", "dot", "svg", NULL};

struct request {
    struct espi_commtree_problem problem;
    const char *file, *model, *level;
    bool have_constant, have_dist, picked;
    enum espi_commtree_dist dist;
    int64_t p, b, rho, seed, root;
    enum espi_commtree_kind kinds[64];
    int n_kinds;
    int op, format;
};

static int take_constant(const struct cli_row *row, const char *value, void *into)
{
    struct request *request = into;
    double *number = (double *)((char *)into + row->at);
    request->have_constant = true;
    if (!espi_number_parse(value, strlen(value), number) || *number < 0 || *number > 1e15)
        return cli_usage("%s: expected a number from 0 to 1e15, found '%s'", row->option.name, value);
    request->problem.model.early_copy = request->problem.model.latency > 0;
    return CLI_OK;
}

/* The names come from the table, so that none is missing. */
static int take_dist(const struct cli_row *row, const char *value, void *into)
{
    struct request *request = into;
    const char *names[ESPI_DISTS + 1];
    for (int d = 0; d <= ESPI_DISTS; d++)
        names[d] = espi_commtree_dist_name((enum espi_commtree_dist)d);
    request->have_dist = espi_commtree_dist_parse(value, &request->dist);
    return request->have_dist ? CLI_OK : cli_wrong_name(row->option.name, names, value);
}

static int take_root(const struct cli_row *row, const char *value, void *into)
{
    struct request *request = into;
    (void)row;
    request->root = ESPI_COMMTREE_BEST;
    if (strcmp(value, "best") == 0 || (espi_whole_parse(value, strlen(value), &request->root) &&
                                       request->root >= 0 && request->root < INT32_MAX))
        return CLI_OK;
    return cli_usage("--root: expected best or a rank (a whole number from 0, below the number of ranks), found '%s'",
                     value);
}

static int take_algorithms(const struct cli_row *row, const char *value, void *into)
{
    struct request *request = into;
    (void)row;
    request->n_kinds = 0;
    for (const char *at = value;; at++) {
        size_t len = strcspn(at, ",");
        char name[24] = "";
        if (len < sizeof name)
            memcpy(name, at, len);
        if (request->n_kinds + 5 > (int)(sizeof request->kinds / sizeof request->kinds[0]))
            return cli_usage("--algorithm: expected fewer names");
        if (strcmp(name, "all") == 0) {
            for (int k = ESPI_COMMTREE_LINEAR; k <= ESPI_COMMTREE_OPTIMAL; k++)
                request->kinds[request->n_kinds++] = (enum espi_commtree_kind)k;
        } else if (!espi_commtree_kind_parse(name, &request->kinds[request->n_kinds++])) {
            return cli_usage("--algorithm: expected linear, binary, binomial, adaptive, optimal, unordered, two-size "
                             "or all, found '%.*s'",
                             len > 40 ? 40 : (int)len, at);
        }
        at += len;
        if (*at == '\0')
            return CLI_OK;
    }
}

#define MEMBER(name) .at = offsetof(struct request, name)
#define WHOLE(member, lowest, highest)                                                                               \
    .take = cli_take_whole, MEMBER(member), .least = (lowest), .most = (highest)
#define CONSTANT(name) .take = take_constant, MEMBER(problem.model.name)

static const struct cli_spec spec = {
    .command = "gather",
    .operands = "",
    .summary = "Builds trees for a gather or scatter of blocks of given sizes and prints their completion times in "
               "the one-ported linear model.",
    .rows =
        (const struct cli_row[]){
            {.option = {"--sizes", "FILE", "block sizes of the ranks, whole numbers in order; # begins a comment; - "
                                           "is standard input"},
             .take = cli_take_text, MEMBER(file)},
            {.option = {"--dist", "NAME", "sizes of a distribution instead: same, random, random-decreasing, "
                                          "random-increasing, bucket, spikes, decreasing, increasing, alternating, "
                                          "skewed, two-blocks"},
             .take = take_dist},
            {.option = {"-p", "P", "ranks of the distribution"}, WHOLE(p, 1, 100000000)},
            {.option = {"-b", "B", "its block size on average (default 1000)"}, WHOLE(b, 0, INT64_MAX)},
            {.option = {"--rho", "R", "its parameter (bucket, spikes, skewed; default 5)"},
             WHOLE(rho, 1, INT64_MAX)},
            {.option = {"--seed", "S", "its random numbers (default 1)"}, WHOLE(seed, 0, INT64_MAX)},
            {.option = {"--alpha", "A", "time per message (default 100)"}, CONSTANT(alpha)},
            {.option = {"--beta", "B", "time per byte (default 1)"}, CONSTANT(beta)},
            {.option = {"--gamma", "G", "time per byte of a receiving rank's own block (default 0)"},
             CONSTANT(gamma)},
            {.option = {"--latency", "L", "further time per message that messages may overlap; with it, ranks copy "
                                          "their own block while they wait (default 0)"},
             CONSTANT(latency)},
            {.option = {"--model", "FILE", "take these four from a model file (espalier calibrate), in seconds, "
                                           "instead"},
             .take = cli_take_text, MEMBER(model)},
            {.option = {"--level", "LEVEL", "which of the file: net, between nodes (the default where the file has "
                                            "it), or node"},
             .take = cli_take_text, MEMBER(level)},
            {.option = {"--root", "R", "a rank, or best (the default): choose it too"}, .take = take_root},
            {.option = {"--algorithm", "NAME,..", "linear, binary, binomial, adaptive, optimal; all: these five (the "
                                                  "default); also unordered, two-size"},
             .take = take_algorithms},
            {.option = {"--op", "OP", "gather (the default) or scatter"},
             .take = cli_take_name, MEMBER(op), .names = op_names},
            {.option = {"--format", "FORMAT", "tsv (the default), json, dot or svg; the last two draw one tree, the "
                                              "optimal one unless --algorithm names another"},
             .take = cli_take_name, MEMBER(format), .names = format_names},
            {.option = {NULL, NULL, NULL}},
        },
    .notes = "Prints: algorithm, root, completion time. doc/gather-trees.md explains the model and the algorithms.",
};

static int make_sizes(struct request *request, int64_t **size)
{
    if (request->file != NULL)
        return cli_read_sizes(request->file, size, &request->problem.p);
    *size = malloc((size_t)request->p * sizeof **size);
    if (*size == NULL)
        return cli_fail("no memory for %" PRId64 " ranks", request->p);
    request->problem.p = (int)request->p;
    espi_status status = espi_commtree_dist_fill(request->dist, request->problem.p, request->b, request->rho,
                                                 (uint64_t)request->seed, *size);
    if (status == ESPI_OK)
        return CLI_OK;
    free(*size);
    *size = NULL;
    return cli_fail("-b: expected block sizes whose sum fits 63 bits, found more");
}

/* Whole numbers as such, others with as many digits as they need. */
static void print_number(double x)
{
    char buf[40];
    snprintf(buf, sizeof buf, "%.15g", x);
    if (strtod(buf, NULL) != x)
        snprintf(buf, sizeof buf, "%.17g", x);
    if (fabs(x) < 1e18 && x == floor(x))
        snprintf(buf, sizeof buf, "%.0f", x);
    fputs(buf, stdout);
}

static void print_json_tree(const struct espi_commtree *tree, const char *name, double time, bool last)
{
    printf("    {\"algorithm\": \"%s\", \"root\": %d, \"time\": ", name, tree->root);
    print_number(time);
    printf(",\n     \"parent\": [");
    for (int v = 0; v < tree->p; v++) {
        const char *gap = v ? ", " : "";
        if (tree->parent[v] == ESPI_COMMTREE_ABSENT)
            printf("%snull", gap);
        else
            printf("%s%d", gap, tree->parent[v]);
    }
    printf("],\n     \"children\": [");
    for (int v = 0; v < tree->p; v++) {
        printf("%s[", v ? ", " : "");
        for (int e = tree->first[v]; e < tree->first[v + 1]; e++)
            printf("%s%d", e > tree->first[v] ? ", " : "", tree->child[e]);
        printf("]");
    }
    printf("]}%s\n", last ? "" : ",");
}

static int print_json_head(const struct request *request)
{
    const struct espi_commtree_model *m = &request->problem.model;
    double bound;
    int64_t total = 0;
    espi_status status = espi_commtree_lower_bound(&request->problem, &bound);

    if (status != ESPI_OK)
        return cli_fail("%s", espi_status_text(status));
    for (int v = 0; v < request->problem.p; v++)
        total += request->problem.size[v];
    printf("{\n  \"operation\": \"%s\",\n  \"ranks\": %d,\n  \"bytes\": %" PRId64 ",\n  \"alpha\": ",
           request->op == ESPI_COMMTREE_GATHER ? "gather" : "scatter", request->problem.p, total);
    print_number(m->alpha);
    printf(",\n  \"beta\": ");
    print_number(m->beta);
    printf(",\n  \"gamma\": ");
    print_number(m->gamma);
    printf(",\n  \"latency\": ");
    print_number(m->latency);
    printf(",\n  \"lower_bound\": ");
    print_number(bound);
    printf(",\n  \"trees\": [\n");
    return CLI_OK;
}

static int print_tree(const struct request *request, int at)
{
    const struct espi_commtree_problem *problem = &request->problem;
    const char *name = espi_commtree_kind_name(request->kinds[at]);
    struct espi_commtree tree;
    double time = 0;
    espi_status status = espi_commtree_build(request->kinds[at], problem, &tree);

    if (status == ESPI_ERR_LIMIT)
        return cli_fail("%s: expected at most 65535 ranks with data for this algorithm", name);
    if (status == ESPI_OK)
        status = espi_commtree_time(&tree, problem->size, &problem->model,
                                         (enum espi_commtree_op)request->op, &time);
    if (status == ESPI_OK && request->format == FORMAT_DOT)
        status = espi_commtree_write_dot(stdout, &tree, problem->size);
    else if (status == ESPI_OK && request->format == FORMAT_SVG)
        status = espi_commtree_write_svg(stdout, &tree, problem->size, &problem->model,
                                         (enum espi_commtree_op)request->op);
    else if (status == ESPI_OK && request->format == FORMAT_JSON)
        print_json_tree(&tree, name, time, at + 1 == request->n_kinds);
    else if (status == ESPI_OK) {
        printf("%s\t%d\t", name, tree.root);
        print_number(time);
        printf("\n");
    }
    espi_commtree_release(&tree);
    /* What cannot be written is reported at the end, for all commands alike. */
    return status == ESPI_OK || status == ESPI_ERR_IO ? CLI_OK : cli_fail("%s: %s", name, espi_status_text(status));
}

static int carry_out(struct request *request)
{
    int64_t *size = NULL;
    int code = make_sizes(request, &size);

    if (code != CLI_OK)
        return code;
    request->problem.size = size;
    if (request->root >= request->problem.p)
        code = cli_usage("--root: expected best or a rank from 0 to %d, found %" PRId64, request->problem.p - 1,
                         request->root);
    request->problem.root = (int)request->root;
    if (code == CLI_OK && request->format == FORMAT_TSV)
        printf("algorithm\troot\ttime\n");
    else if (code == CLI_OK && request->format == FORMAT_JSON)
        code = print_json_head(request);
    for (int k = 0; k < request->n_kinds && code == CLI_OK; k++)
        code = print_tree(request, k);
    if (code == CLI_OK && request->format == FORMAT_JSON)
        printf("  ]\n}\n");
    free(size);
    return code;
}

int espi_cli_gather(int argc, char **argv)
{
    struct request request = {.problem = {.model = {100, 1, 0, 0, false}},
                              .b = 1000, .rho = 5, .seed = 1, .root = ESPI_COMMTREE_BEST};

    int code = cli_take_all(&spec, argc, argv, &request);
    if (code != CLI_OK)
        return code;
    request.picked = request.n_kinds > 0;
    if (!request.picked)
        take_algorithms(NULL, "all", &request);
    if ((request.file != NULL) == request.have_dist)
        return cli_usage("expected either --sizes or --dist, found %s", request.have_dist ? "both" : "neither");
    if (request.have_dist && request.p == 0)
        return cli_usage("expected -p with --dist");
    if (request.level != NULL && request.model == NULL)
        return cli_usage("--level: expected --model with it");
    if (request.model != NULL) {
        if (request.have_constant)
            return cli_usage("expected either --model or constants of the model, found both");
        code = cli_read_model(request.model, request.level, &request.problem.model);
        if (code != CLI_OK)
            return code;
    }
    if (request.format == FORMAT_DOT || request.format == FORMAT_SVG) {
        if (!request.picked) {
            request.kinds[0] = ESPI_COMMTREE_OPTIMAL;
            request.n_kinds = 1;
        }
        if (request.n_kinds != 1)
            return cli_usage("--format: expected one --algorithm for a picture, found %d", request.n_kinds);
    }
    return carry_out(&request);
}
