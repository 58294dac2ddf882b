#include "mpi/typeplan/message_plan.h"

#include "base/overlap.h"
#include "mpi/packed/packed_persistent.h"
#include "mpi/packed/trial_numbers.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/typeplan/plan_use.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "mpi/typeplan/unseen.h"

/* Whether it is being found out of such messages if they are better packed; not if others come and they do not. */
static bool is_being_tried(struct espi_plan *plan, enum espi_message_calls calls)
{
    const int left = atomic_load_explicit(&plan->tries[calls], memory_order_relaxed);

    if (left == 0 || !plan->doubtful[calls] || plan->n_found[calls] > 0)
        return false;
    atomic_store_explicit(&plan->tries[calls], left - 1, memory_order_relaxed);
    return true;
}

/* Whatever was tried of its short messages is better not packed, for good, and none is being tried. */
static bool loses_all(struct espi_plan *plan)
{
    for (int calls = 0; calls < ESPI_MESSAGE_CALLS; calls++) {
        if (is_being_tried(plan, (enum espi_message_calls)calls))
            return false;
        for (int i = 0; i < plan->n_found[calls]; i++)
            if (!plan->found_of[calls][i].loses || (plan->found_of[calls][i].again && plan->doubtful[calls]))
                return false;
    }
    return true;
}

void espi_plan_begin_round(struct espi_plan *plan)
{
    static const enum espi_way_call call[ESPI_MESSAGE_CALLS] = {
        [ESPI_ALONE] = ESPI_WAY_SEND, [ESPI_PAIRED] = ESPI_WAY_BOTH, [ESPI_KEPT] = ESPI_WAY_BATCH};
    unsigned opened = 0;

    plan->round = espi_trial_round();
    for (int calls = 0; calls < ESPI_MESSAGE_CALLS && espi_trial_numbers_are_shared; calls++)
        for (int i = 0; i < plan->n_found[calls]; i++) {
            struct espi_plan_found *found = &plan->found_of[calls][i];
            if (!plan->doubtful[calls])
                found->open = false;
            if (!plan->doubtful[calls] || found->open)
                continue;
            const struct espi_way_question q = {.call = call[calls], .near = true, .bytes = plan->size * found->count,
                                                .no_cells = true, .doubtful = true, .alike = plan->alike};
            espi_way_forget(&q); /* also what loses for good: others may go on finding it out */
            if (!found->again)
                continue;
            found->open = true;
            opened++;
        }
    atomic_store_explicit(&plan->last_short.count, 0, memory_order_relaxed);
    espi_trial_round_finds(opened);
    espi_count_anywhere(ESPI_COUNT_packs_found_anew, opened);
}

/* No model said what packing saves, but turns do: both sides together, where they are in one time. 0: they have said
   so, and that is no longer true. */
static void learn(struct espi_plan *plan, int64_t count, enum espi_message_calls calls, double ns)
{
    const double alone = ns == 0 ? 0 : calls == ESPI_KEPT ? ns + ESPI_PACK_KEPT_NS : ns / 2;
    uint64_t before = plan->learnt_ns > 0 ? espi_plan_learnt_ns(plan) : ESPI_PACK_TO_BE_TRIED;

    plan->learnt_ns = alone / (double)count;
    atomic_compare_exchange_strong(&plan->packed_ns[ESPI_PACK_MESSAGE], &before,
                                   alone > 0 ? espi_plan_learnt_ns(plan) : ESPI_PACK_TO_BE_TRIED);
}

/* None of them is to be packed any more. */
static void give_up(struct espi_plan *plan, struct espi_type_slot *slot)
{
    if (espi_leads())
        learn(plan, 1, ESPI_ALONE, 0);
    espi_class_packs_no_messages(slot);
}

/* Such messages have turns once more, whatever was found. */
static bool is_found_anew(const struct espi_plan *plan, int64_t count, enum espi_message_calls calls)
{
    return espi_leads() && espi_plan_found(plan, count, calls) != NULL && espi_plan_is_doubtful(plan, count, calls);
}

