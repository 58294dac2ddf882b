/*
 * A plan: what was decided for one layout (tree and bounds), for all datatypes that have it.
 *
 * Two purposes, because MPICH runs a type in two ways: as a whole (MPI_Pack, MPI_Unpack, messages of one part) and in
 * parts (longer messages). Each has its own best emission, which may be the program's type itself.
 */
#ifndef ESPI_MPI_TYPEPLAN_PLAN_CACHE_H
#define ESPI_MPI_TYPEPLAN_PLAN_CACHE_H

#include <mpi.h>
#include <stdatomic.h>

#include "base/overlap.h"
#include "base/settings.h"
#include "mpi/datatype/decode.h"
#include "mpi/packed/packed_call.h"
#include "mpi/typeplan/trial.h"
#include "stats/stats.h"

enum espi_purpose { ESPI_WHOLE, ESPI_PARTS, ESPI_PURPOSES };

enum { ESPI_JUDGED_EACH = 5, ESPI_COUNTS_TRIED = 4 /* in each kind of calls */ };

/* Calls in which what packing costs beside a short message is alike: one way, there and back in one call, and with a
   record of the request. What was found of one says nothing of the others. */
enum espi_message_calls { ESPI_ALONE, ESPI_PAIRED, ESPI_KEPT, ESPI_MESSAGE_CALLS };

/* `use`: of a message, exactly. */
static inline enum espi_message_calls espi_message_calls_of(enum espi_packable use)
{
    return espi_packs_kept(use)                                                 ? ESPI_KEPT
           : use == ESPI_PACK_PAIRED_SENT || use == ESPI_PACK_PAIRED_RECEIVED ? ESPI_PAIRED
                                                                               : ESPI_ALONE;
}

/* What becomes of calls of MPI_Pack, or of MPI_Unpack. */
enum espi_local_state { ESPI_LOCAL_PACKS, ESPI_LOCAL_TRIED, ESPI_LOCAL_LEFT };

struct espi_plan {
    _Atomic(MPI_Datatype) better[ESPI_PURPOSES]; /* MPI_DATATYPE_NULL: the program's own */
    struct espi_stats_type *record;
    int64_t size, extent; /* bytes of data of one item, and its extent */
    /* NULL: there is none. Replaced where the plan is improved, by one for the same stream; it lives as the plan. */
    _Atomic(const struct espi_pack *) pack;
    bool exact, tried; /* it was compiled from the least-cost tree (exact_program.h); whether that was tried */
    bool improved;     /* it was counted as improved */
    bool forms_pending; /* better types were not looked for, as the program is far better than the type as it is */
    /* Changed where the plan is improved, under the lock of type_cache.c: */
    int tier;      /* 1: the rules that take linear time; 2: the least-cost tree */
    int64_t count; /* items in the use that the figures are for */
    uint64_t gain_ns[ESPI_PURPOSES];   /* what such a use saves, by the model; 0 in setting always */
    uint64_t excess_ns[ESPI_PURPOSES]; /* and what the best conceivable form would save on top of it */
    _Atomic uint64_t packed_ns[ESPI_PACKABLES]; /* what the program saves on top of the gain; 0: it is not faster */
    double engine_ns[ESPI_PURPOSES]; /* what the library's engine takes for the form that is kept */
    enum espi_ways_open open[2]; /* to messages of several parts, to ranks that are not near, and near */
    uint32_t alike; /* of pack programs that go through blocks alike it is the same; 0 of none */
    bool doubtful[ESPI_MESSAGE_CALLS]; /* messages of one part are to be tried, as models are not sure that they are
                                          better packed, or not */
    struct espi_plan_found { /* those of so many items were, and go as the program's type if packing loses */
        int64_t count;
        atomic_bool loses, open; /* open: that is being found anew, */
        bool again;              /* as it is to be in each round (espi_plan_begin_round) */
    } found_of[ESPI_MESSAGE_CALLS][ESPI_COUNTS_TRIED];
    atomic_uint round; /* in which that was looked at last; the leader writes */
    atomic_int tries[ESPI_MESSAGE_CALLS]; /* there were such messages to be tried: so many others go by until they
                                             are not waited for any more */
    atomic_int hopes; /* messages that might be tried, but have come by other calls than those that are */
    atomic_int n_found[ESPI_MESSAGE_CALLS], n_lost; /* of these, n_lost of all calls; the leader writes */
    double learnt_ns; /* what turns say that an item saves, where no model does; 0: nothing. The leader writes */
    bool stands; /* one item is a run of bytes, but not its extent, so that the library takes it for data with gaps */
    bool astride; /* an element may lie across a cut of a long stream: see espi_plan_is_cut */
    int64_t begins;      /* where the data of an item begin: not 0 where displacements are addresses */
    struct espi_packed_times times;  /* of the pack program in the program's calls */
    struct espi_local_choice {
        _Atomic(enum espi_local_state) state;
        atomic_bool anew;        /* it is to be begun once more; by any thread */
        struct espi_trial trial; /* the leader's (base/overlap.h) */
    } local[2]; /* MPI_Pack and MPI_Unpack: local_turns.h */
    atomic_uint met; /* collective calls that the program has received in, up to some */
    /* Whether the program pays in a collective call, of the last one (type_look.c): items in a block from bit
       ESPI_JUDGED_EACH on, the use, and the verdict; and what it saves then, a block. */
    _Atomic uint64_t judged, judged_ns;
    /* The last short message that was packed (short_message.c): its items, 0 where the figures are others by now;
       the round, `packed_ns` and the distance of cores then; and what it saved. The leader's; other threads set 0. */
    struct espi_plan_short {
        _Atomic int64_t count;
        unsigned round;
        uint64_t packed_ns, more_ns, saved_ps, saved_ns;
    } last_short;
    float short_told; /* what such messages save, as measured, over what the models say of near cores; 0: not known,
                         or not asked; negative: trials say nothing, and the models are believed */
    _Atomic int64_t left_items; /* of the last message of several parts that went as the program's type outside of a
                                   trial (message.c); 0: none, or figures have changed since. As above. */
    _Atomic uint64_t saved_ns; /* what the last use saved of which that is known, and 1; 0: of none */
    _Atomic uint64_t left; /* the last kind of use in a collective call that went as it is (espi_use_kind); 0: none */
    /* The rest belongs to plan_cache.c: */
    _Atomic int64_t users; /* references */
    struct espi_plan_entry *entry;
};

