/*
 * Whether a call goes on as it is: what every handler asks first. A call without derived types costs a look at each
 * type argument and a counter; so does one whose types are used as they are for now.
 */
#ifndef ESPI_MPI_CALLS_LEFT_ALONE_H
#define ESPI_MPI_CALLS_LEFT_ALONE_H

#include <mpi.h>

#include "mpi/calls/short_local.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/api_table.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/packed/packed_persistent.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/type_cache.h"

/* A use of a type that goes on as it is; all NULL: of a predefined one. */
struct use {
    MPI_Datatype type;
    int64_t count;
    struct espi_type_slot *slot; /* what is known of the type */
    bool off;                    /* or nothing, as types are left alone */
    bool started_few;            /* a request that will be, most likely */
};

/* What is asked of a function, from its row in api.def. */
struct asked {
    bool large, passes;
    int kind, comm, root;
    enum espi_fn fn;
};

/* A use in a collective call of a type with a plan, where the last one of its kind went as it is. */
static inline struct espi_type_slot *left_before(struct espi_comm_facts *facts, const struct asked *asked,
                                                 const struct espi_buffer_args *sides, int side,
                                                 const espi_word *args, MPI_Datatype type, int64_t count)
{
    bool root = false;
    if (asked->root >= 0) {
        if (!espi_comm_look(facts, (MPI_Comm)args[asked->comm]))
            return NULL;
        root = (int)args[asked->root] == facts->rank;
    }
    const uint64_t kind = espi_use_kind(asked->fn, side, count, root, espi_both_derived(sides, args));
    return kind != 0 ? espi_types_left(type, kind) : NULL;
}

/* Items in all blocks of a side, whose counts are in an array; 0: not known here. */
static inline int64_t items_of_blocks(const struct espi_comm_facts *facts, bool large, const void *counts)
{
    int64_t sum = 0;
    for (int i = 0; counts != NULL && i < facts->peers; i++) {
        const int64_t count = large ? ((const MPI_Count *)counts)[i] : ((const int *)counts)[i];
        if (count < 0 || __builtin_add_overflow(sum, count, &sum))
            return 0;
    }
    return sum;
}

/* One side of a call that may go on as it is: its type is predefined, or one that is used as it is for now, or it is
   of no meaning on this rank. */
static inline __attribute__((always_inline)) bool goes_on(struct espi_comm_facts *facts, const struct asked *asked,
                                                          const struct espi_buffer_args *sides, int side,
                                                          const espi_word *args, struct use *use)
{
    const struct espi_buffer_args *typed = &sides[side];
    const bool blocks = typed->shape == ESPI_SHAPE_V;
    *use = (struct use){0};
    if (typed->shape == ESPI_SHAPE_NONE)
        return true;
    if (typed->shape == ESPI_SHAPE_W)
        return false;
    MPI_Datatype type = (MPI_Datatype)args[(int)typed->type];
    if (__builtin_expect(espi_type_is_predefined(type), 1))
        return true;
    if (typed->count < 0 || asked->passes || (blocks && asked->kind & ESPI_NEIGHBOUR))
        return false;
    if ((blocks || typed->at_root) && (!espi_comm_look(facts, (MPI_Comm)args[asked->comm]) || facts->inter))
        return false;
    if (typed->at_root && (int)args[asked->root] != facts->rank)
        return true;
    use->type = type;
    use->count = blocks          ? items_of_blocks(facts, asked->large, (const void *)args[(int)typed->count])
                 : asked->large ? (int64_t)args[(int)typed->count]
                                : (int64_t)(int)args[(int)typed->count];
    if (use->count == 0 && !blocks) { /* nothing is done with the type */
        *use = (struct use){0};
        return true;
    }
    if (use->count <= 0)
        return false;
    if (espi_settings.datatypes == ESPI_MODE_OFF)
        return use->off = true;
    use->slot = espi_types_quiet(type);
    if ((asked->kind & (ESPI_P2P | ESPI_PERSISTENT | ESPI_PARTITIONED | ESPI_BUFFERED)) ==
        (ESPI_P2P | ESPI_PERSISTENT)) {
        if (use->slot != NULL && espi_types_waits(use->slot) && !espi_packed_starts_are_few())
            return false; /* the first use of many, perhaps */
        if (use->slot == NULL)
            use->started_few = (use->slot = espi_message_plan_starts_too_few(type, use->count)) != NULL;
    }
    if (asked->kind & ESPI_LOCAL && use->slot != NULL && espi_types_would_pack(use->slot))
        return false;
    if (use->slot == NULL && asked->kind & (ESPI_COLLECTIVE | ESPI_NEIGHBOUR) && !(asked->kind & ESPI_PERSISTENT))
        use->slot = left_before(facts, asked, sides, side, args, type, use->count);
    if (use->slot == NULL && ESPI_IS_SHORT_LOCAL(asked->fn))
        use->slot = espi_short_local_leaves(type, use->count, asked->fn);
    if (use->slot == NULL &&
        (asked->kind & (ESPI_P2P | ESPI_PARTITIONED | ESPI_BUFFERED)) == ESPI_P2P &&
        (typed->dest < 0 || typed->source < 0)) /* one buffer for both ways is judged as a block */
        use->slot = espi_message_plan_leaves(type, use->count,
                                             asked->kind & ESPI_NONBLOCKING      ? ESPI_KEPT
                                             : sides[1].shape != ESPI_SHAPE_NONE ? ESPI_PAIRED
                                                                                 : ESPI_ALONE,
                                             asked->comm >= 0 && (asked->kind & ESPI_PERSISTENT) == 0);
    return use->slot != NULL;
}