/* Whether such a message goes by the plan, and how. */
static bool serves(struct espi_message_plan *found, int64_t count, enum espi_packable use)
{
    const enum espi_message_calls calls = espi_message_calls_of(use);
    struct espi_plan *plan = found->plan;
    struct espi_type_class *class = espi_slot_class(found->slot);

    if (espi_leads())
        espi_plan_see_round(plan);
    if (__builtin_mul_overflow(plan->size, count, &found->bytes) || found->bytes <= 0 || found->bytes > INT32_MAX)
        return false;
    if (espi_plan_is_cut(plan, count, 1))
        return false;
    found->parts = found->bytes > ESPI_ENGINE_PART;
    if (found->parts)
        return !espi_plan_is_outgrown(plan, count);
    if (espi_plan_loses(plan, count, calls) && loses_all(plan))
        give_up(plan, found->slot); /* if it is another class than that by which it was found */
    found->typed = !is_found_anew(plan, count, calls) &&
                   (!espi_plan_packs_message(plan, count, calls) ||
                    (espi_packs_kept(use) && !espi_plan_packs_kept(plan, count)));
    if (found->typed)
        return atomic_load_explicit(&plan->better[ESPI_WHOLE], memory_order_relaxed) != MPI_DATATYPE_NULL;
    return class == NULL || class->packs; /* or it is yet to know */
}

struct espi_message_plan espi_message_plan(MPI_Datatype type, int64_t count, enum espi_packable use)
{
    const struct espi_message_plan none = {.plan = NULL};
    struct espi_message_plan found = {.slot = espi_slot_of(type)};
    struct espi_type_slot *s = found.slot;

    if (s == NULL || !espi_type_is_looked_at(s, type, count, espi_packs_as(use)) ||
        (found.plan = espi_plan_borrow(s)) == NULL)
        return none;
    if (serves(&found, count, use) && espi_types_slot_is_tied(s, type))
        return found;
    espi_plan_give_back(found.plan);
    return none;
}

struct espi_type_slot *espi_message_plan_leaves(MPI_Datatype type, int64_t count, enum espi_message_calls calls,
                                                bool has_turns)
{
    struct espi_type_slot *slot = espi_slot_of(type);
    const struct espi_type_class *class;
    struct espi_plan *plan;

    if (slot == NULL || (class = espi_slot_class(slot)) == NULL || !class->packs ||
        atomic_load_explicit(&slot->uses, memory_order_relaxed) + 1 >=
            atomic_load_explicit(&slot->look, memory_order_relaxed) ||
        (plan = espi_plan_borrow(slot)) == NULL)
        return NULL;
    if (has_turns && espi_leads()) { /* for some such messages it may be time to be tried once more */
        espi_trial_round_counts();
        espi_plan_see_round(plan);
    }
    const bool leaves =
        !plan->stands && plan->size <= ESPI_ENGINE_PART / count &&
        !(has_turns && is_found_anew(plan, count, calls)) &&
        espi_class_has_noted(class, plan, ESPI_PACK_MESSAGE, false) &&
        atomic_load_explicit(&plan->better[ESPI_WHOLE], memory_order_relaxed) == MPI_DATATYPE_NULL &&
        !(espi_plan_packs_message(plan, count, calls) && (calls != ESPI_KEPT || espi_plan_packs_kept(plan, count)) &&
          (has_turns || !espi_plan_waits_for_turns(plan, count, ESPI_WHOLE,
                                                   calls == ESPI_KEPT ? ESPI_PACK_KEPT_SENT : ESPI_PACK_MESSAGE)));
    espi_plan_give_back(plan);
    return leaves ? slot : NULL;
}

struct espi_type_slot *espi_message_plan_starts_too_few(MPI_Datatype type, int64_t count)
{
    struct espi_type_slot *slot;
    struct espi_plan *plan;

    if (!espi_packed_starts_too_few() || espi_type_service.packing == ESPI_MODE_ALWAYS ||
        (slot = espi_slot_of(type)) == NULL ||
        atomic_load_explicit(&slot->uses, memory_order_relaxed) + 1 >=
            atomic_load_explicit(&slot->look, memory_order_relaxed) ||
        (plan = espi_plan_borrow(slot)) == NULL)
        return NULL;
    const bool leaves =
        plan->size <= ESPI_ENGINE_PART / count && espi_plan_packs_message(plan, count, ESPI_ALONE) &&
        !espi_plan_is_undecided(plan, count, ESPI_ALONE) &&
        atomic_load_explicit(&plan->better[ESPI_WHOLE], memory_order_relaxed) == MPI_DATATYPE_NULL;
    espi_plan_give_back(plan);
    if (!leaves)
        return NULL;
    espi_packed_starts_decided();
    return slot;
}

bool espi_message_plan_packs(MPI_Datatype type, int64_t count)
{
    const struct espi_message_plan found = espi_message_plan(type, count, ESPI_PACK_MESSAGE);
    const bool packs = found.plan != NULL && !found.typed &&
                       !espi_plan_waits_for_turns(found.plan, count, ESPI_WHOLE, ESPI_PACK_MESSAGE);

    espi_plan_give_back(found.plan);
    return packs;
}

