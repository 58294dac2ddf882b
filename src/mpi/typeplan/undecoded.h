/* What the report says of layouts that were not planned. */
#ifndef ESPI_MPI_TYPEPLAN_UNDECODED_H
#define ESPI_MPI_TYPEPLAN_UNDECODED_H

#include <mpi.h>

#include "mpi/typeplan/type_class.h"
#include "stats/stats.h"

/* The record of a class that could not be decoded, or not planned, for the reason `why`: named by its constructor, as
   there is no tree. Lives as long as the process. Calls MPI. */
struct espi_stats_type *espi_undecoded_record(const struct espi_type_class *class, MPI_Datatype type,
                                              enum espi_counter why);

#endif
