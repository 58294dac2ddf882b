/* The end of a run's statistics. */
#ifndef ESPI_MPI_COMM_STATISTICS_H
#define ESPI_MPI_COMM_STATISTICS_H

#include <mpi.h>

#include "stats/stats.h"

/* Writes what is wanted of the run's statistics. Where rank 0 writes for all (espi_stats_merges), every rank of
   `comm`, a communicator of all ranks that returns errors, calls it; none waits in vain, whatever another
   lacks. MPI_COMM_NULL: of this rank alone. */
void espi_statistics_write(const struct espi_stats_run *run, MPI_Comm comm);

#endif
