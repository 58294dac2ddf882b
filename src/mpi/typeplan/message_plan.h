/* The plan of a message that goes the short way (message.h). */
#ifndef ESPI_MPI_TYPEPLAN_MESSAGE_PLAN_H
#define ESPI_MPI_TYPEPLAN_MESSAGE_PLAN_H

#include <mpi.h>
#include <stdint.h>

#include "stats/stats.h"

struct espi_plan;
struct espi_type_slot;

struct espi_message_plan {
    struct espi_plan *plan; /* NULL: there is none */
    struct espi_type_slot *slot;
};

/* The plan by which `count` items (> 0) of a derived type are to be packed; none where something else is to be done
   with this use, which only espi_types_way does. Nothing is counted, and no reference taken. */
struct espi_message_plan espi_message_plan(MPI_Datatype type, int64_t count);

/* Counts that use, which is made. */
void espi_message_plan_used(struct espi_stats_thread *stats, const struct espi_message_plan *found, int64_t count);

#endif
