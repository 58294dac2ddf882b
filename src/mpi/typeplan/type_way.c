/* What a use of a type goes by: its plan's better type or pack program, or as it is, and why (type_cache.h). */
#include "base/overlap.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/packed/packed_persistent.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/typeplan/plan_use.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "mpi/typeplan/unseen.h"

/* Whether messages with it may have turns (calls/message.h), so that its class is to be seen. Calls of some kinds
   never have; after some of them it is hoped for no more. */
static bool may_be_tried(struct espi_type_slot *s, struct espi_plan *plan, int64_t count, enum espi_purpose purpose,
                         enum espi_packable exactly)
{
    enum { HOPES = 64 };
    const int hopes = atomic_load_explicit(&plan->hopes, memory_order_relaxed);
    bool tried = false;

    if (espi_packs_started(exactly) || espi_settings.check || !espi_leads() ||
        !espi_plan_waits_for_turns(plan, count, purpose, exactly))
        return false;
    if (hopes < HOPES) {
        atomic_store_explicit(&plan->hopes, hopes + 1, memory_order_relaxed);
        return true;
    }
    for (int calls = 0; calls < ESPI_MESSAGE_CALLS; calls++)
        tried = tried || plan->n_found[calls] > 0 ||
                atomic_load_explicit(&plan->tries[calls], memory_order_relaxed) > 0;
    if (!tried && atomic_load_explicit(&plan->packed_ns[ESPI_PACK_MESSAGE], memory_order_relaxed) <=
                      ESPI_PACK_TO_BE_TRIED)
        espi_class_packs_no_messages(s);
    return false;
}

struct espi_way espi_types_blocks_way(struct espi_thread *thread, MPI_Datatype type, int64_t count, bool whole,
                                      enum espi_packable exactly, int64_t each, int together)
{
    struct espi_stats_thread *stats = espi_thread_state(thread)->stats;
    struct espi_type_slot *s;
    struct espi_plan *plan;
    struct espi_way own = {type, NULL};
    MPI_Datatype better;
    uint64_t uses;
    const enum espi_packable use = espi_packs_as(exactly);

    if (atomic_load_explicit(&espi_type_service.mode, memory_order_relaxed) == ESPI_MODE_OFF) {
        espi_count(stats, ESPI_COUNT_left_switched_off, 1);
        return own;
    }
    if (espi_unseen_passes(type)) {
        espi_count(stats, ESPI_COUNT_left_not_earned, 1);
        return own;
    }
    s = espi_types_awake(type);
    if (s == NULL) {
        espi_count(stats, ESPI_COUNT_left_unknown_handle, 1);
        return own;
    }
    uses = atomic_load_explicit(&s->uses, memory_order_relaxed) + 1;
    atomic_store_explicit(&s->uses, uses, memory_order_relaxed);
    espi_bump(&s->items, (uint64_t)count);
    const bool lasts = espi_packs_started(exactly) && !espi_packed_starts_are_few();
    if (__builtin_expect(uses >= atomic_load_explicit(&s->look, memory_order_relaxed) ||
                             (lasts && espi_types_waits(s)), 0))
        espi_type_look(s, type, count, espi_packs_started(exactly) ? exactly : use);
    plan = espi_plan_borrow(s);
    if (plan == NULL) {
        espi_count(stats, espi_types_left_why(s), 1);
        espi_slot_lend(s, type);
        return own;
    }
    const enum espi_purpose purpose = espi_plan_purpose(plan, count, whole);
    if (purpose == ESPI_PARTS && espi_plan_is_outgrown(plan, count))
        atomic_store_explicit(&s->look, 0, memory_order_relaxed); /* the next one is planned for parts */
    better = atomic_load_explicit(&plan->better[purpose], memory_order_acquire);
    const bool packs = espi_plan_is_to_pack(plan, count, purpose, exactly, each, together);
    const bool few = !packs && !lasts && espi_packs_started(exactly) && purpose == ESPI_WHOLE &&
                     espi_plan_packs_message(plan, count, ESPI_ALONE) &&
                     !espi_plan_is_undecided(plan, count, ESPI_ALONE);
    const bool will = packs || may_be_tried(s, plan, count, purpose, exactly);
    if (will || (better == MPI_DATATYPE_NULL && !few && !espi_plan_is_untried(plan, count, purpose, exactly)))
        espi_class_note(s, plan, use, will || (espi_packs_blocks(use) && !espi_type_service.one_node &&
                                               espi_plan_may_pack_far(plan, use, each)));
    if (better == MPI_DATATYPE_NULL && !packs) {
        espi_count(stats, few ? ESPI_COUNT_left_started_few : ESPI_COUNT_left_not_better, 1);
        espi_plan_give_back(plan);
        return own;
    }
    if (__builtin_expect(!espi_types_slot_is_tied(s, type), 0)) {
        espi_count(stats, ESPI_COUNT_left_unknown_handle, 1);
        espi_plan_give_back(plan);
        return own;
    }
    espi_types_pay();
    espi_plan_credit_told(plan, count, purpose, packs, exactly, espi_packs_reduced(exactly) ? 0 : -1);
    if (packs) {
        if (!espi_calls_overlap)
            espi_plan_hold(plan);
        return (struct espi_way){better != MPI_DATATYPE_NULL ? better : type, plan};
    }
    espi_count(stats, ESPI_COUNT_bytes_substituted, (uint64_t)count * (uint64_t)plan->size);
    espi_plan_give_back(plan);
    return (struct espi_way){better, NULL};
}

struct espi_way espi_types_way(struct espi_thread *thread, MPI_Datatype type, int64_t count, bool whole,
                               enum espi_packable use)
{
    return espi_types_blocks_way(thread, type, count, whole, use, count, 1);
}

MPI_Datatype espi_types_better(struct espi_thread *thread, MPI_Datatype type, int64_t count, bool whole)
{
    return espi_types_way(thread, type, count, whole, ESPI_PACK_NOT).type;
}
