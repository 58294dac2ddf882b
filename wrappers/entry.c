/*
 * The exported functions: MPI_X and PMPI_X for each row of api.def that is not LEAVE.
 *
 * Why PMPI_X too: Fortran layers call it directly. Why no aliases: each of the two passes calls on to the next
 * definition of its own name, which is what would have been called without us, whatever other tools stand before or
 * behind.
 *
 * An entry sees to the calls that are plain (enum espi_plain) by itself; fastpath.h says which these are. Most calls
 * of most programs are, and MPI itself takes them. These leave no mark that the thread is inside of a call, and are
 * passed on by a jump (struct espi_entry, `fast_next`), some twenty instructions later. So what a callback of the
 * program calls is mostly like any other call, which is right: it is the program's. Calls that MPI makes of itself
 * come by the names PMPI_X, whose entries look at the mark.
 *
 * All else is espi_entry_slow, the same for all functions: entry_slow.c.
 */
#include "stub.h"

#include <stddef.h>

#include "fastpath.h"
#include "words.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "passing arguments on as machine words was thought through for x86_64 and aarch64 (ELF) only"
#endif

#define ESPI_EXPORT __attribute__((visibility("default")))

struct espi_hot espi_hot;
__thread struct espi_thread espi_here __attribute__((tls_model("initial-exec")));

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
#define ESPI_FLAGS_OF_MAKE(name) ESPI_PLAIN_TYPES
#define ESPI_FLAGS_OF_GUARD(name) 0
#define ESPI_FLAGS_OF_LEAVE(name) 0
#define ESPI_API(name, args, large, treatment, kind, ...)                                                            \
    [ESPI_FN_##name] = ESPI_FLAGS_OF_##treatment(name) | ((kind) & ESPI_FILE ? ESPI_PLAIN_NO_MORE : 0),
#include "api.def"
#undef ESPI_API
};

#define ESPI_ENTRY(name, n, kind, way)                                                                               \
    ESPI_EXPORT espi_word MPI_##name(ESPI_PARAMS_##n);                                                               \
    ESPI_EXPORT espi_word MPI_##name(ESPI_PARAMS_##n)                                                                \
    {                                                                                                                \
        struct espi_entry *entry = espi_entry_of(&espi_hot, false, ESPI_FN_##name);                                  \
        espi_next next = atomic_load_explicit(&entry->fast_next, memory_order_acquire);                              \
        if (__builtin_expect(next != NULL, 1) && ESPI_IS_SHORT_##way(name, n, kind)) {                               \
            if ((kind) & ESPI_LEAVES)                                                                                \
                note_##name(ESPI_ARGS_##n);                                                                          \
            espi_word result = ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                              \
            ESPI_END_##way                                                                                           \
            return result;                                                                                           \
        }                                                                                                            \
        next = atomic_load_explicit(&entry->passthrough, memory_order_acquire);                                      \
        if (next)                                                                                                    \
            return ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                          \
        espi_word args[n] = {ESPI_ARGS_##n};                                                                         \
        return espi_entry_slow(false, ESPI_FN_##name, args, __builtin_return_address(0));                            \
    }                                                                                                                \
    ESPI_EXPORT espi_word PMPI_##name(ESPI_PARAMS_##n);                                                              \
    ESPI_EXPORT espi_word PMPI_##name(ESPI_PARAMS_##n)                                                               \
    {                                                                                                                \
        char mark;                                                                                                   \
        struct espi_thread *here = &espi_here;                                                                       \
        struct espi_entry *entry = espi_entry_of(&espi_hot, true, ESPI_FN_##name);                                   \
        unsigned plain = atomic_load_explicit(&espi_hot.plain, memory_order_acquire);                                \
        espi_next next = atomic_load_explicit(&entry->next, memory_order_acquire);                                   \
        if (__builtin_expect(next != NULL, 1) && (plain & ESPI_FLAGS_##way) && (uintptr_t)&mark >= here->frame &&    \
            ESPI_IS_SHORT_##way(name, n, kind)) {                                                                    \
            if ((kind) & ESPI_LEAVES)                                                                                \
                note_##name(ESPI_ARGS_##n);                                                                          \
            here->frame = (uintptr_t)&mark;                                                                          \
            espi_word result = ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                              \
            ESPI_END_##way                                                                                           \
            here->frame = 0;                                                                                         \
            return result;                                                                                           \
        }                                                                                                            \
        next = atomic_load_explicit(&entry->passthrough, memory_order_acquire);                                      \
        if (next)                                                                                                    \
            return ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                          \
        espi_word args[n] = {ESPI_ARGS_##n};                                                                         \
        return espi_entry_slow(true, ESPI_FN_##name, args, __builtin_return_address(0));                             \
    }

/* A constructor. Of a type that is to pass unseen nothing is noted: what the core did to an earlier type of that
   handle has ended with its attribute. */
#define ESPI_MAKER(exported, name, n, profiling)                                                                     \
    ESPI_EXPORT espi_word exported(ESPI_PARAMS_##n);                                                                 \
    ESPI_EXPORT espi_word exported(ESPI_PARAMS_##n)                                                                  \
    {                                                                                                                \
        struct espi_entry *entry = espi_entry_of(&espi_hot, profiling, ESPI_FN_##name);                              \
        espi_next next = atomic_load_explicit(&entry->fast_next, memory_order_acquire);                              \
        if (!(profiling) && next && espi_types_pass_unseen())                                                        \
            return ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                          \
        next = atomic_load_explicit(&entry->passthrough, memory_order_acquire);                                      \
        if (next)                                                                                                    \
            return ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                          \
        espi_word args[n] = {ESPI_ARGS_##n};                                                                         \
        next = atomic_load_explicit((profiling) ? &entry->next : &entry->fast_next, memory_order_acquire);           \
        return espi_entry_make(profiling, ESPI_FN_##name, next, args, __builtin_return_address(0));                  \
    }

#define ESPI_EXPORTED_LIFE(name, n, kind) ESPI_EXPORTED_AS(name, n, kind, ESPI_WAY_##name)
#define ESPI_EXPORTED_AS(name, n, kind, way) ESPI_ENTRY(name, n, kind, way)
#define ESPI_EXPORTED_SUBSTITUTE(name, n, kind) ESPI_ENTRY(name, n, kind, SUBSTITUTE)
#define ESPI_EXPORTED_TREE(name, n, kind) ESPI_ENTRY(name, n, kind, TREE)
#define ESPI_EXPORTED_REDUCE(name, n, kind) ESPI_ENTRY(name, n, kind, REDUCE)
#define ESPI_EXPORTED_SYNC(name, n, kind) ESPI_ENTRY(name, n, kind, SYNC)
#define ESPI_EXPORTED_SYNC_REDUCE(name, n, kind) ESPI_ENTRY(name, n, kind, SYNC_REDUCE)
#define ESPI_EXPORTED_COUNT(name, n, kind) ESPI_ENTRY(name, n, kind, COUNT)
#define ESPI_EXPORTED_MAKE(name, n, kind)                                                                            \
    ESPI_MAKER(MPI_##name, name, n, false)                                                                           \
    ESPI_MAKER(PMPI_##name, name, n, true)
#define ESPI_EXPORTED_GUARD(name, n, kind) ESPI_ENTRY(name, n, kind, NEVER)
#define ESPI_EXPORTED_LEAVE(...)
#define ESPI_API(name, args, large, treatment, kind, ...) ESPI_EXPORTED_##treatment(name, args, kind)
#include "api.def"
#undef ESPI_API
