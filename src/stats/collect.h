/* What collect.c and report.c share; others include stats.h or report.h. */
#ifndef ESPI_STATS_COLLECT_H
#define ESPI_STATS_COLLECT_H

#include "stats/report.h"

/* Fills the body of an empty report with this process's counts (sums only). */
espi_status espi_stats_collect(struct espi_report *report);

/* When the core started (seconds since 1970) and how long ago that is. */
void espi_stats_clock(int64_t *started, uint64_t *elapsed_ns);

/* Replaces the texts that type->facts points to by copies that the record owns. On ESPI_ERR_MEMORY it owns none. */
espi_status espi_report_type_own(struct espi_report_type *type);
void espi_report_type_release(struct espi_report_type *type);

#endif
