/* espalier tree: a least-cost type tree of a type map, or of another tree; its costs, or a picture. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"
#include "cli/draw.h"
#include "cli/mapfile.h"
#include "layout/layout.h"
#include "reconstruct/fold.h"
#include "reconstruct/reconstruct.h"
#include "reconstruct/transpack.h"
#include "stats/json.h"

enum {
    OPTION_COST,
    OPTION_SET,
    OPTION_UNIT,
    OPTION_BASE,
    OPTION_COSTS,
    OPTION_FROM_TREE,
    OPTION_ONTO,
    OPTION_FORMAT
};

static const struct cli_spec spec = {
    .command = "tree",
    .operands = "[FILE]",
    .summary = "Prints a type tree of least cost for a type map. FILE (default: standard input) has one entry a "
               "line, in order: \"DISPLACEMENT [TYPE]\"; # begins a comment.",
    .options =
        (const struct cli_option[]){
            {"--cost", NULL, "print the cost only, whatever --format says"},
            {"--set", "NAME", "constructors that may be used: basic (leaf, vec, idx, struc), mpi (and idxbuc; the "
                              "default) or extended (and bucket, which MPI does not have)"},
            {"--unit", "N", "displacements count N bytes (default 1)"},
            {"--base", "TYPE", "type of lines that name none (default MPI_BYTE)"},
            {"--costs", "K=V,..", "words per node: leaf vec idx idx_each idxbuc idxbuc_each struc struc_each bucket "
                                  "bucket_each"},
            {"--from-tree", "TREE", "take the type map from a tree in text form instead of FILE; - is standard "
                                    "input"},
            {"--onto", "FILE", "one tree over pairs of displacements that copies data of the layout onto the layout "
                               "in this file"},
            {"--format", "FORMAT", "text (the default), json, or a picture: dot (for Graphviz) or svg"},
            {NULL, NULL, NULL},
        },
    .notes = "Prints: the tree; its cost in words; the cost with equal subtrees counted once; the length of the\n"
             "type map; whether no cheaper tree exists.",
};

enum { FLATTEN_LIMIT = 10000000 }; /* entries of --from-tree with --onto */

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_DOT, FORMAT_SVG };

static const char *const format_names[] = {"text", "json", "dot", "svg"};
static const char *const set_names[] = {"basic", "mpi", "extended"};

enum { FORMATS = sizeof format_names / sizeof *format_names, SETS = sizeof set_names / sizeof *set_names };

struct request {
    struct espi_reconstruct_options options;
    struct cli_map_form form;
    const char *file, *from_tree, *onto;
    const char *line_option; /* an option for lines of type maps that was given */
    bool cost_only;
    enum format format;
};

static int print_json(const struct request *request, const struct espi_reconstruction *result,
                      const struct espi_folded *folded)
{
    struct espi_buffer out = ESPI_BUFFER_INIT;
    struct espi_json json = {.out = &out};
    size_t len = espi_print(result->tree, 0, NULL, 0);
    char *text = malloc(len + 1);

    if (text == NULL)
        return cli_fail("no memory");
    espi_print(result->tree, 0, text, len + 1);
    espi_json_begin(&json, NULL, '{', false);
    espi_json_string(&json, "tree", text);
    espi_json_integer(&json, "cost", result->cost);
    espi_json_integer(&json, "folded_cost", folded->dag_cost);
    espi_json_integer(&json, "folded_nodes", (int64_t)folded->nodes);
    espi_json_integer(&json, "length", result->tree->entries);
    espi_json_bool(&json, "exact", result->exact);
    espi_json_integer(&json, "lower_bound", result->lower_bound);
    espi_json_string(&json, "set", set_names[request->options.set]);
    espi_json_end(&json, '}');
    free(text);
    int code = out.failed ? cli_fail("no memory") : CLI_OK;
    if (code == CLI_OK)
        fwrite(out.data, 1, out.len, stdout);
    espi_buffer_release(&out);
    return code;
}

static void print_exact(bool exact, int64_t lower_bound)
{
    if (exact)
        printf("exact   yes\n");
    else
        printf("exact   no; no tree costs less than %" PRId64 "\n", lower_bound);
}

static int print_result(const struct request *request, struct espi_arena *arena,
                        const struct espi_reconstruction *result)
{
    const struct espi_costs *costs = &request->options.costs;
    struct espi_folded folded;
    espi_status status;

    if (request->cost_only) {
        printf("%" PRId64 "\n", result->cost);
        return CLI_OK;
    }
    if (request->format == FORMAT_DOT || request->format == FORMAT_SVG) {
        status = (request->format == FORMAT_DOT ? cli_draw_dot : cli_draw_svg)(stdout, result->tree, NULL, costs);
        /* What could not be written is reported at the end. */
        return status == ESPI_OK || status == ESPI_ERR_IO ? CLI_OK : cli_fail("%s", espi_status_text(status));
    }
    status = espi_fold(arena, result->tree, costs, &folded);
    if (status != ESPI_OK)
        return cli_fail("%s", espi_status_text(status));
    if (request->format == FORMAT_JSON)
        return print_json(request, result, &folded);
    printf("tree    ");
    espi_print_file(result->tree, 0, stdout);
    printf("\ncost    %" PRId64 "\nfolded  %" PRId64 "\nlength  %" PRId64 "\n", result->cost, folded.dag_cost,
           result->tree->entries);
    print_exact(result->exact, result->lower_bound);
    return CLI_OK;
}

