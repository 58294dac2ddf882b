/* The plan of a message that goes the short way (message.h). */
#ifndef ESPI_MPI_TYPEPLAN_MESSAGE_PLAN_H
#define ESPI_MPI_TYPEPLAN_MESSAGE_PLAN_H

#include <mpi.h>
#include <stdint.h>

#include "stats/stats.h"

struct espi_plan;

/* The plan by which `count` items (> 0) of a derived type are to be packed; NULL: there is none, or something else is
   to be done with this use, which only espi_types_way does. Nothing is counted, and no reference taken. */
struct espi_plan *espi_message_plan(MPI_Datatype type, int64_t count);

/* Counts that use, which is made. */
void espi_message_plan_used(struct espi_stats_thread *stats, MPI_Datatype type, struct espi_plan *plan,
                            int64_t count);

#endif
