/*
 * What is done when a use of a type is looked at: its class is asked what is due (tiers.h); where planning is, the
 * type is read back, and its plan found or made.
 */
#include "mpi/typeplan/type_look.h"

#include "base/overlap.h"
#include "mpi/packed/message_ways.h"
#include "mpi/packed/packed_persistent.h"
#include "mpi/packed/self_test.h"
#include "mpi/datatype/decode.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/engine_calibrate.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/pack_gain.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/typeplan/tiers.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/undecoded.h"

enum { NUMBERS_MOST = 1 << 22 }; /* counts and displacements of a type that is decoded */
/* What a look takes beside what is timed, up to the end of what it has tied to the type. */
enum { TYING_NS = 150 };
/* To ask for the time takes a third of what recognizing a type does: so, when that is known, it is timed once in so
   many types of the class. */
enum { TIMED_EACH = 32 };

/* Calls of one size come again and again: the last verdict is kept, with the use and the low bits of `each`. */
static bool pays(struct espi_plan *plan, enum espi_packable use, int64_t each)
{
    const uint64_t asked = (uint64_t)each << ESPI_JUDGED_EACH | (uint64_t)use << 1;
    uint64_t judged = atomic_load_explicit(&plan->judged, memory_order_relaxed);

    if ((judged & ~UINT64_C(1)) != asked) {
        const bool parts = plan->size > ESPI_ENGINE_PART / each;
        const double engine = plan->engine_ns[parts && espi_packs_blocks(use) ? ESPI_PARTS : ESPI_WHOLE] *
                              (double)each / (double)plan->count;
        const double gain = use == ESPI_PACK_MESSAGE
                                ? espi_pack_message_gain(plan->pack, each, parts, espi_type_service.one_node,
                                                         plan->extent == plan->size, engine)
                                : espi_pack_collective_gain(plan->pack, each, use, parts, engine);
        judged = asked | (gain > 0);
        atomic_store_explicit(&plan->judged_ns, (uint64_t)gain, memory_order_relaxed);
        atomic_store_explicit(&plan->judged, judged, memory_order_relaxed);
    }
    return judged & 1;
}

bool espi_plan_packs(struct espi_plan *plan, enum espi_packable use, int64_t each)
{
    if (use == ESPI_PACK_NOT || plan->pack == NULL || espi_type_service.packing == ESPI_MODE_OFF)
        return false;
    if (use < ESPI_PACKABLES)
        return espi_plan_packs_alone(plan, use);
    if (espi_type_service.packing == ESPI_MODE_ALWAYS)
        return true;
    return each > 0 && pays(plan, use, each);
}

bool espi_plan_packs_runs(struct espi_plan *plan, int64_t count)
{
    return plan->size <= ESPI_ENGINE_PART / count &&
           (atomic_load_explicit(&plan->times.reversed, memory_order_relaxed) & 1u << ESPI_PACK_MESSAGE) == 0 &&
           pays(plan, ESPI_PACK_MESSAGE, count);
}

/* By the models packing saves more than half of what the library takes: a guess that is good enough for a persistent
   message, which has no turns. */
static bool gains_most(const struct espi_plan *plan)
{
    return 2 * (double)atomic_load_explicit(&plan->packed_ns[ESPI_PACK_MESSAGE], memory_order_relaxed) >
           plan->engine_ns[ESPI_PARTS];
}

bool espi_plan_is_untried(const struct espi_plan *plan, int64_t count, enum espi_purpose purpose,
                          enum espi_packable exactly)
{
    return espi_calls_overlap && espi_packs_as(exactly) == ESPI_PACK_MESSAGE && purpose == ESPI_WHOLE &&
           espi_plan_is_undecided(plan, count, espi_message_calls_of(exactly)) && !espi_leads();
}

bool espi_plan_waits_for_turns(const struct espi_plan *plan, int64_t count, enum espi_purpose purpose,
                               enum espi_packable exactly)
{
    const enum espi_message_calls calls = espi_message_calls_of(exactly);

