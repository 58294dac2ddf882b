#define _GNU_SOURCE
#include "fuzz.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/cli.h"

char fuzz_message[1000];

static void keep_message(const char *format, va_list args)
{
    REQUIRE(vsnprintf(fuzz_message, sizeof fuzz_message, format, args) > 0);
}

int cli_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep_message(format, args);
    va_end(args);
    return CLI_FAILURE;
}

int cli_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep_message(format, args);
    va_end(args);
    return CLI_USAGE;
}

int fuzz_file(const uint8_t *data, size_t size, char name[FUZZ_NAME])
{
    int file = memfd_create("input", 0);
    REQUIRE(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(name, FUZZ_NAME, "/proc/self/fd/%d", file);
    return file;
}
