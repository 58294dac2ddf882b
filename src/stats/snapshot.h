/* What a snapshot is put together from; others include stats.h or report.h. */
#ifndef ESPI_STATS_SNAPSHOT_H
#define ESPI_STATS_SNAPSHOT_H

#include "stats/report.h"

/* Fills the body of a report that is empty but for its rank with this process's counts (sums only). */
espi_status espi_stats_collect(struct espi_report *report);
/* The gathers and scatters of this process into such a report (gather_records.c). */
espi_status espi_stats_collect_collectives(struct espi_report *report);
/* How the functions are named of which a process like this one counts so many; NULL when it counts others. */
const char *(*espi_stats_names(size_t functions))(size_t function);

#endif
