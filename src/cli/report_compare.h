/* espalier report FILE FILE2. */
#ifndef ESPI_CLI_REPORT_COMPARE_H
#define ESPI_CLI_REPORT_COMPARE_H

#include <jansson.h>
#include <stdint.h>

/* Prints what differs; at most `top` types are shown. Returns an exit code. */
int report_compare(const char *name_a, const json_t *a, const char *name_b, const json_t *b, int64_t top);

#endif
