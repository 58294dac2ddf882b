/* Driven by the row of api.def as data: any call that typeplan/substitute.c may change. */
#include "mpi/core/generic.h"

#include <mpi.h>

#include "mpi/core/left_alone.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/typeplan/substitute.h"
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

espi_handler espi_generic_handler(enum espi_fn fn)
{
    return espi_api_rows[fn].kind & ESPI_OWN ? handle_own : by_args[espi_api_rows[fn].args];
}
