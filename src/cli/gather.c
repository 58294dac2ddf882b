/* espalier gather: completion times and pictures of trees for gathers, scatters, broadcasts and reductions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"
#include "cli/gather.h"
#include "cli/linkfile.h"
#include "cli/readmodel.h"
#include "cli/sizefile.h"
#include "commtree/commtree.h"

enum { FORMAT_TSV, FORMAT_JSON, FORMAT_DOT, FORMAT_SVG };

enum { OP_GATHER, OP_SCATTER, OP_BCAST, OP_REDUCE };

static const char *const op_names[] = {"gather", "scatter", "bcast", "reduce", NULL};
static const char *const format_names[] = {"tsv", "json", "dot", "svg", NULL};

struct request {
    struct espi_commtree_model constants;
    const char *file, *model, *level, *links, *algorithms;
    bool have_constant, have_link_constant, have_gamma, have_dist;
    enum espi_commtree_dist dist;
    int64_t p, b, rho, seed, root;
    int op, format;
};

static int take_constant(const struct cli_row *row, const char *value, void *into)
{
    struct request *request = into;
    double *number = (double *)((char *)into + row->at);
    bool gamma = number == &request->constants.gamma;
    request->have_constant = true;
    request->have_gamma = request->have_gamma || gamma;
    request->have_link_constant = request->have_link_constant || !gamma;
    if (!espi_number_parse(value, strlen(value), number) || *number < 0 || *number > 1e15)
        return cli_usage("%s: expected a number from 0 to 1e15, found '%s'", row->option.name, value);
    request->constants.early_copy = request->constants.latency > 0;
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

#define MEMBER(name) .at = offsetof(struct request, name)
#define WHOLE(member, lowest, highest)                                                                               \
    .take = cli_take_whole, MEMBER(member), .least = (lowest), .most = (highest)
#define CONSTANT(name) .take = take_constant, MEMBER(constants.name)

static const struct cli_spec spec = {
    .command = "gather",
    .operands = "",
    .summary = "Builds trees for a gather or scatter of blocks of given sizes, or for a broadcast or reduction, and "
               "prints their completion times in the one-ported linear model.",
    .rows =
        (const struct cli_row[]){
            {.option = {"--sizes", "FILE", "block sizes of the ranks, whole numbers in order; # begins a comment; - "
                                           "is standard input"},
             .take = cli_take_text, MEMBER(file)},
            {.option = {"--dist", "NAME", "sizes of a distribution instead: same, random, random-decreasing, "
                                          "random-increasing, bucket, spikes, decreasing, increasing, alternating, "
                                          "skewed, two-blocks"},
             .take = take_dist},
            {.option = {"-p", "P", "ranks of the distribution, or of the broadcast or reduction"},
             WHOLE(p, 1, 100000000)},
            {.option = {"-b", "B", "its block size on average, or the bytes of each message (default 1000)"},
             WHOLE(b, 0, INT64_MAX)},
            {.option = {"--rho", "R", "its parameter (bucket, spikes, skewed; default 5)"},
             WHOLE(rho, 1, INT64_MAX)},
            {.option = {"--seed", "S", "its random numbers (default 1)"}, WHOLE(seed, 0, INT64_MAX)},
            {.option = {"--alpha", "A", "time per message (default 100)"}, CONSTANT(alpha)},
            {.option = {"--beta", "B", "time per byte (default 1)"}, CONSTANT(beta)},
            {.option = {"--gamma", "G", "time per byte of a receiving rank's own block, or per byte that a reduction "
                                        "combines (default 0)"},
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
            {.option = {"--links", "FILE", "alpha and beta of each pair of ranks from a file of lines FROM TO ALPHA "
                                           "BETA instead; * stands for all ranks, and a later line counts"},
             .take = cli_take_text, MEMBER(links)},
            {.option = {"--root", "R", "a rank, or best (the default): choose it too"}, .take = take_root},
            {.option = {"--algorithm", "NAME,..", "linear, binary, binomial, adaptive, optimal; all: these five (the "
                                                  "default); also unordered, two-size. With --links: linear, "
                                                  "binomial, adaptive, optimal. For a broadcast or reduction: "
                                                  "linear, binomial, ordered (every subtree is a range of ranks), "
                                                  "optimal"},
             .take = cli_take_text, MEMBER(algorithms)},
            {.option = {"--op", "OP", "gather (the default), scatter, bcast or reduce"},
             .take = cli_take_name, MEMBER(op), .names = op_names},
            {.option = {"--format", "FORMAT", "tsv (the default), json, dot or svg; the last two draw one tree, the "
                                              "optimal one unless --algorithm names another"},
             .take = cli_take_name, MEMBER(format), .names = format_names},
            {.option = {NULL, NULL, NULL}},
        },
    .notes = "Prints: algorithm, root, completion time. doc/gather-trees.md explains the model and the algorithms.",
};

static int make_sizes(const struct request *request, int64_t **size, int *p)
{
    if (request->file != NULL)
        return cli_read_sizes(request->file, size, p);
    *p = (int)request->p;
    *size = malloc((size_t)request->p * sizeof **size);
    if (*size == NULL)
        return cli_fail("no memory for %" PRId64 " ranks", request->p);
    espi_status status = espi_commtree_dist_fill(request->dist, *p, request->b, request->rho, (uint64_t)request->seed,
                                                 *size);
    if (status == ESPI_OK)
        return CLI_OK;
    free(*size);
    *size = NULL;
    return cli_fail("-b: expected block sizes whose sum fits 63 bits, found more");
}

static void print_number(double x)
{
    char buf[CLI_NUMBER];
    fputs(cli_number(buf, x), stdout);
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

static void print_member(const char *name, double value)
{
    printf(",\n  \"%s\": ", name);
    print_number(value);
}

static int print_json_head(const struct gather_work *work, const char *operation)
{
    const struct espi_commtree_model *m = &work->problem.model;
    const int64_t *size = work->traffic.size;
    int64_t bytes = work->traffic.bytes;
    double bound;
    espi_status status = gather_bound(work, &bound);

    if (status != ESPI_OK)
        return cli_fail("%s", espi_status_text(status));
    for (int v = 0; v < work->problem.p && size != NULL; v++)
        bytes += size[v];
    printf("{\n  \"operation\": \"%s\",\n  \"ranks\": %d,\n  \"bytes\": %" PRId64, operation, work->problem.p,
           bytes);
    if (work->traffic.links == NULL) {
        print_member("alpha", m->alpha);
        print_member("beta", m->beta);
    }
    print_member("gamma", m->gamma);
    if (work->traffic.links == NULL)
        print_member("latency", m->latency);
    print_member("lower_bound", bound);
    printf(",\n  \"trees\": [\n");
    return CLI_OK;
}

static int print_tree(const struct gather_work *work, int algorithm, int format, bool last)
{
    const char *name = gather_name(algorithm);
    struct espi_commtree tree;
    double time = 0;
    espi_status status = gather_build(work, algorithm, &tree, &time);

    if (status == ESPI_ERR_LIMIT)
        return cli_fail("%s: expected at most %d ranks with data for this algorithm", name,
                        work->traffic.links != NULL ? ESPI_COMMTREE_LINKS_RANKS : UINT16_MAX);
    if (status != ESPI_OK)
        return cli_fail("%s: %s", name, espi_status_text(status));
    if (format == FORMAT_DOT) {
        status = espi_commtree_write_dot(stdout, &tree, &work->traffic);
    } else if (format == FORMAT_SVG) {
        status = espi_commtree_write_svg(stdout, &tree, &work->traffic);
    } else if (format == FORMAT_JSON) {
        print_json_tree(&tree, name, time, last);
    } else {
        printf("%s\t%d\t", name, tree.root);
        print_number(time);
        printf("\n");
    }
    espi_commtree_release(&tree);
    /* What cannot be written is reported at the end, for all commands alike. */
    return status == ESPI_OK || status == ESPI_ERR_IO ? CLI_OK : cli_fail("%s: %s", name, espi_status_text(status));
}

