/* The plan of a side of a call that goes the short way (message.h, collective.h). */
#ifndef ESPI_MPI_TYPEPLAN_MESSAGE_PLAN_H
#define ESPI_MPI_TYPEPLAN_MESSAGE_PLAN_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/packed/packed_call.h"
#include "mpi/packed/trial_numbers.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/core/handle_table.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/typeplan/unseen.h"
#include "stats/stats.h"

struct espi_message_plan {
    struct espi_plan *plan; /* NULL: there is none */
    struct espi_type_slot *slot;
    int64_t bytes;
    bool parts; /* more than one part of a message, whose way is to be chosen; else it is to be packed, */
    bool typed; /* or goes as the better type */
};

/* The plan by which `count` items (> 0) of a derived type are sent or received; none where something is to be done
   with this use that only espi_types_way does. `use`: of a message, exactly. Nothing is counted; the plan is
   borrowed (plan_use.h). */
struct espi_message_plan espi_message_plan(MPI_Datatype type, int64_t count, enum espi_packable use);

/* As espi_types_left, for a message of one part and `count` items (> 0) in such calls, of a type whose plan stays for
   other uses. `has_turns`: such calls may find out if it is better packed. */
struct espi_type_slot *espi_message_plan_leaves(MPI_Datatype type, int64_t count, enum espi_message_calls calls,
                                                bool has_turns);

/* The same of a persistent message that a plan would pack, if requests of this program are started too few times for
   that (packed_persistent.h); NULL: no such one. */
struct espi_type_slot *espi_message_plan_starts_too_few(MPI_Datatype type, int64_t count);

/* Whether `count` items (> 0), a message, are packed by a plan, if they are short, or may be. */
bool espi_message_plan_packs(MPI_Datatype type, int64_t count);

/* Whether it is to be found out if short messages of so many items (> 0) are better packed in such calls. Of more
   than some counts the models are believed. */
static inline bool espi_plan_is_doubtful(const struct espi_plan *plan, int64_t count, enum espi_message_calls calls)
{
    if (!plan->doubtful[calls] || plan->size > ESPI_ENGINE_PART / count)
        return false;
    const struct espi_plan_found *found = espi_plan_found(plan, count, calls);
    return found != NULL ? found->open : plan->n_found[calls] < ESPI_COUNTS_TRIED;
}

/* The same in calls that find nothing out: they go by what was found at last, also while others find it anew. */
static inline bool espi_plan_is_undecided(const struct espi_plan *plan, int64_t count, enum espi_message_calls calls)
{
    const struct espi_plan_found *found = espi_plan_found(plan, count, calls);

    return espi_plan_is_doubtful(plan, count, calls) && (found == NULL || found->loses);
}

/*
 * Processors of a node come near each other and go farther apart, where nothing binds ranks to them; and a trial may
 * meet a time that is like no other. So what was found better packed is found anew in each round, by all ranks
 * together (trial_numbers.h). What loses goes as the program's type until the next round in which there are such
 * messages, and for good where it loses then, too; or in its first trial, as nothing is lost by that.
 */
void espi_plan_begin_round(struct espi_plan *plan);
/* A message of the plan is about to be sent or received. The leader's. */
static inline void espi_plan_see_round(struct espi_plan *plan)
{
    if (__builtin_expect(plan->round != espi_trial_round(), 0))
        espi_plan_begin_round(plan);
}

/* If it has been found out for such messages, which are asked about, that stays for these calls. Where they are not
   better packed the choice is reversed: types go as they are, and soon without a plan, unless other calls pack them.
   `slot`: of such a type. The leader's (base/overlap.h). */
void espi_message_plan_settle(struct espi_plan *plan, struct espi_type_slot *slot, int64_t count,
                              enum espi_message_calls calls, const struct espi_way_question *question);

/* Counts that use, which is made: packed, or with `type` in the place of the program's (MPI_DATATYPE_NULL: as it
   is). */
void espi_message_plan_packed(struct espi_stats_thread *stats, const struct espi_message_plan *found, int64_t count,
                              enum espi_packable use, const struct espi_message_saving *saved);
