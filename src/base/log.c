#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/write_all.h"

static _Atomic int log_level = ESPI_LOG_WARN;

void espi_log_set_level(enum espi_log_level level)
{
    atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

bool espi_log_enabled(enum espi_log_level level)
{
    return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

void espi_log_text(const char *text, size_t len)
{
    int saved_errno = errno;
    espi_write_all(STDERR_FILENO, text, len); /* nobody could be told of a failure */
    errno = saved_errno;
}

void espi_log(enum espi_log_level level, const char *format, ...)
{
    static const char *const prefix[] = {"espalier: error: ", "espalier: warning: ", "espalier: ",
                                         "espalier: debug: "};
    char line[ESPI_LOG_LINE];
    va_list args;

    if (!espi_log_enabled(level) || (unsigned)level >= sizeof prefix / sizeof prefix[0])
        return;
    int saved_errno = errno;
    size_t start = strlen(prefix[level]);
    memcpy(line, prefix[level], start);
    va_start(args, format);
    int wanted = vsnprintf(line + start, sizeof line - start, format, args);
    va_end(args);
    if (wanted < 0) { /* a conversion failed: the format still says what it was about */
        wanted = snprintf(line + start, sizeof line - start, "%s", format);
        if (wanted < 0)
            wanted = 0;
    }
    size_t len = start + (size_t)wanted;
    if (len > sizeof line - 2) { /* room for the line end; vsnprintf's own NUL goes */
        len = sizeof line - 2;
        memcpy(line + len - 3, "...", 3);
    }
    for (size_t i = start; i < len; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c < 0x20 || c == 0x7f)
            line[i] = '?';
    }
    line[len++] = '\n';
    espi_log_text(line, len);
    errno = saved_errno;
}
