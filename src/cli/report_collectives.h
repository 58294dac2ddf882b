/* Gathers and scatters in `espalier report`. */
#ifndef ESPI_CLI_REPORT_COLLECTIVES_H
#define ESPI_CLI_REPORT_COLLECTIVES_H

#include <jansson.h>
#include <stdint.h>

/* Of one run, and of two. Nothing where there are none. */
void report_collectives(const json_t *root, int64_t top);
void report_compare_collectives(const json_t *a, const json_t *b, int64_t top);

#endif
