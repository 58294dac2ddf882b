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
 *
 * After such a jump the program's calls from below would look nested on that rank alone. For what only this rank sees
 * of it that is no more than a chance missed; where ranks must do alike (kind ESPI_JOINT) the stack does not decide,
 * but the place that the call comes from: what is not the MPI library is the program. That costs only calls that look
 * nested.
 *
 * An entry sees to the calls that are plain (enum espi_plain) by itself; short.h says which these are. All else is
 * its function NAME_on.
 *
 * Most calls of most programs are plain, and MPI itself takes them. These leave no mark in `frame` and are passed on
 * by a jump (struct espi_entry, `quick`), some twenty instructions later. So what a callback of the program calls is
 * mostly like any other call, which is right: it is the program's. Calls that MPI makes of itself come by the names
 * PMPI_X, whose entries all look at `frame`.
 */
#include "stub.h"

#include <stddef.h>

#include "short.h"
#include "words.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "passing arguments on as machine words was thought through for x86_64 and aarch64 (ELF) only"
#endif

#define ESPI_EXPORT __attribute__((visibility("default")))

struct espi_hot espi_hot;
__thread struct espi_thread espi_here __attribute__((tls_model("initial-exec")));

/* Calls that programs make most stand side by side. */
#define ESPI_POPULAR_ROW(name, n)                                                                                    \
    static __attribute__((hot)) espi_word guarded_##name##_on(ESPI_PARAMS_##n);                                      \
    static __attribute__((hot)) espi_word guarded_##name(ESPI_PARAMS_##n);                                           \
    ESPI_EXPORT __attribute__((hot)) espi_word MPI_##name(ESPI_PARAMS_##n);
ESPI_POPULAR_ROWS(ESPI_POPULAR_ROW)
#undef ESPI_POPULAR_ROW

