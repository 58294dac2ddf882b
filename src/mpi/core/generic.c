/* Driven by the row of api.def as data: any call that typeplan/substitute.c may change. */
#include "mpi/core/generic.h"

#include <mpi.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/core/left_alone.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/typeplan/message.h"
#include "mpi/typeplan/substitute.h"
#include "mpi/typeplan/substitute_array.h"
#include "mpi/typeplan/unseen.h"
#include "words.h"

/* The general way, for all functions of n words. */
#define ESPI_HANDLER(n)                                                                                              \
    static __attribute__((noinline)) espi_word handle_##n(struct espi_thread *thread, enum espi_fn fn,               \
                                                          espi_word *args, espi_next next)                           \
    {                                                                                                                \
        if (!espi_is_running())                                                                                      \
            return ESPI_CALL(next, n, args);                                                                         \
        struct espi_thread_state *thread_state = espi_thread_state(thread);                                          \
        if (__builtin_expect(!thread_state, 0))                                                                      \
            return ESPI_CALL(next, n, args);                                                                         \
        espi_count_call(thread_state->stats, fn);                                                                    \
        const struct espi_api_row *row = &espi_api_rows[fn];                                                         \
        const struct asked asked = {row->large, row->treatment == ESPI_API_COUNT, row->kind, row->comm, row->root};  \
        if (espi_left_alone(thread_state, &asked, row->typed, 0, args))                                              \
            return ESPI_CALL(next, n, args);                                                                         \
        espi_word changed[n];                                                                                        \
        __builtin_memcpy(changed, args, sizeof changed);                                                             \
        struct espi_substitution derived = {                                                                         \
            .thread = thread, .thread_state = thread_state, .row = row, .args = args, .changed = changed};           \
        espi_substitute_begin(&derived);                                                                             \
        espi_word result = derived.done ? MPI_SUCCESS : ESPI_CALL(next, n, changed);                                 \
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

static const espi_handler by_args[] = {[4] = handle_4,   [5] = handle_5,   [6] = handle_6,   [7] = handle_7,
                                       [8] = handle_8,   [9] = handle_9,   [10] = handle_10, [11] = handle_11,
                                       [12] = handle_12, [13] = handle_13};

/* ---- messages that a pack program sees to ---- */

#define ESPI_MESSAGE(n, general)                                                                                     \
    static espi_word message_##n(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)       \
    {                                                                                                                \
        struct espi_thread_state *thread_state = espi_is_running() ? espi_thread_state(thread) : NULL;               \
        espi_word changed[n];                                                                                        \
        struct espi_message message;                                                                                 \
        __builtin_memcpy(changed, args, sizeof changed);                                                             \
        if (!thread_state || !espi_message_begin(&message, thread_state, &espi_api_rows[fn], args, changed))         \
            return general(thread, fn, args, next);                                                                  \
        espi_count_call(thread_state->stats, fn);                                                                    \
        espi_word result = ESPI_CALL(next, n, changed);                                                              \
        return espi_message_end(&message, changed, (int)result) ? ESPI_CALL(next, n, args) : result;                 \
    }

ESPI_MESSAGE(6, handle_6)
ESPI_MESSAGE(7, handle_7)
ESPI_MESSAGE(12, handle_12)

/* ---- calls in which a rank may give itself data ---- */

static espi_word handle_own(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    return espi_selfcopy_call(thread, fn, args, next, by_args[espi_api_rows[fn].args]);
}

static espi_word own_message_12(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    return espi_selfcopy_call(thread, fn, args, next, message_12);
}

/* ---- calls with a type for each peer ---- */

/* Whether a use of the type needs no look at anything: it passes unseen, or is used as it is for now, also where a
   rank gives itself blocks of it. */
static bool type_passes(MPI_Datatype type, unsigned worth)
{
    const struct espi_type_slot *slot;
    if (espi_type_is_predefined(type) || espi_unseen_may_pass(type))
        return true;
    slot = espi_types_quiet(type);
    return slot && (atomic_load_explicit(&slot->paired, memory_order_relaxed) & (worth | ESPI_PAIRED_SEEN)) == 0;
}

static bool side_passes(const struct espi_api_row *row, const struct espi_buffer_args *typed, const espi_word *args,
                        int n, unsigned worth)
{
    const MPI_Datatype *types = (const MPI_Datatype *)args[(int)typed->type];
    if ((void *)args[(int)typed->buffer] == MPI_IN_PLACE || !types || !args[(int)typed->count])
        return false;
    for (int i = 0; i < n; i++)
        if (espi_count_in(row, args, typed->count, i) != 0 && !type_passes(types[i], worth))
            return false;
    return true;
}

static void count_side(struct espi_stats_thread *stats, const struct espi_api_row *row,
                       const struct espi_buffer_args *typed, const espi_word *args, int n)
{
    const MPI_Datatype *types = (const MPI_Datatype *)args[(int)typed->type];
    for (int i = 0; i < n; i++) {
        const int64_t count = espi_count_in(row, args, typed->count, i);
        if (count > 0 && !espi_type_is_predefined(types[i]))
            espi_types_goes_on(stats, types[i], count);
    }
}

/* MPI_Alltoallw and its neighbourhood form, none of whose types is due to anything: they go on as they are. */
static espi_word handle_blocks_w(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    struct espi_thread_state *thread_state = espi_is_running() ? espi_thread_state(thread) : NULL;
    const struct espi_api_row *row = &espi_api_rows[fn];
    const espi_handler general = row->kind & ESPI_OWN ? handle_own : handle_9;
    if (!thread_state || espi_settings.datatypes != ESPI_MODE_AUTO ||
        !espi_comm_look(&thread_state->comm, (MPI_Comm)args[(int)row->comm]))
        return general(thread, fn, args, next);
    const struct espi_comm_facts *facts = &thread_state->comm;
    const int sent = row->kind & ESPI_NEIGHBOUR ? facts->out : facts->peers,
              received = row->kind & ESPI_NEIGHBOUR ? facts->in : facts->peers;
    const unsigned worth = facts->peers > 1 ? ESPI_PAIRED_APART : ESPI_PAIRED_COPIED;
    if (!side_passes(row, &row->typed[0], args, sent, worth) ||
        !side_passes(row, &row->typed[1], args, received, worth))
        return general(thread, fn, args, next);
    count_side(thread_state->stats, row, &row->typed[0], args, sent);
    count_side(thread_state->stats, row, &row->typed[1], args, received);
    espi_count_call(thread_state->stats, fn);
    return ESPI_CALL(next, 9, args);
}

static espi_handler choose(const struct espi_api_row *row)
{
    if (row->args == 9 && row->typed[0].shape == ESPI_SHAPE_W)
        return handle_blocks_w;
    if (!espi_message_is(row))
        return row->kind & ESPI_OWN ? handle_own : by_args[row->args];
    return row->args == 6 ? message_6 : row->args == 7 ? message_7 : own_message_12;
}

espi_handler espi_generic_handler(enum espi_fn fn)
{
    static _Atomic(espi_handler) chosen[ESPI_FN_COUNT];
    espi_handler handler = atomic_load_explicit(&chosen[fn], memory_order_relaxed);
    if (!handler) {
        handler = choose(&espi_api_rows[fn]);
        atomic_store_explicit(&chosen[fn], handler, memory_order_relaxed);
    }
    return handler;
}