static int carry_out(const struct request *request, const struct gather_work *work)
{
    bool picture = request->format == FORMAT_DOT || request->format == FORMAT_SVG;
    const char *names = request->algorithms != NULL ? request->algorithms : picture ? "optimal" : "all";
    int list[GATHER_ALGORITHMS], n;
    int code = gather_algorithms(work, names, list, &n);

    if (code == CLI_OK && picture && n != 1)
        code = cli_usage("--format: expected one --algorithm for a picture, found %d", n);
    if (code == CLI_OK && request->format == FORMAT_TSV)
        printf("algorithm\troot\ttime\n");
    else if (code == CLI_OK && request->format == FORMAT_JSON)
        code = print_json_head(work, op_names[request->op]);
    for (int k = 0; k < n && code == CLI_OK; k++)
        code = print_tree(work, list[k], request->format, k + 1 == n);
    if (code == CLI_OK && request->format == FORMAT_JSON)
        printf("  ]\n}\n");
    return code;
}

/* Blocks or messages, links, root; then what was asked for. */
static int run_request(const struct request *request)
{
    bool blocks = request->op == OP_GATHER || request->op == OP_SCATTER;
    bool upwards = request->op == OP_GATHER || request->op == OP_REDUCE;
    struct gather_work work = {.problem = {.p = (int)request->p, .model = request->constants},
                               .traffic = {.op = upwards ? ESPI_COMMTREE_GATHER : ESPI_COMMTREE_SCATTER}};
    struct espi_commtree_links links;
    double *alpha = NULL, *beta = NULL;
    int64_t *size = NULL;
    int code = CLI_OK;

    if (request->model != NULL)
        code = cli_read_model(request->model, request->level, &work.problem.model);
    if (code == CLI_OK && blocks)
        code = make_sizes(request, &size, &work.problem.p);
    if (code == CLI_OK && request->root >= work.problem.p)
        code = cli_usage("--root: expected best or a rank from 0 to %d, found %" PRId64, work.problem.p - 1,
                         request->root);
    if (code == CLI_OK && request->links != NULL)
        code = cli_read_links(request->links, work.problem.p, &alpha, &beta);
    if (code == CLI_OK) {
        links = (struct espi_commtree_links){work.problem.p, alpha, beta, work.problem.model.gamma};
        work.problem.root = (int)request->root;
        work.problem.size = work.traffic.size = size;
        work.traffic.bytes = blocks ? 0 : request->b;
        if (request->links != NULL)
            work.traffic.links = &links;
        else
            work.traffic.model = &work.problem.model;
        code = carry_out(request, &work);
    }
    free(size);
    free(alpha);
    free(beta);
    return code;
}

