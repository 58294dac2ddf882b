/* Driven by the row of api.def as data: any call that substitute.c may change. */
#include "mpi/calls/generic.h"

#include <mpi.h>

#include "base/table.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/calls/left_alone.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/calls/collective.h"
#include "mpi/typeplan/kept_types.h"
#include "mpi/calls/message.h"
#include "mpi/calls/repeated.h"
#include "mpi/calls/substitute.h"
#include "mpi/calls/substitute_array.h"
#include "mpi/typeplan/unseen.h"
#include "words.h"

/* Types that the program has not committed, but MPI takes for committed, become others that it refuses as it would
   these. One function takes types that are not. */
static inline void refuse_types(enum espi_fn fn, espi_word *args)
{
    const struct espi_buffer_args *typed = espi_api_rows[fn].typed;
    if (fn == ESPI_FN_Pack_external_size || fn == ESPI_FN_Pack_external_size_c)
        return;
    for (int i = 0; i < 2 && typed[i].shape != ESPI_SHAPE_NONE; i++) {
        espi_word *type = &args[(int)typed[i].type];
        if (typed[i].shape != ESPI_SHAPE_W)
            *type = (espi_word)espi_kept_refused((MPI_Datatype)*type);
    }
}

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
        refuse_types(fn, args);                                                                                      \
        const struct asked asked = {row->large, row->treatment == ESPI_API_COUNT, row->kind, row->comm, row->root,   \
                                    fn};                                                                             \
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

#define ESPI_MESSAGE(n, general, one_peer)                                                                           \
    static espi_word message_##n(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)       \
    {                                                                                                                \
        struct espi_thread_state *thread_state = espi_is_running() ? espi_thread_state(thread) : NULL;               \
        espi_word changed[n];                                                                                        \
        struct espi_message message;                                                                                 \
        if ((one_peer) && thread_state && espi_message_is_to_nobody(&espi_api_rows[fn], args)) {                     \
            refuse_types(fn, args);                                                                                  \
            espi_count_call(thread_state->stats, fn);                                                                \
            return ESPI_CALL(next, n, args);                                                                         \
        }                                                                                                            \
        if ((one_peer) && thread_state && espi_message_is_left(thread_state, &espi_api_rows[fn], args)) {            \
            espi_count_call(thread_state->stats, fn);                                                                \
            return ESPI_CALL(next, n, args);                                                                         \
        }                                                                                                            \
        __builtin_memcpy(changed, args, sizeof changed);                                                             \
        if (!thread_state || !espi_message_begin(&message, thread_state, &espi_api_rows[fn], args, changed))         \
            return general(thread, fn, args, next);                                                                  \
        espi_count_call(thread_state->stats, fn);                                                                    \
        espi_word result = ESPI_CALL(next, n, changed);                                                              \
        return espi_message_end(&message, changed, (int)result) ? ESPI_CALL(next, n, args) : result;                 \
    }

ESPI_MESSAGE(6, handle_6, true)
ESPI_MESSAGE(7, handle_7, true)
ESPI_MESSAGE(12, handle_12, false)

/* ---- collective calls whose sides pack programs see to, or that go as they are ---- */

#define ESPI_COLLECTIVE_CALL(n)                                                                                      \
    static espi_word collective_##n(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)    \
    {                                                                                                                \
        struct espi_thread_state *thread_state = espi_is_running() ? espi_thread_state(thread) : NULL;               \
        espi_word changed[n];                                                                                        \
        struct espi_collective call;                                                                                 \
        __builtin_memcpy(changed, args, sizeof changed);                                                             \
        enum espi_course course = !thread_state ? ESPI_COURSE_GENERAL                                                \
                                                : espi_collective_course(&call, thread_state, &espi_api_rows[fn],    \
                                                                         args, changed);                             \
        if (course == ESPI_COURSE_GENERAL)                                                                           \
            return handle_##n(thread, fn, args, next);                                                               \
        espi_count_call(thread_state->stats, fn);                                                                    \
        espi_word result = ESPI_CALL(next, n, changed);                                                              \
        if (course == ESPI_COURSE_AS_IT_IS)                                                                          \
            return result;                                                                                           \
        return espi_collective_end(&call, (int)result) ? ESPI_CALL(next, n, args) : result;                          \
    }

