/* Options from a table, which also is their help. */
#include <stdio.h>
#include <string.h>

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
    for (const struct cli_option *option = spec->options; option->name != NULL; option++)
        print_option(option);
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
    for (int i = 0; args->spec->options[i].name != NULL; i++) {
        const struct cli_option *option = &args->spec->options[i];
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