/* Whether that stays. `loses` negative: the trial said nothing. */
static bool note_found(struct espi_plan *plan, int64_t count, enum espi_message_calls calls, int loses)
{
    struct espi_plan_found *places = plan->found_of[calls], *found = places;

    while (found < places + plan->n_found[calls] && found->count != count)
        found++;
    const bool first = found == places + plan->n_found[calls], known = loses >= 0, lost = !first && found->loses;
    if (!known) /* as it was, or as the models say */
        loses = first ? !espi_plan_gains_by_models(plan, count, calls) : lost;
    found->count = count;
    found->again = espi_trial_numbers_are_shared && !(loses && (first || (known && lost)));
    found->loses = loses;
    found->open = false;
    plan->n_found[calls] += first;
    plan->n_lost += loses - lost;
    return !found->again;
}

void espi_message_plan_settle(struct espi_plan *plan, struct espi_type_slot *slot, int64_t count,
                              enum espi_message_calls calls, const struct espi_way_question *q)
{
    enum { CLEAR = 32 }; /* the program's type stays unless packing saves such a part: nothing is lost by that */
    enum { TRIES = 256 };
    double packed, own;

    if (!espi_plan_is_doubtful(plan, count, calls))
        return;
    atomic_store_explicit(&plan->tries[calls], TRIES, memory_order_relaxed);
    atomic_store_explicit(&plan->hopes, 0, memory_order_relaxed);
    if (!espi_way_was_tried(q))
        return;
    const bool known = espi_way_takes(q, &packed, &own);
    if (known && !espi_way_agrees(q, &packed, &own))
        return;
    const bool for_good = note_found(plan, count, calls, known ? packed > own - own / CLEAR : -1),
               loses = espi_plan_loses(plan, count, calls);
    if (!loses && known)
        learn(plan, count, calls, own - packed);
    if (!loses)
        return;
    if (loses_all(plan))
        give_up(plan, slot);
    if (!known || !for_good)
        return;
    espi_count_anywhere(ESPI_COUNT_packs_reversed, 1);
    espi_stats_type_reversed(plan->record, ESPI_PACKED_IN_MESSAGES, ESPI_SLOW_CALLS,
                             (uint64_t)(packed / (double)count),
                             (uint64_t)((own - own / CLEAR) / (double)count));
}

void espi_message_plan_packed(struct espi_stats_thread *stats, const struct espi_message_plan *found, int64_t count,
                              enum espi_packable use, const struct espi_message_saving *saved)
{
    const enum espi_purpose purpose = found->parts ? ESPI_PARTS : ESPI_WHOLE;

    espi_plan_count_use(stats, found->slot, count);
    if (saved->by_way >= 0)
        espi_plan_credit_measured(found->plan, count, use, saved, true);
    else
        espi_plan_credit_told(found->plan, count, purpose, true, use, saved->in_all);
    espi_count(stats, ESPI_COUNT_calls_packed, 1);
    espi_count(stats, ESPI_COUNT_bytes_packed, (uint64_t)found->bytes);
    if (found->parts)
        espi_class_note(found->slot, found->plan, ESPI_PACK_MESSAGE, true);
}

void espi_message_plan_typed(struct espi_stats_thread *stats, const struct espi_message_plan *found, int64_t count,
                             MPI_Datatype type, enum espi_packable use,
                             const struct espi_message_saving *saved)
{
    struct espi_plan *plan = found->plan;

    espi_plan_count_use(stats, found->slot, count);
    if (found->parts)
        espi_class_note(found->slot, plan, ESPI_PACK_MESSAGE, true); /* it may be packed the next time */
    if (type != MPI_DATATYPE_NULL)
        espi_plan_credit_told(plan, count, found->parts ? ESPI_PARTS : ESPI_WHOLE, false, use, saved->in_all);
    else if (saved->in_all > 0) /* by what the other side does */
        espi_plan_credit_waiting(plan, count, saved->in_all);
    if (saved->by_way > 0) /* what the others save: this one goes as a type in its turn */
        espi_plan_credit_measured(plan, count, use, saved, false);
    else if (saved->by_way == 0) /* of a packed one that is not said: sending may save what receiving costs */
        atomic_store_explicit(&plan->saved_ns,
                              1 + (type != MPI_DATATYPE_NULL ? espi_plan_parts_ns(plan, count) : 0),
                              memory_order_relaxed);
    if (type == MPI_DATATYPE_NULL) {
        espi_count(stats, ESPI_COUNT_left_not_better, 1);
        return;
    }
    espi_count(stats, ESPI_COUNT_calls_substituted, 1);
    espi_count(stats, ESPI_COUNT_bytes_substituted, (uint64_t)found->bytes);
}

