/*
 * The exported functions: MPI_X and PMPI_X for each row of api.def that is not LEAVE.
 *
 * Why PMPI_X too: Fortran layers call it directly (see the stacking table in the notes on design). Why no aliases:
 * each of the two passes calls on to the next definition of its own name, which is what would have been called
 * without us, whatever other tools stand before or behind.
 *
 * A call that is made while the same thread is inside one (by the core, another tool, a callback, MPI itself) goes
 * straight on, but for MPI_Type_free, which the core is told of: MPI may give the handle to another type at once.
 * `frame` tells (0 outside): the stack grows downwards, so a nested call has a lower address. A call from above means
 * that the outer one was left without return (longjmp or an exception out of an error handler), so this one counts as
 * an outermost call again.
 */
#include "stub.h"

#include "words.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "passing arguments on as machine words was thought through for x86_64 and aarch64 (ELF) only"
#endif

#define ESPI_EXPORT __attribute__((visibility("default")))

struct espi_hot espi_hot;
_Atomic(espi_next) espi_nexts[2][ESPI_FN_COUNT];
__thread struct espi_thread espi_here __attribute__((tls_model("initial-exec")));

/* Whether a call has predefined datatypes only, from its row's last column; the flag that lets it go on from here. */
#define ESPI_NONE
#define ESPI_TYPE(type) && espi_is_predefined((uint32_t)a##type)
#define ESPI_ONE(buffer, count, type) ESPI_TYPE(type)
#define ESPI_V(buffer, counts, type) ESPI_TYPE(type)
#define ESPI_W(buffer, counts, types) &&false
#define ESPI_ONE_AT_ROOT(buffer, count, type) ESPI_TYPE(type)
#define ESPI_V_AT_ROOT(buffer, counts, type) ESPI_TYPE(type)
#define ESPI_SEND(buffer, count, type, dest, tag) ESPI_TYPE(type)
#define ESPI_RECV(buffer, count, type, source, tag) ESPI_TYPE(type)
#define ESPI_BOTH_WAYS(buffer, count, type, dest, sendtag, source, recvtag) ESPI_TYPE(type)
#define ESPI_TARGET(count, type, rank) ESPI_TYPE(type)
#define ESPI_PLAIN_FLAG_SUBSTITUTE ESPI_PLAIN
#define ESPI_PLAIN_FLAG_COUNT ESPI_PLAIN
#define ESPI_PLAIN_FLAG_TREE ESPI_PLAIN_TREE
#define ESPI_PLAIN_FLAG_LIFE 0u
#define ESPI_PLAIN_FLAG_REDUCE 0u
#define ESPI_PLAIN_FLAG_GUARD 0u
#define ESPI_PLAIN_FLAG_LEAVE 0u

/* What is rare stands in functions of its own, so that the entry keeps no register for it over the call. */
#define ESPI_ENTRY(prefix, profiling, name, n, kind, flag, ...)                                                      \
    ESPI_EXPORT espi_word prefix##name(ESPI_PARAMS_##n);                                                             \
    static __attribute__((noinline, cold)) espi_word prefix##name##_first(ESPI_PARAMS_##n)                           \
    {                                                                                                                \
        espi_start();                                                                                                \
        espi_next next = espi_find_next(profiling, ESPI_FN_##name);                                                  \
        if (!atomic_load_explicit(&espi_hot.handlers, memory_order_acquire)) /* from inside of the core's start */   \
            return ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                          \
        return prefix##name(ESPI_ARGS_##n);                                                                          \
    }                                                                                                                \
    ESPI_EXPORT espi_word prefix##name(ESPI_PARAMS_##n)                                                              \
    {                                                                                                                \
        espi_word args[n], result;                                                                                   \
        struct espi_thread *here = &espi_here;                                                                       \
        const espi_handler *handlers = atomic_load_explicit(&espi_hot.handlers, memory_order_acquire);               \
        espi_next next = atomic_load_explicit(&espi_nexts[profiling][ESPI_FN_##name], memory_order_acquire);         \
        uintptr_t frame = (uintptr_t)args;                                                                           \
        if (__builtin_expect(!next || !handlers, 0))                                                                 \
            return prefix##name##_first(ESPI_ARGS_##n);                                                              \
        if (__builtin_expect(frame < here->frame, 0)) {                                                              \
            if ((kind) & ESPI_LEAVES)                                                                                \
                __atomic_store_n(&espi_hot.nested, 1, __ATOMIC_RELAXED);                                             \
            if ((kind) & ESPI_ENDS) {                                                                                \
                const espi_word given[n] = {ESPI_ARGS_##n};                                                          \
                __builtin_memcpy(args, given, sizeof args);                                                          \
                return handlers[ESPI_FN_##name] ? handlers[ESPI_FN_##name](here, ESPI_FN_##name, args, next)         \
                                                : ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                           \
            }                                                                                                        \
            return ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                          \
        }                                                                                                            \
        unsigned plain = (kind) & ESPI_LEAVES ? 0 : (flag);                                                          \
        here->frame = frame;                                                                                         \
        if (plain && (atomic_load_explicit(&espi_hot.plain, memory_order_acquire) & plain) && here->calls            \
            __VA_ARGS__) {                                                                                           \
            atomic_store_explicit(&here->calls[ESPI_FN_##name],                                                      \
                                  atomic_load_explicit(&here->calls[ESPI_FN_##name], memory_order_relaxed) + 1,      \
                                  memory_order_relaxed);                                                             \
            result = ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                        \
            here->frame = 0;                                                                                         \
            return result;                                                                                           \
        }                                                                                                            \
        espi_handler handler = handlers[ESPI_FN_##name];                                                             \
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

#define ESPI_EXPORTED(name, n, kind, ...)                                                                            \
    ESPI_ENTRY(MPI_, 0, name, n, kind, __VA_ARGS__) ESPI_ENTRY(PMPI_, 1, name, n, kind, __VA_ARGS__)
#define ESPI_EXPORTED_LIFE ESPI_EXPORTED
#define ESPI_EXPORTED_SUBSTITUTE ESPI_EXPORTED
#define ESPI_EXPORTED_TREE ESPI_EXPORTED
#define ESPI_EXPORTED_REDUCE ESPI_EXPORTED
#define ESPI_EXPORTED_COUNT ESPI_EXPORTED
#define ESPI_EXPORTED_GUARD ESPI_EXPORTED
#define ESPI_EXPORTED_LEAVE(...)
#define ESPI_API(name, args, large, treatment, kind, comm, root, reason, ...)                                        \
    ESPI_EXPORTED_##treatment(name, args, kind, ESPI_PLAIN_FLAG_##treatment, __VA_ARGS__)
#include "api.def"
#undef ESPI_API
