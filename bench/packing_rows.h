/* Layouts of bench/packing alone, beside those of bench/layouts. */
#ifndef ESPI_BENCH_PACKING_ROWS_H
#define ESPI_BENCH_PACKING_ROWS_H

#include "bench/layouts.h"

extern const struct layout_row packing_rows[];
extern const int packing_row_count;

/* Whether it is one of runs of different lengths: packed and unpacked by hand by these. */
int packing_has_runs(const struct layout *l);
void packing_pack_runs(const struct layout *l, const char *data, char *stream);
void packing_unpack_runs(const struct layout *l, const char *stream, char *data);

#endif
