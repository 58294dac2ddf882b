/*
 * What is known of each datatype handle, found by the handle's bits.
 *
 * MPICH numbers its datatypes: 26 bits of the handle and the kind of object. They index a table of two levels, so
 * looking a handle up takes two loads, no lock and no hashing, and memory grows with the number of types that live at
 * the same time (65 bytes each).
 *
 * Most uses need no look at the slot: they are made on credit (abi.h), one byte that stands apart, 64 types to a line
 * of the cache. Whoever looks at the slot counts them there first.
 *
 * A slot has generations: MPICH gives the handle of a freed type to a new one. A generation begins when the type is
 * committed and ends before MPI_Type_free; the stub sees both, but in some Fortran layers. What would be wrong for
 * another type (a plan, a view of its elements) ends by an attribute of the datatype, too, whose delete callback has
 * the generation (type_cache.c).
 */
#ifndef ESPI_MPI_CORE_HANDLE_TABLE_H
#define ESPI_MPI_CORE_HANDLE_TABLE_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

#define ESPI_NEVER UINT64_MAX

struct espi_plan;
struct espi_elements;
struct espi_type_class;

/* Of some pair that the type belongs to. */
enum espi_paired {
    ESPI_PAIRED_COPIED = 1, /* its blocks are copied directly, where a rank is alone */
    ESPI_PAIRED_MESSAGE = 2, /* the same of its messages to oneself, where there are other ranks */
    ESPI_PAIRED_LEFT = 4,   /* nothing is better than MPI's own way */
    ESPI_PAIRED_SEEN = 8,   /* a rank gives itself blocks of it, and nothing is decided yet */
    ESPI_PAIRED_APART = 16, /* the same of its blocks that are taken out of calls with other ranks */
    ESPI_PAIRED_TRIED = 32, /* uses are made in turns to find out */
    ESPI_PAIRED_LATE = 64,  /* as ESPI_PAIRED_APART, of those that MPI copies last of all */
    ESPI_PAIRED_OPEN = ESPI_PAIRED_SEEN | ESPI_PAIRED_TRIED
};

/* Whether a type without a plan will stay so, and why: it is best as it is, or its layout cannot be planned. */
enum espi_settled { ESPI_NOT_SETTLED, ESPI_SETTLED_BEST, ESPI_SETTLED_UNPLANNED, ESPI_SETTLED_KINDS };

/* Counts are written without locked instructions: threads that share a type may lose a few. */
struct espi_type_slot {
    _Alignas(64) _Atomic uint64_t uses; /* since they were last told to the class (type_cache.c) */
    _Atomic uint64_t items;
    _Atomic uint64_t look; /* number of uses at which to look whether there is something to do; ESPI_NEVER: no more */
    _Atomic(struct espi_plan *) plan;
    _Atomic(struct espi_elements *) elements; /* for reductions; NULL: not yet looked at */
    uint64_t how;                             /* it was made: espi_slot_class, espi_slot_hint */
    uint32_t made;                            /* uses of this generation that the class was told of */
    atomic_uint generation;
    atomic_bool known;     /* committed, and not freed where the core saw it */
    atomic_uchar settled;  /* enum espi_settled */
    bool tied;             /* the attribute hangs on the datatype */
    atomic_uchar paired;   /* enum espi_paired: what is done with blocks of this type (self_copy.h) */
    atomic_uchar lent;     /* the credit that was given; what is left of it stands in the byte */
};
_Static_assert(sizeof(struct espi_type_slot) <= 64, "a slot fits a line of the cache");

/* The class of the type; NULL: not known, or not looked up as yet. */
static inline struct espi_type_class *espi_slot_class(const struct espi_type_slot *slot)
{
    return slot->how % 2 == 0 ? (struct espi_type_class *)(uintptr_t)slot->how : NULL;
}

/* A hint (type_class.h) is odd, and a pointer is not. 0: there is none. */
static inline uint64_t espi_slot_hint(const struct espi_type_slot *slot)
{
    return slot->how % 2 != 0 ? slot->how : 0;
}

enum { ESPI_SLOTS_EACH = 1 << 10, ESPI_SLOTS_CHUNKS = (1 << 17) + 1 };

struct espi_type_chunk {
    struct espi_type_slot slots[ESPI_SLOTS_EACH];
    atomic_uchar credit[ESPI_SLOTS_EACH]; /* of handles that have none in struct espi_hot */
};
/* What the stub shares, from espi_handle_table_share on; NULL before.
   `refresh`: see struct espi_stub. */
