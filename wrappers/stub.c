/*
 * The exported functions: MPI_X and PMPI_X for each row of api.def that is not LEAVE.
 *
 * Why PMPI_X too: Fortran layers call it directly (see the stacking table in the notes on design). Why no aliases:
 * each of the two passes calls on to the next definition of its own name, which is what would have been called
 * without us, whatever other tools stand before or behind.
 *
 * A call that is made while the same thread is inside one (by the core, another tool, a callback, MPI itself) goes
 * straight on. `frame` tells (0 outside): the stack grows downwards, so a nested call has a lower address. A call
 * from above means that the outer one was left without return (longjmp or an exception out of an error handler), so
 * this one counts as an outermost call again.
 */
#include "stub.h"

#include "words.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "passing arguments on as machine words was thought through for x86_64 and aarch64 (ELF) only"
#endif

#define ESPI_EXPORT __attribute__((visibility("default")))

_Atomic(const espi_handler *) espi_handlers;
int espi_nested;
_Atomic(espi_next) espi_nexts[2][ESPI_FN_COUNT];
__thread struct espi_thread espi_here __attribute__((tls_model("initial-exec")));

/* What is rare stands in functions of its own, so that the entry keeps no register for it over the call. */
#define ESPI_ENTRY(prefix, profiling, name, n, kind)                                                                 \
    ESPI_EXPORT espi_word prefix##name(ESPI_PARAMS_##n);                                                             \
    static __attribute__((noinline, cold)) espi_word prefix##name##_first(ESPI_PARAMS_##n)                           \
    {                                                                                                                \
        espi_start();                                                                                                \
        espi_next next = espi_find_next(profiling, ESPI_FN_##name);                                                  \
        if (!atomic_load_explicit(&espi_handlers, memory_order_acquire)) /* from inside of the core's start */       \
            return ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                          \
        return prefix##name(ESPI_ARGS_##n);                                                                          \
    }                                                                                                                \
    ESPI_EXPORT espi_word prefix##name(ESPI_PARAMS_##n)                                                              \
    {                                                                                                                \
        espi_word args[n], result;                                                                                   \
        struct espi_thread *here = &espi_here;                                                                       \
        const espi_handler *handlers = atomic_load_explicit(&espi_handlers, memory_order_acquire);                   \
        espi_next next = atomic_load_explicit(&espi_nexts[profiling][ESPI_FN_##name], memory_order_acquire);         \
        uintptr_t frame = (uintptr_t)args;                                                                           \
        if (__builtin_expect(!next || !handlers, 0))                                                                 \
            return prefix##name##_first(ESPI_ARGS_##n);                                                              \
        if (__builtin_expect(frame < here->frame, 0)) {                                                              \
            if ((kind) & ESPI_LEAVES)                                                                                \
                __atomic_store_n(&espi_nested, 1, __ATOMIC_RELAXED);                                                 \
            return ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                          \
        }                                                                                                            \
        espi_handler handler = handlers[ESPI_FN_##name];                                                             \
        here->frame = frame;                                                                                         \
        if (__builtin_expect(handler != 0, 1)) {                                                                     \
            const espi_word given[n] = {ESPI_ARGS_##n};                                                              \
            __builtin_memcpy(args, given, sizeof args);                                                              \
            result = handler(here, ESPI_FN_##name, args, next);                                                      \
        } else {                                                                                                     \
            result = ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                        \
        }                                                                                                            \
        here->frame = 0;                                                                                             \
        return result;                                                                                               \
    }

#define ESPI_EXPORTED_LIFE(name, n, kind) ESPI_ENTRY(MPI_, 0, name, n, kind) ESPI_ENTRY(PMPI_, 1, name, n, kind)
#define ESPI_EXPORTED_SUBSTITUTE ESPI_EXPORTED_LIFE
#define ESPI_EXPORTED_TREE ESPI_EXPORTED_LIFE
#define ESPI_EXPORTED_REDUCE ESPI_EXPORTED_LIFE
#define ESPI_EXPORTED_COUNT ESPI_EXPORTED_LIFE
#define ESPI_EXPORTED_GUARD ESPI_EXPORTED_LIFE
#define ESPI_EXPORTED_LEAVE(name, n, kind)
#define ESPI_API(name, args, large, treatment, kind, ...) ESPI_EXPORTED_##treatment(name, args, kind)
#include "api.def"
#undef ESPI_API
