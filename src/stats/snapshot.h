/* What a snapshot is put together from; others include stats.h or report.h. */
#ifndef ESPI_STATS_SNAPSHOT_H
#define ESPI_STATS_SNAPSHOT_H

#include "stats/report.h"

/* Fills the body of an empty report with this process's counts (sums only). */
espi_status espi_stats_collect(struct espi_report *report);
/* The gathers and scatters of this process into an empty report (gather_records.c). */
espi_status espi_stats_collect_collectives(struct espi_report *report);

#endif
