/*
 * One handler for every function of api.def that is SUBSTITUTE, TREE or COUNT, made from its row.
 * A call without derived types costs a look at each type argument and a counter; so does one whose types are used as
 * they are for now. Everything else is the general way, driven by the row as data, and derived.c.
 */
#include "mpi/core/handlers.h"

#include <mpi.h>

#include "mpi/gather/agreement.h"
#include "mpi/gather/gatherv.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/typeplan/substitute.h"
#include "mpi/core/lifecycle.h"
#include "mpi/core/thread_state.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/selfcopy/self_sends.h"
#include "mpi/reduce/reduce.h"
#include "mpi/core/api_table.h"
#include "mpi/comm/self_comm.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/comm/world.h"
#include "words.h"

#define RUNNING atomic_load_explicit(&espi_running, memory_order_acquire)
/* Every block of counters has room for every function (espi_stats_start). */
_Static_assert(ESPI_FN_COUNT <= ESPI_STATS_FUNCTIONS, "all functions are counted");

/* A use of a type that goes on as it is; all NULL: of a predefined one. */
struct use {
    MPI_Datatype type;
    int64_t count;
    atomic_uchar *quiet;         /* it was granted; or */
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
    if (use->count == 1 && (use->quiet = espi_slot_quiet(type)) != NULL)
        return true;
    return (use->slot = espi_types_quiet(type)) != NULL;
}

static inline __attribute__((always_inline)) void count_use(struct espi_stats_thread *stats, const struct use *use)
{
    if (use->quiet != NULL)
        espi_types_used_granted(stats, use->quiet);
    else if (use->slot != NULL)
        espi_types_used(stats, use->type, use->slot, use->count);
    if (use->off) {
        espi_count(stats, ESPI_COUNT_calls_examined, 1);
        espi_count(stats, ESPI_COUNT_left_switched_off, 1);
    }
}

/* Setting auto: whether the call may have an own block that is to be looked at. */
static inline __attribute__((always_inline)) bool own_is_due(struct espi_selfcopy_cache *cache, const struct use *a,
                                                             const struct use *b, unsigned worth)
{
    if (a->quiet != NULL || b->quiet != NULL)
        return espi_selfcopy_drawn(cache, a->quiet != NULL ? a->type : b->type);
    return (a->slot != NULL || b->slot != NULL) && espi_selfcopy_due(cache, a->slot, b->slot, worth);
}

/* Whether the call goes on as it is; counts the uses of its derived types if so. With `typed` known to the compiler
   only the questions that this function needs are left. `own`: what may be done with an own block, flags of enum
   espi_paired. */
static inline __attribute__((always_inline)) bool
nothing_to_do(struct espi_thread_state *mine, const struct espi_buffer_args *typed, bool large, bool passes,
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
    /* One type on both sides, and one use left: counted by the slot. */
    if (first.quiet != NULL && first.quiet == second.quiet &&
        (atomic_load_explicit(first.quiet, memory_order_relaxed) & ESPI_BYTE_LEFT) < 3)
        return false;
    if (own && (first.quiet || first.slot || second.quiet || second.slot) &&
        (espi_settings.datatypes != ESPI_MODE_AUTO || own_is_due(&mine->onto, &first, &second, own)))
        return false;
    count_use(mine->stats, &first);
    count_use(mine->stats, &second);
    count_use(mine->stats, &third);
    return true;
}

/* The general way, for all functions of n words. */
#define ESPI_HANDLER(n)                                                                                              \
    static __attribute__((noinline)) espi_word handle_##n(struct espi_thread *thread, enum espi_fn fn,               \
                                                          espi_word *args, espi_next next)                           \
    {                                                                                                                \
        if (__builtin_expect(!atomic_load_explicit(&espi_running, memory_order_acquire), 0) && !espi_start_late())   \
            return ESPI_CALL(next, n, args);                                                                         \
        struct espi_thread_state *mine = espi_thread_state(thread);                                                  \
        if (__builtin_expect(!mine, 0))                                                                              \
            return ESPI_CALL(next, n, args);                                                                         \
        espi_count_call(mine->stats, fn);                                                                            \
        const struct espi_api_row *row = &espi_api_rows[fn];                                                         \
        if (nothing_to_do(mine, row->typed, row->large, row->treatment == ESPI_API_COUNT, 0, args))                  \
            return ESPI_CALL(next, n, args);                                                                         \
        espi_word changed[n];                                                                                        \
        __builtin_memcpy(changed, args, sizeof changed);                                                             \
        struct espi_substitution derived = {thread, mine, row, args, changed, {0}, 0, false};                        \
        espi_substitute_begin(&derived);                                                                             \
        espi_word result = ESPI_CALL(next, n, changed);                                                              \
        if (__builtin_expect((int)result != MPI_SUCCESS, 0) && espi_substitute_repeat(&derived, (int)result))        \
            result = ESPI_CALL(next, n, args);                                                                       \
        espi_substitute_end(&derived, (int)result);                                                                  \
        return result;                                                                                               \
    }

