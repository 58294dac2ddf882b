/*
 * The plan of a type while a call looks at it. Where calls overlap, a look in another thread may drop the plan of a
 * slot at any time, so a reference is taken there. (And another type may have got the handle since: before anything
 * is done by the plan, espi_types_slot_is_tied is asked.)
 */
#ifndef ESPI_MPI_TYPEPLAN_PLAN_USE_H
#define ESPI_MPI_TYPEPLAN_PLAN_USE_H

#include "base/overlap.h"
#include "mpi/core/handle_table.h"
#include "mpi/typeplan/plan_cache.h"

/* The plan of the slot, to be given back in the same call; NULL: there is none. */
static inline struct espi_plan *espi_plan_borrow(struct espi_type_slot *slot)
{
    struct espi_plan *plan = atomic_load_explicit(&slot->plan, memory_order_acquire);

    return plan == NULL || !espi_calls_overlap ? plan : espi_plan_hold_at(&slot->plan);
}

/* NULL: nothing. */
static inline void espi_plan_give_back(struct espi_plan *plan)
{
    if (espi_calls_overlap && plan != NULL)
        espi_plan_release(plan);
}

#endif
