/*
 * A channel: bytes from one process to another of the same node, through memory that both have mapped, in order and
 * without a system call. Messages go in pieces. A piece stands in one of a few slots; the writer fills the slots in
 * turn and says so by a number in each, the reader empties them in turn and counts them. So neither waits for the
 * other unless all slots are full, or none is.
 *
 * Each end belongs to one process, which calls from one thread at a time. Nothing here waits, allocates or fails.
 */
#ifndef ESPI_EXCHANGE_CHANNEL_H
#define ESPI_EXCHANGE_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ESPI_CHANNEL_SLOTS = 4, ESPI_CHANNEL_LINE = 64, ESPI_CHANNEL_FEW = 48 };

/* What is said of a piece. So few bytes stand beside it, in the same line of the cache. */
struct espi_channel_slot {
    _Alignas(ESPI_CHANNEL_LINE) _Atomic uint64_t number; /* of the last piece that was put here; from 1 on; 0: none */
    int64_t total; /* bytes of the message that it belongs to, or what the reader answers in their place */
    char few[ESPI_CHANNEL_FEW];
};

/* In shared memory, which is zero at first. The room of the slots follows, as much for each. */
struct espi_channel {
    _Alignas(ESPI_CHANNEL_LINE) _Atomic uint64_t emptied; /* pieces that the reader is done with */
    struct espi_channel_slot slot[ESPI_CHANNEL_SLOTS];
};
_Static_assert(sizeof(struct espi_channel_slot) == ESPI_CHANNEL_LINE, "a slot is a line of the cache");

/* One end, in the memory of its process. */
struct espi_channel_end {
    struct espi_channel *channel;
    int64_t room;     /* bytes of each slot */
    uint64_t pieces;  /* written, or read, so far */
    uint64_t emptied; /* the writer's: as far as it has looked */
    int from;         /* the process that writes, by its number */
    bool refused;     /* the writer's: the reader cannot read its memory (fetch.h) */
};

/* Bytes that a channel takes in shared memory. */
static inline size_t espi_channel_size(int64_t room)
{
    return sizeof(struct espi_channel) + ESPI_CHANNEL_SLOTS * (size_t)room;
}

static inline char *espi_channel_room(const struct espi_channel_end *end, struct espi_channel_slot *slot,
                                      int64_t bytes)
{
    if (bytes <= ESPI_CHANNEL_FEW)
        return slot->few;
    return (char *)(end->channel + 1) + (slot - end->channel->slot) * end->room;
}

static inline struct espi_channel_slot *espi_channel_slot(const struct espi_channel_end *end)
{
    return &end->channel->slot[end->pieces % ESPI_CHANNEL_SLOTS];
}

/* Whether the reader is done with all pieces of the writer, who asks. */
static inline int espi_channel_is_empty(struct espi_channel_end *end)
{
    end->emptied = atomic_load_explicit(&end->channel->emptied, memory_order_acquire);
    return end->emptied == end->pieces;
}

/* Where the writer is to put the next piece, of `bytes` <= room; NULL: all slots are full. */
static inline char *espi_channel_write(struct espi_channel_end *end, int64_t bytes)
{
    if (end->pieces - end->emptied == ESPI_CHANNEL_SLOTS) {
        end->emptied = atomic_load_explicit(&end->channel->emptied, memory_order_acquire);
        if (end->pieces - end->emptied == ESPI_CHANNEL_SLOTS)
            return NULL;
    }
    return espi_channel_room(end, espi_channel_slot(end), bytes);
}

/* The writer is about to fill that room. Its lines were last in the reader's caches, and stores wait for them one
   behind the other, so it asks for the first of them at once: as many as leave room in a nearest cache of 32 kB. A
   hint: processors that do not know it pass it over. */
static inline void espi_channel_claim(char *room, int64_t bytes)
{
    enum { MOST = 24 << 10 };

    for (int64_t at = 0; at < bytes && at < MOST; at += ESPI_CHANNEL_LINE)
#ifdef __x86_64__
        __asm__ volatile("prefetchw %0" : : "m"(room[at])); /* compilers need an option for that, or ask to read it */
#else
        __builtin_prefetch(room + at, 1);
#endif
}

/* The piece is there; it belongs to a message of so many bytes. */
static inline void espi_channel_written(struct espi_channel_end *end, int64_t total)
{
    struct espi_channel_slot *slot = espi_channel_slot(end);

    slot->total = total;
    atomic_store_explicit(&slot->number, ++end->pieces, memory_order_release);
}

/* Whether there is a piece to be read; of which message, as it was written. */
static inline int espi_channel_has_piece(const struct espi_channel_end *end, int64_t *total)
{
    struct espi_channel_slot *slot = espi_channel_slot(end);

    if (atomic_load_explicit(&slot->number, memory_order_acquire) != end->pieces + 1)
        return 0;
    *total = slot->total;
    return 1;
}

/* Where it stands; it has so many bytes. */
static inline const char *espi_channel_piece(const struct espi_channel_end *end, int64_t bytes)
{
    return espi_channel_room(end, espi_channel_slot(end), bytes);
}

/* The reader says something of the piece, in place of its message's bytes, before it is done with it. */
static inline void espi_channel_answer(const struct espi_channel_end *end, int64_t answer)
{
    espi_channel_slot(end)->total = answer;
}

/* What it has said of the last piece that was written; it is done with that. */
static inline int64_t espi_channel_answered(const struct espi_channel_end *end)
{
    return end->channel->slot[(end->pieces - 1) % ESPI_CHANNEL_SLOTS].total;
}

/* The reader is done with it. */
static inline void espi_channel_read(struct espi_channel_end *end)
{
    atomic_store_explicit(&end->channel->emptied, ++end->pieces, memory_order_release);
}

#endif