    return espi_packs_as(exactly) == ESPI_PACK_MESSAGE && purpose == ESPI_WHOLE &&
           atomic_load_explicit(&plan->packed_ns[ESPI_PACK_MESSAGE], memory_order_relaxed) > 0 &&
           !espi_plan_gains_by_models(plan, count, calls) && espi_plan_is_undecided(plan, count, calls);
}

bool espi_plan_is_to_pack(struct espi_plan *plan, int64_t count, enum espi_purpose purpose,
                          enum espi_packable exactly, int64_t each, int together)
{
    const enum espi_packable use = espi_packs_as(exactly);
    const bool near = espi_type_service.one_node, always = espi_type_service.packing == ESPI_MODE_ALWAYS,
               packs = use == ESPI_PACK_MESSAGE && purpose == ESPI_WHOLE
                           ? espi_plan_packs_message(plan, count, espi_message_calls_of(exactly)) &&
                                 !espi_plan_is_untried(plan, count, purpose, exactly) &&
                                 !espi_plan_waits_for_turns(plan, count, purpose, exactly)
                           : espi_plan_packs(plan, use, each),
               fits = count <= INT32_MAX / (plan->size > 0 ? plan->size : 1);

    if (use == ESPI_PACK_LOCAL || !fits)
        return packs && use == ESPI_PACK_LOCAL;
    if (espi_packs_across(use) && espi_plan_is_cut(plan, count, together))
        return false;
    const bool far_blocks = !near && espi_packs_blocks(use);
    if (far_blocks && !espi_plan_may_pack_far(plan, use, each))
        return false;
    if (!always && (use == ESPI_PACK_MESSAGE ? purpose == ESPI_PARTS
                                             : far_blocks && plan->size > ESPI_ENGINE_PART / each)) {
        const int64_t bytes = (use == ESPI_PACK_MESSAGE ? count : each) * plan->size;
        const struct espi_way_question q = {
            .open = plan->open[near], .call = ESPI_WAY_SEND, .near = near, .packs = packs, .bytes = bytes};
        if (espi_packs_started(exactly) && near && q.open == ESPI_WAYS_EVEN && !espi_way_is_known(&q))
            return packs && gains_most(plan);
        return q.open != ESPI_WAYS_NONE && espi_way_of(&q) != ESPI_WAY_TYPED;
    }
    if (espi_packs_started(exactly) && espi_plan_is_undecided(plan, count, ESPI_ALONE))
        return false; /* that is not found out by it */
    if (espi_packs_started(exactly) && packs && !always) {
        const bool too_few = espi_packed_starts_too_few();
        espi_packed_starts_decided();
        return !too_few;
    }
    return packs && (!espi_packs_kept(exactly) || espi_plan_packs_kept(plan, count));
}

void espi_class_note_new(struct espi_type_slot *s, enum espi_packable use, bool packs)
{
    struct espi_type_class *class = espi_slot_class(s);

    if (class == NULL)
        return;
    espi_types_lock_classes();
    class->packs = class->packs || (packs && use != ESPI_PACK_STAGED);
    class->packs_others = class->packs_others || (packs && use != ESPI_PACK_STAGED && use != ESPI_PACK_MESSAGE);
    if (packs)
        class->passed -= class->passed > -ESPI_CLASS_PASSED_MOST;
    else if (class->passed < ESPI_CLASS_PASSED_MOST && ++class->passed == ESPI_CLASS_PASSED_MOST)
        atomic_store_explicit(&s->look, 0, memory_order_relaxed); /* the next use looks */
    espi_types_unlock_classes();
}

void espi_class_packs_no_messages(struct espi_type_slot *s)
{
    struct espi_type_class *class = espi_slot_class(s);

    if (class == NULL || !class->packs || class->packs_others)
        return;
    espi_types_lock_classes();
    class->packs = false;
    class->passed = 0;
    espi_types_unlock_classes();
}

