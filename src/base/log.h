/* Messages to a person: one line each on stderr, each by a single write(2), so that lines of several ranks and
   threads do not mix. Needs libc only; safe in any thread and in a process that closed its stderr. Keeps errno. */
#ifndef ESPI_BASE_LOG_H
#define ESPI_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

/* The order is that of the values of ESPALIER_LOG in settings.def. */
enum espi_log_level { ESPI_LOG_ERROR, ESPI_LOG_WARN, ESPI_LOG_INFO, ESPI_LOG_DEBUG };

/* Longest line that is written, with prefix and line end; what is longer ends in "...". */
#define ESPI_LOG_LINE 1024

/* Messages of a level above `level` are dropped. ESPI_LOG_WARN until it is called. */
void espi_log_set_level(enum espi_log_level level);
bool espi_log_enabled(enum espi_log_level level);

/* Writes "espalier: " (for other levels than info: "espalier: error: ", ...), the message and a line end. Control
   bytes, also line breaks inside the message, are written as '?'. A failed write is ignored; a stderr that is a
   broken pipe does not raise SIGPIPE. */
void espi_log(enum espi_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes `len` bytes of finished text (several lines, say) to stderr under the same rules of safety, unfiltered. */
void espi_log_text(const char *text, size_t len);

#endif