void espi_message_plan_own(struct espi_stats_thread *stats, const struct espi_message_plan *found, int64_t count)
{
    espi_plan_count_use(stats, found->slot, count);
    if (found->parts)
        espi_class_note(found->slot, found->plan, ESPI_PACK_MESSAGE, true);
    espi_count(stats, ESPI_COUNT_left_not_better, 1);
}

/* What the plan says of blocks. False: something that only the general way does. */
static bool is_for_blocks(struct espi_blocks_plan *found, int64_t count, bool whole, enum espi_packable use,
                          int64_t each, int together)
{
    struct espi_plan *plan = found->of;
    int64_t bytes;

    if (__builtin_mul_overflow(plan->size, count, &bytes))
        return false;
    if (!whole && bytes > ESPI_ENGINE_PART) {
        found->purpose = ESPI_PARTS;
        if (espi_plan_is_outgrown(plan, count))
            return false;
    }
    const bool is_cut = espi_packs_across(use) &&
                        espi_plan_is_cut(plan, count, together); /* of all: they may differ */
    found->timed = !is_cut && found->far && each > 0 && plan->size > ESPI_ENGINE_PART / each;
    if (bytes <= INT32_MAX && !is_cut &&
        (found->far ? espi_plan_may_pack_far(plan, use, each) : espi_plan_packs(plan, use, each)))
        found->plan = plan;
    else
        found->tried = !is_cut && !found->far && espi_packs_blocks(use) && each > 0 &&
                       plan->size > ESPI_ENGINE_PART / each &&
                       plan->open[true] != ESPI_WAYS_NONE;
    found->better = atomic_load_explicit(&plan->better[found->purpose], memory_order_acquire);
    found->unnoted = found->better == MPI_DATATYPE_NULL && found->plan == NULL &&
                     !espi_class_has_noted(espi_slot_class(found->slot), plan, use, false);
    return true;
}

bool espi_blocks_plan(struct espi_blocks_plan *found, MPI_Datatype type, int64_t count, bool whole,
                      enum espi_packable use, int64_t each, int together, bool near)
{
    struct espi_type_slot *s = espi_slot_of(type);

    found->plan = found->of = NULL;
    found->better = MPI_DATATYPE_NULL;
    found->unnoted = found->tried = found->timed = false;
    found->slot = s;
    found->purpose = ESPI_WHOLE;
    found->use = use;
    found->together = together;
    found->far = !near && espi_packs_blocks(use);
    if (s == NULL || atomic_load_explicit(&espi_type_service.mode, memory_order_relaxed) == ESPI_MODE_OFF ||
        !espi_type_is_looked_at(s, type, count, use))
        return false;
    found->of = espi_plan_borrow(s);
    return found->of == NULL ||
           (espi_types_slot_is_tied(s, type) && is_for_blocks(found, count, whole, use, each, together));
}

struct espi_plan *espi_blocks_plan_of_other(const struct espi_blocks_plan *found, int64_t count)
{
    struct espi_plan *plan = found->of;
    const bool may = plan != NULL && plan->pack != NULL && espi_type_service.packing != ESPI_MODE_OFF &&
                     plan->size <= INT32_MAX / count &&
                     !(espi_packs_across(found->use) && espi_plan_is_cut(plan, count, found->together));

    return may ? plan : NULL;
}

void espi_blocks_plan_packed(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, int64_t count,
                             int64_t bytes, double saved)
{
    const struct espi_message_plan packed = {
        .plan = found->plan, .slot = found->slot, .bytes = bytes, .parts = found->purpose == ESPI_PARTS};

    if (saved >= 0) {
        espi_message_plan_packed(stats, &packed, count, found->use,
                                 &(struct espi_message_saving){saved, -1});
    } else {
        espi_plan_count_use(stats, found->slot, count);
        if (found->timed)
            espi_bump(&found->plan->record->changed, 1);
        else
            espi_plan_credit(found->plan, count, found->purpose, true, found->use);
        espi_count(stats, ESPI_COUNT_calls_packed, 1);
        espi_count(stats, ESPI_COUNT_bytes_packed, (uint64_t)bytes);
    }
    espi_class_note(found->slot, found->plan, found->use, true);
}

void espi_blocks_plan_typed(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, int64_t count,
                            int64_t bytes, MPI_Datatype type, double saved)
{
    const struct espi_message_plan typed = {
        .plan = found->plan, .slot = found->slot, .bytes = bytes, .parts = found->purpose == ESPI_PARTS};

    if (typed.parts)
        espi_message_plan_typed(stats, &typed, count, type, found->use, &(struct espi_message_saving){saved, -1});
    else if (type != MPI_DATATYPE_NULL)
        espi_blocks_plan_better(stats, found, count);
    else
        espi_types_used(stats, MPI_DATATYPE_NULL, found->slot, count);
}