/* Whether the uses of the class are in calls that no pack program does, and nothing else is better. */
static bool is_of_no_use(const struct espi_type_class *class, const struct espi_plan *plan)
{
    return class->passed >= ESPI_CLASS_PASSED_MOST && !class->packs &&
           !plan->forms_pending &&
           atomic_load(&plan->better[ESPI_WHOLE]) == MPI_DATATYPE_NULL &&
           atomic_load(&plan->better[ESPI_PARTS]) == MPI_DATATYPE_NULL;
}

/* Remembers what was found for a type of the class; with something better the plan is tied to the handle. Takes the
   plan over. False: it could not be tied, and will not be at another use. */
static bool settle(struct espi_type_slot *s, struct espi_type_class *class, MPI_Datatype type,
                   struct espi_plan *plan)
{
    const bool open = plan->open[true] != ESPI_WAYS_NONE ||
                      (plan->open[false] != ESPI_WAYS_NONE && !espi_type_service.one_node),
               message = espi_plan_packs(plan, ESPI_PACK_MESSAGE, 0),
               local = espi_plan_packs(plan, ESPI_PACK_LOCAL, 0);
    const bool of_no_use = espi_types_mode() == ESPI_MODE_AUTO && is_of_no_use(class, plan);
    const bool staged = class->staged && espi_plan_packs(plan, ESPI_PACK_STAGED, plan->count);
    const bool exchanged = class->exchanged && plan->pack != NULL;
    const bool better = !of_no_use && (message || exchanged || open || local || staged ||
                                       atomic_load(&plan->better[ESPI_WHOLE]) != MPI_DATATYPE_NULL ||
                                       atomic_load(&plan->better[ESPI_PARTS]) != MPI_DATATYPE_NULL);
    const int usual = plan->size > ESPI_ENGINE_PART / plan->count ? ESPI_PARTS : ESPI_WHOLE;

    espi_types_lock_classes();
    class->state = better ? ESPI_CLASS_BETTER : ESPI_CLASS_PLAIN;
    class->tier = (uint8_t)plan->tier;
    class->gain_ns = plan->gain_ns[usual] + plan->packed_ns[message ? ESPI_PACK_MESSAGE : ESPI_PACK_LOCAL];
    class->excess_ns = of_no_use ? 0 : plan->excess_ns[usual];
    class->parts = of_no_use || usual == ESPI_PARTS; /* and then not looked at again */
    class->packs_alone = of_no_use && local ? ESPI_CLASS_ALONE : 0;
    class->record = plan->record;
    espi_types_unlock_classes();
    atomic_store_explicit(&s->settled, better ? ESPI_NOT_SETTLED : ESPI_SETTLED_BEST, memory_order_relaxed);
    if (better && espi_types_tie_slot(s, type)) {
        atomic_store_explicit(&s->plan, plan, memory_order_release);
        return true;
    }
    espi_plan_release(plan);
    return !better;
}

/* The uses of its types are still counted. */
static void refuse(struct espi_type_slot *s, struct espi_type_class *class, MPI_Datatype type,
                   enum espi_counter why)
{
    struct espi_stats_type *record = espi_undecoded_record(class, type, why);

    espi_count_anywhere(why, 1);
    espi_types_lock_classes();
    class->state = ESPI_CLASS_REFUSED;
    atomic_store_explicit(&s->settled, ESPI_SETTLED_UNPLANNED, memory_order_relaxed);
    class->record = record;
    espi_types_unlock_classes();
}

/* Whether a plan was made for uses that fit one part of a message, and is now asked for longer ones. */
bool espi_plan_is_outgrown(const struct espi_plan *plan, int64_t count)
{
    return plan->size <= ESPI_ENGINE_PART / plan->count && plan->size > ESPI_ENGINE_PART / count;
}

/* Reads a type back, and finds the plan of its layout, or makes one. NULL: there is none, and the class is refused.
   `remembering`: what it took to remember how the type was made, about as long as recognizing the next one will; 0:
   that can not be. */
