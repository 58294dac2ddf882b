#include "mpi/calls/short_local.h"

#include "base/often.h"
#include "base/overlap.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/packed/packed_call.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "words.h"

/* The plan of a type of which nothing is due, and such a use says nothing new: it is packed, or not. NULL: else. */
static struct espi_plan *find_plan(MPI_Datatype type, struct espi_type_slot **slot, bool packed)
{
    struct espi_type_slot *s = *slot = espi_slot_of(type);
    struct espi_plan *plan;

    if (s == NULL || !espi_type_service.attributes || espi_calls_overlap ||
        atomic_load_explicit(&s->uses, memory_order_relaxed) + 1 >=
            atomic_load_explicit(&s->look, memory_order_relaxed) ||
        (plan = atomic_load_explicit(&s->plan, memory_order_acquire)) == NULL)
        return NULL;
    return espi_class_has_noted(espi_slot_class(s), plan, ESPI_PACK_LOCAL, packed) ? plan : NULL;
}

/* The program does it, and nothing is to be found out by that. */
static bool packs(const struct espi_plan *plan, int64_t count, bool unpacks)
{
    const int state = plan->local[unpacks].state;

    return espi_plan_packs_alone(plan, ESPI_PACK_LOCAL) && plan->size <= INT32_MAX / count &&
           (state == ESPI_LOCAL_PACKS || (state == ESPI_LOCAL_TRIED && count != plan->count));
}

static bool is_unpack(enum espi_fn fn)
{
    return fn == ESPI_FN_Unpack || fn == ESPI_FN_Unpack_c;
}

ESPI_OFTEN bool espi_short_local(struct espi_thread_state *thread_state, enum espi_fn fn, const espi_word *args)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    const struct espi_buffer_args *typed = &row->typed[0];
    const MPI_Datatype type = (MPI_Datatype)args[(int)typed->type];
    const MPI_Comm comm = (MPI_Comm)args[(int)row->comm];
    const int64_t count = row->large ? (int64_t)args[(int)typed->count] : (int64_t)(int)args[(int)typed->count];
    struct espi_comm_facts *facts = &thread_state->comm;
    struct espi_type_slot *slot;
    struct espi_plan *plan;

    if (espi_type_is_predefined(type) || count <= 0 || espi_settings.check ||
        (plan = find_plan(type, &slot, true)) == NULL || !packs(plan, count, is_unpack(fn)) ||
        !(espi_comm_is_last(facts, comm) || espi_comm_look(facts, comm)) ||
        !espi_packed_local(row, args, plan->pack, &plan->times, false))
        return false;
    espi_count_call(thread_state->stats, fn);
    espi_plan_count_use(thread_state->stats, slot, count);
    espi_plan_credit(plan, count, ESPI_WHOLE, true, ESPI_PACK_LOCAL);
    espi_count(thread_state->stats, ESPI_COUNT_calls_packed, 1);
    espi_count(thread_state->stats, ESPI_COUNT_bytes_packed, (uint64_t)(count * plan->size));
    return true;
}

struct espi_type_slot *espi_short_local_leaves(MPI_Datatype type, int64_t count, enum espi_fn fn)
{
    struct espi_type_slot *slot;
    const struct espi_plan *plan = find_plan(type, &slot, false);

    if (plan == NULL ||
        atomic_load_explicit(&plan->better[ESPI_WHOLE], memory_order_relaxed) != MPI_DATATYPE_NULL)
        return NULL;
    /* What is packed, or tried, in another count than the usual one may be packed by what is left in that. */
    return !espi_plan_packs_alone(plan, ESPI_PACK_LOCAL) || plan->size > INT32_MAX / count ||
                   plan->local[is_unpack(fn)].state == ESPI_LOCAL_LEFT
               ? slot
               : NULL;
}