ESPI_HANDLER(4)
ESPI_HANDLER(5)
ESPI_HANDLER(6)
ESPI_HANDLER(7)
ESPI_HANDLER(8)
ESPI_HANDLER(9)
ESPI_HANDLER(10)
ESPI_HANDLER(11)
ESPI_HANDLER(12)
ESPI_HANDLER(13)

static espi_word handle_type_commit(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    espi_word result = ESPI_CALL(next, 1, args);
    const MPI_Datatype *type = (const MPI_Datatype *)args[0];
    struct espi_thread_state *mine = espi_thread_state(thread);
    if ((int)result != MPI_SUCCESS || !mine || (!RUNNING && !espi_start_late()))
        return result;
    espi_bump(&mine->stats->calls[fn], 1);
    if (!espi_type_is_predefined(*type))
        espi_types_committed(mine, *type);
    return result;
}

/* The stub has made the call, and counted it. */
void espi_type_was_committed(struct espi_thread *thread, uint32_t type)
{
    struct espi_thread_state *mine = espi_thread_state(thread);
    if (mine && !espi_is_predefined(type))
        espi_types_committed(mine, (MPI_Datatype)type);
}

static espi_word handle_type_dup(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    espi_word result = ESPI_CALL(next, 2, args);
    struct espi_thread_state *mine = espi_thread_state(thread);
    if ((int)result != MPI_SUCCESS || !mine || (!RUNNING && !espi_start_late()))
        return result;
    espi_bump(&mine->stats->calls[fn], 1);
    MPI_Datatype old_type = (MPI_Datatype)args[0], new_type = *(const MPI_Datatype *)args[1];
    if (!espi_type_is_predefined(new_type))
        espi_types_duped(mine, old_type, new_type);
    return result;
}

static espi_word handle_type_free(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    struct espi_thread_state *mine = espi_thread_state(thread);
    const MPI_Datatype *type = (const MPI_Datatype *)args[0];
    bool inner = thread->inner;
    thread->inner = false;
    if (type && !espi_type_is_predefined(*type))
        espi_types_ending(mine, *type);
    if (mine && RUNNING && !inner)
        espi_bump(&mine->stats->calls[fn], 1);
    return ESPI_CALL(next, 1, args);
}

/* MPI refuses to free what it has made itself. */
static bool is_built_in(MPI_Comm comm)
{
    return (uint32_t)comm >> 30 == 1;
}

static espi_word handle_comm_end(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    const MPI_Comm *comm = (const MPI_Comm *)args[0];
    struct espi_thread_state *mine = espi_thread_state(thread);
    if (comm && mine && atomic_load_explicit(&espi_running, memory_order_acquire)) {
        espi_count_call(mine->stats, fn);
        if (espi_comm_is_known(*comm) && !is_built_in(*comm)) {
            if (espi_comm_look(&mine->comm, *comm))
                espi_gather_comm_ends(&mine->comm);
            espi_comm_ends(*comm);
        }
    }
    return ESPI_CALL(next, 1, args);
}

static espi_word handle_comm_idup(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread;
    if (RUNNING)
        espi_self_comm();
    espi_world_saw_idup();
    return fn == ESPI_FN_Comm_idup ? ESPI_CALL(next, 3, args) : ESPI_CALL(next, 4, args);
}

static const espi_handler by_args[] = {[4] = handle_4,   [5] = handle_5,   [6] = handle_6,   [7] = handle_7,
                                       [8] = handle_8,   [9] = handle_9,   [10] = handle_10, [11] = handle_11,
                                       [12] = handle_12, [13] = handle_13};

static espi_word handle_own(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    return espi_selfcopy_call(thread, fn, args, next, by_args[espi_api_rows[fn].args]);
}

espi_handler espi_generic_handler(enum espi_fn fn)
{
    return espi_api_rows[fn].kind & ESPI_OWN ? handle_own : by_args[espi_api_rows[fn].args];
}

