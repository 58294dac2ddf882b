#include "mpi/typeplan/message_plan.h"

#include "mpi/typeplan/engine_cost.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "mpi/typeplan/unseen.h"

struct espi_message_plan espi_message_plan(MPI_Datatype type, int64_t count)
{
    const struct espi_message_plan none = {NULL, NULL};
    struct espi_type_slot *s = espi_slot_of(type);
    struct espi_plan *plan = s != NULL ? atomic_load_explicit(&s->plan, memory_order_acquire) : NULL;
    int64_t bytes;

    if (plan == NULL || !espi_type_service.attributes ||
        atomic_load_explicit(&s->uses, memory_order_relaxed) + 1 >=
            atomic_load_explicit(&s->look, memory_order_relaxed) ||
        (espi_slot_class(s) != NULL && !espi_slot_class(s)->packs) ||
        !espi_plan_packs(plan, ESPI_PACK_MESSAGE, 0) || __builtin_mul_overflow(plan->size, count, &bytes) ||
        bytes <= 0 || bytes > INT32_MAX)
        return none;
    if (bytes > ESPI_ENGINE_PART && (espi_plan_is_outgrown(plan, count) ||
                                     !(espi_type_service.one_node || espi_type_service.packing == ESPI_MODE_ALWAYS)))
        return none;
    return (struct espi_message_plan){plan, s};
}

void espi_message_plan_used(struct espi_stats_thread *stats, const struct espi_message_plan *found, int64_t count)
{
    struct espi_plan *plan = found->plan;
    const int64_t bytes = plan->size * count;
    const enum espi_purpose purpose = bytes > ESPI_ENGINE_PART ? ESPI_PARTS : ESPI_WHOLE;
    const uint64_t saved = 1000 * (plan->gain_ns[purpose] + plan->packed_ns[ESPI_PACK_MESSAGE]);

    espi_bump(&found->slot->uses, 1);
    espi_bump(&found->slot->items, (uint64_t)count);
    espi_types_pay();
    espi_bump(&plan->record->saved_ps,
              count == plan->count ? saved : saved / (uint64_t)plan->count * (uint64_t)count);
    espi_count(stats, ESPI_COUNT_calls_examined, 1);
    espi_count(stats, ESPI_COUNT_calls_packed, 1);
    espi_count(stats, ESPI_COUNT_bytes_packed, (uint64_t)bytes);
}
