/*
 * What an entry does not see to by itself, for any function: by its number and an array of its arguments.
 *
 * A call that is made while the same thread is inside one (by the core, another tool, a callback, MPI itself) goes
 * straight on, but for kind ESPI_INNER, which the core is told of: MPI_Type_free, as MPI may give the handle to
 * another type at once, and what decides whether a type is kept (kept_types.h). `frame` tells (0 outside): the stack
 * grows downwards, so a nested call has a lower address. A call from above means that the outer one was left without
 * return (longjmp or an exception out of an error handler), so this one counts as an outermost call again.
 *
 * After such a jump the program's calls from below would look nested on that rank alone. For what only this rank sees
 * of it that is no more than a chance missed; where ranks must do alike (kind ESPI_JOINT) the stack does not decide,
 * but the place that the call comes from: what is not the MPI library is the program. That costs only calls that look
 * nested.
 */
#include <stddef.h>

#include "fastpath.h"
#include "kept.h"
#include "on_credit.h"
#include "stub.h"
#include "type_hint.h"
#include "words.h"

/* What is to be known of a function. */
struct row {
    unsigned char args, threads; /* flags under which a call without derived types is only counted, by thread */
    unsigned kind;
    signed char type[4]; /* positions of types; negative: no more, or */
};
enum { NO_MORE = -1, ARRAY = -2 };

#define THREADS_SUBSTITUTE ESPI_PLAIN_THREADS
#define THREADS_COUNT ESPI_PLAIN_THREADS
#define THREADS_TREE ESPI_PLAIN_TREE_THREADS
#define THREADS_EXCHANGE ESPI_PLAIN_EXCHANGE_THREADS
#define THREADS_SYNC ESPI_PLAIN_TREE_THREADS
#define THREADS_REDUCE 0
#define THREADS_SYNC_REDUCE 0
#define THREADS_LIFE 0
#define THREADS_MAKE 0
#define THREADS_GUARD 0
#define THREADS_LEAVE 0

