/*
 * One handler for every function of api.def, by its treatment. Those that are SUBSTITUTE, TREE or COUNT have a short
 * way, made from the row, for calls that go on as they are (left_alone.h).
 */
#include "mpi/entry/handlers.h"

#include <mpi.h>

#include "mpi/gather/agreement.h"
#include "mpi/exchange/exchange.h"
#include "mpi/gather/call.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/comm/dying_comms.h"
#include "mpi/typeplan/kept_types.h"
#include "mpi/calls/substitute.h"
#include "mpi/entry/lifecycle.h"
#include "mpi/core/thread_state.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/selfcopy/self_sends.h"
#include "mpi/packed/core_distance.h"
#include "mpi/packed/message_ways.h"
#include "mpi/packed/packed_persistent.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/reduce/reduce.h"
#include "mpi/core/api_table.h"
#include "mpi/core/buffer_args.h"
#include "mpi/calls/generic.h"
#include "mpi/core/pmpi.h"
#include "mpi/calls/left_alone.h"
#include "mpi/comm/self_comm.h"
#include "mpi/calls/short_local.h"
#include "mpi/calls/short_message.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/calls/watched_call.h"
#include "mpi/comm/world.h"
#include "words.h"

#define RUNNING atomic_load_explicit(&espi_running, memory_order_acquire)
/* Every block of counters has room for every function (espi_stats_start). */
_Static_assert(ESPI_FN_COUNT <= ESPI_STATS_FUNCTIONS, "all functions are counted");

/* Whether the call is one inside of another; takes the mark back (abi.h). */
static bool is_inner(struct espi_thread *thread)
{
    const bool inner = thread->inner;
    thread->inner = false;
    return inner;
}

static espi_word handle_type_commit(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    const bool inner = is_inner(thread);
    espi_word result = ESPI_CALL(next, 1, args);
    const MPI_Datatype *type = (const MPI_Datatype *)args[0];
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    if ((int)result != MPI_SUCCESS || !thread_state || !espi_is_running())
        return result;
    if (inner) { /* others begin to be known with a commit, or a use, that is seen */
        if (espi_kept_is_uncommitted(*type))
            espi_types_committed(thread_state, *type);
        return result;
    }
    espi_bump(&thread_state->stats->calls[fn], 1);
    if (!espi_type_is_predefined(*type))
        espi_types_committed(thread_state, *type);
    return result;
}

static espi_word handle_type_dup(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    espi_word result = ESPI_CALL(next, 2, args);
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    if ((int)result != MPI_SUCCESS || !thread_state || !espi_is_running())
        return result;
    espi_bump(&thread_state->stats->calls[fn], 1);
    MPI_Datatype old_type = (MPI_Datatype)args[0], new_type = *(const MPI_Datatype *)args[1];
    if (!espi_type_is_predefined(old_type) && !espi_type_is_predefined(new_type))
        espi_types_duped(thread_state, old_type, new_type);
    return result;
}

static espi_word handle_type_free(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    const MPI_Datatype *type = (const MPI_Datatype *)args[0];
    const bool inner = is_inner(thread);
    if (type && !espi_type_is_predefined(*type))
        espi_types_ending(thread_state, *type);
    if (thread_state && RUNNING && !inner)
        espi_bump(&thread_state->stats->calls[fn], 1);
    return ESPI_CALL(next, 1, args);
}

/* A type is to have a name. */
static espi_word handle_type_name(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)fn;
    is_inner(thread);
    if (espi_is_running())
        espi_kept_never((MPI_Datatype)args[0]);
    return ESPI_CALL(next, 2, args);
}

/* Types may have attributes of the program's from now on. */
static espi_word handle_type_keyval(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread, (void)fn;
    espi_kept_forbid();
    return ESPI_CALL(next, 4, args);
}

/* The program gets a second reference to each type that this one was made from. */
static espi_word handle_type_contents(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    const bool large = fn == ESPI_FN_Type_get_contents_c;
    is_inner(thread);
    espi_word result = large ? ESPI_CALL(next, 9, args) : ESPI_CALL(next, 7, args);
    const MPI_Datatype *types = (const MPI_Datatype *)args[large ? 8 : 6];
    MPI_Count ints, addrs, counts, n;
    int combiner;
    if ((int)result != MPI_SUCCESS || !espi_is_running() ||
        espi_pmpi.Type_get_envelope_c((MPI_Datatype)args[0], &ints, &addrs, &counts, &n, &combiner) != MPI_SUCCESS)
        return result;
    for (MPI_Count i = 0; i < n; i++)
        if (!espi_type_is_predefined(types[i])) {
            const uint32_t at = espi_credit_at((uint32_t)types[i]);
            espi_kept_never(types[i]);
            if (at < ESPI_CREDITS)
                espi_share(&espi_hot->types[at]);
        }
    return result;
}

/* MPI refuses to free what it has made itself. */
static bool is_built_in(MPI_Comm comm)
{
    return (uint32_t)comm >> 30 == 1;
}

