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
        if (espi_left_alone(thread_state, row->typed, row->large, row->treatment == ESPI_API_COUNT, 0, args))        \
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

static espi_word handle_own(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    return espi_selfcopy_call(thread, fn, args, next, by_args[espi_api_rows[fn].args]);
}

/* ---- messages that a pack program sees to ---- */

#define ESPI_MESSAGE(n)                                                                                              \
    static espi_word message_##n(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)       \
    {                                                                                                                \
        struct espi_thread_state *thread_state = espi_is_running() ? espi_thread_state(thread) : NULL;               \
        espi_word changed[n];                                                                                        \
        struct espi_message message;                                                                                 \
        __builtin_memcpy(changed, args, sizeof changed);                                                             \
        if (!thread_state || !espi_message_begin(&message, thread_state, &espi_api_rows[fn], args, changed))         \
            return handle_##n(thread, fn, args, next);                                                               \
        espi_count_call(thread_state->stats, fn);                                                                    \
        espi_word result = ESPI_CALL(next, n, changed);                                                              \
        return espi_message_end(&message, changed, (int)result) ? ESPI_CALL(next, n, args) : result;                 \
    }

ESPI_MESSAGE(6)
ESPI_MESSAGE(7)

/* ---- calls with a type for each peer ---- */

/* How many types of one side pass unseen, with their uses taken of their credit; the others are predefined, or have
   no data. -1: some does not pass; then some uses are counted twice. */
static int side_passes(const struct espi_api_row *row, const struct espi_buffer_args *typed, const espi_word *args,
                       int n)
{
    const MPI_Datatype *types = (const MPI_Datatype *)args[(int)typed->type];
    int uses = 0;
    if ((void *)args[(int)typed->buffer] == MPI_IN_PLACE || !types || !args[(int)typed->count])
        return -1;
    for (int i = 0; i < n; i++) {
        if (espi_unseen_passes(types[i]))
            uses++;
        else if (!espi_type_is_predefined(types[i]) && espi_count_in(row, args, typed->count, i) > 0)
            return -1;
    }
    return uses;
}

/* MPI_Alltoallw of types that are made anew each time and never worth a look: goes on as it is. */
static bool all_pass(struct espi_thread_state *thread_state, const struct espi_api_row *row, const espi_word *args)
{
    int sent, received;
    if (!espi_comm_look(&thread_state->comm, (MPI_Comm)args[(int)row->comm]) ||
        (sent = side_passes(row, &row->typed[0], args, thread_state->comm.peers)) < 0 ||
        (received = side_passes(row, &row->typed[1], args, thread_state->comm.peers)) < 0)
        return false;
    espi_count(thread_state->stats, ESPI_COUNT_calls_examined, (uint64_t)(sent + received));
    espi_count(thread_state->stats, ESPI_COUNT_left_not_earned, (uint64_t)(sent + received));
    return true;
}

static espi_word handle_alltoallw(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    struct espi_thread_state *thread_state = espi_is_running() ? espi_thread_state(thread) : NULL;
    if (!thread_state || !all_pass(thread_state, &espi_api_rows[fn], args))
        return handle_own(thread, fn, args, next);
    espi_count_call(thread_state->stats, fn);
    return ESPI_CALL(next, 9, args);
}

espi_handler espi_generic_handler(enum espi_fn fn)
{
    if (fn == ESPI_FN_Alltoallw || fn == ESPI_FN_Alltoallw_c)
        return handle_alltoallw;
    if (espi_message_is(&espi_api_rows[fn]))
        return espi_api_rows[fn].args == 6 ? message_6 : message_7;
    return espi_api_rows[fn].kind & ESPI_OWN ? handle_own : by_args[espi_api_rows[fn].args];
}
