/*
 * Data that a rank gives itself: copied from layout to layout in one go, in the place of MPI's packing and unpacking.
 *
 * A pair is (type, count) on either side. It is planned when its use has earned it (admission.h), as a compiled copy
 * program over a tree that both layouts share; setting auto keeps the program only if it is clearly faster than MPI's
 * own copy in a measurement, setting always wherever the signatures are equal. Plans are kept for the life of the
 * process, for equal layouts under any handles, up to a limit.
 */
#ifndef ESPI_MPI_SELFCOPY_SELF_COPY_H
#define ESPI_MPI_SELFCOPY_SELF_COPY_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "abi.h"
#include "base/settings.h"
#include "layout/layout.h"
#include "mpi/typeplan/handle_table.h"

struct espi_copy;

/* ---- plans (self_copy.c, plan.c) ---- */

struct espi_selfcopy_plan {
    const struct espi_copy *copy; /* NULL: MPI's own copy is better, or the signatures differ */
    bool local; /* no `copy`, as MPI's own copy within a process is as fast; and it is faster than a message */
    int64_t bytes;                /* of data */
    int64_t from_lb, from_ub, onto_lb, onto_ub; /* true bounds */
    uint64_t gain_ns; /* in setting auto: less than MPI's copy; of a part, where only that was measured */
};

/* One side of a pair. */
struct espi_selfcopy_side {
    MPI_Datatype type; /* predefined, or known to be valid and committed */
    int64_t count;     /* > 0 */
};

/* A thread's memory of pairs that were decided; part of struct espi_thread_state. */
struct espi_selfcopy_cache {
    struct espi_selfcopy_known {
        struct espi_selfcopy_key {
            uint64_t from, onto; /* lives of the types (self_copy.c); 0: empty */
            int64_t from_count, onto_count;
        } key;
        unsigned generation;
        const struct espi_selfcopy_plan *plan; /* NULL: not to be copied */
        uint64_t wait, waited; /* uses until it is looked at again, and those since; wait is 0 when it is decided */
    } known[8];
    uint32_t turn;   /* decides which uses are looked at */
    unsigned weight; /* uses that the next one looked at stands for; 0: no lot was drawn for it */
};

/* Of the uses in which no pair is copied as yet, one in so many is looked at: a look costs more than many a call may.
   It is one in four times as many while the types are fresh, and one in 16 times as many where a pair of them was
   found to be best left alone. */
enum { ESPI_SELFCOPY_SAMPLE = 4, ESPI_SELFCOPY_FRESH = 8, ESPI_SELFCOPY_LEFT = 16 };

/* Setting auto: whether a call that may have an own block is to be looked at. `a` and `b`: of its derived types, or
   NULL. `worth`: flags of enum espi_paired that matter to the call. */
static inline bool espi_selfcopy_due(struct espi_selfcopy_cache *cache, const struct espi_type_slot *a,
                                     const struct espi_type_slot *b, unsigned worth)
{
    unsigned paired = (a != NULL ? atomic_load_explicit(&a->paired, memory_order_relaxed) : 0) |
                      (b != NULL ? atomic_load_explicit(&b->paired, memory_order_relaxed) : 0);

    if (paired & (worth | ESPI_PAIRED_SEEN)) {
        cache->weight = 1;
        return true;
    }
    cache->turn = cache->turn * 1664525u + 1013904223u;
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

/* The plan for one use of a pair; NULL: leave it to MPI. At least one type is not predefined. */
const struct espi_selfcopy_plan *espi_selfcopy_plan(struct espi_thread *thread, const struct espi_selfcopy_side *from,
                                                    const struct espi_selfcopy_side *onto);

/* Makes a plan for two layouts of equal signature (trees of all items), and measures it against MPI's copy of the
   types in setting auto or under `check`. NULL when memory is short. Calls must exclude each other. */
struct espi_selfcopy_request {
    struct espi_selfcopy_side from, onto;
    const struct espi_node *from_tree, *onto_tree;
    enum espi_mode mode;
    bool check;
};
struct espi_selfcopy_plan *espi_selfcopy_plan_make(const struct espi_selfcopy_request *request);
void espi_selfcopy_plan_free(struct espi_selfcopy_plan *plan);

/* Frees all plans. */
void espi_selfcopy_stop(void);

/* ---- blocks (block.c) ---- */

/* A block that a rank sends to itself. */
struct espi_selfcopy_block {
    const void *from;
    void *onto;
    struct espi_selfcopy_side send, receive;
    const struct espi_selfcopy_plan *plan;
};

/* Fills block->plan from the rest; it may be one without a copy, then false is returned. False: leave it to MPI,
   which also reports what is wrong (types unknown, counts negative, null buffers, layouts that lie among each other).
   */
bool espi_selfcopy_look(struct espi_thread *thread, struct espi_selfcopy_block *block);
void espi_selfcopy_carry_out(struct espi_thread *thread, const struct espi_selfcopy_block *block);

/* ---- calls (call.c) ---- */

/* The handler of functions with a block of this kind (api.def: ESPI_OWN): carries the block out and leaves the rest,
   if there is any, to `substitute`. */
espi_word espi_selfcopy_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                             espi_handler substitute);

#endif
