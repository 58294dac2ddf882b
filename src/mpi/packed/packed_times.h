/*
 * How long packing and unpacking by the program of a plan takes, by a sample of the program's own calls: the first
 * ones of each direction, then one in some. The least time of a window of them counts, as whatever disturbs a call
 * makes it longer. Where even that is longer than a limit that the plan sets, the choice of the program is reversed;
 * not by the first window.
 */
#ifndef ESPI_MPI_PACKED_PACKED_TIMES_H
#define ESPI_MPI_PACKED_PACKED_TIMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pack/pack.h"
#include "stats/stats.h"

enum { ESPI_PACKED_USES = 2 }; /* of limits: the first two of enum espi_packable */

struct espi_packed_times {
    struct espi_stats_type *record; /* for the report */
    int64_t count;                  /* items of a usual call; others are not held against the limits */
    int64_t limit_ns[ESPI_PACKED_USES]; /* of such a call; 0: whatever it takes, packing stays */
    _Atomic uint64_t *gain_ns;          /* of the plan, by enum espi_packable: 0 from then on where it is reversed */
    atomic_uint reversed;               /* bits 1 << enum espi_packable: not to be packed any more */
    struct espi_packed_window {
        atomic_uint rest;  /* calls until one is timed */
        atomic_uint taken; /* times in this window */
        _Atomic uint64_t least_ns; /* of them, for `count` items */
        atomic_bool full;          /* a window was full before: then one call in some is timed */
    } window[2]; /* packing, unpacking */
};

/* The program is another one from now on: what was measured says nothing of it. */
void espi_packed_times_again(struct espi_packed_times *times);

/* Carries out a call that is to be timed. */
void espi_packed_sample(struct espi_packed_times *times, bool unpacks, const struct espi_pack *pack, void *data,
                        int64_t count, void *stream);

/* Packs or unpacks `count` items. `times`: NULL where nothing is measured. */
static inline __attribute__((always_inline)) void
espi_packed_move(struct espi_packed_times *times, bool unpacks, const struct espi_pack *pack, void *data,
                 int64_t count, void *stream)
{
    if (times != NULL) {
        atomic_uint *rest = &times->window[unpacks].rest;
        const unsigned left = atomic_load_explicit(rest, memory_order_relaxed);
        if (__builtin_expect(left == 0, 0)) {
            espi_packed_sample(times, unpacks, pack, data, count, stream);
            return;
        }
        atomic_store_explicit(rest, left - 1, memory_order_relaxed);
    }
    if (unpacks)
        espi_unpack_run(pack, stream, data, count);
    else
        espi_pack_run(pack, data, count, stream);
}

/* Unpacks a message of `bytes`, of `count` items, which are `whole`; of a shorter one what there is. */
static inline __attribute__((always_inline)) void
espi_packed_received(struct espi_packed_times *times, const struct espi_pack *pack, void *stream, int64_t bytes,
                     int64_t whole, void *data, int64_t count)
{
    if (__builtin_expect(bytes >= whole, 1))
        espi_packed_move(times, true, pack, data, count, stream);
    else if (bytes > 0)
        espi_unpack_range(pack, stream, data, count, 0, bytes);
}

#endif