static int print_onto(const struct request *request, const struct espi_transpacking *result)
{
    struct espi_buffer out = ESPI_BUFFER_INIT;
    struct espi_json json = {.out = &out};
    const struct espi_node *const side[2] = {result->from, result->onto};
    static const char *const name[2] = {"from", "onto"};

    if (request->cost_only) {
        printf("%" PRId64 "\n", result->cost);
        return CLI_OK;
    }
    if (request->format == FORMAT_TEXT) {
        for (int s = 0; s < 2; s++) {
            printf("%s    ", name[s]);
            espi_print_file(side[s], 0, stdout);
            printf("\n");
        }
        printf("cost    %" PRId64 "\nlength  %" PRId64 "\n", result->cost, result->from->entries);
        print_exact(result->exact, result->lower_bound);
        return CLI_OK;
    }
    if (request->format != FORMAT_JSON) {
        struct espi_costs pair = espi_transpack_costs(&request->options.costs);
        espi_status status = (request->format == FORMAT_DOT ? cli_draw_dot : cli_draw_svg)(stdout, result->from,
                                                                                           result->onto, &pair);
        return status == ESPI_OK || status == ESPI_ERR_IO ? CLI_OK : cli_fail("%s", espi_status_text(status));
    }
    espi_json_begin(&json, NULL, '{', false);
    for (int s = 0; s < 2; s++) {
        size_t len = espi_print(side[s], 0, NULL, 0);
        char *text = malloc(len + 1);
        if (text == NULL) {
            espi_buffer_release(&out);
            return cli_fail("no memory");
        }
        espi_print(side[s], 0, text, len + 1);
        espi_json_string(&json, name[s], text);
        free(text);
    }
    espi_json_integer(&json, "cost", result->cost);
    espi_json_integer(&json, "length", result->from->entries);
    espi_json_bool(&json, "exact", result->exact);
    espi_json_integer(&json, "lower_bound", result->lower_bound);
    espi_json_string(&json, "set", set_names[request->options.set]);
    espi_json_end(&json, '}');
    int code = out.failed ? cli_fail("no memory") : CLI_OK;
    if (code == CLI_OK)
        fwrite(out.data, 1, out.len, stdout);
    espi_buffer_release(&out);
    return code;
}

/* The map of FILE or --from-tree onto that of --onto. */
static int carry_out_onto(const struct request *request, struct espi_arena *arena, const struct espi_typemap *from)
{
    struct espi_typemap onto = ESPI_TYPEMAP_INIT;
    struct espi_transpacking result;
    size_t i = 0;
    int code = cli_read_map(request->onto, &request->form, &onto);

    if (code == CLI_OK) {
        while (i < from->n && i < onto.n && from->base[i] == onto.base[i])
            i++;
        if (i < from->n && i < onto.n)
            code = cli_fail("--onto: expected layouts of equal signature; entry %zu is %s in one and %s in the other",
                            i + 1, espi_base_info(from->base[i])->name, espi_base_info(onto.base[i])->name);
        else if (from->n != onto.n)
            code = cli_fail("--onto: expected layouts of equal signature; one has %zu entries, the other %zu",
                            from->n, onto.n);
    }
    if (code == CLI_OK) {
        espi_status status = espi_transpack(arena, from, &onto, &request->options, &result);
        code = status == ESPI_OK ? print_onto(request, &result) : cli_fail("%s", espi_status_text(status));
    }
    espi_typemap_release(&onto);
    return code;
}

/* The tree of --from-tree; CLI_OK or the exit code. */
static int read_tree(const char *from_tree, struct espi_arena *arena, const struct espi_node **tree)
{
    bool standard = strcmp(from_tree, "-") == 0;
    struct cli_text text = {.data = (char *)from_tree, .len = strlen(from_tree)};
    struct espi_parse_error error;

    if (standard && !cli_read_text("-", &text))
        return CLI_FAILURE;
    espi_status status = espi_parse(arena, text.data, text.len, tree, &error);
    if (standard)
        free(text.data);
    if (status == ESPI_OK)
        return CLI_OK;
    if (status == ESPI_ERR_MEMORY)
        return cli_fail("no memory");
    return cli_fail("%s:%zu:%zu: %s", standard ? "standard input" : "tree", error.line, error.column, error.text);
}