const unsigned char espi_short_flags[ESPI_FN_COUNT] = {
#define ESPI_FLAGS_OF_LIFE(name) ESPI_FLAGS_OF(ESPI_WAY_##name)
#define ESPI_FLAGS_OF(way) ESPI_FLAGS_OF_WAY(way)
#define ESPI_FLAGS_OF_WAY(way) ESPI_FLAGS_##way
#define ESPI_FLAGS_OF_SUBSTITUTE(name) ESPI_FLAGS_SUBSTITUTE
#define ESPI_FLAGS_OF_TREE(name) ESPI_FLAGS_TREE
#define ESPI_FLAGS_OF_REDUCE(name) ESPI_FLAGS_REDUCE
#define ESPI_FLAGS_OF_SYNC(name) ESPI_FLAGS_SYNC
#define ESPI_FLAGS_OF_SYNC_REDUCE(name) ESPI_FLAGS_SYNC_REDUCE
#define ESPI_FLAGS_OF_COUNT(name) ESPI_FLAGS_COUNT
#define ESPI_FLAGS_OF_GUARD(name) 0
#define ESPI_FLAGS_OF_LEAVE(name) 0
#define ESPI_API(name, args, large, treatment, kind, ...)                                                            \
    [ESPI_FN_##name] = ESPI_FLAGS_OF_##treatment(name) | ((kind) & ESPI_FILE ? ESPI_PLAIN_NO_MORE : 0),
#include "api.def"
#undef ESPI_API
};

static __attribute__((noinline)) espi_next first_next(bool profiling, enum espi_fn fn)
{
    espi_next next = atomic_load_explicit(&espi_entry_of(&espi_hot, profiling, fn)->next, memory_order_acquire);
    return next ? next : espi_find_next(profiling, fn);
}

/* What is rare stands in functions of its own, so that the entry keeps no register for it over the call. */
#define ESPI_GUARDED(linkage, entry_name, profiling, name, n, kind, threads, way)                                    \
    static espi_word entry_name##_on(ESPI_PARAMS_##n);                                                               \
    static __attribute__((noinline, cold)) espi_word entry_name##_nested(ESPI_PARAMS_##n)                            \
    {                                                                                                                \
        espi_next next = first_next(profiling, ESPI_FN_##name);                                                      \
        if (((kind) & ESPI_JOINT) && espi_is_programs(profiling, ESPI_FN_##name, espi_here.caller)) {                \
            char mark;                                                                                               \
            uintptr_t outer = espi_here.frame;                                                                       \
            espi_here.frame = (uintptr_t)&mark;                                                                      \
            espi_word result = entry_name##_on(ESPI_ARGS_##n);                                                       \
            espi_here.frame = outer;                                                                                 \
            return result;                                                                                           \
        }                                                                                                            \
        if ((kind) & ESPI_LEAVES)                                                                                    \
            atomic_store_explicit(&espi_hot.nested, 1, memory_order_relaxed);                                        \
        const espi_handler *handlers = atomic_load_explicit(&espi_hot.handlers, memory_order_acquire);               \
        if (((kind) & ESPI_ENDS) && handlers && handlers[ESPI_FN_##name]) {                                          \
            espi_word args[n] = {ESPI_ARGS_##n};                                                                     \
            espi_here.inner = true;                                                                                  \
            return handlers[ESPI_FN_##name](&espi_here, ESPI_FN_##name, args, next);                                 \
        }                                                                                                            \
        return ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                              \
    }                                                                                                                \
    static __attribute__((noinline)) espi_word entry_name##_on(ESPI_PARAMS_##n)                                      \
    {                                                                                                                \
        struct espi_thread *here = &espi_here;                                                                       \
        const espi_handler *handlers = atomic_load_explicit(&espi_hot.handlers, memory_order_acquire);               \
        if (__builtin_expect(!handlers, 0))                                                                          \
            handlers = espi_start();                                                                                 \
        espi_next next = first_next(profiling, ESPI_FN_##name);                                                      \
        espi_handler handler = handlers[ESPI_FN_##name];                                                             \
        if ((threads) && !((kind) & ESPI_LEAVES) &&                                                                  \
            (atomic_load_explicit(&espi_hot.plain, memory_order_acquire) & (threads)) && here->calls &&              \
            derived_##name(ESPI_ARGS_##n) == 0) {                                                                    \
            espi_add(&here->calls[ESPI_FN_##name], 1);                                                               \
            handler = NULL;                                                                                          \
        }                                                                                                            \
        if (__builtin_expect(handler == NULL, 0))                                                                    \
            return ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                          \
        espi_word args[n] = {ESPI_ARGS_##n};                                                                         \
        return handler(here, ESPI_FN_##name, args, next);                                                            \
    }                                                                                                                \
    linkage espi_word entry_name(ESPI_PARAMS_##n);                                                                   \
    linkage espi_word entry_name(ESPI_PARAMS_##n)                                                                    \
    {                                                                                                                \
        espi_word result;                                                                                            \
        char mark;                                                                                                   \
        struct espi_thread *here = &espi_here;                                                                       \
        struct espi_entry *entry = espi_entry_of(&espi_hot, profiling, ESPI_FN_##name);                              \
        uintptr_t frame = (uintptr_t)&mark;                                                                          \
        espi_next through = atomic_load_explicit(&entry->through, memory_order_acquire);                             \
        if (through)                                                                                                 \
            return ((ESPI_FUNCTION(n))through)(ESPI_ARGS_##n);                                                       \
        if ((profiling) && ((kind) & ESPI_JOINT))                                                                    \
            here->caller = __builtin_return_address(0);                                                              \
        if (__builtin_expect(frame < here->frame, 0))                                                                \
            return entry_name##_nested(ESPI_ARGS_##n);                                                               \
        here->frame = frame;                                                                                         \
        unsigned plain = atomic_load_explicit(&espi_hot.plain, memory_order_acquire);                                \
        espi_next next = atomic_load_explicit(&entry->next, memory_order_acquire);                                   \
        if (__builtin_expect(next != NULL, 1) && (plain & ESPI_FLAGS_##way) && ESPI_IS_SHORT_##way(name, n, kind)) { \
            if ((kind) & ESPI_LEAVES)                                                                                \
                note_##name(ESPI_ARGS_##n);                                                                          \
            result = ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                        \
            ESPI_END_##way                                                                                           \
        } else {                                                                                                     \
            result = entry_name##_on(ESPI_ARGS_##n);                                                                 \
        }                                                                                                            \
        here->frame = 0;                                                                                             \
        return result;                                                                                               \
    }

/* Where the core has said so (struct espi_entry, `quick`), a call that is short goes on as a jump, without a mark. */
#define ESPI_ENTRY(name, n, kind, way)                                                                               \
    ESPI_EXPORT espi_word MPI_##name(ESPI_PARAMS_##n);                                                               \
    ESPI_EXPORT espi_word MPI_##name(ESPI_PARAMS_##n)                                                                \
    {                                                                                                                \
        struct espi_entry *entry = espi_entry_of(&espi_hot, false, ESPI_FN_##name);                                  \
        espi_next next = atomic_load_explicit(&entry->quick, memory_order_acquire);                                  \
        if (__builtin_expect(next != NULL, 1) && ESPI_IS_SHORT_##way(name, n, kind)) {                               \
            if ((kind) & ESPI_LEAVES)                                                                                \
                note_##name(ESPI_ARGS_##n);                                                                          \
            espi_word result = ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                              \
            ESPI_END_##way                                                                                           \
            return result;                                                                                           \
        }                                                                                                            \
        if ((kind) & ESPI_JOINT)                                                                                     \
            espi_here.caller = __builtin_return_address(0);                                                          \
        return guarded_##name(ESPI_ARGS_##n);                                                                        \
    }

#define ESPI_EXPORTED(name, n, kind, threads, way, ...)                                                              \
    ESPI_GUARDED(static __attribute__((noinline)), guarded_##name, 0, name, n, kind, threads, way)                   \
    ESPI_GUARDED(ESPI_EXPORT, PMPI_##name, 1, name, n, kind, threads, way)                                           \
    ESPI_ENTRY(name, n, kind, way)
#define ESPI_EXPORTED_LIFE(name, n, kind, ...) ESPI_EXPORTED_AS(name, n, kind, ESPI_WAY_##name, __VA_ARGS__)
#define ESPI_EXPORTED_AS(name, n, kind, way, ...) ESPI_EXPORTED(name, n, kind, 0, way, __VA_ARGS__)
#define ESPI_EXPORTED_SUBSTITUTE(name, n, kind, ...)                                                                 \
    ESPI_EXPORTED(name, n, kind, ESPI_PLAIN_THREADS, SUBSTITUTE, __VA_ARGS__)
#define ESPI_EXPORTED_TREE(name, n, kind, ...)                                                                       \
    ESPI_EXPORTED(name, n, kind, ESPI_PLAIN_TREE_THREADS, TREE, __VA_ARGS__)
#define ESPI_EXPORTED_REDUCE(name, n, kind, ...) ESPI_EXPORTED(name, n, kind, 0, REDUCE, __VA_ARGS__)
#define ESPI_EXPORTED_SYNC(name, n, kind, ...)                                                                       \
    ESPI_EXPORTED(name, n, kind, ESPI_PLAIN_TREE_THREADS, SYNC, __VA_ARGS__)
#define ESPI_EXPORTED_SYNC_REDUCE(name, n, kind, ...) ESPI_EXPORTED(name, n, kind, 0, SYNC_REDUCE, __VA_ARGS__)
#define ESPI_EXPORTED_COUNT(name, n, kind, ...)                                                                      \
    ESPI_EXPORTED(name, n, kind, ESPI_PLAIN_THREADS, COUNT, __VA_ARGS__)
#define ESPI_EXPORTED_GUARD(name, n, kind, ...) ESPI_EXPORTED(name, n, kind, 0, NEVER, __VA_ARGS__)
#define ESPI_EXPORTED_LEAVE(...)
#define ESPI_API(name, args, large, treatment, kind, comm, root, reason, ...)                                        \
    ESPI_EXPORTED_##treatment(name, args, kind, __VA_ARGS__)
#include "api.def"
#undef ESPI_API