/* The short way of each function: what needs nothing goes on here, everything else goes to `general`. */
#define ESPI_SHORT(name, n, large, kind, comm, passes, own, general, ready, ...)                                     \
    static espi_word short_##name(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)      \
    {                                                                                                                \
        static const struct espi_buffer_args typed[] = {__VA_ARGS__ ESPI_TYPED_END};                                 \
        struct espi_thread_state *mine = thread->core;                                                               \
        if ((kind) & ESPI_LEAVES)                                                                                    \
            espi_self_sends_note(typed, kind, comm, args);                                                           \
        if (__builtin_expect(!mine || !(ready) || !nothing_to_do(mine, typed, large, passes, own, args), 0))         \
            return general(thread, fn, args, next);                                                                  \
        espi_bump(&mine->stats->calls[ESPI_FN_##name], 1);                                                           \
        return ESPI_CALL(next, n, args);                                                                             \
    }
#define OWN(kind)                                                                                                    \
    (((kind) & ESPI_OWN) == 0 ? 0 : ESPI_PAIRED_COPIED | ((kind) & ESPI_P2P ? (unsigned)ESPI_PAIRED_LOCAL : 0))
#define ESPI_SHORT_SUBSTITUTE(name, n, large, kind, comm, ...)                                                       \
    ESPI_SHORT(name, n, large, kind, comm, false, OWN(kind), ((kind) & ESPI_OWN ? handle_own : handle_##n),          \
               RUNNING, __VA_ARGS__)
#define ESPI_SHORT_COUNT(name, n, large, kind, comm, ...)                                                            \
    ESPI_SHORT(name, n, large, kind, comm, true, 0, handle_##n, RUNNING, __VA_ARGS__)
#define ESPI_SHORT_TREE(name, n, large, kind, comm, ...)                                                             \
    ESPI_SHORT(name, n, large, kind, comm, false, OWN(kind), espi_collective_call, RUNNING && !espi_world.trees,     \
               __VA_ARGS__)
#define ESPI_SHORT_REDUCE(...)
#define ESPI_SHORT_SYNC(...)
#define ESPI_SHORT_SYNC_REDUCE(...)
#define ESPI_SHORT_LIFE(...)
#define ESPI_SHORT_GUARD(...)
#define ESPI_SHORT_LEAVE(...)
#define ESPI_API(name, args, large, treatment, kind, comm, root, reason, ...)                                        \
    ESPI_SHORT_##treatment(name, args, large, kind, comm, __VA_ARGS__)
#include "api.def"
#undef ESPI_API

/* The functions treated as LIFE, by name. */
#define ESPI_LIFE_Comm_free handle_comm_end
#define ESPI_LIFE_Comm_disconnect handle_comm_end
#define ESPI_LIFE_Comm_idup handle_comm_idup
#define ESPI_LIFE_Comm_idup_with_info handle_comm_idup
#define ESPI_LIFE_Type_commit handle_type_commit
#define ESPI_LIFE_Type_dup handle_type_dup
#define ESPI_LIFE_Type_free handle_type_free
#define ESPI_LIFE_Init espi_handle_init
#define ESPI_LIFE_Init_thread espi_handle_init
#define ESPI_LIFE_Session_init espi_handle_session_init
#define ESPI_LIFE_Session_finalize espi_handle_session_finalize
#define ESPI_LIFE_Start espi_reduce_start
#define ESPI_LIFE_Startall espi_reduce_start
#define ESPI_LIFE_Wait espi_reduce_complete
#define ESPI_LIFE_Waitall espi_reduce_complete
#define ESPI_LIFE_Waitany espi_reduce_complete
#define ESPI_LIFE_Waitsome espi_reduce_complete
#define ESPI_LIFE_Test espi_reduce_complete
#define ESPI_LIFE_Testall espi_reduce_complete
#define ESPI_LIFE_Testany espi_reduce_complete
#define ESPI_LIFE_Testsome espi_reduce_complete
#define ESPI_LIFE_Request_get_status espi_reduce_complete
#define ESPI_LIFE_Request_free espi_reduce_complete

#define ESPI_HANDLER_SUBSTITUTE(name, n, kind) short_##name
#define ESPI_HANDLER_COUNT(name, n, kind) short_##name
#define ESPI_HANDLER_TREE(name, n, kind) short_##name
#define ESPI_HANDLER_REDUCE(name, n, kind) espi_reduce_call
#define ESPI_HANDLER_SYNC(name, n, kind) espi_agreement_barrier
#define ESPI_HANDLER_SYNC_REDUCE(name, n, kind) espi_agreement_allreduce
#define ESPI_HANDLER_LIFE(name, n, kind) ESPI_LIFE_##name
#define ESPI_HANDLER_GUARD(name, n, kind) 0
#define ESPI_HANDLER_LEAVE(name, n, kind) 0

const espi_handler espi_core_handlers[ESPI_FN_COUNT] = {
#define ESPI_API(name, args, large, treatment, kind, ...)                                                            \
    [ESPI_FN_##name] = ESPI_HANDLER_##treatment(name, args, kind),
#include "api.def"
#undef ESPI_API
};
