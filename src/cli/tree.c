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
#include "pack/pack.h"
#include "reconstruct/fold.h"
#include "reconstruct/reconstruct.h"
#include "transpack/transpack.h"
#include "stats/json.h"

enum { FLATTEN_LIMIT = 10000000 }; /* entries of --from-tree with --onto */

enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_DOT, FORMAT_SVG };

static const char *const format_names[] = {"text", "json", "dot", "svg", NULL};
static const char *const set_names[] = {"basic", "mpi", "extended", NULL}; /* enum espi_set */

struct request {
    struct espi_reconstruct_options options;
    struct cli_map_form form;
    const char *file, *from_tree, *onto;
    const char *line_option; /* an option for lines of type maps that was given */
    bool cost_only, program;
    int set, format;
};

static int take_unit(const struct cli_row *row, const char *value, void *into)
{
    ((struct request *)into)->line_option = "--unit";
    return cli_take_whole(row, value, into);
}

static int take_base(const struct cli_row *row, const char *value, void *into)
{
    struct request *request = into;
    (void)row;
    request->form.base = espi_base_find(value, strlen(value));
    request->line_option = "--base";
    if (request->form.base == ESPI_BASE_NONE)
        return cli_usage("--base: expected a predefined MPI datatype (MPI_DOUBLE, say), found '%s'", value);
    return CLI_OK;
}

static int take_costs(const struct cli_row *row, const char *value, void *into)
{
    struct request *request = into;
    size_t where = 0;
    (void)row;
    if (espi_costs_parse(value, &request->options.costs, &where) == ESPI_OK)
        return CLI_OK;
    return cli_usage("--costs: expected K=V,.. with keys leaf, vec, idx, idx_each, idxbuc, idxbuc_each, "
                     "struc, struc_each, bucket, bucket_each and whole numbers from 0 to %" PRId64
                     ", found '%s' at byte %zu",
                     ESPI_COST_MAX, value + where, where + 1);
}

static int take_file(const char *value, void *into)
{
    struct request *request = into;
    if (request->file != NULL)
        return cli_usage("expected one file, found '%s' after it", value);
    request->file = value;
    return CLI_OK;
}

#define MEMBER(name) .at = offsetof(struct request, name)

static const struct cli_spec spec = {
    .command = "tree",
    .operands = "[FILE]",
    .summary = "Prints a type tree of least cost for a type map. FILE (default: standard input) has one entry a "
               "line, in order: \"DISPLACEMENT [TYPE]\"; # begins a comment.",
    .rows =
        (const struct cli_row[]){
            {.option = {"--cost", NULL, "print the cost only, whatever --format says"},
             .take = cli_take_flag, MEMBER(cost_only)},
            {.option = {"--set", "NAME", "constructors that may be used: basic (leaf, vec, idx, struc), mpi (and "
                                         "idxbuc; the default) or extended (and bucket, which MPI does not have)"},
             .take = cli_take_name, MEMBER(set), .names = set_names},
            {.option = {"--unit", "N", "displacements count N bytes (default 1)"},
             .take = take_unit, MEMBER(form.unit), .least = 1, .most = INT64_MAX,
             .expected = "a whole number above 0"},
            {.option = {"--base", "TYPE", "type of lines that name none (default MPI_BYTE)"}, .take = take_base},
            {.option = {"--costs", "K=V,..", "words per node: leaf vec idx idx_each idxbuc idxbuc_each struc "
                                             "struc_each bucket bucket_each"},
             .take = take_costs},
            {.option = {"--from-tree", "TREE", "take the type map from a tree in text form instead of FILE; - is "
                                               "standard input"},
             .take = cli_take_text, MEMBER(from_tree)},
            {.option = {"--onto", "FILE", "one tree over pairs of displacements that copies data of the layout onto "
                                          "the layout in this file"},
             .take = cli_take_text, MEMBER(onto)},
            {.option = {"--program", NULL, "print, too, the loops by which Espalier packs one item of the tree, and "
                                           "the memory that they touch"},
             .take = cli_take_flag, MEMBER(program)},
            {.option = {"--format", "FORMAT", "text (the default), json, or a picture: dot (for Graphviz) or svg"},
             .take = cli_take_name, MEMBER(format), .names = format_names},
            {.option = {NULL, NULL, NULL}},
        },
    .operand = take_file,
    .notes = "Prints: the tree; its cost in words; the cost with equal subtrees counted once; the length of the\n"
             "type map; whether no cheaper tree exists.",
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

/* The pack program of one item. */
static int print_program(struct espi_arena *arena, const struct espi_node *tree)
{
    const struct espi_pack *pack;
    espi_status status = espi_pack_compile(arena, tree, 0, &pack);
    if (status != ESPI_OK)
        return cli_fail("%s", espi_status_text(status));
    const struct espi_pack_cost cost = espi_pack_cost(pack, 1);
    printf("program\n");
    espi_pack_print(pack, 8, stdout);
    printf("bytes   %" PRId64 " in %" PRId64 " blocks\n", cost.bytes, cost.blocks);
    printf("lines   %" PRId64 " of the layout, %" PRId64 " of the stream\n", cost.lines, (cost.bytes + 63) / 64);
    printf("lists   %" PRId64 " bytes\n", cost.lists);
    return CLI_OK;
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
    return request->program ? print_program(arena, result->tree) : CLI_OK;
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

int espi_cli_tree(int argc, char **argv)
{
    struct request request = {.form = {1, espi_base_find("MPI_BYTE", 8)}, .set = ESPI_SET_MPI};

    espi_reconstruct_defaults(&request.options);
    int code = cli_take_all(&spec, argc, argv, &request);
    if (code != CLI_OK)
        return code;
    request.options.set = (enum espi_set)request.set;
    if (request.from_tree != NULL && request.file != NULL)
        return cli_usage("expected a file or --from-tree, found both");
    if (request.from_tree != NULL && request.onto == NULL && request.line_option != NULL)
        return cli_usage("%s: it is for lines of a type map; the tree of --from-tree has its own displacements and "
                         "types",
                         request.line_option);
    if (request.program && (request.onto != NULL || request.cost_only || request.format != FORMAT_TEXT))
        return cli_usage("--program: it belongs to the text form of one layout; expected none of --onto, --cost and "
                         "another --format");
    if (request.file == NULL)
        request.file = "-";
    if (request.onto != NULL && strcmp(request.onto, "-") == 0 &&
        strcmp(request.from_tree != NULL ? request.from_tree : request.file, "-") == 0)
        return cli_usage("--onto: expected one of the two layouts in a file, found both on standard input");
    return carry_out(&request);
}