void espi_message_plan_typed(struct espi_stats_thread *stats, const struct espi_message_plan *found, int64_t count,
                             MPI_Datatype type, enum espi_packable use,
                             const struct espi_message_saving *saved);

/* One that goes as the program's type so that it can be told what the others save: nothing is known by it. */
void espi_message_plan_own(struct espi_stats_thread *stats, const struct espi_message_plan *found, int64_t count);

/* Fills in from or for whom a message of the communicator is, where that may be known: the rank, MPI_ANY_SOURCE for
   any of them. */
void espi_message_others(struct espi_way_question *question, struct espi_comm_facts *facts, int rank);

/* Counts a use that is made, but not what becomes of it. */
static inline void espi_plan_count_use(struct espi_stats_thread *stats, struct espi_type_slot *slot, int64_t count)
{
    espi_bump(&slot->uses, 1);
    espi_bump(&slot->items, (uint64_t)count);
    espi_types_pay();
    espi_count(stats, ESPI_COUNT_calls_examined, 1);
}

/* What is done with `count` items (> 0) of a derived type on one side of a collective call, whose blocks have `each`;
   `together`: so many blocks of `count` items it may send or receive in one message; `whole`: it would go through the
   type in one go; `near`: all ranks are on one node. False: something that
   only espi_types_blocks_way does. */
struct espi_blocks_plan {
    struct espi_plan *plan; /* by which they are to be packed; NULL: they go as they are, or */
    MPI_Datatype better;    /* as this type; MPI_DATATYPE_NULL: there is none */
    struct espi_plan *of;   /* the type's, borrowed (plan_use.h); NULL: it has none */
    struct espi_type_slot *slot;
    enum espi_purpose purpose;
    enum espi_packable use;
    int together;
    bool far;     /* it leaves the node */
    bool timed;   /* and is long, so that what packing it saves is known from times alone */
    bool tried;   /* no model says that packing it pays, nor that it does not: it is to be found out, on one node */
    bool unnoted; /* if it is not packed, espi_types_blocks_way has to see it */
};
bool espi_blocks_plan(struct espi_blocks_plan *found, MPI_Datatype type, int64_t count, bool whole,
                      enum espi_packable use, int64_t each, int together, bool near);

/* Counts that use, which is made: `bytes` are packed; or they might be, but go as `type` (MPI_DATATYPE_NULL: the
   program's); `saved` as above; or they go as `better`; or as the program's type, which is remembered of its kind
   (espi_use_kind; 0: nothing is). */
void espi_blocks_plan_packed(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, int64_t count,
                             int64_t bytes, double saved);
void espi_blocks_plan_typed(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, int64_t count,
                            int64_t bytes, MPI_Datatype type, double saved);
/* The plan of a block that is not to be packed by itself, if it has a program: a side is packed as a whole or not at
   all. */
struct espi_plan *espi_blocks_plan_of_other(const struct espi_blocks_plan *found, int64_t count);

void espi_blocks_plan_better(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, int64_t count);
void espi_blocks_plan_left(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, MPI_Datatype type,
                           int64_t count, uint64_t kind);

/* The plan by whose program `count` items (> 0) of a derived type, `each` of them in a block, are moved in a call
   without the library (exchange.h), on one side; NULL: there is none, and MPI packs them. `soon`: it is to be made
   now, if there is none and that takes little. The use is counted, and what it saves added to `saved_ps`, unless
   `stats` is NULL. A reference of the plan is taken, as a look at another type may drop it. Calls do not overlap. */
struct espi_plan *espi_exchanged_plan(struct espi_stats_thread *stats, MPI_Datatype type, int64_t count,
                                      int64_t each, bool soon, uint64_t *saved_ps);

/* Counts such a use in a call that is left to the library. */
void espi_exchanged_left(struct espi_stats_thread *stats, MPI_Datatype type, int64_t count);

/* Which way a message, or a block of a collective call, of so many bytes goes that is packed anyhow. */
enum espi_message_way espi_message_plan_way(enum espi_way_call call, int64_t bytes);

#endif
