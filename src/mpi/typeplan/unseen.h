/*
 * Types that the core does not look at (abi.h, ESPI_HINT_UNSEEN): programs may make types without end that are never
 * worth a look. Where of the last 128 that began not one was, and half as many ended meanwhile, the next 1,024
 * commits pass unseen; twice as many each time that it is so again, up to 8,192.
 */
#ifndef ESPI_MPI_TYPEPLAN_UNSEEN_H
#define ESPI_MPI_TYPEPLAN_UNSEEN_H

#include <mpi.h>
#include <stdbool.h>

#include "mpi/core/handle_table.h"
#include "mpi/typeplan/type_class.h"
#include "stats/stats.h"

/* How the type was made; 0: not known. */
static inline uint64_t espi_hint_of_type(MPI_Datatype type)
{
    const uint32_t at = espi_credit_at((uint32_t)type);

    return at < ESPI_CREDITS ? atomic_load_explicit(&espi_hot->types[at].hint, memory_order_relaxed) : 0;
}

/* The credit of a type that passes unseen: committed, not freed, and without a slot; 0 for others. */
static inline unsigned espi_unseen_credit(MPI_Datatype type)
{
    const uint32_t at = espi_credit_at((uint32_t)type);
    unsigned credit;

    if (at >= ESPI_CREDITS ||
        atomic_load_explicit(&espi_hot->types[at].hint, memory_order_relaxed) != ESPI_HINT_UNSEEN)
        return 0;
    credit = atomic_load_explicit(&espi_hot->types[at].credit, memory_order_relaxed);
    return credit < ESPI_CREDIT_ENDED ? credit : 0;
}

static inline bool espi_is_unseen(MPI_Datatype type)
{
    return espi_unseen_credit(type) > 0;
}

/* Whether it has credit for a use that the stub has left to us; then espi_unseen_pass makes it. Types pass unseen
   only where calls do not overlap. */
static inline bool espi_unseen_may_pass(MPI_Datatype type)
{
    return espi_unseen_credit(type) > 1;
}

static inline void espi_unseen_pass(MPI_Datatype type)
{
    atomic_uchar *credit = &espi_hot->types[espi_credit_at((uint32_t)type)].credit;

    atomic_store_explicit(credit, (unsigned char)(atomic_load_explicit(credit, memory_order_relaxed) - 1),
                          memory_order_relaxed);
}

static inline bool espi_unseen_passes(MPI_Datatype type)
{
    const bool passes = espi_unseen_may_pass(type);

    if (passes)
        espi_unseen_pass(type);
    return passes;
}

/* Whether a use of `count` elements (> 0), one of many types of a call, needs no look at anything, as the type passes
   unseen or has nothing due; counts it if so. */
bool espi_types_goes_on(struct espi_stats_thread *stats, MPI_Datatype type, int64_t count);

/* A type of the class (NULL: not known) has begun that will be looked at with its use number `look`. `allowed`: types
   may pass unseen: not where calls overlap. */
void espi_unseen_watch(const struct espi_type_class *class, uint64_t look, bool allowed);
/* A type has ended where the stub did not count it. */
void espi_unseen_type_ends(void);
/* A type was worth its look. */
extern atomic_bool espi_types_worth;
static inline void espi_types_pay(void)
{
    if (!atomic_load_explicit(&espi_types_worth, memory_order_relaxed))
        atomic_store_explicit(&espi_types_worth, true, memory_order_relaxed);
}
/* Nothing is known any more. */
void espi_unseen_reset(void);

#endif