/* Options that do not go together. */
static int check_request(const struct request *request)
{
    bool blocks = request->op == OP_GATHER || request->op == OP_SCATTER;
    if (!blocks && (request->file != NULL || request->have_dist || request->links != NULL))
        return cli_usage("--op %s: expected -p and -b, as all messages are alike, found %s", op_names[request->op],
                         request->file != NULL ? "--sizes" : request->have_dist ? "--dist" : "--links");
    if (!blocks && request->p == 0)
        return cli_usage("expected -p with --op %s", op_names[request->op]);
    if (request->op == OP_BCAST && request->have_gamma)
        return cli_usage("--gamma: expected a gather, scatter or reduction; a broadcast neither copies nor combines");
    if (blocks && (request->file != NULL) == request->have_dist)
        return cli_usage("expected either --sizes or --dist, found %s", request->have_dist ? "both" : "neither");
    if (request->have_dist && request->p == 0)
        return cli_usage("expected -p with --dist");
    if (request->level != NULL && request->model == NULL)
        return cli_usage("--level: expected --model with it");
    if (request->model != NULL && request->have_constant)
        return cli_usage("expected either --model or constants of the model, found both");
    if (request->links != NULL && (request->model != NULL || request->have_link_constant))
        return cli_usage("expected either --links or %s, found both",
                         request->model != NULL ? "--model" : "--alpha, --beta and --latency");
    if (request->links != NULL && request->file != NULL && strcmp(request->links, "-") == 0 &&
        strcmp(request->file, "-") == 0)
        return cli_usage("--links: expected sizes or links in a file, found both on standard input");
    return CLI_OK;
}

int espi_cli_gather(int argc, char **argv)
{
    struct request request = {.constants = {100, 1, 0, 0, false}, .b = 1000, .rho = 5, .seed = 1,
                              .root = ESPI_COMMTREE_BEST};

    int code = cli_take_all(&spec, argc, argv, &request);
    if (code == CLI_OK)
        code = check_request(&request);
    return code == CLI_OK ? run_request(&request) : code;
}
