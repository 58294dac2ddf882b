/*
 * The program's derived types and what is known of them: what handlers.c and lifecycle.c call.
 * Every handle given here is a datatype handle by its bits and not a predefined one; it may still be garbage, freed
 * or not committed, and is then left alone. All functions are thread-safe (MPI_THREAD_MULTIPLE).
 */
#ifndef ESPI_MPI_TYPEPLAN_TYPE_CACHE_H
#define ESPI_MPI_TYPEPLAN_TYPE_CACHE_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"
#include "base/status.h"
#include "abi.h"
#include "mpi/core/api_table.h"
#include "mpi/core/handle_table.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/typeplan/plan_use.h"
#include "mpi/typeplan/type_class.h"
#include "stats/stats.h"

static inline bool espi_type_is_predefined(MPI_Datatype type)
{
    return espi_is_predefined((uint32_t)type);
}

struct espi_elements;
struct espi_thread_state;

/* After MPI is initialized, once; again after espi_types_stop when MPI lives on in a session. */
espi_status espi_types_start(const struct espi_settings *settings);
/* While MPI still works: frees every substitute, and forgets every type. Afterwards espi_types_better gives back what
   it is given. */
void espi_types_stop(void);

/* The type to hand to MPI in the place of `type` for one use of `count` elements (> 0; over all ranks for an array of
   counts; 1 where it is not known). `whole`: a local pack or unpack, which MPI does in one go; messages go in parts,
   and another type may be best there. Gives back `type` itself when nothing better is known. */
MPI_Datatype espi_types_better(struct espi_thread *thread, MPI_Datatype type, int64_t count, bool whole);

/* The same where a pack program may do the work. Where that is better than any type, `packed` is its plan, of which a
   reference is taken; else NULL. */
struct espi_way {
    MPI_Datatype type;
    struct espi_plan *packed;
};
struct espi_way espi_types_way(struct espi_thread *thread, MPI_Datatype type, int64_t count, bool whole,
                               enum espi_packable use);
/* The same of a side of a collective call, whose blocks have `each` items, and of which the library may send or
   receive `together` times `count` in one message. */
struct espi_way espi_types_blocks_way(struct espi_thread *thread, MPI_Datatype type, int64_t count, bool whole,
                                      enum espi_packable use, int64_t each, int together);

/* As espi_types_way, and counts the use: that there is one, and what becomes of it. */
static inline struct espi_way espi_types_counted_way(struct espi_thread *thread, struct espi_stats_thread *stats,
                                                     MPI_Datatype type, int64_t count, bool whole,
                                                     enum espi_packable use)
{
    const struct espi_way way = espi_types_way(thread, type, count, whole, use);

    espi_count(stats, ESPI_COUNT_calls_examined, 1);
    if (way.packed != NULL) {
        espi_count(stats, ESPI_COUNT_calls_packed, 1);
        espi_count(stats, ESPI_COUNT_bytes_packed, (uint64_t)count * (uint64_t)way.packed->size);
    } else if (way.type != type) {
        espi_count(stats, ESPI_COUNT_calls_substituted, 1);
    }
    return way;
}

/* The slot of a type that is committed and not freed, also if it had passed unseen until now; NULL otherwise. */
struct espi_type_slot *espi_types_awake(MPI_Datatype type);

/* Whether the type is known to be valid and committed. */
bool espi_types_known(struct espi_thread *thread, MPI_Datatype type);

/* What is known of a derived type that was seen committed; NULL for others, and where the elements differ. Valid
   until the type is freed; looked at once. */
const struct espi_elements *espi_elements_of(MPI_Datatype type);
/* To be called before something is remembered of a type by the generation of its slot: from then on that ends with
   the type, however it is freed. False: nothing may be remembered. */
bool espi_types_tie(MPI_Datatype type);
/* Before that is used. False: the handle is another type's by now. */
bool espi_types_is_tied(MPI_Datatype type);

/* The short way for a use that needs no look at anything: the type is known and is, for now, used as it is. */
static inline __attribute__((always_inline)) struct espi_type_slot *espi_types_quiet(MPI_Datatype type)
{
    struct espi_type_slot *slot = espi_slot_of(type);

    if (slot == NULL || atomic_load_explicit(&slot->uses, memory_order_relaxed) + 1 >=
                            atomic_load_explicit(&slot->look, memory_order_relaxed))
        return NULL;
    return atomic_load_explicit(&slot->settled, memory_order_relaxed) ||
                   atomic_load_explicit(&slot->plan, memory_order_relaxed) == NULL
               ? slot
               : NULL;
}

/* Whether it is not known yet what becomes of the type. */
static inline bool espi_types_waits(const struct espi_type_slot *slot)
{
    return !atomic_load_explicit(&slot->settled, memory_order_relaxed) &&
           atomic_load_explicit(&slot->plan, memory_order_relaxed) == NULL &&
           atomic_load_explicit(&slot->look, memory_order_relaxed) != ESPI_NEVER;
}