static struct espi_plan *read_back(struct espi_type_slot *s, struct espi_type_class *class, MPI_Datatype type,
                                   struct espi_plan_request *request, uint64_t *remembering)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded layout;
    struct espi_plan *plan;
    uint64_t begun = espi_stats_now(), took;
    const espi_status status = espi_decode(&arena, type, NUMBERS_MOST, &layout);

    took = espi_stats_now() - begun;
    espi_count_anywhere(ESPI_COUNT_time_decode, took);
    espi_admission_book(took);
    if (status != ESPI_OK) {
        refuse(s, class, type,
               status == ESPI_ERR_LIMIT    ? ESPI_COUNT_plan_too_large
               : status == ESPI_ERR_MEMORY ? ESPI_COUNT_plan_no_memory
               : status == ESPI_ERR_MPI    ? ESPI_COUNT_plan_mpi_error
                                           : ESPI_COUNT_plan_unsupported);
        espi_arena_release(&arena);
        return NULL;
    }
    espi_count_anywhere(ESPI_COUNT_types_decoded, 1);
    plan = espi_plan_find(&layout);
    if (plan != NULL) {
        espi_count_anywhere(ESPI_COUNT_types_known, 1);
    } else {
        request->layout = &layout;
        plan = espi_plan_make(request);
    }
    espi_arena_release(&arena);
    if (plan == NULL) {
        refuse(s, class, type, ESPI_COUNT_plan_no_memory);
        return NULL;
    }
    begun = espi_stats_now();
    const bool remembered = espi_plan_remember(plan, class->hint, type);
    took = espi_stats_now() - begun;
    espi_count_anywhere(ESPI_COUNT_time_decode, took);
    espi_admission_book(took);
    *remembering = remembered ? took : 0;
    return plan;
}

/* Whether a look at a type of the class, which most likely recognizes it, is to be timed. */
static bool is_to_be_timed(struct espi_type_class *class)
{
    return class->recognized < ESPI_TIERS_PROVED || class->untimed++ % TIMED_EACH == 0;
}

/* Finds the plan of a type of the class, of this tier at least, and with better types if `forms`. False: there is
   one, and it could not be tied to the type. The slot is not asked for its class again: where calls overlap, another
   thread may just have begun with the type. */
static bool consider(struct espi_type_slot *s, struct espi_type_class *class, MPI_Datatype type, int how, int tier,
                     int64_t count, bool forms)
{
    struct espi_plan_request request = {.type = type,
                                        .mode = (enum espi_mode)atomic_load(&espi_type_service.mode),
                                        .packing = espi_type_service.packing,
                                        .one_node = espi_type_service.one_node,
                                        .staged = class->staged,
                                        .passes = espi_type_service.attributes,
                                        .check = espi_type_service.check,
                                        .silent = espi_type_service.silent,
                                        .count = count,
                                        .tier = tier,
                                        .forms = forms};
    uint64_t begun, took, remembering = 0;
    struct espi_plan *plan;

    if (espi_type_service.packing != ESPI_MODE_OFF && !espi_packed_self_test())
        request.packing = ESPI_MODE_OFF;
    if (how == ESPI_MODE_AUTO && !class->dense) /* which needs it seldom: espi_engine_for */
        espi_engine(); /* once in a process, as the test is, and not part of what a look takes */
    const bool timed = how != ESPI_MODE_AUTO || is_to_be_timed(class);
    begun = timed ? espi_stats_now() : 0;
    plan = espi_plan_recognize(class->hint, type);
    const bool recognized = plan != NULL;
    if (!recognized) {
        begun = timed ? begun : espi_stats_now();
        if ((plan = read_back(s, class, type, &request, &remembering)) == NULL)
            return true;
    }
    if (how == ESPI_MODE_AUTO && (plan->tier < tier || espi_plan_is_outgrown(plan, count) ||
                                  (forms && plan->forms_pending))) {
        request.layout = espi_plan_layout(plan);
        espi_plan_improve(plan, &request);
    }
    const bool tied = settle(s, class, type, plan);
    took = begun > 0 ? espi_stats_now() - begun : class->look_ns > TYING_NS ? class->look_ns - TYING_NS : 0;
    if (recognized) {
        espi_count_anywhere(ESPI_COUNT_types_recognized, 1);
        espi_count_anywhere(ESPI_COUNT_time_decode, took);
        espi_admission_book(took);
    }
    if (atomic_load(&s->settled))
        espi_admission_idle(took);
    espi_types_lock_classes();
    if (!recognized)
        class->cold = !espi_admission_was_warm();
    if (!recognized && !class->cold && class->family == NULL && tier == 1)
        espi_admission_made(class->numbers, took);
    espi_tiers_looked(class, TYING_NS + (remembering > 0 ? remembering : took),
                      recognized ? 0 : TYING_NS + took);
    espi_tiers_learnt(class);
    espi_types_unlock_classes();
    return tied;
}