ESPI_COLLECTIVE_CALL(5)
ESPI_COLLECTIVE_CALL(6)
ESPI_COLLECTIVE_CALL(7)
ESPI_COLLECTIVE_CALL(8)
ESPI_COLLECTIVE_CALL(9)
ESPI_COLLECTIVE_CALL(10)

static const espi_handler collectives[] = {[5] = collective_5, [6] = collective_6, [7] = collective_7,
                                           [8] = collective_8, [9] = collective_9, [10] = collective_10};

/* The way of calls that need more than a look at their types. */
static espi_handler short_or_general(const struct espi_api_row *row)
{
    return espi_collective_is(row) ? collectives[row->args] : by_args[row->args];
}

/* ---- calls in which a rank may give itself data ---- */

static espi_word handle_own(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    return espi_selfcopy_call(thread, fn, args, next, short_or_general(&espi_api_rows[fn]));
}

static espi_word own_message_12(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    return espi_selfcopy_call(thread, fn, args, next, message_12);
}

/* ---- calls with a type for each peer ---- */

/* The slot of a type that is used as it is for now, or in calls of this kind. */
static struct espi_type_slot *rests(MPI_Datatype type, enum espi_fn fn, int side, int64_t count)
{
    struct espi_type_slot *slot = espi_types_quiet(type);
    const uint64_t kind = espi_use_kind(fn, side, count, false, false);
    return slot || kind == 0 ? slot : espi_types_left(type, kind);
}

/* Whether a use of the type needs no look at anything: it passes unseen (without `*slot`), or is used as it is for
   now, also where a rank gives itself blocks of it. */
static bool type_passes(MPI_Datatype type, enum espi_fn fn, int side, int64_t count, unsigned worth,
                        struct espi_type_slot **slot)
{
    *slot = NULL;
    if (espi_type_is_predefined(type) || espi_unseen_may_pass(type))
        return true;
    *slot = rests(type, fn, side, count);
    return *slot && (atomic_load_explicit(&(*slot)->paired, memory_order_relaxed) & (worth | ESPI_PAIRED_OPEN)) == 0;
}

/* Of the first blocks of a side; those of others are looked up again. */
struct passing {
    struct espi_type_slot *slot[ESPI_CALL_TYPES];
};

static bool side_passes(const struct espi_api_row *row, int side, const espi_word *args, int n, unsigned worth,
                        struct passing *passing)
{
    struct espi_type_slot *other;
    const struct espi_buffer_args *typed = &row->typed[side];
    const MPI_Datatype *types = (const MPI_Datatype *)args[(int)typed->type];
    if ((void *)args[(int)typed->buffer] == MPI_IN_PLACE || !types || !args[(int)typed->count])
        return false;
    for (int i = 0; i < n; i++) {
        const int64_t count = espi_count_in(row, args, typed->count, i);
        if (count != 0 && !type_passes(types[i], (enum espi_fn)(row - espi_api_rows), side, count, worth,
                                       i < ESPI_CALL_TYPES ? &passing->slot[i] : &other))
            return false;
    }
    return true;
}

static void count_side(struct espi_stats_thread *stats, const struct espi_api_row *row, int side,
                       const espi_word *args, int n, const struct passing *passing)
{
    const struct espi_buffer_args *typed = &row->typed[side];
    const MPI_Datatype *types = (const MPI_Datatype *)args[(int)typed->type];
    for (int i = 0; i < n; i++) {
        const int64_t count = espi_count_in(row, args, typed->count, i);
        struct espi_type_slot *slot;
        if (count <= 0 || espi_type_is_predefined(types[i]))
            continue;
        slot = i < ESPI_CALL_TYPES ? passing->slot[i]
                                   : rests(types[i], (enum espi_fn)(row - espi_api_rows), side, count);
        if (slot)
            espi_types_used(stats, types[i], slot, count);
        else
            espi_types_goes_on(stats, types[i], count);
    }
}