static int carry_out(const struct request *request)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    struct espi_reconstruction result;
    const struct espi_node *input;
    espi_status status = ESPI_OK;
    int code = CLI_OK;

    if (request->from_tree != NULL) {
        code = read_tree(request->from_tree, &arena, &input);
        if (code == CLI_OK && request->onto != NULL) {
            status = espi_flatten(input, 0, FLATTEN_LIMIT, &map);
            if (status == ESPI_ERR_LIMIT)
                code = cli_fail("the tree has %" PRId64 " entries; --onto takes at most %d", input->entries,
                                FLATTEN_LIMIT);
        } else if (code == CLI_OK)
            status = espi_normalize(&arena, input, &request->options, &result);
    } else {
        code = cli_read_map(request->file, &request->form, &map);
        if (code == CLI_OK && request->onto == NULL)
            status = espi_reconstruct(&arena, &map, NULL, &request->options, &result);
    }
    if (code == CLI_OK && status != ESPI_OK)
        code = cli_fail("%s", espi_status_text(status));
    if (code == CLI_OK)
        code = request->onto != NULL ? carry_out_onto(request, &arena, &map) : print_result(request, &arena, &result);
    espi_typemap_release(&map);
    espi_arena_release(&arena);
    return code;
}

/* The place of `value` among n names; n when it is none of them. */
static int find_name(const char *const *names, int n, const char *value)
{
    int i = 0;
    while (i < n && strcmp(names[i], value) != 0)
        i++;
    return i;
}

/* One option; CLI_OK or the exit code. */
static int take_option(struct request *request, int option, const char *value)
{
    size_t where = 0;
    int name;

    switch (option) {
    case OPTION_COST:
        request->cost_only = true;
        break;
    case OPTION_SET:
        name = find_name(set_names, SETS, value);
        if (name == SETS)
            return cli_usage("--set: expected basic, mpi or extended, found '%s'", value);
        request->options.set = (enum espi_set)name;
        break;
    case OPTION_UNIT:
        if (!espi_whole_parse(value, strlen(value), &request->form.unit) || request->form.unit <= 0)
            return cli_usage("--unit: expected a whole number above 0, found '%s'", value);
        request->line_option = "--unit";
        break;
    case OPTION_BASE:
        request->form.base = espi_base_find(value, strlen(value));
        if (request->form.base == ESPI_BASE_NONE)
            return cli_usage("--base: expected a predefined MPI datatype (MPI_DOUBLE, say), found '%s'", value);
        request->line_option = "--base";
        break;
    case OPTION_COSTS:
        if (espi_costs_parse(value, &request->options.costs, &where) != ESPI_OK)
            return cli_usage("--costs: expected K=V,.. with keys leaf, vec, idx, idx_each, idxbuc, idxbuc_each, "
                             "struc, struc_each, bucket, bucket_each and whole numbers from 0 to %" PRId64
                             ", found '%s' at byte %zu",
                             ESPI_COST_MAX, value + where, where + 1);
        break;
    case OPTION_FROM_TREE:
        request->from_tree = value;
        break;
    case OPTION_ONTO:
        request->onto = value;
        break;
    case OPTION_FORMAT:
        name = find_name(format_names, FORMATS, value);
        if (name == FORMATS)
            return cli_usage("--format: expected text, json, dot or svg, found '%s'", value);
        request->format = (enum format)name;
        break;
    }
    return CLI_OK;
}

int espi_cli_tree(int argc, char **argv)
{
    struct cli_args args = cli_args_begin(&spec, argc, argv);
    struct request request = {.form = {1, espi_base_find("MPI_BYTE", 8)}};

    espi_reconstruct_defaults(&request.options);
    request.options.set = ESPI_SET_MPI;
    for (int next; (next = cli_next(&args)) != CLI_NEXT_END;) {
        int code = CLI_OK;
        if (next == CLI_NEXT_HELP)
            return CLI_OK;
        if (next == CLI_NEXT_WRONG)
            return CLI_USAGE;
        if (next != CLI_NEXT_OPERAND)
            code = take_option(&request, next, args.value);
        else if (request.file != NULL)
            code = cli_usage("expected one file, found '%s' after it", args.value);
        else
            request.file = args.value;
        if (code != CLI_OK)
            return code;
    }
    if (request.from_tree != NULL && request.file != NULL)
        return cli_usage("expected a file or --from-tree, found both");
    if (request.from_tree != NULL && request.onto == NULL && request.line_option != NULL)
        return cli_usage("%s: it is for lines of a type map; the tree of --from-tree has its own displacements and "
                         "types",
                         request.line_option);
    if (request.file == NULL)
        request.file = "-";
    if (request.onto != NULL && strcmp(request.onto, "-") == 0 &&
        strcmp(request.from_tree != NULL ? request.from_tree : request.file, "-") == 0)
        return cli_usage("--onto: expected one of the two layouts in a file, found both on standard input");
    return carry_out(&request);
}
