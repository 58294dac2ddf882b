/*
 * What is known of each datatype handle, found by the handle's bits.
 *
 * MPICH numbers its datatypes: 26 bits of the handle and the kind of object. They index a table of two levels, so
 * looking a handle up takes two loads, no lock and no hashing, a commit touches one cache line, and memory grows with
 * the number of types that live at the same time (65 bytes each).
 *
 * A program with thousands of types that it uses in turns has no slot in the cache when it comes to it, and fetching
 * one from memory takes as long as packing a few hundred bytes. So uses that need no look are granted ahead and
 * counted down in a byte that stands apart, 64 types to a line (struct espi_hot, `bytes`); whoever looks at the slot
 * counts them there first. Most types are freed before anybody looks: the stub begins and ends their lives in that
 * byte, and their slot is not touched at all. A handle that has history in its slot never has such a life.
 *
 * A slot has lives: MPICH gives the handle of a freed type to a new one. A life begins when the type is committed and
 * ends before MPI_Type_free; the stub sees both in every language. What would be wrong for another type (a plan, a
 * view of its elements) ends by an attribute of the datatype, too, whose delete callback names the life
 * (type_cache.c).
 */
#ifndef ESPI_MPI_TYPEPLAN_HANDLE_TABLE_H
#define ESPI_MPI_TYPEPLAN_HANDLE_TABLE_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

#define ESPI_NEVER UINT64_MAX

struct espi_plan;
struct espi_elements;
struct espi_type_detail;

/* Of some pair that the type belongs to. */
enum espi_paired {
    ESPI_PAIRED_COPIED = 1, /* its blocks are copied directly */
    ESPI_PAIRED_LOCAL = 2,  /* its messages to oneself are left to MPI's copy within a process */
    ESPI_PAIRED_LEFT = 4    /* nothing is better than MPI's own way */
};

/* Counts are written without locked instructions: threads that share a type may lose a few. */
struct espi_type_slot {
    _Alignas(64) _Atomic uint64_t uses;
    _Atomic uint64_t items;
    _Atomic uint64_t look; /* number of uses at which to look whether planning is due; ESPI_NEVER: no more */
    _Atomic(struct espi_plan *) plan;
    _Atomic(struct espi_elements *) elements; /* for reductions; NULL: not yet looked at */
    struct espi_type_detail *detail; /* of type_cache.c, NULL before the first look */
    atomic_uint life;
    atomic_bool known;   /* committed and not freed */
    atomic_bool settled; /* planned, and best as it is */
    bool tied;           /* the attribute hangs on the datatype */
    atomic_uchar paired; /* enum espi_paired: what is done with blocks of this type (self_copy.h) */
    atomic_uchar granted; /* uses of one item that were granted; those that are left stand in the byte */
};
_Static_assert(sizeof(struct espi_type_slot) <= 64, "a slot fits a line of the cache");

enum { ESPI_SLOTS_EACH = 1 << 10, ESPI_SLOTS_CHUNKS = 1 << 17 };

struct espi_type_chunk {
    struct espi_type_slot slots[ESPI_SLOTS_EACH];
    atomic_uchar quiet[ESPI_SLOTS_EACH]; /* the bytes of handles that have none in struct espi_hot */
};
/* What the stub shares, from espi_handle_table_share on; before, and without a stub (unit tests), one of our own.
   `refresh`: see struct espi_stub. */
extern struct espi_hot *espi_hot;
void espi_handle_table_share(struct espi_hot *hot, void (*refresh)(void));
/* Changes the flags of espi_hot->plain: of those that are set only `keep` stay, and `more` are set. */
void espi_handle_table_plain(unsigned keep, unsigned more);
extern _Atomic(struct espi_type_chunk *) espi_type_chunks[ESPI_SLOTS_CHUNKS];

/* Direct and indirect objects are numbered apart. */
static inline uint32_t espi_slot_number(MPI_Datatype type)
{
    uint32_t bits = (uint32_t)type;

    return (bits >> 30 & 1) << 26 | (bits & 0x3ffffff);
}

static inline struct espi_type_chunk *espi_slot_chunk(uint32_t number)
{
    return atomic_load_explicit(&espi_type_chunks[number / ESPI_SLOTS_EACH], memory_order_acquire);
}

/* The byte of a handle; NULL: it has none, and no slot either. */
static inline atomic_uchar *espi_slot_byte(MPI_Datatype type)
{
    uint32_t at = espi_byte_at((uint32_t)type), number;
    struct espi_type_chunk *chunk;

    if (__builtin_expect(at < ESPI_BYTES, 1))
        return &espi_hot->bytes[at];
    number = espi_slot_number(type);
    chunk = espi_slot_chunk(number);
    return chunk != NULL ? &chunk->quiet[number % ESPI_SLOTS_EACH] : NULL;
}