/* A use that goes the short way in MPI_Pack or MPI_Unpack. Whether a pack program would do it, and there is no plan
   only because uses were in other calls: then the type is looked at. Not for the first few: from the first one that
   is packed on all calls with types of the class are seen. */
static inline bool espi_types_would_pack(struct espi_type_slot *slot)
{
    struct espi_type_class *class = espi_slot_class(slot);

    if (class == NULL || atomic_load_explicit(&slot->plan, memory_order_relaxed) != NULL ||
        atomic_load_explicit(&slot->look, memory_order_relaxed) != ESPI_NEVER)
        return false;
    const unsigned to_come = atomic_load_explicit(&class->packs_alone, memory_order_relaxed);
    if (to_come > 1)
        atomic_store_explicit(&class->packs_alone, (unsigned char)(to_come - 1), memory_order_relaxed);
    if (!espi_class_would_pack(class))
        return false;
    atomic_store_explicit(&slot->look, 0, memory_order_relaxed);
    return true;
}

/* What a use of `count` items (> 0) on a side of a collective call is like, as far as that says whether a pack
   program sees to it. `root`: on the root, `both`: both sides of the call have derived types. 0: no kind. */
static inline uint64_t espi_use_kind(enum espi_fn fn, int side, int64_t count, bool root, bool both)
{
    const uint64_t flags = (uint64_t)side << 2 | (uint64_t)root << 1 | (uint64_t)both;
    return count >> 48 != 0 ? 0 : (uint64_t)fn << 51 | flags << 48 | (uint64_t)count;
}

/* Whether both sides of a call have derived types; no arrays of types. */
static inline bool espi_both_derived(const struct espi_buffer_args *typed, const espi_word *args)
{
    return typed[0].shape != ESPI_SHAPE_NONE && typed[1].shape != ESPI_SHAPE_NONE &&
           typed[0].shape != ESPI_SHAPE_W && typed[1].shape != ESPI_SHAPE_W &&
           !espi_type_is_predefined((MPI_Datatype)args[(int)typed[0].type]) &&
           !espi_type_is_predefined((MPI_Datatype)args[(int)typed[1].type]);
}

/* As espi_types_quiet, for one of a type with a plan, if the last use of this kind (not 0) went as it is. */
static inline struct espi_type_slot *espi_types_left(MPI_Datatype type, uint64_t kind)
{
    struct espi_type_slot *slot = espi_slot_of(type);

    if (slot == NULL || atomic_load_explicit(&slot->uses, memory_order_relaxed) + 1 >=
                            atomic_load_explicit(&slot->look, memory_order_relaxed))
        return NULL;
    struct espi_plan *plan = espi_plan_borrow(slot);
    const bool left = plan != NULL && atomic_load_explicit(&plan->left, memory_order_relaxed) == kind;
    espi_plan_give_back(plan);
    return left ? slot : NULL;
}

/* What a use of a type without a plan counts as. */
static inline enum espi_counter espi_types_left_why(const struct espi_type_slot *slot)
{
    switch (atomic_load_explicit(&slot->settled, memory_order_relaxed)) {
    case ESPI_NOT_SETTLED:
        return ESPI_COUNT_left_not_earned;
    case ESPI_SETTLED_BEST:
        return ESPI_COUNT_left_not_better;
    default:
        return ESPI_COUNT_left_unplanned;
    }
}

/* Counts a use of `count` elements (> 0) that took the short way, and gives credit for the next ones. */
static inline __attribute__((always_inline)) void espi_types_used(struct espi_stats_thread *stats, MPI_Datatype type,
                                                                  struct espi_type_slot *slot, int64_t count)
{
    espi_bump(&slot->uses, 1);
    espi_bump(&slot->items, (uint64_t)count);
    espi_count(stats, ESPI_COUNT_calls_examined, 1);
    if (atomic_load_explicit(&slot->plan, memory_order_relaxed) != NULL) { /* other uses are done in another way */
        espi_count(stats, ESPI_COUNT_left_not_better, 1);
        return;
    }
    espi_count(stats, espi_types_left_why(slot), 1);
    espi_slot_lend(slot, type);
}

/* Whether the stub may see to uses on credit and to commits by itself (abi.h). */
bool espi_types_on_credit(void);

/* After the call returned MPI_SUCCESS. `thread_state`: of the calling thread. */
void espi_types_committed(struct espi_thread_state *thread_state, MPI_Datatype type);
void espi_types_duped(struct espi_thread_state *thread_state, MPI_Datatype old_type, MPI_Datatype new_type);
/* Before MPI_Type_free (thread_state may be NULL): ends what is known of the handle, which another thread may get for
   a new type as soon as MPI has freed it. */
void espi_types_ending(struct espi_thread_state *thread_state, MPI_Datatype type);

#endif
