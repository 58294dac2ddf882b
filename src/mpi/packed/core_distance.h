/*
 * How far the cores of a node's ranks are from each other, as far as this rank's short packed messages show it.
 *
 * A short message is handed over in a cell of memory that both ranks write. To hand one over takes three times as
 * long where the cores share no cache as where they do, whatever its length, unless it has to wait for room; and
 * what the library does more for a type with gaps (TYPED_NS of pack_gain.c) goes through the same lines. Vectors of
 * 128 to 7,200 bytes between two ranks: on near cores MPI_Send takes 110 to 170 ns for bytes and 100 to 270 more for
 * a type, on far ones 320 to 390 and 310 to 1,300 more. So the one tells the other.
 *
 * The first messages are timed, then one in some; the least time of a window counts, as with packed_times.h, and what
 * has waited does not. Not of messages that may leave the node, or go to the rank itself; where calls overlap, of the
 * leader alone (base/overlap.h).
 */
#ifndef ESPI_MPI_PACKED_CORE_DISTANCE_H
#define ESPI_MPI_PACKED_CORE_DISTANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/packed/stream_type.h"

extern struct espi_core_distance {
    unsigned rest;  /* messages until one is timed */
    unsigned taken; /* times in this window */
    uint64_t least_ns;
    bool full; /* a window was full before */
    _Atomic uint64_t more_ns; /* other threads ask, too */
} espi_core_distance;

/* Nothing is known. */
void espi_core_distance_forget(void);

/* Whether the message that is about to be sent is to be timed; if not, it is counted. */
static inline bool espi_core_distance_is_due(void)
{
    if (espi_core_distance.rest == 0)
        return true;
    espi_core_distance.rest--;
    return false;
}

/* What handing it over took. */
void espi_core_distance_took(uint64_t ns);

/* What a short message of a type with gaps, of 2 kB, costs each side more than between near cores, ns. */
static inline uint64_t espi_core_distance_more(void)
{
    return atomic_load_explicit(&espi_core_distance.more_ns, memory_order_relaxed);
}

/* The same of so many bytes: the library writes and reads the cells block by block. */
static inline uint64_t espi_core_distance_more_of(int64_t bytes)
{
    const int64_t in_cell = bytes < ESPI_STREAM_CELL ? bytes : ESPI_STREAM_CELL;

    return espi_core_distance_more() * (uint64_t)(3072 + in_cell) / 5120;
}

#endif