/* A call of MPI_Alltoallw or its kin, none of whose types is due to anything, is counted, and goes on as it is. */
static bool blocks_pass(struct espi_thread_state *thread_state, enum espi_fn fn, const espi_word *args)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    if (!thread_state || espi_settings.datatypes != ESPI_MODE_AUTO ||
        !espi_comm_look(&thread_state->comm, (MPI_Comm)args[(int)row->comm]))
        return false;
    const struct espi_comm_facts *facts = &thread_state->comm;
    const int sent = row->kind & ESPI_NEIGHBOUR ? facts->out : facts->peers,
              received = row->kind & ESPI_NEIGHBOUR ? facts->in : facts->peers;
    const unsigned worth = facts->peers > 1 ? ESPI_PAIRED_APART : ESPI_PAIRED_COPIED;
    struct passing passing[2];
    if (!side_passes(row, 0, args, sent, worth, &passing[0]) ||
        !side_passes(row, 1, args, received, worth, &passing[1]))
        return false;
    count_side(thread_state->stats, row, 0, args, sent, &passing[0]);
    count_side(thread_state->stats, row, 1, args, received, &passing[1]);
    espi_count_call(thread_state->stats, fn);
    return true;
}

#define ESPI_BLOCKS_W(n)                                                                                             \
    static espi_word blocks_w_##n(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)      \
    {                                                                                                                \
        struct espi_thread_state *thread_state = espi_is_running() ? espi_thread_state(thread) : NULL;               \
        if (blocks_pass(thread_state, fn, args))                                                                     \
            return ESPI_CALL(next, n, args);                                                                         \
        return espi_api_rows[fn].kind & ESPI_OWN ? handle_own(thread, fn, args, next)                                \
                                                 : collective_##n(thread, fn, args, next);                           \
    }

ESPI_BLOCKS_W(9)
ESPI_BLOCKS_W(10)

/* ---- collective calls in which a rank may give itself data, or with a type for each peer, that come again ---- */

#define ESPI_AGAIN(n, anew)                                                                                          \
    static espi_word again_##n(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)         \
    {                                                                                                                \
        struct espi_thread_state *thread_state = espi_is_running() ? espi_thread_state(thread) : NULL;               \
        espi_word changed[n];                                                                                        \
        struct espi_collective call;                                                                                 \
        if (!thread_state || !espi_repeated_any())                                                                   \
            return anew(thread, fn, args, next);                                                                     \
        if (n == 9 && espi_api_rows[fn].kind & ESPI_OWN && /* those with a block for each rank */                    \
            espi_selfcopy_may_be_again(&thread_state->pairs, &espi_api_rows[fn],                                     \
                                       (MPI_Comm)args[(int)espi_api_rows[fn].comm]))                                 \
            return handle_own(thread, fn, args, next);                                                               \
        __builtin_memcpy(changed, args, sizeof changed);                                                             \
        if (!espi_repeated_begin(&call, thread_state, &espi_api_rows[fn], args, changed, true))                      \
            return anew(thread, fn, args, next);                                                                     \
        espi_count_call(thread_state->stats, fn);                                                                    \
        espi_word result = ESPI_CALL(next, n, changed);                                                              \
        return espi_collective_end(&call, (int)result) ? ESPI_CALL(next, n, args) : result;                          \
    }

static espi_word own_or_blocks(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    return (espi_api_rows[fn].typed[0].shape == ESPI_SHAPE_W ? blocks_w_9 : handle_own)(thread, fn, args, next);
}

ESPI_AGAIN(7, handle_own)
ESPI_AGAIN(8, handle_own)
ESPI_AGAIN(9, own_or_blocks)

static const espi_handler again[] = {[7] = again_7, [8] = again_8, [9] = again_9};

static bool may_come_again(const struct espi_api_row *row)
{
    return (row->kind & ESPI_OWN || row->typed[0].shape == ESPI_SHAPE_W) && row->args <= 9 &&
           espi_collective_is(row) && !(row->kind & ESPI_NONBLOCKING);
}

static espi_handler choose(const struct espi_api_row *row)
{
    if (may_come_again(row))
        return again[row->args];
    if (row->typed[0].shape == ESPI_SHAPE_W && !(row->kind & ESPI_PERSISTENT))
        return row->args == 9 ? blocks_w_9 : blocks_w_10;
    if (!espi_message_is(row))
        return row->kind & ESPI_OWN ? handle_own : short_or_general(row);
    return row->args == 6 ? message_6 : row->args == 7 ? message_7 : own_message_12;
}

espi_handler espi_generic_handler(enum espi_fn fn)
{
    static _Atomic(espi_handler) chosen[ESPI_FN_COUNT] ESPI_TABLE;
    espi_handler handler = atomic_load_explicit(&chosen[fn], memory_order_relaxed);
    if (!handler) {
        handler = choose(&espi_api_rows[fn]);
        atomic_store_explicit(&chosen[fn], handler, memory_order_relaxed);
    }
    return handler;
}
