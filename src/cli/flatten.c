/* espalier flatten: the type map of a tree, in the form that `espalier tree` reads. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "layout/layout.h"

struct request {
    const char *tree;
    int64_t limit;
};

static int take_tree(const char *value, void *into)
{
    struct request *request = into;
    if (request->tree != NULL)
        return cli_usage("expected one tree, found '%s' after it", value);
    request->tree = value;
    return CLI_OK;
}

static const struct cli_spec spec = {
    .command = "flatten",
    .operands = "TREE",
    .summary = "Prints the type map of a type tree, one line \"DISPLACEMENT TYPE\" (bytes) per entry, in order. "
               "TREE is the tree's text form, or - for standard input.",
    .rows =
        (const struct cli_row[]){
            {.option = {"--limit", "N", "refuse a type map of more than N entries (default 10000000)"},
             .take = cli_take_whole, .at = offsetof(struct request, limit), .most = INT64_MAX,
             .expected = "a whole number that is not negative"},
            {.option = {NULL, NULL, NULL}},
        },
    .operand = take_tree,
    .notes = "Text form: leaf(MPI_INT)  vec(COUNT,STRIDE,TREE)  idx(COUNT,<I,..>,TREE)\n"
             "           idxbuc(COUNT,STRIDE,<I,..>,<A,..>,TREE)  struc(COUNT,<I,..>,<TREE,..>)\n"
             "           bucket(COUNT,STRIDE1,STRIDE2,<A,..>,TREE)      strides and displacements in bytes",
};

static int flatten(const char *shown, const char *text, size_t len, int64_t limit)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    struct espi_parse_error error;
    const struct espi_node *tree;
    int code = CLI_OK;

    espi_status status = espi_parse(&arena, text, len, &tree, &error);
    if (status == ESPI_ERR_MEMORY) {
        code = cli_fail("no memory");
    } else if (status != ESPI_OK) {
        code = cli_fail("%s:%zu:%zu: %s", shown, error.line, error.column, error.text);
    } else {
        status = espi_flatten(tree, 0, (size_t)limit, &map);
        if (status == ESPI_ERR_LIMIT)
            code = cli_fail("the type map has %" PRId64 " entries; expected at most %" PRId64 " (--limit)",
                            tree->entries, limit);
        else if (status != ESPI_OK)
            code = cli_fail("%s", espi_status_text(status));
    }
    for (size_t i = 0; code == CLI_OK && i < map.n; i++)
        printf("%" PRId64 " %s\n", map.disp[i], espi_base_info(map.base[i])->name);
    espi_typemap_release(&map);
    espi_arena_release(&arena);
    return code;
}

int espi_cli_flatten(int argc, char **argv)
{
    struct request request = {NULL, 10000000};
    struct cli_text text;

    int code = cli_take_all(&spec, argc, argv, &request);
    if (code != CLI_OK)
        return code;
    if (request.tree == NULL)
        return cli_usage("expected a tree");
    if (strcmp(request.tree, "-") != 0)
        return flatten("tree", request.tree, strlen(request.tree), request.limit);
    if (!cli_read_text("-", &text))
        return CLI_FAILURE;
    code = flatten("standard input", text.data, text.len, request.limit);
    free(text.data);
    return code;
}
