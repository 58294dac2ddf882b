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
 * Collective calls with derived types that need no look at anything go on from here, too, some steps later
 * (on_credit.h). Other calls of MPI_X with derived types mostly are for the core alone (espi_entry_derived). All else
 * is espi_entry_slow. Both are the same for all functions: entry_slow.c.
 */
#include "stub.h"

#include <stddef.h>

#include "base/table.h"
#include "fastpath.h"
#include "kept.h"
#include "on_credit.h"
#include "words.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "passing arguments on as machine words was thought through for x86_64 and aarch64 (ELF) only"
#endif

#define ESPI_EXPORT __attribute__((visibility("default")))

struct espi_hot espi_hot ESPI_TABLE;
__thread struct espi_thread espi_here __attribute__((tls_model("initial-exec")));

const unsigned short espi_short_flags[ESPI_FN_COUNT] = {
#define ESPI_FLAGS_OF_LIFE(name) ESPI_FLAGS_OF(ESPI_WAY_##name)
#define ESPI_FLAGS_OF(way) ESPI_FLAGS_OF_WAY(way)
#define ESPI_FLAGS_OF_WAY(way) ESPI_FLAGS_##way
#define ESPI_FLAGS_OF_SUBSTITUTE(name) ESPI_FLAGS_SUBSTITUTE
#define ESPI_FLAGS_OF_TREE(name) ESPI_FLAGS_TREE
#define ESPI_FLAGS_OF_EXCHANGE(name) ESPI_FLAGS_EXCHANGE
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

/* Collective calls with derived types. Of their rows, which are many, some have the question to themselves: blocking
   ones with int counts, not in arrays unless at the root alone. Others take longer in MPI; they are asked for in
   espi_entry_collective. */
#define ESPI_NONE
#define ESPI_ONE(buffer, count, type) {buffer, type, count, false, false, false},
#define ESPI_V(buffer, counts, type) {buffer, type, counts, true, false, false},
#define ESPI_W(buffer, counts, types) {buffer, types, counts, true, true, false},
#define ESPI_ONE_AT_ROOT(buffer, count, type) {buffer, type, count, false, false, true},
#define ESPI_V_AT_ROOT(buffer, counts, type) {buffer, type, counts, true, false, true},
#define ESPI_SEND(...)
#define ESPI_RECV(...)
#define ESPI_BOTH_WAYS(...)
#define ESPI_TARGET(...)
#define ESPI_API(name, n, large, treatment, kind, comm, root, reason, ...)                                           \
    static const struct espi_credit_row credit_row_##name __attribute__((unused)) = {                                \
        comm, root, sides_##name, large, ((kind) & ESPI_OWN) != 0, ((kind) & ESPI_NEIGHBOUR) != 0,                   \
        {__VA_ARGS__{-1, -1, -1, false, false, false}}};                                                             \
    ESPI_INLINE bool on_credit_##name(ESPI_PARAMS_##n)                                                               \
    {                                                                                                                \
        espi_word args[n] = {ESPI_ARGS_##n};                                                                         \
        return espi_on_credit(&credit_row_##name, args);                                                             \
    }
#include "api.def"
#include "typed_end.h"

#define ESPI_IS_ASKED_HERE(name, kind)                                                                               \
    (((kind) & (ESPI_COLLECTIVE | ESPI_NONBLOCKING)) == ESPI_COLLECTIVE && !credit_row_##name.large &&               \
     (credit_row_##name.root >= 0 || !credit_row_##name.side[1].counts))

/* ESPI_IS_ON_CREDIT_WAY: whether a call that is not short goes on all the same.
   `may`: `next` is known, and the flags are there. ESPI_REST_WAY: what is done if not. */
#define ESPI_IS_ON_CREDIT_SUBSTITUTE(name, n, kind, may)                                                             \
    (ESPI_IS_ASKED_HERE(name, kind) && (may) && on_credit_##name(ESPI_ARGS_##n) && espi_counted(entry))
#define ESPI_IS_ON_CREDIT_TREE(name, n, kind, may) ESPI_IS_ON_CREDIT_SUBSTITUTE(name, n, kind, may)
#define ESPI_IS_ON_CREDIT_EXCHANGE(name, n, kind, may) ESPI_IS_ON_CREDIT_SUBSTITUTE(name, n, kind, may)
#define ESPI_REST_SUBSTITUTE(name, kind, profiling)                                                                  \
    ESPI_IS_COLLECTIVE(kind) && !ESPI_IS_ASKED_HERE(name, kind)                                                      \
        ? espi_entry_collective(profiling, ESPI_FN_##name, &credit_row_##name, args, __builtin_return_address(0))    \
    : (profiling) ? espi_entry_slow(true, ESPI_FN_##name, args, __builtin_return_address(0))                         \
                  : espi_entry_derived(ESPI_FN_##name, next, args, __builtin_return_address(0))
#define ESPI_REST_ANY(name, kind, profiling)                                                                         \
    espi_entry_slow(profiling, ESPI_FN_##name, args, __builtin_return_address(0))
#define ESPI_REST_TREE ESPI_REST_SUBSTITUTE
#define ESPI_REST_EXCHANGE ESPI_REST_SUBSTITUTE
#define ESPI_IS_ON_CREDIT_COUNT(...) false
#define ESPI_REST_COUNT ESPI_REST_ANY
#define ESPI_IS_ON_CREDIT_REDUCE(...) false
#define ESPI_REST_REDUCE ESPI_REST_ANY
#define ESPI_IS_ON_CREDIT_SYNC(...) false
#define ESPI_REST_SYNC ESPI_REST_ANY
#define ESPI_IS_ON_CREDIT_SYNC_REDUCE(...) false
#define ESPI_REST_SYNC_REDUCE ESPI_REST_ANY
#define ESPI_IS_ON_CREDIT_REQUESTS(...) false
#define ESPI_REST_REQUESTS ESPI_REST_ANY
#define ESPI_IS_ON_CREDIT_COMMIT(...) false
#define ESPI_REST_COMMIT ESPI_REST_ANY
#define ESPI_IS_ON_CREDIT_FREE(...) false
#define ESPI_REST_FREE(name, kind, profiling)                                                                        \
    espi_entry_free(profiling, next, args, __builtin_return_address(0))
#define ESPI_IS_ON_CREDIT_NEVER(...) false
#define ESPI_REST_NEVER ESPI_REST_ANY

#define ESPI_ENTRY(name, n, kind, way)                                                                               \
    ESPI_EXPORT espi_word MPI_##name(ESPI_PARAMS_##n);                                                               \
    ESPI_EXPORT espi_word MPI_##name(ESPI_PARAMS_##n)                                                                \
    {                                                                                                                \
        struct espi_entry *entry = espi_entry_of(&espi_hot, false, ESPI_FN_##name);                                  \
        espi_next next = atomic_load_explicit(&entry->fast_next, memory_order_acquire), past;                        \
        if (ESPI_IS_DONE_##way(next != NULL))                                                                        \
            return 0;                                                                                                \
        if (__builtin_expect(next != NULL, 1) && ESPI_IS_SHORT_##way(name, n, kind)) {                               \
            if ((kind) & ESPI_LEAVES)                                                                                \
                note_##name(ESPI_ARGS_##n);                                                                          \
            espi_word result = ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                              \
            ESPI_END_##way                                                                                           \
            return result;                                                                                           \
        }                                                                                                            \
        past = atomic_load_explicit(&entry->passthrough, memory_order_acquire);                                      \
        if (past)                                                                                                    \
            return ((ESPI_FUNCTION(n))past)(ESPI_ARGS_##n);                                                          \
        if (ESPI_IS_ON_CREDIT_##way(name, n, kind, next != NULL))                                                    \
            return ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                          \
        espi_word args[n] = {ESPI_ARGS_##n};                                                                         \
        return ESPI_REST_##way(name, kind, false);                                                                   \
    }                                                                                                                \
    ESPI_EXPORT espi_word PMPI_##name(ESPI_PARAMS_##n);                                                              \
    ESPI_EXPORT espi_word PMPI_##name(ESPI_PARAMS_##n)                                                               \
    {                                                                                                                \
        char mark;                                                                                                   \
        struct espi_thread *here = &espi_here;                                                                       \
        struct espi_entry *entry = espi_entry_of(&espi_hot, true, ESPI_FN_##name);                                   \
        unsigned plain = atomic_load_explicit(&espi_hot.plain, memory_order_acquire);                                \
        espi_next next = atomic_load_explicit(&entry->next, memory_order_acquire), past;                             \
        bool outermost = (plain & ESPI_FLAGS_##way) && (uintptr_t)&mark >= here->frame;                              \
        if (ESPI_IS_DONE_##way(next != NULL && outermost))                                                           \
            return 0;                                                                                                \
        if (__builtin_expect(next != NULL, 1) && outermost && ESPI_IS_SHORT_##way(name, n, kind)) {                  \
            if ((kind) & ESPI_LEAVES)                                                                                \
                note_##name(ESPI_ARGS_##n);                                                                          \
            here->frame = (uintptr_t)&mark;                                                                          \
            espi_word result = ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                              \
            ESPI_END_##way                                                                                           \
            here->frame = 0;                                                                                         \
            return result;                                                                                           \
        }                                                                                                            \
        past = atomic_load_explicit(&entry->passthrough, memory_order_acquire);                                      \
        if (past)                                                                                                    \
            return ((ESPI_FUNCTION(n))past)(ESPI_ARGS_##n);                                                          \
        if (ESPI_IS_ON_CREDIT_##way(name, n, kind, next != NULL && outermost)) {                                     \
            here->frame = (uintptr_t)&mark;                                                                          \
            espi_word result = ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                              \
            here->frame = 0;                                                                                         \
            return result;                                                                                           \
        }                                                                                                            \
        espi_word args[n] = {ESPI_ARGS_##n};                                                                         \
        return ESPI_REST_##way(name, kind, true);                                                                    \
    }

/* What becomes of a type that a constructor with a key is to make (kept.h). */
static inline enum espi_kept_made made_by_key(enum espi_fn fn, const espi_word *args, espi_word *made)
{
    uint64_t key[ESPI_KEPT_WORDS];
    if (!espi_kept_key(fn, args, key) || *made == 0 || espi_here.frame != 0 ||
        atomic_load_explicit(&espi_hot.freed, memory_order_relaxed) == NULL)
        return ESPI_KEPT_UNKNOWN;
    return espi_kept_makes(fn, key, espi_kept_from(fn, args), (uint32_t *)*made);
}

static inline bool has_key(enum espi_fn fn)
{
    const espi_word none[ESPI_MAX_ARGS] = {0};
    uint64_t key[ESPI_KEPT_WORDS];
    return espi_kept_key(fn, none, key);
}

/* A constructor. Of a type that is to pass unseen nothing is noted: what the core did to an earlier type of that
   handle has ended with its attribute. Its number is looked at only where types are kept, which raise it. */
#define ESPI_MAKER(exported, name, n, profiling)                                                                     \
    ESPI_EXPORT espi_word exported(ESPI_PARAMS_##n);                                                                 \
    ESPI_EXPORT espi_word exported(ESPI_PARAMS_##n)                                                                  \
    {                                                                                                                \
        struct espi_entry *entry = espi_entry_of(&espi_hot, profiling, ESPI_FN_##name);                              \
        espi_next next = atomic_load_explicit(&entry->fast_next, memory_order_acquire);                              \
        enum espi_kept_made how = ESPI_KEPT_UNKNOWN;                                                                 \
        if (!(profiling) && next && !has_key(ESPI_FN_##name) && espi_types_pass_unseen() &&                          \
            !espi_types_are_kept())                                                                                  \
            return ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                          \
        espi_word args[n] = {ESPI_ARGS_##n};                                                                         \
        if ((profiling) ? atomic_load_explicit(&entry->next, memory_order_acquire) != NULL : next != NULL)           \
            how = made_by_key(ESPI_FN_##name, args, &args[(n) - 1]);                                                 \
        if (how == ESPI_KEPT_AGAIN)                                                                                  \
            return 0;                                                                                                \
        if (!(profiling) && next && how == ESPI_KEPT_UNKNOWN && espi_types_pass_unseen()) {                          \
            espi_word result = ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                              \
            if ((int)result == 0 && espi_is_crowded(*(const uint32_t *)args[(n) - 1]))                               \
                espi_tells_crowded(espi_here.frame != 0);                                                            \
            return result;                                                                                           \
        }                                                                                                            \
        next = atomic_load_explicit(&entry->passthrough, memory_order_acquire);                                      \
        if (next)                                                                                                    \
            return ((ESPI_FUNCTION(n))next)(ESPI_ARGS_##n);                                                          \
        next = atomic_load_explicit((profiling) ? &entry->next : &entry->fast_next, memory_order_acquire);           \
        return espi_entry_make(profiling, how == ESPI_KEPT_OFTEN, ESPI_FN_##name, next, args,                        \
                               __builtin_return_address(0));                                                         \
    }

#define ESPI_EXPORTED_LIFE(name, n, kind) ESPI_EXPORTED_AS(name, n, kind, ESPI_WAY_##name)
#define ESPI_EXPORTED_AS(name, n, kind, way) ESPI_ENTRY(name, n, kind, way)
#define ESPI_EXPORTED_SUBSTITUTE(name, n, kind) ESPI_ENTRY(name, n, kind, SUBSTITUTE)
#define ESPI_EXPORTED_TREE(name, n, kind) ESPI_ENTRY(name, n, kind, TREE)
#define ESPI_EXPORTED_EXCHANGE(name, n, kind) ESPI_ENTRY(name, n, kind, EXCHANGE)
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
