#include "base/log.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Atomic int log_level = ESPI_LOG_WARN;

void espi_log_set_level(enum espi_log_level level)
{
    atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

bool espi_log_enabled(enum espi_log_level level)
{
    return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

/* The program may never write to stderr itself, so a reader that went away must not kill it because of us: SIGPIPE is
   blocked in this thread while we write, and one that our write raised is taken back. */
void espi_log_text(const char *text, size_t len)
{
    int saved_errno = errno;
    sigset_t pipe_only, before, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    bool blocked = pthread_sigmask(SIG_BLOCK, &pipe_only, &before) == 0;
    bool was_pending = false;
    if (blocked && sigpending(&pending) == 0)
        was_pending = sigismember(&pending, SIGPIPE) == 1;

    bool broken = false;
    while (len > 0) {
        ssize_t done = write(STDERR_FILENO, text, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            broken = done < 0 && errno == EPIPE;
            break;
        }
        text += done;
        len -= (size_t)done;
    }

    if (blocked) {
        if (broken && !was_pending) {
            struct timespec at_once = {0, 0};
            while (sigtimedwait(&pipe_only, NULL, &at_once) < 0 && errno == EINTR)
                continue;
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
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