/* The class of a type, with its facts; NULL: that is not possible. */
static struct espi_type_class *classify(struct espi_type_slot *s, MPI_Datatype type)
{
    struct espi_type_class *class = espi_slot_class(s);

    if (class == NULL) {
        uint64_t hint = espi_slot_hint(s) != 0 ? espi_slot_hint(s) : espi_class_hint_asked(type);
        espi_types_lock_classes();
        class = hint != 0 ? espi_class_enter(hint) : NULL;
        if (class != NULL)
            s->how = (uint64_t)(uintptr_t)class;
        espi_types_unlock_classes();
        if (class == NULL)
            return NULL;
    }
    if (class->state == ESPI_CLASS_NEW) {
        if (!espi_class_ask(class, type))
            return NULL;
        class->state = ESPI_CLASS_COUNTED;
    }
    if (class->state == ESPI_CLASS_REFUSED && atomic_load(&s->plan) == NULL) /* by another type made alike */
        atomic_store_explicit(&s->settled, ESPI_SETTLED_UNPLANNED, memory_order_relaxed);
    return class;
}

/* A program for a long block of a call without the library is worth its first use where it takes a few microseconds.
   Lists have to earn it, and not by uses of their class alone, unless there were many, or lists like it were used
   again: one that is met for the first time may be the next of many that are made alike and used once each. It is
   packed by a program for once, if at all (pack_once.h). */
enum { SOON_NUMBERS = 16, USES = 8 };

static bool is_exchanged(enum espi_packable use)
{
    return use == ESPI_PACK_EXCHANGED || use == ESPI_PACK_EXCHANGED_SOON;
}

/* Whether a use without a plan is left so, whatever the tiers say. `due`: it was to be looked at in any case; else
   one of a class that has plans is not worth it as yet. */
static bool is_left_for_once(const struct espi_type_slot *s, const struct espi_type_class *class, bool due)
{
    const bool waits = class->state == ESPI_CLASS_BETTER && !due && s->made < USES,
               is_first = s->made == 0 && class->uses < USES && (class->family == NULL || class->family->again <= 0);

    return class->numbers > SOON_NUMBERS && (waits || is_first);
}

/* A persistent message is decided on when its request is made, mostly before the first use of its type: so many
   starts are expected of it, as far as it counts what its type may have lost. */
enum { STARTS = 64 };

