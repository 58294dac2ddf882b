/* espalier settings: the table, with the values that a program started here would see. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "cli/cli.h"

extern char **environ;

struct request {
    bool names;
};

static int refuse_operand(const char *value, void *request)
{
    (void)request;
    return cli_usage("unexpected operand '%s'", value);
}

static const struct cli_spec spec = {
    .command = "settings",
    .operands = "",
    .summary = "Lists every setting: its value as a program started from here would see it, where that comes from, "
               "what is allowed and what it does.",
    .rows =
        (const struct cli_row[]){
            {.option = {"--names", NULL, "print the names only"},
             .take = cli_take_flag, .at = offsetof(struct request, names)},
            {.option = {NULL, NULL, NULL}},
        },
    .operand = refuse_operand,
};

static const char *get_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

static void warn_user(void *context, const char *message)
{
    (void)context;
    cli_fail("%s", message);
}

static void print_setting(const struct espi_settings *settings, enum espi_setting which)
{
    const struct espi_setting_info *info = &espi_setting_table[which];
    char value[ESPI_SETTING_TEXT];

    espi_settings_value(settings, which, value, sizeof value);
    for (char *c = value; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    printf("%s=%s\n", info->variable, value);
    printf("    from %s; allowed: %s; default: %s\n", espi_source_text((enum espi_source)settings->source[which]),
           info->allowed, info->default_text[0] != '\0' ? info->default_text : "(not set)");
    printf("    %s\n", info->help);
}

int espi_cli_settings(int argc, char **argv)
{
    struct request request = {false};
    struct espi_settings settings;

    int code = cli_take_all(&spec, argc, argv, &request);
    if (code != CLI_OK)
        return code;
    if (!request.names) {
        espi_settings_load(&settings, get_variable, NULL, warn_user, NULL);
        espi_settings_unknown(environ, warn_user, NULL);
    }
    for (int i = 0; i < ESPI_SETTING_COUNT; i++)
        if (request.names)
            printf("%s\n", espi_setting_table[i].variable);
        else
            print_setting(&settings, (enum espi_setting)i);
    return CLI_OK;
}
