/* Reading statistics files. */
#ifndef ESPI_CLI_STATFILE_H
#define ESPI_CLI_STATFILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The document, checked to be statistics of a version that this command knows and to have all members that the report
   uses; NULL when it is not, and the error was printed. */
json_t *stat_load(const char *name);

/* root.a.b.c as a number; b and c may be NULL; 0 when it is not there. */
int64_t stat_number(const json_t *root, const char *a, const char *b, const char *c);
/* root.a as text; `otherwise` when it is not there or no text. */
const char *stat_text(const json_t *root, const char *a, const char *otherwise);

#endif
