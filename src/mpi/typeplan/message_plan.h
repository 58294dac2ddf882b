/* The plan of a side of a call that goes the short way (message.h, collective.h). */
#ifndef ESPI_MPI_TYPEPLAN_MESSAGE_PLAN_H
#define ESPI_MPI_TYPEPLAN_MESSAGE_PLAN_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/packed/packed_call.h"
#include "mpi/typeplan/plan_cache.h"
#include "stats/stats.h"

struct espi_type_slot;

struct espi_message_plan {
    struct espi_plan *plan; /* NULL: there is none */
    struct espi_type_slot *slot;
};

/* The plan by which `count` items (> 0) of a derived type are to be packed; none where something else is to be done
   with this use, which only espi_types_way does. `use`: of a message, exactly. Nothing is counted, and no reference
   taken. */
struct espi_message_plan espi_message_plan(MPI_Datatype type, int64_t count, enum espi_packable use);

/* Counts that use, which is made. */
void espi_message_plan_used(struct espi_stats_thread *stats, const struct espi_message_plan *found, int64_t count,
                            enum espi_packable use);

/* What is done with `count` items (> 0) of a derived type on one side of a collective call, whose blocks have `each`;
   `whole`: the library would go through the type in one go. False: something that only espi_types_blocks_way does. */
struct espi_blocks_plan {
    struct espi_plan *plan; /* by which they are to be packed; NULL: they go as they are */
    struct espi_type_slot *slot;
    enum espi_purpose purpose;
    enum espi_packable use;
};
bool espi_blocks_plan(struct espi_blocks_plan *found, MPI_Datatype type, int64_t count, bool whole,
                      enum espi_packable use, int64_t each);

/* Counts that use, which is made; `bytes` are packed, 0: it goes as it is, which is remembered of its kind
   (espi_use_kind). */
void espi_blocks_plan_used(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, MPI_Datatype type,
                           int64_t count, int64_t bytes, uint64_t kind);

#endif
