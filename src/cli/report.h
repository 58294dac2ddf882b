/* What `espalier report` prints for one file and for two. */
#ifndef ESPI_CLI_REPORT_H
#define ESPI_CLI_REPORT_H

#include <jansson.h>
#include <stdint.h>

/* Prints what differs; at most `top` types are shown. Returns an exit code. */
int report_compare(const char *name_a, const json_t *a, const char *name_b, const json_t *b, int64_t top);

/* Gathers and scatters: of one run, and of two (report_collectives.c). Nothing where there are none. */
void report_collectives(const json_t *root, int64_t top);
void report_compare_collectives(const json_t *a, const json_t *b, int64_t top);

/* Text from a file, control bytes shown as '?', at most `width` bytes (0: all) and then "...". */
void report_print_text(const char *text, size_t width);
/* What a counter counts, as a phrase; NULL for one that this version does not have. */
const char *report_counter_help(const char *name);
void report_print_command(const json_t *root);
/* The estimated saving of all listed types in ns. */
double report_saving(const json_t *root);
/* Espalier's own time over all ranks in ns. */
double report_own_time(const json_t *root);

#endif