/*
 * Whether `count` items of it, of which a message may have `together` times as many, may not be packed, nor go where
 * they stand. MPICH over UCX cuts a message
 * of several parts that is sent as bytes every 8,240 of them, or 64 kB and so on, always at a multiple of 16; one to
 * the own rank has several from 8,185 bytes on, where others have them from 8,256 on. Where
 * the other side receives it by its type, and such a cut lies within an element, the engine (Yaksa, MPICH 4.0.2)
 * unpacks less than it was given, and the receive fails as truncated (tests/mpi/astride.c). Sent by its type it is
 * cut between elements. What the other side does is not known.
 */
bool espi_plan_is_cut(const struct espi_plan *plan, int64_t count, int together);

/* What turns have shown of messages of one part and so many items; NULL: they were not tried. */
static inline const struct espi_plan_found *espi_plan_found(const struct espi_plan *plan, int64_t count,
                                                            enum espi_message_calls calls)
{
    for (int i = 0; i < plan->n_found[calls]; i++)
        if (plan->found_of[calls][i].count == count)
            return &plan->found_of[calls][i];
    return NULL;
}

/* Messages of one part and so many items go as the program's type, as turns have shown. */
static inline bool espi_plan_loses(const struct espi_plan *plan, int64_t count, enum espi_message_calls calls)
{
    const struct espi_plan_found *tried = plan->n_lost > 0 ? espi_plan_found(plan, count, calls) : NULL;

    return tried != NULL && tried->loses;
}

/* Whether it is turns that say, or will say, if messages of one part and so many items are better packed; else the
   models do. */
static inline bool espi_plan_is_found_out(const struct espi_plan *plan, int64_t count, enum espi_message_calls calls)
{
    return plan->doubtful[calls] &&
           (plan->n_found[calls] < ESPI_COUNTS_TRIED || espi_plan_found(plan, count, calls) != NULL);
}

/* Identifies a layout: structural hash of tree and bounds. */
uint64_t espi_plan_key(const struct espi_decoded *layout);