void espi_blocks_plan_better(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, int64_t count)
{
    espi_plan_count_use(stats, found->slot, count);
    espi_plan_credit(found->of, count, found->purpose, false, found->use);
    espi_count(stats, ESPI_COUNT_calls_substituted, 1);
    espi_count(stats, ESPI_COUNT_bytes_substituted, (uint64_t)(count * found->of->size));
}

void espi_blocks_plan_left(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, MPI_Datatype type,
                           int64_t count, uint64_t kind)
{
    struct espi_plan *plan = found->of;

    /* Where some ranks are far what is done depends on the communicator, of which the kind says nothing. */
    if (plan != NULL && (plan->pack == NULL || espi_type_service.one_node || !espi_packs_blocks(found->use)))
        atomic_store_explicit(&plan->left, kind, memory_order_relaxed);
    espi_types_used(stats, type, found->slot, count);
}

struct espi_plan *espi_exchanged_plan(struct espi_stats_thread *stats, MPI_Datatype type, int64_t count,
                                      int64_t each, bool soon, uint64_t *saved_ps)
{
    struct espi_blocks_plan found = {.use = ESPI_PACK_EACH};
    struct espi_type_slot *s;
    int64_t bytes = 0;

    if (stats != NULL && !soon && espi_unseen_passes(type)) {
        espi_count(stats, ESPI_COUNT_left_not_earned, 1);
        return NULL;
    }
    if ((s = found.slot = espi_types_awake(type)) == NULL) {
        if (stats != NULL)
            espi_count(stats, ESPI_COUNT_left_unknown_handle, 1);
        return NULL;
    }
    found.plan = atomic_load_explicit(&s->plan, memory_order_acquire);
    if (atomic_load_explicit(&s->uses, memory_order_relaxed) + 1 >=
            atomic_load_explicit(&s->look, memory_order_relaxed) ||
        (soon && found.plan == NULL &&
         !(espi_slot_class(s) != NULL && espi_slot_class(s)->state == ESPI_CLASS_REFUSED))) {
        espi_type_look(s, type, count, soon ? ESPI_PACK_EXCHANGED_SOON : ESPI_PACK_EXCHANGED);
        found.plan = atomic_load_explicit(&s->plan, memory_order_acquire);
    }
    const bool packed = found.plan != NULL && found.plan->pack != NULL &&
                        !__builtin_mul_overflow(found.plan->size, count, &bytes);
    found.purpose = bytes > ESPI_ENGINE_PART ? ESPI_PARTS : ESPI_WHOLE;
    if (stats != NULL && packed) {
        /* What it saves: of long ones what packing does, of short ones what the models say of blocks. */
        found.use = found.purpose == ESPI_PARTS ? ESPI_PACK_LOCAL : ESPI_PACK_EACH;
        espi_plan_packs(found.plan, found.use, each);
        espi_blocks_plan_packed(stats, &found, count, bytes, -1);
        *saved_ps += espi_plan_saving(found.plan, count, found.purpose, true, found.use).ps;
    }
    if (stats != NULL && !packed)
        espi_types_used(stats, type, s, count);
    if (!packed)
        return NULL;
    espi_plan_hold(found.plan);
    return found.plan;
}

void espi_exchanged_left(struct espi_stats_thread *stats, MPI_Datatype type, int64_t count)
{
    struct espi_type_slot *s = espi_types_awake(type);

    if (s != NULL)
        espi_types_used(stats, type, s, count);
    else
        espi_count(stats, ESPI_COUNT_left_unknown_handle, 1);
}

void espi_message_others(struct espi_way_question *question, struct espi_comm_facts *facts, int rank)
{
    const unsigned char *world =
        question->near && espi_trial_numbers_are_shared ? espi_comm_world_ranks(facts) : NULL;
    const bool known = (unsigned)rank < (unsigned)facts->peers;

    question->others = world == NULL ? NULL : known ? &world[rank] : world;
    question->n_others = world == NULL ? 0 : known ? 1 : facts->peers;
}

enum espi_message_way espi_message_plan_way(enum espi_way_call call, int64_t bytes)
{
    const struct espi_way_question q = {
        .open = ESPI_WAYS_EVEN, .call = call, .near = espi_type_service.one_node, .packs = true, .bytes = bytes};

    return espi_way_packed(&q);
}
