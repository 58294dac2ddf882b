/* What is best for one layout: reconstruction, emission, measurement, and the reason in words (select.c). */
#ifndef ESPI_MPI_TYPEPLAN_SELECT_H
#define ESPI_MPI_TYPEPLAN_SELECT_H

#include "mpi/typeplan/plan_cache.h"

struct espi_selection {
    /* Owned by the caller; may be the same handle twice; MPI_DATATYPE_NULL: none. */
    MPI_Datatype better[ESPI_PURPOSES];
    size_t types;     /* MPI types they are made of */
    uint64_t gain_ns; /* what a typical use saves; 0: not measured */
};

/* Fills `j` whatever happens, describes the layout in `record` and counts the reason when nothing better was
   found. */
void espi_select_variant(const struct espi_plan_request *request, struct espi_stats_type *record,
                         struct espi_selection *j);

#endif
