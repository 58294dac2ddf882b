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
#include <stdbool.h>

#include "abi.h"
#include "base/settings.h"
#include "layout/layout.h"

struct espi_copy;

/* ---- plans (self_copy.c, plan.c) ---- */

struct espi_selfcopy_plan {
    const struct espi_copy *copy; /* NULL: MPI's own copy is better, or the signatures differ */
    bool local; /* no `copy`, as MPI's own copy within a process is as fast; and it is faster than a message */
    int64_t bytes;                /* of data */
    int64_t from_lb, from_ub, onto_lb, onto_ub; /* true bounds */
    uint64_t gain_ns; /* in setting auto: less than MPI's copy; of a part, where only that was measured */
};

/* Nanoseconds that a copy has to save, in setting auto, for its block to be taken out of a call with other ranks: the
   measurement is against a call of its own, and the rest of the call still has to be made (bench/collectives). */
enum { ESPI_SELFCOPY_APART_NS = 300 };

/* One side of a pair. */
struct espi_selfcopy_side {
    MPI_Datatype type; /* predefined, or known to be valid and committed */
    int64_t count;     /* > 0 */
};

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
