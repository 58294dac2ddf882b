/*
 * Data that a rank gives itself: copied from layout to layout in one go, in the place of MPI's packing and unpacking.
 *
 * A pair is (type, count) on either side. It is planned when its use has earned it (admission.h), as a compiled copy
 * program over a tree that both layouts share. In setting auto its next uses are then made by MPI and by the program
 * in turns, and timed, and what is clearly faster stays (trial.h); setting always copies wherever the signatures are
 * equal. Plans are kept for the life of the process, for equal layouts under any handles, up to a limit, and with
 * them what was learnt.
 */
#ifndef ESPI_MPI_SELFCOPY_SELF_COPY_H
#define ESPI_MPI_SELFCOPY_SELF_COPY_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "abi.h"
#include "base/settings.h"
#include "layout/layout.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/api_table.h"
#include "mpi/core/handle_table.h"
#include "mpi/typeplan/trial.h"

struct espi_copy;

/* Where a rank gives itself data. What MPI takes for them differs, so each is tried by itself. */
enum espi_selfcopy_place {
    ESPI_SELF_ALONE,   /* a call on a communicator of this rank alone */
    ESPI_SELF_APART,   /* a block that is taken out of a call with other ranks; tried: MPI's copy and the program */
    ESPI_SELF_LATE,    /* the same of a call in which MPI copies it when all others have theirs on the way */
    ESPI_SELF_SHARED,  /* the same of a call through memory that ranks share, where it is copied in pieces by the pack
                          programs of both types; tried: that, in the place of the call, and the program */
    ESPI_SELF_MESSAGE, /* a message to oneself where there are other ranks; tried: it, MPI's copy and the program */
    ESPI_SELF_PLACES
};

/* Nanoseconds that a copy has to save, in setting auto, for its block to be taken out of a call with other ranks: it
   is held against a call of its own, and the rest of the call still has to be made (bench/collectives). Of less than
   so many bytes none is: a call of its own, on code that is cold, may take longer than that, for 32 bytes, too
   (bench/callcost: MPI_Gatherv's root then took 0.1 us more). Where MPI copies it last the others wait for what is
   done before, and gain nothing, so that more has to be saved. */
enum { ESPI_SELFCOPY_APART_NS = 300, ESPI_SELFCOPY_LATE_NS = 1000, ESPI_SELFCOPY_APART_LEAST = 1024 };

/* ---- plans (self_copy.c, plan.c) ---- */

enum espi_selfcopy_state { ESPI_SELFCOPY_UNTRIED, ESPI_SELFCOPY_TRYING, ESPI_SELFCOPY_DECIDED };

/* What is done in one place. */
struct espi_selfcopy_choice {
    atomic_int state; /* enum espi_selfcopy_state */
    atomic_int way;   /* decided: enum espi_selfcopy_way */
    atomic_uint uses; /* since one was timed, or so; see choice.c */
    _Atomic uint64_t saves_ns; /* by each use */
    bool chosen_before;        /* it is tried once more; under the lock of choice.c, as is the trial */
    struct espi_trial trial;
};

struct espi_selfcopy_plan {
    const struct espi_copy *copy; /* NULL: there is none that could be used */
    int64_t bytes;                /* of data */
    int64_t from_lb, from_ub, onto_lb, onto_ub; /* true bounds */
    uint64_t made_ns;                           /* what it took, reading the types back included */
    bool timed;        /* made in setting auto, so that uses are tried and timed */
    atomic_uint marks; /* enum espi_paired: of the types that it is for; 0: nothing was tried as yet */
    _Atomic int64_t gained_ns; /* by copies, since types of these layouts were last read back */
    struct espi_selfcopy_choice at[ESPI_SELF_PLACES];
};

/* One side of a pair. */
struct espi_selfcopy_side {
    MPI_Datatype type; /* predefined, or known to be valid and committed */
    int64_t count;     /* > 0 */
};

/* The plan for one use of a pair; NULL: leave it to MPI. At least one type is not predefined. */
struct espi_selfcopy_plan *espi_selfcopy_plan(struct espi_thread *thread, const struct espi_selfcopy_side *from,
                                              const struct espi_selfcopy_side *onto);
/* Where that is remembered, by this thread. */
const struct espi_selfcopy_known *espi_selfcopy_known(struct espi_thread *thread,
                                                      const struct espi_selfcopy_side *from,
                                                      const struct espi_selfcopy_side *onto);
/* The plan that stands there, as long as it is the decided one for this use; NULL: it is to be asked for. */
struct espi_selfcopy_plan *espi_selfcopy_plan_there(const struct espi_selfcopy_known *known,
                                                    const struct espi_selfcopy_side *from,
                                                    const struct espi_selfcopy_side *onto);
/* The types of a pair are to be seen as the marks of its plan say, from now on. */
void espi_selfcopy_mark(const struct espi_selfcopy_plan *plan, MPI_Datatype from, MPI_Datatype onto);

/* Makes a plan for two layouts of equal signature (trees of all items, which must outlive it); under `check` the
   program is compared with MPI's copy of the types. NULL when memory is short. Calls must exclude each other. */
