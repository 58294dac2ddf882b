/* Between type_cache.c, which has the types' generations, and type_look.c, which has what a look at one does. */
#ifndef ESPI_MPI_TYPEPLAN_TYPE_LOOK_H
#define ESPI_MPI_TYPEPLAN_TYPE_LOOK_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/core/handle_table.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/typeplan/type_class.h"
#include "stats/stats.h"

/* type_cache.c's, set when it starts. */
extern struct espi_type_service {
    pthread_mutex_t planning; /* held over MPI calls, but only ever tried, and never in a callback */
    atomic_int mode;          /* of types; OFF also before start and after stop */
    enum espi_mode packing;   /* ESPALIER_PACK, off where MPI packs otherwise than pack programs do */
    bool one_node;            /* all ranks are known to be on one node */
    bool check;               /* ESPALIER_CHECK */
    bool silent;              /* no statistics are wanted */
    bool told;                /* statistics are wanted, and not everything is packed in any case */
    bool attributes;          /* calls do not overlap, so that an attribute's callback may end a generation */
} espi_type_service;

/* What a use of `count` items (> 0) is for, where MPI goes through the type as a `whole` or not: a message that fits
   one part is packed in one go. */
static inline enum espi_purpose espi_plan_purpose(const struct espi_plan *plan, int64_t count, bool whole)
{
    return whole || count <= ESPI_ENGINE_PART / (plan->size > 0 ? plan->size : 1) ? ESPI_WHOLE : ESPI_PARTS;
}

/* Whether the pack program of the plan is what a call of MPI_Pack, or one with a message, is to be done with:
   `use` is one of the first ESPI_PACKABLES. */
static inline bool espi_plan_packs_alone(const struct espi_plan *plan, enum espi_packable use)
{
    return plan->pack != NULL && espi_type_service.packing != ESPI_MODE_OFF &&
           (atomic_load_explicit(&plan->packed_ns[use], memory_order_relaxed) > 0 ||
            espi_type_service.packing == ESPI_MODE_ALWAYS);
}

/* Whether a message of several items that are runs of bytes is to be packed, by the model. */
bool espi_plan_packs_runs(struct espi_plan *plan, int64_t count);
/* The same as espi_plan_packs_alone of a message of `count` items in such calls. One that is a run of bytes goes
   where it stands, so that what was found for one item says nothing of several. */
static inline bool espi_plan_packs_message(struct espi_plan *plan, int64_t count, enum espi_message_calls calls)
{
    if (__builtin_expect(espi_plan_loses(plan, count, calls), 0) ||
        (atomic_load_explicit(&plan->packed_ns[ESPI_PACK_MESSAGE], memory_order_relaxed) == ESPI_PACK_TO_BE_TRIED &&
         !plan->stands && !espi_plan_is_found_out(plan, count, calls)))
        return false;
    if (!plan->stands || espi_type_service.packing != ESPI_MODE_AUTO || (plan->count > 1 && count > 1))
        return espi_plan_packs_alone(plan, ESPI_PACK_MESSAGE);
    return count == 1 || espi_plan_packs_runs(plan, count);
}

/* Whether the pack program of the plan is what such a call is to be done with; `each`: items in a block, for
   collective calls. Blocks of several parts that leave the node: see below. */
bool espi_plan_packs(struct espi_plan *plan, enum espi_packable use, int64_t each);

/* Whether it is, where nothing is known of the ranks of the call but of all. Messages of several parts, and such
   blocks that leave the node, go the way found for ones like it. `exactly`: the use, before espi_packs_as; `together`
   blocks of `count` items may be one message of the library's. */
bool espi_plan_is_to_pack(struct espi_plan *plan, int64_t count, enum espi_purpose purpose,
                          enum espi_packable exactly, int64_t each, int together);

/* Whether blocks of `each` items may be packed that leave the node: short ones as within the node, as it saves the
   library's general code there, too (doc/pack-programs.md); of long ones the way is to be found out. */
static inline bool espi_plan_may_pack_far(struct espi_plan *plan, enum espi_packable use, int64_t each)
{
    if (each <= 0 || plan->size <= ESPI_ENGINE_PART / each)
        return espi_plan_packs(plan, use, each);
    return plan->pack != NULL && espi_type_service.packing != ESPI_MODE_OFF &&
           (espi_type_service.packing == ESPI_MODE_ALWAYS || plan->open[false] != ESPI_WAYS_NONE);
}

/* Whether it is not only because no other thread than the leader finds out what is better (base/overlap.h). */
bool espi_plan_is_untried(const struct espi_plan *plan, int64_t count, enum espi_purpose purpose,
                          enum espi_packable exactly);