static inline __attribute__((always_inline)) void count_use(struct espi_stats_thread *stats, const struct use *use)
{
    if (use->started_few) {
        espi_plan_count_use(stats, use->slot, use->count);
        espi_count(stats, ESPI_COUNT_left_started_few, 1);
    } else if (use->slot != NULL) {
        espi_types_used(stats, use->type, use->slot, use->count);
    }
    if (use->off) {
        espi_count(stats, ESPI_COUNT_calls_examined, 1);
        espi_count(stats, ESPI_COUNT_left_switched_off, 1);
    }
}

/* Whether it is a message with MPI_PROC_NULL, of a type that is known and has a plan: there is nothing to do. Not of
   two. */
static inline __attribute__((always_inline)) bool espi_is_with_nobody(const struct espi_buffer_args *typed,
                                                                      const espi_word *args)
{
    const int peer = typed[0].dest >= 0 ? typed[0].dest : typed[0].source;
    struct espi_type_slot *slot;

    return (typed[0].dest < 0) != (typed[0].source < 0) && typed[1].shape == ESPI_SHAPE_NONE &&
           __builtin_expect((int)args[peer] == MPI_PROC_NULL, 0) &&
           !espi_type_is_predefined((MPI_Datatype)args[(int)typed[0].type]) &&
           (slot = espi_slot_of((MPI_Datatype)args[(int)typed[0].type])) != NULL &&
           atomic_load_explicit(&slot->plan, memory_order_relaxed) != NULL;
}

/* Whether the call goes on as it is; counts the uses of its derived types if so. With `typed` and `asked` known to
   the compiler only the questions that this function needs are left. `own`: what may be done with an own block of a
   message, flags of enum espi_paired; not 0 where there may be one. */
static inline __attribute__((always_inline)) bool
espi_left_alone(struct espi_thread_state *thread_state, const struct asked *asked,
                const struct espi_buffer_args *typed, unsigned own, const espi_word *args)
{
    struct use first, second = {0}, third = {0};
    if (!goes_on(&thread_state->comm, asked, typed, 0, args, &first))
        return false;
    if (typed[0].shape != ESPI_SHAPE_NONE) {
        if (!goes_on(&thread_state->comm, asked, typed, 1, args, &second))
            return false;
        if (typed[1].shape != ESPI_SHAPE_NONE && !goes_on(&thread_state->comm, asked, typed, 2, args, &third))
            return false;
    }
    if (own && (first.slot || second.slot)) {
        if (espi_settings.datatypes != ESPI_MODE_AUTO)
            return false;
        if (asked->kind & ESPI_COLLECTIVE) {
            if (!espi_comm_look(&thread_state->comm, (MPI_Comm)args[asked->comm]))
                return false;
            own = espi_selfcopy_is_apart(&thread_state->comm, typed, asked->root, args)
                      ? espi_selfcopy_mark_of(espi_selfcopy_place(&thread_state->comm, typed, asked->root))
                      : 0;
        }
        if (asked->kind & ESPI_P2P && /* no message to oneself */
            (espi_comm_is_last(&thread_state->comm, (MPI_Comm)args[asked->comm]) ||
             espi_comm_look(&thread_state->comm, (MPI_Comm)args[asked->comm])) &&
            (int)args[(int)typed[0].dest] != thread_state->comm.rank)
            own = 0;
        if (own && espi_selfcopy_due(&thread_state->pairs, first.slot, second.slot, own))
            return false;
    }
    count_use(thread_state->stats, &first);
    count_use(thread_state->stats, &second);
    count_use(thread_state->stats, &third);
    return true;
}

#endif
