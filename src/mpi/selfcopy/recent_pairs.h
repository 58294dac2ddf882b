/* Which pairs of types a thread has decided on lately, and which of its calls are looked at for a pair. */
#ifndef ESPI_MPI_SELFCOPY_RECENT_PAIRS_H
#define ESPI_MPI_SELFCOPY_RECENT_PAIRS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/core/handle_table.h"

struct espi_selfcopy_plan;

enum { ESPI_SELFCOPY_AGAIN = 4 }; /* to and fro between three layouts */
enum { ESPI_SELFCOPY_MISSES = 64 }; /* one after the other: then other calls are made now, and all are forgotten */

struct espi_selfcopy_key {
    uint64_t from, onto; /* identities of the types; 0: empty */
    int64_t from_count, onto_count;
};

/* No other type of this process ever had this number, or gets it, once something is tied to this one. 0: a type that
   is not known. */
static inline uint64_t espi_selfcopy_identity(MPI_Datatype type)
{
    const struct espi_type_slot *slot;

    if (espi_is_predefined((uint32_t)type))
        return (uint32_t)type;
    slot = espi_slot_of(type);
    return slot != NULL ? (uint64_t)(uint32_t)type << 32 |
                              atomic_load_explicit(&slot->generation, memory_order_relaxed)
                        : 0;
}

/* Whether one of its types is no more. */
bool espi_selfcopy_is_gone(const struct espi_selfcopy_key *key);

/* What a thread remembers of a pair. */
struct espi_selfcopy_known {
    struct espi_selfcopy_key key;
    unsigned generation;
    unsigned marks; /* of the plan, when the types were marked by it */
    struct espi_selfcopy_plan *plan; /* NULL: not to be copied */
    uint64_t wait, waited; /* uses until it is looked at again, and those since; wait is 0 when it is decided */
};

/* Few pairs at first, which is what most programs have; so many times more each time that they displace each other
   (recent_pairs.c), up to so many. */
enum { ESPI_SELFCOPY_FEW = 8, ESPI_SELFCOPY_MORE = 8, ESPI_SELFCOPY_KNOWN_MOST = 4096 };

/* A thread's memory of pairs; part of struct espi_thread_state. */
struct espi_selfcopy_cache {
    struct espi_selfcopy_known few[ESPI_SELFCOPY_FEW];
    struct espi_selfcopy_known *many; /* `places` of them, in the place of `few`; NULL: these */
    unsigned places;
    int displaced;    /* looks that found other pairs in their places, weighed against those that found their own */
    unsigned in_vain; /* looks at open pairs since one was decided */
    /* Blocks that were last taken out of calls with one for each rank, as programs make the same calls again. */
    struct espi_selfcopy_again {
        const void *row; /* of the function; NULL: empty */
        int comm;
        struct espi_selfcopy_known pair; /* decided; of these types alone the shift is */
        int64_t place[2], shift[2]; /* of the block in either buffer: as the call says, and in bytes */
    } again[ESPI_SELFCOPY_AGAIN];
    int again_next; /* the place of the next one that is new */
    int again_missed; /* calls that might have had one of them, since one had */
    uint32_t turn;   /* decides which uses are looked at */
    unsigned weight; /* uses that the next one looked at stands for; 0: no lot was drawn for it */
};

/* Where the pair stands there, or another one in its place. */
struct espi_selfcopy_known *espi_selfcopy_where(struct espi_selfcopy_cache *cache,
                                                const struct espi_selfcopy_key *key);
/* A look has found its own pair in its place, or another one. */
void espi_selfcopy_found(struct espi_selfcopy_cache *cache, bool own);
/* Gives the memory back. */
void espi_selfcopy_forget(struct espi_selfcopy_cache *cache);

/* Of the uses in which no pair is copied as yet, one in so many is looked at: a look costs more than many a call may.
   It is one in four times as many while the types are fresh, and one in 16 times as many where a pair of them was
   found to be best left alone. Each is looked at while a pair is open, but one in ESPI_SELFCOPY_SELDOM when so many
   looks have decided nothing: where there are hundreds of pairs, they wait for time that planning may take. */
enum { ESPI_SELFCOPY_SAMPLE = 4, ESPI_SELFCOPY_FRESH = 8, ESPI_SELFCOPY_LEFT = 16, ESPI_SELFCOPY_SELDOM = 32 };
enum { ESPI_SELFCOPY_IN_VAIN = 256 };

/* Setting auto: whether a call that may have an own block is to be looked at. `a` and `b`: of its derived types, or
   NULL. `worth`: flags of enum espi_paired that matter to the call. */
static inline bool espi_selfcopy_due(struct espi_selfcopy_cache *cache, const struct espi_type_slot *a,
                                     const struct espi_type_slot *b, unsigned worth)
{
    unsigned paired = (a != NULL ? atomic_load_explicit(&a->paired, memory_order_relaxed) : 0) |
                      (b != NULL ? atomic_load_explicit(&b->paired, memory_order_relaxed) : 0);

    if (paired & (worth | ESPI_PAIRED_OPEN) &&
        (paired & (worth | ESPI_PAIRED_TRIED) || cache->in_vain < ESPI_SELFCOPY_IN_VAIN)) {
        cache->weight = 1;
        return true;
    }
    cache->turn = cache->turn * 1664525u + 1013904223u;
    if (paired & ESPI_PAIRED_OPEN) {
        if ((cache->turn >> 24) % ESPI_SELFCOPY_SELDOM != 0)
            return false;
        cache->weight = ESPI_SELFCOPY_SELDOM;
        return true;
    }
    if (paired != 0) {
        if ((cache->turn >> 24) % (ESPI_SELFCOPY_SAMPLE * ESPI_SELFCOPY_LEFT) != 0)
            return false;
        cache->weight = ESPI_SELFCOPY_SAMPLE * ESPI_SELFCOPY_LEFT;
        return true;
    }
    if ((cache->turn >> 24) % ESPI_SELFCOPY_SAMPLE != 0 ||
        ((a == NULL || atomic_load_explicit(&a->uses, memory_order_relaxed) < ESPI_SELFCOPY_FRESH) &&
         (b == NULL || atomic_load_explicit(&b->uses, memory_order_relaxed) < ESPI_SELFCOPY_FRESH) &&
         (cache->turn >> 28) % ESPI_SELFCOPY_SAMPLE != 0))
        return false;
    cache->weight = ESPI_SELFCOPY_SAMPLE;
    return true;
}

/* Whether a block that was taken out lately may be in a call of this function on this communicator. */
static inline bool espi_selfcopy_may_be_again(const struct espi_selfcopy_cache *cache, const void *row, int comm)
{
    for (int i = 0; i < ESPI_SELFCOPY_AGAIN && cache->again[i].row != NULL; i++)
        if (cache->again[i].row == row && cache->again[i].comm == comm)
            return true;
    return false;
}

#endif