/* Whether no model says that it is better packed, and turns, which it may have (calls/message.h), are yet to. */
bool espi_plan_waits_for_turns(const struct espi_plan *plan, int64_t count, enum espi_purpose purpose,
                               enum espi_packable exactly);

/* When types are looked at: as the setting of datatypes says, and always where all is to be packed. */
static inline int espi_types_mode(void)
{
    int mode = atomic_load_explicit(&espi_type_service.mode, memory_order_relaxed);

    return mode == ESPI_MODE_AUTO && espi_type_service.packing == ESPI_MODE_ALWAYS ? ESPI_MODE_ALWAYS : mode;
}

/* Guard the classes where calls may overlap; not to be held over an MPI call. */
void espi_types_lock_classes(void);
void espi_types_unlock_classes(void);
/* Uses since the last time, and the items in them. */
struct espi_untold {
    uint64_t uses, items;
};
/* Tells the class of them. Classes are locked. */
struct espi_untold espi_types_tell(struct espi_type_slot *s);
/* Adds them to the record of the plan, where there is one. */
void espi_types_record(const struct espi_type_slot *s, struct espi_untold u);
/* From here on what the slot holds ends with the datatype, if not before. False: it can not be tied. */
bool espi_types_tie_slot(struct espi_type_slot *s, MPI_Datatype type);
/* Whether the handle still is the type that was tied. */
bool espi_types_slot_is_tied(const struct espi_type_slot *s, MPI_Datatype type);
/* A plan was made for uses that fit one part of a message, and is now asked for longer ones. */
bool espi_plan_is_outgrown(const struct espi_plan *plan, int64_t count);

/* Whether a use of a type that a pack program does (`packs`), or for which nothing else is better, says nothing new
   of its class (NULL: it has none). */
static inline bool espi_class_has_noted(const struct espi_type_class *class, const struct espi_plan *plan,
                                        enum espi_packable use, bool packs)
{
    return class == NULL ||
           (class->packs && (!packs ? !plan->forms_pending : use == ESPI_PACK_MESSAGE || class->packs_others)) ||
           (packs ? use == ESPI_PACK_STAGED && class->passed == -ESPI_CLASS_PASSED_MOST
                  : class->passed == ESPI_CLASS_PASSED_MOST);
}

/* Tells the class of a use of a type that a pack program does, or for which nothing else is better. */
void espi_class_note_new(struct espi_type_slot *s, enum espi_packable use, bool packs);
static inline void espi_class_note(struct espi_type_slot *s, const struct espi_plan *plan, enum espi_packable use,
                                   bool packs)
{
    if (!espi_class_has_noted(espi_slot_class(s), plan, use, packs))
        espi_class_note_new(s, use, packs);
}

/* Forgets that a pack program did messages of the class, as they are better left to the library. */
void espi_class_packs_no_messages(struct espi_type_slot *s);

/* Whether the models say that such messages gain by packing. */
static inline bool espi_plan_gains_by_models(const struct espi_plan *plan, int64_t count,
                                             enum espi_message_calls calls)
{
    return calls == ESPI_KEPT ? espi_plan_kept_ns(plan, count) > 0
                              : atomic_load_explicit(&plan->packed_ns[ESPI_PACK_MESSAGE], memory_order_relaxed) >
                                    ESPI_PACK_TO_BE_TRIED;
}

/* Whether a message of `count` items that packs is so also where a record of its request has to be kept for that, and
   found again, which costs most of what the models say of shorter ones. */
static inline bool espi_plan_packs_kept(const struct espi_plan *plan, int64_t count)
{
    return espi_type_service.packing == ESPI_MODE_ALWAYS || espi_plan_is_found_out(plan, count, ESPI_KEPT) ||
           espi_plan_kept_ns(plan, count) > 0;
}

/* The slow path of a use of `count` items: uses have reached s->look. Sets when to look again. */
void espi_type_look(struct espi_type_slot *s, MPI_Datatype type, int64_t count, enum espi_packable use);

/* Whether a use, not counted as yet, needs no look. One at a new type of a class that has a plan is taken at once. */
static inline bool espi_type_is_looked_at(struct espi_type_slot *s, MPI_Datatype type, int64_t count,
                                          enum espi_packable use)
{
    const uint64_t next = atomic_load_explicit(&s->uses, memory_order_relaxed) + 1;

    if (__builtin_expect(next < atomic_load_explicit(&s->look, memory_order_relaxed), 1))
        return true;
    if (espi_slot_class(s) == NULL || espi_slot_class(s)->state != ESPI_CLASS_BETTER ||
        atomic_load_explicit(&s->plan, memory_order_relaxed) != NULL)
        return false;
    espi_type_look(s, type, count, use);
    return atomic_load_explicit(&s->uses, memory_order_relaxed) + 1 <
           atomic_load_explicit(&s->look, memory_order_relaxed);
}

#endif