/* The plan of an equal layout, with a reference taken; NULL when there is none. */
struct espi_plan *espi_plan_find(const struct espi_decoded *layout);
/* The layout that it is for; valid as long as the plan. */
const struct espi_decoded *espi_plan_layout(const struct espi_plan *plan);

/*
 * Types that are made anew in the same way need not be read back: how the last type of a class (its `hint`,
 * type_class.h) was made can be kept with its plan (datatype/construction.h), and is what the next one is compared
 * with. Both call MPI; calls must exclude each other.
 */
/* The plan of the types of this hint, with a reference taken, if `type` was made as the one that was remembered;
   NULL: it was not, or none is. */
struct espi_plan *espi_plan_recognize(uint64_t hint, MPI_Datatype type);
/* Remembers how `type`, which has the plan's layout, was made; what was remembered of the hint is forgotten. False:
   that can not be. */
bool espi_plan_remember(struct espi_plan *plan, uint64_t hint, MPI_Datatype type);

struct espi_plan_request {
    MPI_Datatype type;               /* valid and committed */
    const struct espi_decoded *layout;
    enum espi_mode mode;             /* auto: what the model says is faster; always: what costs fewer words */
    enum espi_mode packing;          /* off: without a pack program */
    const struct espi_pack *pack;    /* set by this file: to compare with; NULL: none. Replaced by a better one, */
    bool exact;                      /* which then was compiled from the least-cost tree */
    struct espi_arena *programs;     /* set by this file: where that lives; NULL: it is not looked for */
    bool one_node;                   /* all ranks are on one node */
    bool passes;                     /* calls of MPI_Pack by a program pass the library by (calls/short_local.h) */
    bool staged;                     /* there are uses that the library would pack into a buffer of its own */
    bool check;                      /* compare entries and packed bytes of every substitute with the original's */
    int64_t count;                   /* items in a typical use, > 0 */
    int tier;                        /* 1 or 2, see above; always: 2 */
    bool silent;                     /* no statistics are wanted: the layout is not put into words */
    bool forms;                      /* better types are wanted: uses come that no pack program does */
    bool again, was_better;          /* set by espi_plan_improve */
    unsigned reversed;               /* the same: bits 1 << enum espi_packable, not to be packed */
};

/*
 * Plans a layout that espi_plan_find did not find, puts the plan into the cache and takes a reference. A plan without
 * better types is a plan, too: it says to leave the layout alone, and the statistics say why. NULL when memory is
 * short. Calls MPI; calls must exclude each other.
 */
struct espi_plan *espi_plan_make(struct espi_plan_request *request);

/* Raised when a plan is improved: what was decided by plans is then to be decided again. */
extern atomic_uint espi_plans_epoch;

/* Plans the same layout once more, for another tier or count. What is replaced lives until the plan ends, as a call
   may be about to use it. As espi_plan_make. */
void espi_plan_improve(struct espi_plan *plan, struct espi_plan_request *request);

/* Whether this is one of the first calls of its kind; counts it. */
static inline bool espi_plan_is_new(struct espi_plan *plan)
{
    enum { NEW_CALLS = 16 };

    return atomic_load_explicit(&plan->met, memory_order_relaxed) < NEW_CALLS &&
           atomic_fetch_add_explicit(&plan->met, 1, memory_order_relaxed) < NEW_CALLS;
}

/* Takes one more reference. */
static inline void espi_plan_hold(struct espi_plan *plan)
{
    espi_add_64(&plan->users, 1);
}
/* The plan that stands there, if any, with one more reference; where another thread may take it away, and give back
   its own reference, at the same time. */
struct espi_plan *espi_plan_hold_at(_Atomic(struct espi_plan *) *place);
/* Gives a reference back. No MPI call and no lock: may be called from a delete callback. */
static inline void espi_plan_release(struct espi_plan *plan)
{
    espi_add_64(&plan->users, -1);
}
/* The same, for the owner of a packed block or message. */
void espi_plan_release_owner(void *plan);

/* Frees all substitutes; plans go on with their pack programs. Not where other threads may be in calls of MPI. */
void espi_plans_give_types_back(void);

/* Frees all substitutes; plans that are still referred to say "the program's own" from then on. */
void espi_plans_stop(void);

#endif
