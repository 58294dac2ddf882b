/*
 * MPI_Pack and MPI_Unpack where a program is not far faster by the models: of the first calls of the usual count some
 * are made by the library, the others by the program, each once, and timed; then the faster stays (trial.h). Where
 * calls overlap (MPI_THREAD_MULTIPLE) only the leader's have turns (base/overlap.h), and until something is found out
 * the library carries out those of other threads.
 */
#ifndef ESPI_MPI_CALLS_LOCAL_TURNS_H
#define ESPI_MPI_CALLS_LOCAL_TURNS_H

#include <stdbool.h>

#include "mpi/core/api_table.h"
#include "mpi/typeplan/plan_cache.h"

/* What was done with a call. */
enum espi_local_done { ESPI_LOCAL_NOT, ESPI_LOCAL_PACKED, ESPI_LOCAL_BY_LIBRARY };

/* Carries out MPI_Pack or MPI_Unpack. ESPI_LOCAL_NOT: nothing was done, as something may be wrong with it. */
enum espi_local_done espi_local_call(struct espi_plan *plan, const struct espi_api_row *row, const espi_word *args,
                                     bool check);

#endif