static espi_word handle_comm_end(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    const MPI_Comm comm = args[0] != 0 ? *(const MPI_Comm *)args[0] : MPI_COMM_NULL;
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    if (thread_state && atomic_load_explicit(&espi_running, memory_order_acquire)) {
        espi_count_call(thread_state->stats, fn);
        if (espi_comm_is_known(comm) && !is_built_in(comm)) {
            if (espi_comm_look(&thread_state->comm, comm))
                espi_gather_comm_ends(&thread_state->comm);
            espi_comm_ends(comm);
        }
    }
    espi_comm_free_begins(comm);
    const espi_word result = ESPI_CALL(next, 1, args);
    espi_comm_free_ends(comm);
    return result;
}

static espi_word handle_comm_idup(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread;
    if (RUNNING)
        espi_self_comm();
    espi_world_saw_idup();
    return fn == ESPI_FN_Comm_idup ? ESPI_CALL(next, 3, args) : ESPI_CALL(next, 4, args);
}

/* ---- all functions ---- */

/* The short way of each function: what needs nothing goes on here, everything else goes to `general`. */
#define ESPI_SHORT(name, n, large, kind, comm, root, passes, own, general, ready, ...)                               \
    static espi_word short_##name(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)      \
    {                                                                                                                \
        static const struct espi_buffer_args typed[] = {__VA_ARGS__ ESPI_TYPED_END};                                 \
        static const struct asked asked = {large, passes, kind, comm, root, ESPI_FN_##name};                         \
        struct espi_thread_state *thread_state = thread->core;                                                       \
        if (((kind) & (ESPI_P2P | ESPI_PERSISTENT | ESPI_PARTITIONED)) == ESPI_P2P &&                                \
            espi_is_with_nobody(typed, args) && thread_state && (ready)) {                                           \
            espi_bump(&thread_state->stats->calls[ESPI_FN_##name], 1);                                               \
            return ESPI_CALL(next, n, args);                                                                         \
        }                                                                                                            \
        if ((kind) & ESPI_LEAVES)                                                                                    \
            espi_self_sends_note(typed, kind, comm, args);                                                           \
        if (ESPI_IS_SHORT_MESSAGE(kind, n, large) && __builtin_expect(thread_state && (ready), 1)) {                 \
            espi_word result;                                                                                        \
            if (((n) == 6 ? espi_short_send : espi_short_receive)(thread_state, fn, args, next, &result))            \
                return result;                                                                                       \
        }                                                                                                            \
        if (ESPI_IS_SHORT_LOCAL(ESPI_FN_##name) && __builtin_expect(thread_state && (ready), 1)) {                   \
            espi_word result;                                                                                        \
            if (espi_short_local(thread_state, fn, args, next, &result))                                             \
                return result;                                                                                       \
        }                                                                                                            \
        if (__builtin_expect(!thread_state || !(ready) ||                                                            \
                                 !espi_left_alone(thread_state, &asked, typed, own, args), 0))                       \
            return general(thread, fn, args, next);                                                                  \
        espi_bump(&thread_state->stats->calls[ESPI_FN_##name], 1);                                                   \
        if (__builtin_expect(espi_ways_are_watched, 0))                                                              \
            return espi_watched_call(thread_state, fn, args, next);                                                  \
        return ESPI_CALL(next, n, args);                                                                             \
    }
#define OWN(kind)                                                                                                    \
    (((kind) & ESPI_OWN) == 0 ? 0 : ESPI_PAIRED_COPIED | ((kind) & ESPI_P2P ? (unsigned)ESPI_PAIRED_MESSAGE : 0))
#define ESPI_SHORT_SUBSTITUTE(name, n, large, kind, comm, root, ...)                                                 \
    ESPI_SHORT(name, n, large, kind, comm, root, false, OWN(kind), espi_generic_handler(fn), RUNNING, __VA_ARGS__)
#define ESPI_SHORT_COUNT(name, n, large, kind, comm, root, ...)                                                      \
    ESPI_SHORT(name, n, large, kind, comm, root, true, 0, espi_generic_handler(fn), RUNNING, __VA_ARGS__)
#define ESPI_SHORT_TREE(name, n, large, kind, comm, root, ...)                                                       \
    ESPI_SHORT(name, n, large, kind, comm, root, false, OWN(kind), espi_collective_call,                             \
               RUNNING && !espi_world.trees, __VA_ARGS__)
/* Below it, the same as SUBSTITUTE. */
#define ESPI_SHORT_EXCHANGE(name, n, large, kind, comm, root, ...)                                                   \
    ESPI_SHORT_SUBSTITUTE(name, n, large, kind, comm, root, __VA_ARGS__)                                             \
    static espi_word exchange_##name(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)   \
    {                                                                                                                \
        return espi_exchange_is_on ? espi_exchange_call(thread, fn, args, next, short_##name)                       \
                                   : short_##name(thread, fn, args, next);                                           \
    }
#define ESPI_SHORT_REDUCE(...)
#define ESPI_SHORT_SYNC(...)
#define ESPI_SHORT_SYNC_REDUCE(...)
#define ESPI_SHORT_LIFE(...)
#define ESPI_SHORT_MAKE(...)
#define ESPI_SHORT_GUARD(...)
#define ESPI_SHORT_LEAVE(...)
#define ESPI_API(name, args, large, treatment, kind, comm, root, reason, ...)                                        \
    ESPI_SHORT_##treatment(name, args, large, kind, comm, root, __VA_ARGS__)
#include "api.def"
#undef ESPI_API

static espi_word complete_timed(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    const uint64_t begun = espi_stats_now();
    const espi_word result = espi_reduce_complete(thread, fn, args, next);

    espi_way_batch_called(espi_stats_now() - begun);
    return result;
}

/* Requests may be reductions', or packed messages'. */
static espi_word handle_completion(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    enum { NONE_MOST = 1024 }; /* calls in a row while there is none of either */
    static atomic_uint none;

    if (atomic_load_explicit(&espi_packed_requests, memory_order_acquire) == 0) {
        const espi_word result = espi_reduce_complete(thread, fn, args, next);
        unsigned now = atomic_load_explicit(&none, memory_order_relaxed) + 1;
        if (atomic_load_explicit(&espi_reduce_requests, memory_order_relaxed) != 0)
            now = 0;
        if (now >= NONE_MOST)
            espi_requests_go_back();
        atomic_store_explicit(&none, now < NONE_MOST ? now : 0, memory_order_relaxed);
        return result;
    }
    atomic_store_explicit(&none, 0, memory_order_relaxed);
    if (espi_way_batch == 0)
        return espi_packed_complete(thread, fn, args, next, espi_reduce_complete);
    const bool own = espi_way_batch_is_own();
    const uint64_t begun = espi_stats_now();
    espi_word result = espi_packed_complete(thread, fn, args, next, own ? complete_timed : espi_reduce_complete);
    espi_way_batch_took(own ? 0 : espi_stats_now() - begun);
    return result;
}

static espi_word handle_start(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    if (atomic_load_explicit(&espi_packed_requests, memory_order_acquire) > 0)
        espi_packed_start(fn, args);
    return espi_reduce_start(thread, fn, args, next);
}

/* The functions treated as LIFE, by name. */
#define ESPI_LIFE_Comm_free handle_comm_end
#define ESPI_LIFE_Comm_disconnect handle_comm_end
#define ESPI_LIFE_Comm_idup handle_comm_idup
#define ESPI_LIFE_Comm_idup_with_info handle_comm_idup
#define ESPI_LIFE_Type_commit handle_type_commit
#define ESPI_LIFE_Type_dup handle_type_dup
#define ESPI_LIFE_Type_free handle_type_free
#define ESPI_LIFE_Type_create_keyval handle_type_keyval
#define ESPI_LIFE_Type_set_name handle_type_name
#define ESPI_LIFE_Type_get_contents handle_type_contents
#define ESPI_LIFE_Type_get_contents_c handle_type_contents
#define ESPI_LIFE_Init espi_handle_init
#define ESPI_LIFE_Init_thread espi_handle_init
#define ESPI_LIFE_Session_init espi_handle_session_init
#define ESPI_LIFE_Session_finalize espi_handle_session_finalize
#define ESPI_LIFE_Start handle_start
#define ESPI_LIFE_Startall handle_start
#define ESPI_LIFE_Wait handle_completion
#define ESPI_LIFE_Waitall handle_completion
#define ESPI_LIFE_Waitany handle_completion
#define ESPI_LIFE_Waitsome handle_completion
#define ESPI_LIFE_Test handle_completion
#define ESPI_LIFE_Testall handle_completion
#define ESPI_LIFE_Testany handle_completion
#define ESPI_LIFE_Testsome handle_completion
#define ESPI_LIFE_Request_get_status handle_completion
#define ESPI_LIFE_Request_free handle_completion
#define ESPI_LIFE_Cancel espi_reduce_cancel

#define ESPI_HANDLER_SUBSTITUTE(name, n, kind) short_##name
#define ESPI_HANDLER_COUNT(name, n, kind) short_##name
#define ESPI_HANDLER_TREE(name, n, kind) short_##name
#define ESPI_HANDLER_EXCHANGE(name, n, kind) exchange_##name
#define ESPI_HANDLER_REDUCE(name, n, kind) espi_reduce_call
#define ESPI_HANDLER_SYNC(name, n, kind) espi_agreement_barrier
#define ESPI_HANDLER_SYNC_REDUCE(name, n, kind) espi_agreement_allreduce
#define ESPI_HANDLER_LIFE(name, n, kind) ESPI_LIFE_##name
#define ESPI_HANDLER_MAKE(name, n, kind) 0
#define ESPI_HANDLER_GUARD(name, n, kind) 0
#define ESPI_HANDLER_LEAVE(name, n, kind) 0

const espi_handler espi_core_handlers[ESPI_FN_COUNT] = {
#define ESPI_API(name, args, large, treatment, kind, ...)                                                            \
    [ESPI_FN_##name] = ESPI_HANDLER_##treatment(name, args, kind),
#include "api.def"
#undef ESPI_API
};
