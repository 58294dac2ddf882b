/*
 * What is known of each datatype handle, found by the handle's bits.
 *
 * MPICH numbers its datatypes: 26 bits of the handle and the kind of object. They index a table of two levels, so
 * looking a handle up takes two loads, no lock and no hashing, a commit touches one cache line, and memory grows with
 * the number of types that live at the same time (64 bytes each).
 *
 * A slot has lives: MPICH gives the handle of a freed type to a new one. A life begins when the type is committed and
 * ends before MPI_Type_free; the stub sees both in every language. What would be wrong for another type (a plan, a
 * view of its elements) ends by an attribute of the datatype, too, whose delete callback names the life (types.c).
 */
#ifndef ESPI_MPI_SLOTS_H
#define ESPI_MPI_SLOTS_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ESPI_NEVER UINT64_MAX

struct espi_plan;
struct espi_elements;
struct espi_type_detail;

/* Counts are written without locked instructions: threads that share a type may lose a few. */
struct espi_type_slot {
    _Alignas(64) _Atomic uint64_t uses;
    _Atomic uint64_t items;
    _Atomic uint64_t look; /* number of uses at which to look whether planning is due; ESPI_NEVER: no more */
    _Atomic(struct espi_plan *) plan;
    _Atomic(struct espi_elements *) elements; /* for reductions; NULL: not yet looked at */
    struct espi_type_detail *detail; /* of types.c, NULL before the first look */
    atomic_uint life;
    atomic_bool known;   /* committed and not freed */
    atomic_bool settled; /* planned, and best as it is */
    bool tied;           /* the attribute hangs on the datatype */
    atomic_bool paired;  /* blocks of this type are copied directly (onto.h) */
};
_Static_assert(sizeof(struct espi_type_slot) <= 64, "a slot fits a line of the cache");

enum { ESPI_SLOTS_EACH = 1 << 10, ESPI_SLOTS_CHUNKS = 1 << 17 };

extern _Atomic(struct espi_type_slot *) espi_type_chunks[ESPI_SLOTS_CHUNKS];

/* Direct and indirect objects are numbered apart. */
static inline uint32_t espi_slot_number(MPI_Datatype type)
{
    uint32_t bits = (uint32_t)type;

    return (bits >> 30 & 1) << 26 | (bits & 0x3ffffff);
}

/* The slot of a handle that is a known type; NULL otherwise. */
static inline struct espi_type_slot *espi_slot_of(MPI_Datatype type)
{
    uint32_t number = espi_slot_number(type);
    struct espi_type_slot *chunk =
        atomic_load_explicit(&espi_type_chunks[number / ESPI_SLOTS_EACH], memory_order_acquire);

    if (chunk == NULL)
        return NULL;
    chunk += number % ESPI_SLOTS_EACH;
    return atomic_load_explicit(&chunk->known, memory_order_acquire) ? chunk : NULL;
}

struct espi_type_slot *espi_slot_more(uint32_t which);

/* The slot for a handle whatever its state; NULL when memory is short. */
static inline struct espi_type_slot *espi_slot_room(MPI_Datatype type)
{
    uint32_t number = espi_slot_number(type);
    struct espi_type_slot *chunk =
        atomic_load_explicit(&espi_type_chunks[number / ESPI_SLOTS_EACH], memory_order_acquire);

    if (__builtin_expect(chunk == NULL, 0) && (chunk = espi_slot_more(number / ESPI_SLOTS_EACH)) == NULL)
        return NULL;
    return chunk + number % ESPI_SLOTS_EACH;
}

/* Calls `visit` for the slot of every known type. */
void espi_slots_each(void (*visit)(struct espi_type_slot *slot));

#endif
