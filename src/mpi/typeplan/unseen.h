/*
 * Types that the core does not look at (abi.h, ESPI_HINT_UNSEEN): programs may make types without end that are never
 * worth a look. Where of the last 128 that began not one was, the next 1,024 constructors pass by the stub alone.
 */
#ifndef ESPI_MPI_TYPEPLAN_UNSEEN_H
#define ESPI_MPI_TYPEPLAN_UNSEEN_H

#include <mpi.h>
#include <stdbool.h>

#include "mpi/typeplan/handle_table.h"
#include "mpi/typeplan/type_class.h"

/* How the type was made; 0: not known. */
static inline uint64_t espi_hint_of(MPI_Datatype type)
{
    const uint32_t at = espi_credit_at((uint32_t)type);

    return at < ESPI_CREDITS ? atomic_load_explicit(&espi_hot->hint[at], memory_order_relaxed) : 0;
}

/* Whether the type is one that passes unseen: committed, not freed, and without a slot. */
bool espi_is_unseen(MPI_Datatype type);
/* A use of such a type that the stub has left to us: makes it on the type's credit. False: it is no such type, or has
   no credit left. */
bool espi_unseen_passes(MPI_Datatype type);

/* A type of the class (NULL: not known) has begun that will be looked at with its use number `look`. `allowed`: types
   may pass unseen: not where calls overlap. */
void espi_unseen_watch(const struct espi_type_class *class, uint64_t look, bool allowed);
/* A type was worth its look. */
void espi_types_pay(void);
/* Nothing is known any more. */
void espi_unseen_reset(void);

#endif
