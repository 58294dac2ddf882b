#include "mpi/calls/short_local.h"

#include <string.h>

#include "base/often.h"
#include "base/overlap.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/packed/packed_call.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/typeplan/plan_use.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "words.h"

/* The plan of a type of which nothing is due, borrowed (plan_use.h). NULL: else. */
static struct espi_plan *find_plan(MPI_Datatype type, struct espi_type_slot **slot)
{
    struct espi_type_slot *s = *slot = espi_slot_of(type);

    if (s == NULL || !espi_leads() ||
        atomic_load_explicit(&s->uses, memory_order_relaxed) + 1 >=
            atomic_load_explicit(&s->look, memory_order_relaxed))
        return NULL;
    return espi_plan_borrow(s);
}

/* A use that is packed, or for which nothing is better, says nothing new of the class. */
static bool is_noted(const struct espi_type_slot *slot, const struct espi_plan *plan, bool packed)
{
    return espi_class_has_noted(espi_slot_class(slot), plan, ESPI_PACK_LOCAL, packed);
}

/* The program does it, and nothing is to be found out by that. */
static bool packs(const struct espi_plan *plan, int64_t count, bool unpacks)
{
    const int state = plan->local[unpacks].state;

    return espi_plan_packs_alone(plan, ESPI_PACK_LOCAL) && plan->size <= INT32_MAX / count &&
           (state == ESPI_LOCAL_PACKS || (state == ESPI_LOCAL_TRIED && count != plan->count));
}

/* It is the library's, and there is nothing to be found out either. */
static bool is_left(const struct espi_plan *plan, int64_t count, bool unpacks)
{
    return !espi_plan_packs_alone(plan, ESPI_PACK_LOCAL) || plan->size > INT32_MAX / count ||
           plan->local[unpacks].state == ESPI_LOCAL_LEFT;
}

static bool is_unpack(enum espi_fn fn)
{
    return fn == ESPI_FN_Unpack || fn == ESPI_FN_Unpack_c;
}

/* A call of `count` items whose plan is known. False: nothing was done. */
static inline __attribute__((always_inline)) bool carry_out(struct espi_thread_state *thread_state, enum espi_fn fn,
                                                            const espi_word *args, espi_next next,
                                                            struct espi_type_slot *slot, struct espi_plan *plan,
                                                            int64_t count, espi_word *result)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    const struct espi_buffer_args *typed = &row->typed[0];
    const MPI_Comm comm = (MPI_Comm)args[(int)row->comm];
    struct espi_comm_facts *facts = &thread_state->comm;
    const MPI_Datatype better = atomic_load_explicit(&plan->better[ESPI_WHOLE], memory_order_acquire);
    const bool may_pack = packs(plan, count, is_unpack(fn)) && is_noted(slot, plan, true);

    if (!may_pack && (better == MPI_DATATYPE_NULL || !is_left(plan, count, is_unpack(fn))))
        return false;
    if (!(espi_comm_is_last(facts, comm) || espi_comm_look(facts, comm)) ||
        !espi_types_slot_is_tied(slot, (MPI_Datatype)args[(int)typed->type]))
        return false;
    const bool packed = may_pack && espi_packed_local(row, args, plan->pack, &plan->times, false);
    if (!packed && (may_pack || plan->pack == NULL || !espi_packed_local_is_good(row, args, plan->pack)))
        return false;
    *result = MPI_SUCCESS;
    if (!packed) { /* nothing is wrong with the call, of which MPI would tell with that type */
        espi_word changed[7];
        memcpy(changed, args, sizeof changed);
        changed[(int)typed->type] = (espi_word)better;
        *result = ESPI_CALL(next, 7, changed);
    }
    espi_count_call(thread_state->stats, fn);
    espi_plan_count_use(thread_state->stats, slot, count);
    espi_plan_credit(plan, count, ESPI_WHOLE, packed, ESPI_PACK_LOCAL);
    espi_count(thread_state->stats, packed ? ESPI_COUNT_calls_packed : ESPI_COUNT_calls_substituted, 1);
    espi_count(thread_state->stats, packed ? ESPI_COUNT_bytes_packed : ESPI_COUNT_bytes_substituted,
               (uint64_t)(count * plan->size));
    return true;
}

ESPI_OFTEN bool espi_short_local(struct espi_thread_state *thread_state, enum espi_fn fn, const espi_word *args,
                                 espi_next next, espi_word *result)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    const struct espi_buffer_args *typed = &row->typed[0];
    const MPI_Datatype type = (MPI_Datatype)args[(int)typed->type];
    const int64_t count = row->large ? (int64_t)args[(int)typed->count] : (int64_t)(int)args[(int)typed->count];
    struct espi_type_slot *slot;
    struct espi_plan *plan;

    if (espi_type_is_predefined(type) || count <= 0 || espi_settings.check ||
        (plan = find_plan(type, &slot)) == NULL)
        return false;
    const bool done = carry_out(thread_state, fn, args, next, slot, plan, count, result);
    espi_plan_give_back(plan);
    return done;
}

struct espi_type_slot *espi_short_local_leaves(MPI_Datatype type, int64_t count, enum espi_fn fn)
{
    struct espi_type_slot *slot;
    struct espi_plan *plan = find_plan(type, &slot);
    const bool leaves =
        plan != NULL && is_noted(slot, plan, false) &&
        atomic_load_explicit(&plan->better[ESPI_WHOLE], memory_order_relaxed) == MPI_DATATYPE_NULL &&
        is_left(plan, count, is_unpack(fn));

    espi_plan_give_back(plan);
    return leaves ? slot : NULL;
}
