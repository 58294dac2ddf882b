/* What the parts of `espalier report` share: figures that several of them print, and texts made fit to print. */
#ifndef ESPI_CLI_REPORT_SHARED_H
#define ESPI_CLI_REPORT_SHARED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Text from a file, control bytes shown as '?', at most `width` bytes (0: all) and then "...". */
void report_print_text(const char *text, size_t width);
/* The same of the whole text, filled up with blanks to `width` bytes, as %-*s does. */
void report_print_padded(const char *text, int width);
/* What a counter counts, as a phrase; NULL for one that this version does not have. */
const char *report_counter_help(const char *name);
void report_print_command(const json_t *root);
/* Whether a file is of one rank among others; and over which ranks its sums are, as the end of a phrase. */
bool report_is_of_one(const json_t *root);
const char *report_over_ranks(const json_t *root);
/* What became of a type, in words. */
const char *report_type_state(const json_t *type);
/* What better types, and copies of blocks that ranks gave themselves, saved over the ranks of a file in ns. */
double report_saving_of_types(const json_t *root);
double report_saving_of_blocks(const json_t *root);
double report_saving_of_exchanges(const json_t *root);
double report_saving_of_kept_types(const json_t *root);
/* Espalier's own time over them in ns. */
double report_own_time(const json_t *root);

#endif