/* Granted uses, of those that were counted as not earned, of types that are settled. */
extern _Atomic uint64_t espi_handle_table_settled;

/* Takes the grant of a known slot back, and counts the uses that were made of it. */
static inline void espi_slot_settle_up(struct espi_type_slot *slot, atomic_uchar *byte)
{
    unsigned granted = atomic_load_explicit(&slot->granted, memory_order_relaxed);
    unsigned left = (atomic_load_explicit(byte, memory_order_relaxed) & ESPI_BYTE_LEFT) - 1;
    unsigned made = granted > left ? granted - left : 0;

    if (granted == 0)
        return;
    if (atomic_load_explicit(&slot->settled, memory_order_relaxed))
        atomic_fetch_add_explicit(&espi_handle_table_settled, made, memory_order_relaxed);
    atomic_store_explicit(byte, 1, memory_order_relaxed);
    atomic_store_explicit(&slot->granted, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->uses, atomic_load_explicit(&slot->uses, memory_order_relaxed) + made,
                          memory_order_relaxed);
    atomic_store_explicit(&slot->items, atomic_load_explicit(&slot->items, memory_order_relaxed) + made,
                          memory_order_relaxed);
}

/* Gives a life that the stub has begun its slot; NULL when memory is short. Only where calls do not overlap. */
struct espi_type_slot *espi_slot_deepen(MPI_Datatype type, atomic_uchar *byte);

/* The slot of a handle that is a known type, with all its uses counted; NULL otherwise. */
static inline struct espi_type_slot *espi_slot_of(MPI_Datatype type)
{
    uint32_t number = espi_slot_number(type), at = number % ESPI_SLOTS_EACH;
    struct espi_type_chunk *chunk = espi_slot_chunk(number);
    atomic_uchar *byte = espi_slot_byte(type);

    if (byte != NULL && atomic_load_explicit(byte, memory_order_relaxed) >= ESPI_BYTE_NEW)
        return espi_slot_deepen(type, byte);
    if (chunk == NULL || !atomic_load_explicit(&chunk->slots[at].known, memory_order_acquire))
        return NULL;
    espi_slot_settle_up(&chunk->slots[at], byte);
    return &chunk->slots[at];
}

/* The byte of a handle that has granted uses left; NULL where there are none. */
static inline atomic_uchar *espi_slot_quiet(MPI_Datatype type)
{
    atomic_uchar *byte = espi_slot_byte(type);

    return byte != NULL && (atomic_load_explicit(byte, memory_order_relaxed) & ESPI_BYTE_LEFT) > 1 ? byte : NULL;
}

/* Grants the uses until the next look to a type that is used as it is. The slot is known, and no grant is out. */
static inline void espi_slot_grant(MPI_Datatype type)
{
    uint32_t number = espi_slot_number(type);
    struct espi_type_slot *slot = &espi_slot_chunk(number)->slots[number % ESPI_SLOTS_EACH];
    uint64_t look = atomic_load_explicit(&slot->look, memory_order_relaxed);
    uint64_t uses = atomic_load_explicit(&slot->uses, memory_order_relaxed), left;

    if (look <= uses + 1 || atomic_load_explicit(&slot->paired, memory_order_relaxed))
        return;
    left = look - uses - 1 < ESPI_GRANT_MOST ? look - uses - 1 : ESPI_GRANT_MOST;
    atomic_store_explicit(&slot->granted, (unsigned char)left, memory_order_relaxed);
    atomic_store_explicit(espi_slot_byte(type), (unsigned char)(1 + left), memory_order_relaxed);
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

/* Begins a life in a slot that is not known: `uses` were made of it, and it is looked at when there are `look`. */
void espi_slot_begin(struct espi_type_slot *slot, MPI_Datatype type, uint64_t uses, uint64_t look);
/* Ends the life of a known slot; false when it is not known. */
bool espi_slot_end(struct espi_type_slot *slot, MPI_Datatype type);

/* Of the lives that the stub has begun in all, those that it has ended: looks at every byte. */
uint64_t espi_handle_table_ended(uint64_t begun);
/* Nothing is known of any handle any more. No slot is known, and no call is under way. */
void espi_handle_table_forget(void);

/* Calls `visit` for the slot of every known type. */
void espi_handle_table_each(void (*visit)(struct espi_type_slot *slot, MPI_Datatype type));

#endif