extern struct espi_hot *espi_hot;
void espi_handle_table_share(struct espi_hot *hot, void (*refresh)(void));
/* Changes the flags of espi_hot->plain: of those that are set only `keep` stay, and `more` are set; but not
   ESPI_PLAIN_REQUESTS where `has_requests` (which may be NULL) says that there are some. */
void espi_handle_table_plain(unsigned keep, unsigned more, bool (*has_requests)(void));
/* Calls that complete requests are the core's, and the stub knows that. */
extern atomic_bool espi_requests_are_ours;
/* From when this returns on, calls of any thread that complete requests come to the core. */
static inline void espi_handle_table_take_requests(void)
{
    if (!atomic_load(&espi_requests_are_ours))
        espi_handle_table_plain(~(unsigned)ESPI_PLAIN_REQUESTS, 0, NULL);
}
extern _Atomic(struct espi_type_chunk *) espi_type_chunks[ESPI_SLOTS_CHUNKS];

/* Direct objects have a chunk to themselves, and indirect ones come after it: low numbers are what is gone through at
   the end. (MPICH has eight direct ones. Were there more than a chunk has room for, those would come last.) */
static inline uint32_t espi_slot_number(MPI_Datatype type)
{
    const uint32_t bits = (uint32_t)type, object = bits & 0x3ffffff;

    return bits >> 30 & 1 ? ESPI_SLOTS_EACH + object : object < ESPI_SLOTS_EACH ? object : (1u << 26) + object;
}

static inline struct espi_type_chunk *espi_slot_chunk(uint32_t number)
{
    return atomic_load_explicit(&espi_type_chunks[number / ESPI_SLOTS_EACH], memory_order_acquire);
}

/* The credit of a handle; NULL: it has none, and no slot either. */
static inline atomic_uchar *espi_slot_credit(MPI_Datatype type)
{
    uint32_t at = espi_credit_at((uint32_t)type), number;
    struct espi_type_chunk *chunk;

    if (__builtin_expect(at < ESPI_CREDITS, 1))
        return &espi_hot->types[at].credit;
    number = espi_slot_number(type);
    chunk = espi_slot_chunk(number);
    return chunk != NULL ? &chunk->credit[number % ESPI_SLOTS_EACH] : NULL;
}

/* Whether credit is given: not where calls overlap (MPI_THREAD_MULTIPLE). */
extern bool espi_handle_table_lends;

/* Uses on credit, counted as not earned, of types that are settled so. */
extern _Atomic uint64_t espi_handle_table_settled[ESPI_SETTLED_KINDS];

/* What is done with blocks of the type that a rank gives itself, flags of enum espi_paired. */
static inline void espi_slot_pair(struct espi_type_slot *slot, MPI_Datatype type, unsigned paired)
{
    const uint32_t at = espi_credit_at((uint32_t)type);
    const bool watched = (paired & ~(unsigned)ESPI_PAIRED_LEFT) != 0;
    const bool settled = paired != 0 && (paired & (ESPI_PAIRED_OPEN | ESPI_PAIRED_APART | ESPI_PAIRED_LATE)) == 0;

    atomic_store_explicit(&slot->paired, (unsigned char)paired, memory_order_relaxed);
    if (at < ESPI_CREDITS)
        atomic_store_explicit(&espi_hot->types[at].own,
                              (unsigned char)((watched ? ESPI_OWN_WATCHED : 0) | (settled ? ESPI_OWN_SETTLED : 0)),
                              memory_order_relaxed);
}

/* The items of uses on credit, beside one for each; they are taken. */
static inline uint64_t espi_slot_more_items(MPI_Datatype type)
{
    const uint32_t at = espi_credit_at((uint32_t)type);
    const uint32_t more =
        at < ESPI_CREDITS ? atomic_load_explicit(&espi_hot->types[at].more, memory_order_relaxed) : 0;

    if (more > 0)
        atomic_store_explicit(&espi_hot->types[at].more, 0, memory_order_relaxed);
    return more;
}

