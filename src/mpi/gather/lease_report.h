/* Leases in the statistics: what was predicted and measured, and why a method holds. */
#ifndef ESPI_MPI_GATHER_LEASE_REPORT_H
#define ESPI_MPI_GATHER_LEASE_REPORT_H

#include "mpi/gather/lease.h"
#include "mpi/netmodel/netmodel.h"
#include "stats/stats.h"

/* Beside each lease; all zero at first. Used at the root only. */
struct espi_lease_report {
    struct espi_stats_collective *record; /* NULL before the first lease */
    int64_t counted; /* calls that are in records */
    int64_t library_calls;    /* as lease->library_calls was then */
    int method;      /* of those that are not */
};

/* When a lease has begun, or could not: counts the calls so far and notes what was decided. */
void espi_lease_report(struct espi_lease_report *report, const struct espi_lease *lease,
                       const struct espi_topology *places, const struct espi_settings *settings,
                        const int64_t *sizes);
/* Counts what is not counted yet, at the end; also of calls for which there never was a lease. */
void espi_lease_report_end(struct espi_lease_report *report, const struct espi_lease *lease,
                           const struct espi_topology *places, const struct espi_settings *settings,
                           const int64_t *sizes);

#endif
