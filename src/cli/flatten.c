/* espalier flatten: the type map of a tree, in the form that `espalier tree` reads. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"
#include "layout/layout.h"

enum { OPTION_LIMIT };

static const struct cli_spec spec = {
    .command = "flatten",
    .operands = "TREE",
    .summary = "Prints the type map of a type tree, one line \"DISPLACEMENT TYPE\" (bytes) per entry, in order. "
               "TREE is the tree's text form, or - for standard input.",
    .options =
        (const struct cli_option[]){
            {"--limit", "N", "refuse a type map of more than N entries (default 10000000)"},
            {NULL, NULL, NULL},
        },
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
    struct cli_args args = cli_args_begin(&spec, argc, argv);
    const char *tree = NULL;
    int64_t limit = 10000000;

    for (int next; (next = cli_next(&args)) != CLI_NEXT_END;)
        switch (next) {
        case CLI_NEXT_HELP:
            return CLI_OK;
        case CLI_NEXT_WRONG:
            return CLI_USAGE;
        case CLI_NEXT_OPERAND:
            if (tree != NULL)
                return cli_usage("expected one tree, found '%s' after it", args.value);
            tree = args.value;
            break;
        case OPTION_LIMIT:
            if (!espi_whole_parse(args.value, strlen(args.value), &limit) || limit < 0)
                return cli_usage("--limit: expected a whole number that is not negative, found '%s'", args.value);
            break;
        }
    if (tree == NULL)
        return cli_usage("expected a tree");
    if (strcmp(tree, "-") != 0)
        return flatten("tree", tree, strlen(tree), limit);
    struct cli_text text;
    if (!cli_read_text("-", &text))
        return CLI_FAILURE;
    int code = flatten("standard input", text.data, text.len, limit);
    free(text.data);
    return code;
}
