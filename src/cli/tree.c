/* espalier tree: a least-cost type tree of a type map, or of another tree; its costs, or a picture. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/draw.h"
#include "layout/layout.h"
#include "reconstruct/fold.h"
#include "reconstruct/reconstruct.h"
#include "stats/json.h"

enum { OPTION_COST, OPTION_SET, OPTION_UNIT, OPTION_BASE, OPTION_COSTS, OPTION_FROM_TREE, OPTION_FORMAT };

static const struct cli_spec spec = {
    .command = "tree",
    .operands = "[FILE]",
    .summary = "Prints a type tree of least cost for a type map. FILE (default: standard input) has one entry a "
               "line, in order: \"DISPLACEMENT [TYPE]\"; # begins a comment.",
    .options =
        (const struct cli_option[]){
            {"--cost", NULL, "print the cost only"},
            {"--set", "NAME", "constructors that may be used: basic (leaf, vec, idx, struc), mpi (and idxbuc; the "
                              "default) or extended (and bucket, which MPI does not have)"},
            {"--unit", "N", "displacements count N bytes (default 1)"},
            {"--base", "TYPE", "type of lines that name none (default MPI_BYTE)"},
            {"--costs", "K=V,..", "words per node: leaf vec idx idx_each idxbuc idxbuc_each struc struc_each bucket "
                                  "bucket_each"},
            {"--from-tree", "TREE", "take the type map from a tree in text form instead of FILE"},
            {"--format", "FORMAT", "text (the default), json, or a picture: dot (for Graphviz) or svg"},
            {NULL, NULL, NULL},
        },
    .notes = "Prints: the tree; its cost in words; the cost with equal subtrees counted once; the length of the\n"
             "type map; whether no cheaper tree exists.",
};

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_DOT, FORMAT_SVG };

static const char *const format_names[] = {"text", "json", "dot", "svg"};
static const char *const set_names[] = {"basic", "mpi", "extended"};

enum { FORMATS = sizeof format_names / sizeof *format_names, SETS = sizeof set_names / sizeof *set_names };

struct request {
    struct espi_reconstruct_options options;
    const char *file, *from_tree;
    int64_t unit;
    espi_base base;
    bool cost_only;
    enum format format;
};

enum { SHOWN = 40 };

/* A word of the input for an error message: cut, and without bytes that a terminal or a log could choke on. */
static const char *show_word(char shown[SHOWN + 1], const char *word, size_t len)
{
    len = len > SHOWN ? SHOWN : len;
    for (size_t i = 0; i < len; i++)
        shown[i] = word[i] >= ' ' && word[i] <= '~' ? word[i] : '?';
    shown[len] = '\0';
    return shown;
}

/* One line without its line end: blank, comment, or an entry that is appended. */
static int read_line(const struct request *request, const char *shown, size_t number, const char *line, size_t len,
                     struct espi_typemap *map)
{
    static const char blank[] = " \t\r";
    const char *comment = memchr(line, '#', len);
    const char *word[2];
    size_t word_len[2], words = 0;
    char text[SHOWN + 1];
    int64_t disp, end;

