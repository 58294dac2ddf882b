/*
 * Whether a call goes on as it is: what every handler asks first. A call without derived types costs a look at each
 * type argument and a counter; so does one whose types are used as they are for now.
 */
#ifndef ESPI_MPI_CORE_LEFT_ALONE_H
#define ESPI_MPI_CORE_LEFT_ALONE_H

#include <mpi.h>

#include "mpi/core/api_table.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/typeplan/type_cache.h"

/* A use of a type that goes on as it is; all NULL: of a predefined one. */
struct use {
    MPI_Datatype type;
    int64_t count;
    struct espi_type_slot *slot; /* what is known of the type */
    bool off;                    /* or nothing, as types are left alone */
};

/* One side of a call that may go on as it is: its type is predefined, or one that is used as it is for now. */
static inline __attribute__((always_inline)) bool goes_on(const struct espi_buffer_args *typed, bool large,
                                                          bool passes, const espi_word *args, struct use *use)
{
    *use = (struct use){0};
    if (typed->shape == ESPI_SHAPE_NONE)
        return true;
    if (typed->shape == ESPI_SHAPE_W)
        return false;
    MPI_Datatype type = (MPI_Datatype)args[(int)typed->type];
    if (__builtin_expect(espi_type_is_predefined(type), 1))
        return true;
    if (typed->shape != ESPI_SHAPE_ONE || typed->count < 0 || typed->at_root || passes)
        return false;
    use->type = type;
    use->count = large ? (int64_t)args[(int)typed->count] : (int64_t)(int)args[(int)typed->count];
    if (use->count <= 0)
        return false;
    if (espi_settings.datatypes == ESPI_MODE_OFF)
        return use->off = true;
    return (use->slot = espi_types_quiet(type)) != NULL;
}

static inline __attribute__((always_inline)) void count_use(struct espi_stats_thread *stats, const struct use *use)
{
    if (use->slot != NULL)
        espi_types_used(stats, use->type, use->slot, use->count);
    if (use->off) {
        espi_count(stats, ESPI_COUNT_calls_examined, 1);
        espi_count(stats, ESPI_COUNT_left_switched_off, 1);
    }
}

/* Whether the call goes on as it is; counts the uses of its derived types if so. With `typed` known to the compiler
   only the questions that this function needs are left. `own`: what may be done with an own block, flags of enum
   espi_paired. */
static inline __attribute__((always_inline)) bool
espi_left_alone(struct espi_thread_state *thread_state, const struct espi_buffer_args *typed, bool large, bool passes,
              unsigned own, const espi_word *args)
{
    struct use first, second = {0}, third = {0};
    if (!goes_on(&typed[0], large, passes, args, &first))
        return false;
    if (typed[0].shape != ESPI_SHAPE_NONE) {
        if (!goes_on(&typed[1], large, passes, args, &second))
            return false;
        if (typed[1].shape != ESPI_SHAPE_NONE && !goes_on(&typed[2], large, passes, args, &third))
            return false;
    }
    if (own && (first.slot || second.slot) &&
        (espi_settings.datatypes != ESPI_MODE_AUTO ||
         espi_selfcopy_due(&thread_state->pairs, first.slot, second.slot, own)))
        return false;
    count_use(thread_state->stats, &first);
    count_use(thread_state->stats, &second);
    count_use(thread_state->stats, &third);
    return true;
}

#endif