struct espi_selfcopy_request {
    struct espi_selfcopy_side from, onto;
    const struct espi_node *from_tree, *onto_tree;
    enum espi_mode mode;
    bool check;
};
struct espi_selfcopy_plan *espi_selfcopy_plan_make(const struct espi_selfcopy_request *request);
void espi_selfcopy_plan_free(struct espi_selfcopy_plan *plan);
/* Bytes of its programs. */
size_t espi_selfcopy_plan_bytes(const struct espi_selfcopy_plan *plan);

/* Frees all plans, and forgets kinds of pairs. */
void espi_selfcopy_stop(void);

/* ---- what is done with a use (choice.c) ---- */

struct espi_selfcopy_turn {
    enum espi_selfcopy_way way; /* ESPI_BY_CALL and not timed: it is left to MPI */
    bool timed;
    bool marks; /* the plan's marks have changed */
};
struct espi_selfcopy_turn espi_selfcopy_turn(struct espi_selfcopy_plan *plan, enum espi_selfcopy_place place);
/* Whether uses there are made in another way than by the program's call. */
bool espi_selfcopy_is_decided(const struct espi_selfcopy_plan *plan, enum espi_selfcopy_place place);
/* A use that was to be timed took so long; ESPI_SELFCOPY_FAILED: it is not possible in this way. True: the plan's
   marks have changed. */
bool espi_selfcopy_took(struct espi_selfcopy_plan *plan, enum espi_selfcopy_place place, enum espi_selfcopy_way way,
                        uint64_t ns);
#define ESPI_SELFCOPY_FAILED UINT64_MAX
struct espi_type_class;

/* Whether an own block of so many items (up to INT_MAX) of the class, which may be NULL, is so small that a look at
   it takes as long as it does: it would take long to earn a decision. Where others made alike are copied, none is;
   where they are not, or are used once each, more are. */
bool espi_selfcopy_is_small(const struct espi_type_class *class, int64_t count);

/* Nanoseconds that copies have saved since this was last asked; while that is not known, what one is hoped to. */
uint64_t espi_selfcopy_gained(struct espi_selfcopy_plan *plan);

/* ---- blocks (block.c) ---- */

/* A block that a rank sends to itself. */
struct espi_selfcopy_block {
    const void *from;
    void *onto;
    struct espi_selfcopy_side send, receive;
    enum espi_selfcopy_place place;
    uint64_t beside_ns; /* what a copy takes beside its own time, more than a call that is left to MPI */
    struct espi_selfcopy_plan *plan;
    struct espi_selfcopy_turn turn;
};

/* Fills block->plan (NULL until then) and ->turn from the rest: the block is to be carried out, or, where the turn is
   the call's, the call is to be made and espi_selfcopy_called told. False: leave it to MPI, which also reports what
   is wrong (types unknown, counts negative, null buffers, layouts that lie among each other). */
bool espi_selfcopy_look(struct espi_thread *thread, struct espi_selfcopy_block *block);
/* The same by what is remembered of the pair, where that is decided, in fewer steps. False: look. Not where calls
   overlap. */
bool espi_selfcopy_look_again(const struct espi_selfcopy_known *known, struct espi_selfcopy_block *block);
void espi_selfcopy_carry_out(struct espi_thread *thread, const struct espi_selfcopy_block *block);
/* The program's call was made and took so long. */
void espi_selfcopy_called(const struct espi_selfcopy_block *block, uint64_t ns);

/* ---- calls (call.c) ---- */

/* Whether this rank has a block for itself in a collective call that is no business of the others', so that it may be
   copied apart: at the root; where the sender names blocks one by one; all of it on a communicator of one rank. */
static inline bool espi_selfcopy_is_apart(const struct espi_comm_facts *facts, const struct espi_buffer_args *typed,
                                          int root, const espi_word *args)
{
    if ((void *)args[(int)typed[0].buffer] == MPI_IN_PLACE || (void *)args[(int)typed[1].buffer] == MPI_IN_PLACE)
        return false;
    return root >= 0 ? (int)args[root] == facts->rank : facts->peers == 1 || typed[0].shape != ESPI_SHAPE_ONE;
}

/* What it is there. MPI_Scatter's root, where it is rank 0, sends what it has for others first (MPICH 4.0.2). */
static inline enum espi_selfcopy_place espi_selfcopy_place(const struct espi_comm_facts *facts,
                                                           const struct espi_buffer_args *typed, int root)
{
    if (facts->peers == 1)
        return ESPI_SELF_ALONE;
    return root >= 0 && typed[0].at_root && typed[0].shape == ESPI_SHAPE_ONE && facts->rank == 0 ? ESPI_SELF_LATE
                                                                                                 : ESPI_SELF_APART;
}

/* Which mark says that it is done otherwise than by the call. */
static inline enum espi_paired espi_selfcopy_mark_of(enum espi_selfcopy_place place)
{
    return place == ESPI_SELF_ALONE     ? ESPI_PAIRED_COPIED
           : place == ESPI_SELF_MESSAGE ? ESPI_PAIRED_MESSAGE
           : place == ESPI_SELF_LATE    ? ESPI_PAIRED_LATE
                                        : ESPI_PAIRED_APART;
}

/* The handler of functions with a block of this kind (api.def: ESPI_OWN): carries the block out and leaves the rest,
   if there is any, to `substitute`. */
espi_word espi_selfcopy_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                             espi_handler substitute);

#endif
