/* What is best for one layout, by the model of the library's engine (engine_cost.h), and the reason in words. */
#ifndef ESPI_MPI_TYPEPLAN_SELECT_H
#define ESPI_MPI_TYPEPLAN_SELECT_H

#include "mpi/datatype/own_types.h"
#include "mpi/typeplan/plan_cache.h"

struct espi_selection {
    /* Owned by the caller; may be the same handle twice; MPI_DATATYPE_NULL: the program's own. */
    MPI_Datatype better[ESPI_PURPOSES];
    struct espi_own_types made_of;
    uint64_t gain_ns[ESPI_PURPOSES];  /* what a use of request->count items saves */
    uint64_t excess_ns[ESPI_PURPOSES]; /* what the best conceivable form would save on top of it */
    uint64_t packed_ns[ESPI_PACKABLES]; /* what the pack program saves on top of it */
    bool forms_pending;               /* see struct espi_plan */
    bool improved;                    /* a better type was kept, or the program is better */
    double engine_ns[ESPI_PURPOSES];    /* what the engine takes for what was kept; where there is a program */
};

/* Fills `s` whatever happens, describes the layout in `record`, unless the request is silent, and counts the reason
   when nothing better was found. The second tier may find a better program, too: request->pack. */
void espi_select_variant(struct espi_plan_request *request, struct espi_stats_type *record,
                         struct espi_selection *s);

#endif
