/* What uses of a plan save, and where that is counted for the report. */
#ifndef ESPI_MPI_TYPEPLAN_PLAN_CREDIT_H
#define ESPI_MPI_TYPEPLAN_PLAN_CREDIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/packed/packed_call.h"
#include "mpi/typeplan/pack_gain.h"
#include "mpi/typeplan/plan_cache.h"
#include "stats/stats.h"

/* The most that a message of `count` items can save, ns: where calls wait for other things, a difference of two times
   may be anything. All that the library's engine does on both sides, four times so, as models are not sure; and what
   bytes and calls may take more between cores that are far from each other. */
static inline double espi_plan_saves_at_most(const struct espi_plan *plan, int64_t count)
{
    enum { SURELY = 4, BYTE_NS = 1, CALL_NS = 2000 };
    const double whole = plan->engine_ns[ESPI_WHOLE] + (double)plan->gain_ns[ESPI_WHOLE],
                 parts = plan->engine_ns[ESPI_PARTS] + (double)plan->gain_ns[ESPI_PARTS];

    return SURELY * (whole > parts ? whole : parts) * (double)count / (double)plan->count +
           BYTE_NS * (double)(plan->size * count) + CALL_NS;
}

/* What items were learnt to save, which is more than 0, as packed_ns says it. */
static inline uint64_t espi_plan_learnt_ns(const struct espi_plan *plan)
{
    return 1 + ESPI_PACK_TO_BE_TRIED + (uint64_t)(plan->learnt_ns * (double)plan->count);
}

/* What was measured that a message saves, ns; negative: it was not. `by_way`: by the way that such ones go now,
   against the library's; `in_all`: against the program's type, for the report alone. */
struct espi_message_saving {
    double by_way, in_all;
};

/* Whether what `count` items say is one run of bytes with a longer extent. */
static inline bool espi_plan_item_stands(const struct espi_plan *plan, int64_t count)
{
    return plan->stands && count == 1;
}

/* Whether messages of `count` items are judged by themselves, as what was found for one such item says nothing of
   several; the last verdict is this one's. */
static inline bool espi_plan_judges_messages(const struct espi_plan *plan, int64_t count)
{
    return plan->stands && plan->count == 1 && count > 1;
}

/* What such a one saves where it goes in one part. */
static inline uint64_t espi_plan_run_ns(const struct espi_plan *plan)
{
    return (uint64_t)espi_pack_run_gain(plan->engine_ns[ESPI_WHOLE] / (double)plan->count);
}

/* What a message of `count` items saves where its request has to be kept, on top of a better type. Of one that goes
   where it stands none is. */
static inline uint64_t espi_plan_kept_ns(const struct espi_plan *plan, int64_t count)
{
    const uint64_t one = atomic_load_explicit(&plan->packed_ns[ESPI_PACK_MESSAGE], memory_order_relaxed),
                   saved = espi_plan_judges_messages(plan, count)
                               ? atomic_load_explicit(&plan->judged_ns, memory_order_relaxed)
                           : count == plan->count ? one
                                                  : one / (uint64_t)plan->count * (uint64_t)count;

    if (espi_plan_item_stands(plan, count))
        return espi_plan_run_ns(plan);
    return saved > ESPI_PACK_KEPT_NS ? saved - ESPI_PACK_KEPT_NS : 0;
}

/* What the better type for messages of several parts saves. */
static inline uint64_t espi_plan_parts_ns(const struct espi_plan *plan, int64_t count)
{
    const uint64_t gain = plan->gain_ns[ESPI_PARTS];

    return count == plan->count ? gain : 1000 * gain / (uint64_t)plan->count * (uint64_t)count / 1000;
}

/* What a use of `count` items saves by a better type, and by the program where that `packs`, and where that is
   counted. What calls of one side save is not known. */
struct espi_plan_saving {
    uint64_t ps;
    enum espi_stats_saved where;
};
struct espi_plan_saving espi_plan_saving(const struct espi_plan *plan, int64_t count, enum espi_purpose purpose,
                                         bool packs, enum espi_packable use);
/* Counts it. */
void espi_plan_credit(struct espi_plan *plan, int64_t count, enum espi_purpose purpose, bool packs,
                      enum espi_packable use);

/* Counts it as `ns`, which was measured, or is negative; what is decided by it goes on by the models. */
void espi_plan_credit_told(struct espi_plan *plan, int64_t count, enum espi_purpose purpose, bool packs,
                           enum espi_packable use, double ns);

/* Counts what a message saved that goes as it would without Espalier, but has to wait less. */
void espi_plan_credit_waiting(struct espi_plan *plan, int64_t count, double ns);

/* The same of a message of several parts where it was measured what it saves, by being packed, against the library's
   way: for which there may be a better type, whose gain comes to it. Not `made`: nothing is counted, but it is known
   of such messages now. */
void espi_plan_credit_measured(struct espi_plan *plan, int64_t count, enum espi_packable use,
                               const struct espi_message_saving *saved, bool made);

#endif