static const struct row rows[ESPI_FN_COUNT] = {
#define ESPI_NONE
#define ESPI_ONE(buffer, count, type) type,
#define ESPI_V(buffer, counts, type) type,
#define ESPI_W(buffer, counts, types) ARRAY,
#define ESPI_ONE_AT_ROOT(buffer, count, type) type,
#define ESPI_V_AT_ROOT(buffer, counts, type) type,
#define ESPI_SEND(buffer, count, type, dest, tag) type,
#define ESPI_RECV(buffer, count, type, source, tag) type,
#define ESPI_BOTH_WAYS(buffer, count, type, dest, sendtag, source, recvtag) type,
#define ESPI_TARGET(count, type, rank) type,
#define ESPI_API(name, args, large, treatment, kind, comm, root, reason, ...)                                        \
    [ESPI_FN_##name] = {args, THREADS_##treatment, kind, {__VA_ARGS__ NO_MORE}},
#include "api.def"
#include "typed_end.h"
};

static bool has_derived(const struct row *row, const espi_word *args)
{
    for (const signed char *type = row->type; *type != NO_MORE; type++)
        if (*type == ARRAY || !espi_is_predefined((uint32_t)args[*type]))
            return true;
    return false;
}

static espi_word pass_on(espi_next next, unsigned n, const espi_word *args)
{
    switch (n) {
#define PASS(n)                                                                                                      \
    case n:                                                                                                          \
        return ESPI_CALL(next, n, args);
        PASS(1)
        PASS(2)
        PASS(3)
        PASS(4)
        PASS(5)
        PASS(6)
        PASS(7)
        PASS(8)
        PASS(9)
        PASS(10)
        PASS(11)
        PASS(12)
    default:
        return ESPI_CALL(next, 13, args); /* ESPI_MAX_ARGS */
    }
}

/* After a constructor made a type: notes how (type_hint.h). What had the handle before has been freed. */
static void note_handle(uint32_t type, uint64_t hint)
{
    uint32_t at = espi_credit_at(type);
    if (at == ESPI_CREDITS)
        return;
    unsigned char credit = atomic_load_explicit(&espi_hot.types[at].credit, memory_order_relaxed);
    if (credit > 0 && credit < ESPI_CREDIT_ENDED)
        atomic_store_explicit(&espi_hot.types[at].credit, credit + ESPI_CREDIT_ENDED, memory_order_relaxed);
    atomic_store_explicit(&espi_hot.types[at].hint, hint, memory_order_relaxed);
    atomic_store_explicit(&espi_hot.types[at].shared, 0, memory_order_relaxed);
    atomic_store_explicit(&espi_hot.direct,
                          atomic_load_explicit(&espi_hot.direct, memory_order_relaxed) | espi_direct_bit(type),
                          memory_order_relaxed);
}

static void note_made(enum espi_fn fn, const espi_word *args)
{
    const uint32_t *made;
    uint64_t hint = espi_type_hint(fn, args, espi_hot.types, &made);
    if (made)
        note_handle(*made, hint);
}

/* Before a constructor of this hint: whether the program gets a type that was kept (abi.h). */
static bool makes_again(enum espi_fn fn, const espi_word *args, uint64_t hint, const uint32_t *made)
{
    uint32_t type;
    if (hint == 0 || !made)
        return false;
    type = atomic_load_explicit(&espi_hot.made_again, memory_order_relaxed)(fn, args, hint);
    if (type != 0)
        *(uint32_t *)made = type;
    return type != 0;
}

/* Calls with a key are counted where types pass unseen; elsewhere the core sees to all. */
enum espi_kept_made espi_kept_makes(enum espi_fn fn, const uint64_t key[ESPI_KEPT_WORDS], uint32_t from,
                                    uint32_t *made)
{
    enum { OFTEN = 4 };
    const uint64_t hash = espi_kept_hash(fn, key);
    const unsigned number = *espi_kept_place(&espi_hot, hash);
    if (number != 0) {
        struct espi_kept_type *e = &espi_hot.kept_types[number - 1];
        if (e->state == ESPI_KEPT_FREED && e->fn == fn && e->key[0] == key[0] && e->key[1] == key[1] &&
            e->key[2] == key[2]) {
            *made = espi_kept_give(&espi_hot, e);
            return ESPI_KEPT_AGAIN;
        }
    }
    if (!espi_types_pass_unseen() ||
        !espi_kept_is_often(espi_hot.kept_counts, hash, OFTEN) || !espi_kept_may_be_from(&espi_hot, from))
        return ESPI_KEPT_UNKNOWN;
    if (espi_kept_is_full(&espi_hot)) {
        espi_hot_add(&espi_hot.kept_uses, 1); /* time goes on for those that do not come again */
        return ESPI_KEPT_UNKNOWN;
    }
    return ESPI_KEPT_OFTEN;
}

void espi_tells_crowded(bool inside)
{
    void (*crowded)(bool) = atomic_load_explicit(&espi_hot.crowded, memory_order_relaxed);
    if (crowded != NULL)
        crowded(inside);
}

/* After a constructor. */
static void see_number(const struct row *row, const espi_word *args, bool inside)
{
    if (__builtin_expect(espi_is_crowded(*(const uint32_t *)args[row->args - 1]), 0))
        espi_tells_crowded(inside);
}

static espi_word call_nested(enum espi_fn fn, espi_word *args, espi_next next)
{
    const struct row *row = &rows[fn];
    const espi_handler *handlers = atomic_load_explicit(&espi_hot.handlers, memory_order_acquire);
    if (row->kind & ESPI_LEAVES)
        atomic_store_explicit(&espi_hot.nested, 1, memory_order_relaxed);
    if (row->kind & ESPI_INNER && handlers && handlers[fn]) {
        espi_here.inner = true;
        return handlers[fn](&espi_here, fn, args, next);
    }
    espi_word result = pass_on(next, row->args, args);
    if (row->kind & ESPI_CONSTRUCTOR && (int)result == 0)
        see_number(row, args, true);
    return result;
}

static espi_word call_outermost(enum espi_fn fn, espi_word *args, espi_next next)
{
    const struct row *row = &rows[fn];
    struct espi_thread *here = &espi_here;
    espi_handler handler = atomic_load_explicit(&espi_hot.handlers, memory_order_acquire)[fn];
    if (row->threads && !(row->kind & ESPI_LEAVES) &&
        (atomic_load_explicit(&espi_hot.plain, memory_order_acquire) & row->threads) && here->calls &&
        !has_derived(row, args)) {
        espi_hot_add(&here->calls[fn], 1);
        handler = NULL;
    }
    espi_word result = handler ? handler(here, fn, args, next) : pass_on(next, row->args, args);
    if (row->kind & ESPI_CONSTRUCTOR && (int)result == 0) {
        note_made(fn, args);
        see_number(row, args, false);
    }
    return result;
}

/* The same as espi_entry_of, which would jump by a table where the function is no constant. 0: not popular. */
static struct espi_entry *entry_of_any(bool profiling, enum espi_fn fn)
{
    static const unsigned char popular[ESPI_FN_COUNT] = {
#define ESPI_POPULAR_ROW(name, args) [ESPI_FN_##name] = 1 + ESPI_POPULAR_##name,
        ESPI_POPULAR_ROWS(ESPI_POPULAR_ROW)
#undef ESPI_POPULAR_ROW
    };
    return profiling || popular[fn] == 0 ? &espi_hot.entries[profiling][fn] : &espi_hot.popular[popular[fn] - 1];
}

static espi_next next_of(bool profiling, enum espi_fn fn)
{
    espi_next next = atomic_load_explicit(&entry_of_any(profiling, fn)->next, memory_order_acquire);
    return next ? next : espi_find_next(profiling, fn);
}

espi_word espi_entry_slow(bool profiling, enum espi_fn fn, espi_word *args, const void *caller)
{
    struct espi_thread *here = &espi_here;
    uintptr_t outer = here->frame, frame = (uintptr_t)args;
    bool nested = frame < outer;
    if (nested && !((rows[fn].kind & ESPI_JOINT) && espi_is_programs(profiling, fn, caller)))
        return call_nested(fn, args, next_of(profiling, fn));
    here->frame = frame;
    if (!atomic_load_explicit(&espi_hot.handlers, memory_order_acquire))
        espi_start();
    espi_word result = call_outermost(fn, args, next_of(profiling, fn));
    here->frame = nested ? outer : 0;
    return result;
}

espi_word espi_entry_derived(enum espi_fn fn, espi_next next, espi_word *args, const void *caller)
{
    struct espi_thread *here = &espi_here;
    if (!next || here->frame != 0)
        return espi_entry_slow(false, fn, args, caller);
    espi_handler handler = atomic_load_explicit(&espi_hot.handlers, memory_order_acquire)[fn];
    here->frame = (uintptr_t)args;
    espi_word result = handler ? handler(here, fn, args, next) : pass_on(next, rows[fn].args, args);
    here->frame = 0;
    return result;
}

espi_word espi_entry_collective(bool profiling, enum espi_fn fn, const struct espi_credit_row *row, espi_word *args,
                                const void *caller)
{
    struct espi_entry *entry = entry_of_any(profiling, fn);
    unsigned plain = atomic_load_explicit(&espi_hot.plain, memory_order_acquire);
    struct espi_thread *here = &espi_here;
    espi_next next = atomic_load_explicit(profiling ? &entry->next : &entry->fast_next, memory_order_acquire);
    if (!next || !(plain & espi_short_flags[fn]) || (profiling && (uintptr_t)args < here->frame) ||
        !espi_any_on_credit(row, args))
        return profiling ? espi_entry_slow(true, fn, args, caller) : espi_entry_derived(fn, next, args, caller);
    espi_add_alone(&entry->calls);
    if (!profiling)
        return pass_on(next, rows[fn].args, args);
    here->frame = (uintptr_t)args;
    espi_word result = pass_on(next, rows[fn].args, args);
    here->frame = 0;
    return result;
}

espi_word espi_entry_make(bool profiling, bool often, enum espi_fn fn, espi_next next, espi_word *args,
                          const void *caller)
{
    unsigned plain = atomic_load_explicit(&espi_hot.plain, memory_order_acquire);
    struct espi_thread *here = &espi_here;
    if (!next || !(plain & ESPI_PLAIN_TYPES) || (uintptr_t)args < here->frame)
        return espi_entry_slow(profiling, fn, args, caller);
    const bool unseen = !often && espi_types_pass_unseen(), asks = !unseen && espi_types_are_kept();
    const uint32_t *made = NULL;
    here->frame = (uintptr_t)args;
    espi_word result = 0;
    uint64_t hint = asks ? espi_type_hint(fn, args, espi_hot.types, &made) : 0;
    if (!asks || !makes_again(fn, args, hint, made)) {
        result = pass_on(next, rows[fn].args, args);
        if (__builtin_expect((int)result == 0, 1)) {
            if (!unseen && !asks)
                note_made(fn, args);
            else if (made)
                note_handle(*made, hint);
            if (often)
                espi_kept_want(&espi_hot, *(const uint32_t *)args[rows[fn].args - 1]);
            see_number(&rows[fn], args, false);
        }
    }
    here->frame = 0;
    return result;
}

espi_word espi_entry_free(bool profiling, espi_next next, espi_word *args, const void *caller)
{
    unsigned plain = atomic_load_explicit(&espi_hot.plain, memory_order_acquire);
    struct espi_entry *entry = entry_of_any(profiling, ESPI_FN_Type_free);
    struct espi_thread *here = &espi_here;
    uint32_t *type = (uint32_t *)args[0];
    if (!next || !(plain & ESPI_PLAIN_TYPES) || (uintptr_t)args < here->frame || !type ||
        !espi_may_be_kept((espi_word)type))
        return espi_entry_slow(profiling, ESPI_FN_Type_free, args, caller);
    here->frame = (uintptr_t)args;
    espi_add_alone(&entry->calls);
    espi_word result = 0;
    if (!atomic_load_explicit(&espi_hot.freed, memory_order_relaxed)(type)) {
        espi_ends((espi_word)type);
        result = pass_on(next, 1, args);
    }
    here->frame = 0;
    return result;
}
