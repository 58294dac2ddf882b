/* Options from a table, which also is their help. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"

#define HELP_COLUMN 22
#define HELP_WIDTH 100

struct cli_args cli_args_begin(const struct cli_spec *spec, int argc, char **argv)
{
    return (struct cli_args){.spec = spec, .argc = argc, .argv = argv, .at = 1};
}

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

/* The i-th option, or NULL. */
static const struct cli_option *option_at(const struct cli_spec *spec, int i)
{
    const struct cli_option *option = spec->rows != NULL ? &spec->rows[i].option : &spec->options[i];
    return option->name != NULL ? option : NULL;
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
    for (int i = 0; option_at(spec, i) != NULL; i++)
        print_option(option_at(spec, i));
    print_option(&help);
    if (spec->notes != NULL)
        printf("\n%s\n", spec->notes);
}

int cli_next(struct cli_args *args)
{
    if (args->at >= args->argc)
        return CLI_NEXT_END;
    char *text = args->argv[args->at++];
    bool number = text[0] == '-' && text[1] >= '0' && text[1] <= '9';

    if (args->only_operands || text[0] != '-' || text[1] == '\0' || number) {
        args->value = text;
        if (args->spec->stop_at_operand)
            args->only_operands = true;
        return CLI_NEXT_OPERAND;
    }
    if (strcmp(text, "--") == 0) {
        args->only_operands = true;
        return cli_next(args);
    }
    if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
        print_help(args->spec);
        return CLI_NEXT_HELP;
    }
    for (int i = 0; option_at(args->spec, i) != NULL; i++) {
        const struct cli_option *option = option_at(args->spec, i);
        size_t len = strlen(option->name);
        if (strncmp(text, option->name, len) != 0 || (text[len] != '\0' && text[len] != '='))
            continue;
        if (option->value == NULL && text[len] == '=') {
            cli_usage("%s takes no value", option->name);
            return CLI_NEXT_WRONG;
        }
        if (option->value == NULL || text[len] == '=') {
            args->value = option->value != NULL ? text + len + 1 : NULL;
            return i;
        }
        if (args->at >= args->argc) {
            cli_usage("%s: expected %s after it", option->name, option->value);
            return CLI_NEXT_WRONG;
        }
        args->value = args->argv[args->at++];
        return i;
    }
    cli_usage("unknown option '%s'", text);
    return CLI_NEXT_WRONG;
}

int cli_take_all(const struct cli_spec *spec, int argc, char **argv, void *request)
{
    struct cli_args args = cli_args_begin(spec, argc, argv);

    for (int next; (next = cli_next(&args)) != CLI_NEXT_END;) {
        int code;
        if (next == CLI_NEXT_HELP)
            return CLI_DONE;
        if (next == CLI_NEXT_WRONG)
            return CLI_USAGE;
        if (next != CLI_NEXT_OPERAND)
            code = spec->rows[next].take(&spec->rows[next], args.value, request);
        else if (spec->operand != NULL)
            code = spec->operand(args.value, request);
        else
            code = cli_usage("expected options only, found '%s'", args.value);
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
