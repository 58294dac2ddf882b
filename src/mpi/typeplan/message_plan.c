#include "mpi/typeplan/message_plan.h"

#include "mpi/typeplan/engine_cost.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "mpi/typeplan/unseen.h"

struct espi_message_plan espi_message_plan(MPI_Datatype type, int64_t count, enum espi_packable use)
{
    const struct espi_message_plan none = {NULL, NULL};
    struct espi_type_slot *s = espi_slot_of(type);
    struct espi_plan *plan;
    int64_t bytes;

    if (s == NULL || !espi_type_service.attributes || !espi_type_is_looked_at(s, type, count, espi_packs_as(use)) ||
        (plan = atomic_load_explicit(&s->plan, memory_order_acquire)) == NULL ||
        (espi_slot_class(s) != NULL && !espi_slot_class(s)->packs) ||
        !espi_plan_packs(plan, ESPI_PACK_MESSAGE, 0) || __builtin_mul_overflow(plan->size, count, &bytes) ||
        bytes <= 0 || bytes > INT32_MAX || (espi_packs_kept(use) && !espi_plan_packs_kept(plan, count)))
        return none;
    if (bytes > ESPI_ENGINE_PART && (espi_plan_is_outgrown(plan, count) ||
                                     !(espi_type_service.one_node || espi_type_service.packing == ESPI_MODE_ALWAYS)))
        return none;
    return (struct espi_message_plan){plan, s};
}

static void count_packed(struct espi_stats_thread *stats, struct espi_type_slot *slot, struct espi_plan *plan,
                         int64_t count, int64_t bytes, enum espi_purpose purpose, enum espi_packable use)
{
    espi_bump(&slot->uses, 1);
    espi_bump(&slot->items, (uint64_t)count);
    espi_types_pay();
    espi_plan_credit(plan, count, purpose, true, use);
    espi_count(stats, ESPI_COUNT_calls_examined, 1);
    espi_count(stats, ESPI_COUNT_calls_packed, 1);
    espi_count(stats, ESPI_COUNT_bytes_packed, (uint64_t)bytes);
}

void espi_message_plan_used(struct espi_stats_thread *stats, const struct espi_message_plan *found, int64_t count,
                            enum espi_packable use)
{
    struct espi_plan *plan = found->plan;
    const int64_t bytes = plan->size * count;

    count_packed(stats, found->slot, plan, count, bytes, bytes > ESPI_ENGINE_PART ? ESPI_PARTS : ESPI_WHOLE, use);
}

bool espi_blocks_plan(struct espi_blocks_plan *found, MPI_Datatype type, int64_t count, bool whole,
                      enum espi_packable use, int64_t each)
{
    struct espi_type_slot *s = espi_slot_of(type);
    struct espi_plan *plan;
    int64_t bytes;

    found->plan = NULL;
    found->slot = s;
    found->purpose = ESPI_WHOLE;
    found->use = use;
    if (s == NULL || !espi_type_service.attributes ||
        atomic_load_explicit(&espi_type_service.mode, memory_order_relaxed) == ESPI_MODE_OFF ||
        !espi_type_is_looked_at(s, type, count, use))
        return false;
    plan = atomic_load_explicit(&s->plan, memory_order_acquire);
    if (plan == NULL)
        return true;
    if (__builtin_mul_overflow(plan->size, count, &bytes))
        return false;
    if (!whole && bytes > ESPI_ENGINE_PART) {
        found->purpose = ESPI_PARTS;
        if (espi_plan_is_outgrown(plan, count))
            return false;
    }
    if (espi_plan_packs(plan, use, each) && bytes <= INT32_MAX &&
        (found->purpose == ESPI_WHOLE || espi_type_service.one_node ||
         espi_type_service.packing == ESPI_MODE_ALWAYS))
        found->plan = plan;
    if (atomic_load_explicit(&plan->better[found->purpose], memory_order_relaxed) != MPI_DATATYPE_NULL)
        return found->plan != NULL;
    return espi_class_has_noted(espi_slot_class(s), plan, use, found->plan != NULL);
}

void espi_blocks_plan_used(struct espi_stats_thread *stats, const struct espi_blocks_plan *found, MPI_Datatype type,
                           int64_t count, int64_t bytes, uint64_t kind)
{
    struct espi_plan *plan = found->plan;

    if (bytes > 0) {
        count_packed(stats, found->slot, plan, count, bytes, found->purpose, found->use);
    } else {
        plan = atomic_load_explicit(&found->slot->plan, memory_order_relaxed);
        if (plan != NULL)
            atomic_store_explicit(&plan->left, kind, memory_order_relaxed);
        espi_types_used(stats, type, found->slot, count);
    }
}