/* The slow path of a use of `count` items. */
void espi_type_look(struct espi_type_slot *s, MPI_Datatype type, int64_t count, enum espi_packable use)
{
    int how = espi_types_mode(), tier;
    struct espi_plan *plan;
    struct espi_type_class *class;
    int64_t usual;
    bool tied = true;

    if (how == ESPI_MODE_OFF || !espi_try_lock(&espi_type_service.planning)) {
        atomic_store_explicit(&s->look, atomic_load(&s->uses) + ESPI_TIERS_AGAIN, memory_order_relaxed);
        return;
    }
    plan = atomic_load(&s->plan);
    if (espi_types_mode() != how || (class = classify(s, type)) == NULL) {
        atomic_store_explicit(&s->look, ESPI_NEVER, memory_order_relaxed);
        espi_unlock(&espi_type_service.planning);
        return;
    }
    espi_types_lock_classes();
    const bool due = atomic_load_explicit(&s->uses, memory_order_relaxed) + 1 >=
                     atomic_load_explicit(&s->look, memory_order_relaxed);
    const struct espi_untold fresh = espi_types_tell(s);
    /* else it is known what becomes of them */
    if (espi_packs_started(use) && plan == NULL && class->ended == 0 && !espi_packed_starts_are_few()) {
        class->uses += STARTS;
        class->items += STARTS * (uint64_t)count;
    }
    class->staged = class->staged || use == ESPI_PACK_STAGED;
    class->exchanged = class->exchanged || is_exchanged(use);
    if (use == ESPI_PACK_LOCAL && plan == NULL && espi_class_would_pack(class)) {
        class->state = ESPI_CLASS_BETTER;
        class->packs_alone = 0;
        class->passed = 0;
        atomic_store_explicit(&s->settled, ESPI_NOT_SETTLED, memory_order_relaxed);
    }
    const bool for_once =
        is_exchanged(use) && plan == NULL && how == ESPI_MODE_AUTO && is_left_for_once(s, class, due);
    tier = for_once ? 0 : espi_tiers_due(class, how, plan != NULL || atomic_load(&s->settled) == ESPI_SETTLED_BEST);
    const bool denied = tier == ESPI_TIERS_DENIED;
    const bool forms = (plan == NULL || plan->forms_pending) && class->passed >= ESPI_CLASS_PASSED_MOST;
    const bool of_no_use = plan != NULL && how == ESPI_MODE_AUTO && tier <= 0 && class->tier == plan->tier &&
                           is_of_no_use(class, plan);
    if (of_no_use) {
        class->state = ESPI_CLASS_PLAIN;
        class->excess_ns = 0;
        class->parts = true; /* and not looked at again, unless it is packed alone */
        class->packs_alone = espi_plan_packs(plan, ESPI_PACK_LOCAL, 0) ? ESPI_CLASS_ALONE : 0;
        espi_tiers_learnt(class);
    }
    usual = class->uses > 0 && class->items > class->uses ? (int64_t)(class->items / class->uses) : 1;
    espi_types_unlock_classes();
    if (denied)
        espi_count_anywhere(ESPI_COUNT_plan_budget, 1);
    if (of_no_use) {
        atomic_store(&s->plan, NULL);
        atomic_store_explicit(&s->settled, ESPI_SETTLED_BEST, memory_order_relaxed);
        espi_plan_release(plan);
        plan = NULL;
    }
    if (plan != NULL && how == ESPI_MODE_AUTO && espi_plan_is_outgrown(plan, count)) {
        usual = count;
        tier = tier > plan->tier ? tier : plan->tier;
    }
    if (forms && tier <= 0 && plan != NULL)
        tier = plan->tier;
    if (use == ESPI_PACK_EXCHANGED_SOON && tier <= 0 && plan == NULL && class->state != ESPI_CLASS_REFUSED &&
        class->numbers <= SOON_NUMBERS)
        tier = class->tier > 0 ? class->tier : 1;
    if (tier > 0) {
        if (plan != NULL) {
            atomic_store(&s->plan, NULL);
            espi_plan_release(plan);
        }
        tied = consider(s, class, type, how, tier, usual, forms);
    }
    espi_types_lock_classes();
    espi_types_record(s, fresh); /* with the use that is made now, for which the plan was found */
    const uint64_t look =
        tied ? espi_tiers_next_look(class, how, s->made, atomic_load(&s->plan) != NULL) : ESPI_NEVER;
    atomic_store_explicit(&s->look, look, memory_order_relaxed);
    espi_types_unlock_classes();
    espi_unlock(&espi_type_service.planning);
    espi_stats_slow_path();
}
