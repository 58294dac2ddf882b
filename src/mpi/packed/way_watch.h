/*
 * Whether calls that are the library's are seen (message_ways.h): as long as some trial goes on that is to tell what
 * they wait less for it.
 */
#ifndef ESPI_MPI_PACKED_WAY_WATCH_H
#define ESPI_MPI_PACKED_WAY_WATCH_H

#include "mpi/packed/way_trial.h"

/* No trial goes on. */
void espi_way_watch_forget(void);
/* One of the group begins, if none goes on; there is a turn in one; and one may have come to its end. */
void espi_way_watch_begins(struct espi_way_group *group);
void espi_way_watch_goes_on(void);
void espi_way_watch_ends(struct espi_way_group *group);

#endif