    if (comment != NULL)
        len = (size_t)(comment - line);
    for (size_t at = 0; at < len;) {
        if (line[at] != '\0' && strchr(blank, line[at]) != NULL) {
            at++;
            continue;
        }
        size_t stop = at;
        while (stop < len && (line[stop] == '\0' || strchr(blank, line[stop]) == NULL))
            stop++;
        if (words == 2)
            return cli_fail("%s:%zu: expected DISPLACEMENT [TYPE], found '%s' after them", shown, number,
                            show_word(text, line + at, stop - at));
        word[words] = line + at;
        word_len[words++] = stop - at;
        at = stop;
    }
    if (words == 0)
        return CLI_OK;
    if (!cli_parse_number(word[0], word_len[0], &disp)) {
        bool sign = word[0][0] == '+' || word[0][0] == '-';
        bool digits = word_len[0] > sign && strspn(word[0] + sign, "0123456789") >= word_len[0] - sign;
        return cli_fail("%s:%zu: expected a displacement (a whole number%s), found '%s'", shown, number,
                        digits ? " that fits 64 bits" : "", show_word(text, word[0], word_len[0]));
    }
    if (__builtin_mul_overflow(disp, request->unit, &disp))
        return cli_fail("%s:%zu: expected a displacement that fits 64 bits, found %s times %" PRId64, shown, number,
                        show_word(text, word[0], word_len[0]), request->unit);
    espi_base base = words == 2 ? espi_base_find(word[1], word_len[1]) : request->base;
    if (base == ESPI_BASE_NONE)
        return cli_fail("%s:%zu: expected a predefined MPI datatype (MPI_DOUBLE, say), found '%s'", shown, number,
                        show_word(text, word[1], word_len[1]));
    if (__builtin_add_overflow(disp, espi_base_info(base)->extent, &end))
        return cli_fail("%s:%zu: expected an end of the entry that fits 64 bits, found %s", shown, number,
                        show_word(text, word[0], word_len[0]));
    if (espi_typemap_append(map, base, disp) != ESPI_OK)
        return cli_fail("%s:%zu: no memory for so many entries", shown, number);
    return CLI_OK;
}

static int read_map(const struct request *request, struct espi_typemap *map)
{
    const char *shown = strcmp(request->file, "-") == 0 ? "standard input" : request->file;
    struct cli_text text;
    int code = CLI_OK;

    if (!cli_read_text(request->file, &text))
        return CLI_FAILURE;
    for (size_t at = 0, number = 1; at < text.len && code == CLI_OK; number++) {
        const char *end = memchr(text.data + at, '\n', text.len - at);
        size_t len = end != NULL ? (size_t)(end - text.data) - at : text.len - at;
        code = read_line(request, shown, number, text.data + at, len, map);
        at += len + 1;
    }
    free(text.data);
    return code;
}

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
        status = (request->format == FORMAT_DOT ? cli_draw_dot : cli_draw_svg)(stdout, result->tree, costs);
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
    if (result->exact)
        printf("exact   yes\n");
    else
        printf("exact   no; no tree costs less than %" PRId64 "\n", result->lower_bound);
    return CLI_OK;
}

static int carry_out(const struct request *request)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    struct espi_reconstruction result;
    struct espi_parse_error error;
    const struct espi_node *input;
    espi_status status = ESPI_OK;
    int code = CLI_OK;

    if (request->from_tree != NULL) {
        status = espi_parse(&arena, request->from_tree, strlen(request->from_tree), &input, &error);
        if (status == ESPI_OK)
            status = espi_normalize(&arena, input, &request->options, &result);
        else if (status != ESPI_ERR_MEMORY)
            code = cli_fail("tree:%zu:%zu: %s", error.line, error.column, error.text);
    } else {
        code = read_map(request, &map);
        if (code == CLI_OK)
            status = espi_reconstruct(&arena, &map, NULL, &request->options, &result);
    }
    if (code == CLI_OK && status != ESPI_OK)
        code = cli_fail("%s", espi_status_text(status));
    if (code == CLI_OK)
        code = print_result(request, &arena, &result);
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
        if (!cli_parse_number(value, strlen(value), &request->unit) || request->unit <= 0)
            return cli_usage("--unit: expected a whole number above 0, found '%s'", value);
        break;
    case OPTION_BASE:
        request->base = espi_base_find(value, strlen(value));
        if (request->base == ESPI_BASE_NONE)
            return cli_usage("--base: expected a predefined MPI datatype (MPI_DOUBLE, say), found '%s'", value);
        break;
    case OPTION_COSTS:
        if (espi_costs_parse(value, &request->options.costs, &where) != ESPI_OK)
            return cli_usage("--costs: expected K=V,.. (V not negative), found '%s' at byte %zu", value + where,
                             where + 1);
        break;
    case OPTION_FROM_TREE:
        request->from_tree = value;
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
    struct request request = {.unit = 1, .base = espi_base_find("MPI_BYTE", 8)};

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
    if (request.file == NULL)
        request.file = "-";
    return carry_out(&request);
}