/* Takes the credit of a known slot back, and counts the uses that were made of it. */
static __attribute__((noinline, unused)) void espi_slot_settle_up(struct espi_type_slot *slot, MPI_Datatype type)
{
    const unsigned lent = atomic_load_explicit(&slot->lent, memory_order_relaxed);
    if (lent == 0)
        return;
    atomic_uchar *credit = espi_slot_credit(type);
    const unsigned byte = atomic_load_explicit(credit, memory_order_relaxed);
    const unsigned left = (byte & ESPI_CREDIT_LEFT) - 1, made = lent > left ? lent - left : 0;
    const unsigned settled = atomic_load_explicit(&slot->settled, memory_order_relaxed);
    if (settled != ESPI_NOT_SETTLED)
        atomic_fetch_add_explicit(&espi_handle_table_settled[settled], made, memory_order_relaxed);
    atomic_store_explicit(credit, (unsigned char)((byte & ESPI_CREDIT_ENDED) + 1), memory_order_relaxed);
    atomic_store_explicit(&slot->lent, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->uses, atomic_load_explicit(&slot->uses, memory_order_relaxed) + made,
                          memory_order_relaxed);
    atomic_store_explicit(&slot->items,
                          atomic_load_explicit(&slot->items, memory_order_relaxed) + made +
                              (made > 0 ? espi_slot_more_items(type) : 0),
                          memory_order_relaxed);
}

/* The slot of a handle that is or was a known type, with all its uses counted; NULL otherwise. */
static inline struct espi_type_slot *espi_slot_of_any(MPI_Datatype type)
{
    uint32_t number = espi_slot_number(type), at = number % ESPI_SLOTS_EACH;
    struct espi_type_chunk *chunk = espi_slot_chunk(number);

    if (chunk == NULL || !atomic_load_explicit(&chunk->slots[at].known, memory_order_acquire))
        return NULL;
    if (__builtin_expect(atomic_load_explicit(&chunk->slots[at].lent, memory_order_relaxed) != 0, 0))
        espi_slot_settle_up(&chunk->slots[at], type);
    return &chunk->slots[at];
}

/* The same, but NULL for one that the stub has seen freed. */
static inline __attribute__((always_inline)) struct espi_type_slot *espi_slot_of(MPI_Datatype type)
{
    struct espi_type_slot *slot = espi_slot_of_any(type);

    if (slot == NULL || atomic_load_explicit(espi_slot_credit(type), memory_order_relaxed) >= ESPI_CREDIT_ENDED)
        return NULL;
    return slot;
}

/* Gives credit up to the next look to a type that is used as it is, unless it has some. The slot is known. */
static inline void espi_slot_lend(struct espi_type_slot *slot, MPI_Datatype type)
{
    uint64_t look = atomic_load_explicit(&slot->look, memory_order_relaxed);
    uint64_t uses = atomic_load_explicit(&slot->uses, memory_order_relaxed), left;
    atomic_uchar *credit = espi_slot_credit(type);

    if (!espi_handle_table_lends || look <= uses + 1 || atomic_load_explicit(&slot->lent, memory_order_relaxed) > 0)
        return;
    left = look - uses - 1 < ESPI_CREDIT_MOST ? look - uses - 1 : ESPI_CREDIT_MOST;
    atomic_store_explicit(&slot->lent, (unsigned char)left, memory_order_relaxed);
    atomic_store_explicit(credit, (unsigned char)(atomic_load_explicit(credit, memory_order_relaxed) + left),
                          memory_order_relaxed);
}

struct espi_type_chunk *espi_slot_more(uint32_t which);

/* The slot for a handle whatever its state; NULL when memory is short. */
static inline struct espi_type_slot *espi_slot_room(MPI_Datatype type)
{
    uint32_t number = espi_slot_number(type);
    struct espi_type_chunk *chunk = espi_slot_chunk(number);

    if (__builtin_expect(chunk == NULL, 0) && (chunk = espi_slot_more(number / ESPI_SLOTS_EACH)) == NULL)
        return NULL;
    return &chunk->slots[number % ESPI_SLOTS_EACH];
}

/* How a generation begins: looked at at use number `look`; enum espi_paired. */
struct espi_slot_start {
    uint64_t look;
    enum espi_settled settled;
    unsigned char paired;
};
/* Begins a generation in a slot that is not known. */
void espi_slot_begin(struct espi_type_slot *slot, MPI_Datatype type, struct espi_slot_start start);
/* Ends the generation of a known slot; false when it is not known. */
bool espi_slot_end(struct espi_type_slot *slot, MPI_Datatype type);

/* Nothing is known of any handle any more. No slot is known, and no call is under way. */
void espi_handle_table_forget(void);

/* Calls `visit` for the slot of every known type. */
void espi_handle_table_each(void (*visit)(struct espi_type_slot *slot, MPI_Datatype type));

#endif
