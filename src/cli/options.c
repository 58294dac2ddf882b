/* Options from a table, which also is their help. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"

#define HELP_COLUMN 22
#define HELP_WIDTH 100

/* Words of `text`, broken at HELP_WIDTH, later lines indented. */
static void print_wrapped(const char *text, int column)
{
    int at = column;
    while (*text != '\0') {
        int word = (int)strcspn(text, " ");
        if (at > column && at + 1 + word > HELP_WIDTH) {
            printf("\n%*s", column, "");
            at = column;
        }
        printf("%s%.*s", at > column ? " " : "", word, text);
        at += word + (at > column);
        text += word;
        text += strspn(text, " ");
    }
    printf("\n");
}

static void print_option(const struct cli_option *option)
{
    char left[64];
    snprintf(left, sizeof left, "%s%s%s", option->name, option->value ? " " : "", option->value ? option->value : "");
    printf("  %-*s", HELP_COLUMN - 2, left);
    if (strlen(left) + 1 > HELP_COLUMN - 2)
        printf("\n%*s", HELP_COLUMN, "");
    print_wrapped(option->help, HELP_COLUMN);
}

static void print_help(const struct cli_spec *spec)
{
    static const struct cli_option help = {"--help, -h", NULL, "print this text"};
    printf("Usage: espalier %s [OPTION...]%s%s\n\n", spec->command, spec->operands[0] != '\0' ? " " : "",
           spec->operands);
    print_wrapped(spec->summary, 0);
    printf("\nOptions:\n");
    for (const struct cli_row *row = spec->rows; row->option.name != NULL; row++)
        print_option(&row->option);
    print_option(&help);
    if (spec->notes != NULL)
        printf("\n%s\n", spec->notes);
}

/* The option that `text` names, alone or before '='. */
static const struct cli_row *find_row(const struct cli_spec *spec, const char *text)
{
    for (const struct cli_row *row = spec->rows; row->option.name != NULL; row++) {
        size_t len = strlen(row->option.name);
        if (strncmp(text, row->option.name, len) == 0 && (text[len] == '\0' || text[len] == '='))
            return row;
    }
    return NULL;
}

/* The option argv[*at - 1]; its value may be the next argument. */
static int take_option(const struct cli_spec *spec, int argc, char **argv, int *at, void *request)
{
    const char *text = argv[*at - 1], *value = NULL;
    const struct cli_row *row = find_row(spec, text);

    if (row == NULL)
        return cli_usage("unknown option '%s'", text);
    const struct cli_option *option = &row->option;
    bool joined = text[strlen(option->name)] == '=';
    if (option->value == NULL && joined)
        return cli_usage("%s takes no value", option->name);
    if (joined)
        value = text + strlen(option->name) + 1;
    else if (option->value != NULL && *at < argc)
        value = argv[(*at)++];
    else if (option->value != NULL)
        return cli_usage("%s: expected %s after it", option->name, option->value);
    return row->take(row, value, request);
}

static bool is_operand(const char *text)
{
    return text[0] != '-' || text[1] == '\0' || (text[1] >= '0' && text[1] <= '9');
}

int cli_take_all(const struct cli_spec *spec, int argc, char **argv, void *request)
{
    bool only_operands = false;

    for (int at = 1, code = CLI_OK; at < argc;) {
        const char *text = argv[at++];
        if (only_operands || is_operand(text)) {
            code = spec->operand != NULL ? spec->operand(text, request)
                                         : cli_usage("expected options only, found '%s'", text);
            only_operands = only_operands || spec->stop_at_operand;
        } else if (strcmp(text, "--") == 0) {
            only_operands = true;
        } else if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
            print_help(spec);
            return CLI_DONE;
        } else {
            code = take_option(spec, argc, argv, &at, request);
        }
        if (code != CLI_OK)
            return code;
    }
    return CLI_OK;
}

int cli_take_flag(const struct cli_row *row, const char *value, void *request)
{
    (void)value;
    *(bool *)((char *)request + row->at) = true;
    return CLI_OK;
}

int cli_take_text(const struct cli_row *row, const char *value, void *request)
{
    *(const char **)((char *)request + row->at) = value;
    return CLI_OK;
}

int cli_take_whole(const struct cli_row *row, const char *value, void *request)
{
    const char *option = row->option.name;
    int64_t *number = (int64_t *)((char *)request + row->at);

    if (espi_whole_parse(value, strlen(value), number) && *number >= row->least && *number <= row->most)
        return CLI_OK;
    if (row->expected != NULL)
        return cli_usage("%s: expected %s, found '%s'", option, row->expected, value);
    if (row->most == INT64_MAX)
        return cli_usage("%s: expected a whole number from %" PRId64 " up, found '%s'", option, row->least, value);
    return cli_usage("%s: expected a whole number from %" PRId64 " to %" PRId64 ", found '%s'", option, row->least,
                     row->most, value);
}

int cli_wrong_name(const char *option, const char *const *names, const char *value)
{
    char all[256] = "";
    for (int x = 0; names[x] != NULL; x++) {
        strncat(all, x == 0 ? "" : names[x + 1] != NULL ? ", " : " or ", sizeof all - strlen(all) - 1);
        strncat(all, names[x], sizeof all - strlen(all) - 1);
    }
    return cli_usage("%s: expected %s, found '%s'", option, all, value);
}

int cli_take_name(const struct cli_row *row, const char *value, void *request)
{
    for (int x = 0; row->names[x] != NULL; x++) {
        if (strcmp(value, row->names[x]) == 0) {
            *(int *)((char *)request + row->at) = x;
            return CLI_OK;
        }
    }
    return cli_wrong_name(row->option.name, row->names, value);
}
