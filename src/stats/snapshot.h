/* What snapshot.c and report_merge.c share; others include stats.h or report.h. */
#ifndef ESPI_STATS_SNAPSHOT_H
#define ESPI_STATS_SNAPSHOT_H

#include "stats/report.h"

/* Fills the body of an empty report with this process's counts (sums only). */
espi_status espi_stats_collect(struct espi_report *report);

/* When the core started (seconds since 1970) and how long ago that is. */
void espi_stats_clock(int64_t *started, uint64_t *elapsed_ns);

/* Replaces the texts that type->facts points to by copies that the record owns. On ESPI_ERR_MEMORY it owns none. */
espi_status espi_report_type_own(struct espi_report_type *type);

/* The gathers and scatters of this process into an empty report (gather_records.c). */
espi_status espi_stats_collect_collectives(struct espi_report *report);
/* `list` has room for those of both; takes those of `other` to the `n` that it holds. Returns how many it holds
   then. */
size_t espi_report_collectives_join(struct espi_report_collective *list, size_t n, const struct espi_report *other);
/* Sorts, and drops all but the first ESPI_REPORT_COLLECTIVES into the counts of those not listed. */
void espi_report_collectives_keep(struct espi_report *report);

#endif
