/* Messages of the command on stderr, without control bytes. */
#include <stdarg.h>
#include <stdio.h>

#include "cli/cli.h"

const char *cli_command;

static void message(const char *format, va_list args)
{
    char text[2048];
    vsnprintf(text, sizeof text, format, args);
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    fflush(stdout); /* what was printed before stands before */
    fprintf(stderr, "espalier%s%s: %s\n", cli_command ? " " : "", cli_command ? cli_command : "", text);
}

int cli_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    message(format, args);
    va_end(args);
    return CLI_FAILURE;
}

int cli_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    message(format, args);
    va_end(args);
    fprintf(stderr, "Try 'espalier%s%s --help'.\n", cli_command ? " " : "", cli_command ? cli_command : "");
    return CLI_USAGE;
}
