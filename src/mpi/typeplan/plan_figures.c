#include "mpi/typeplan/plan_figures.h"

#include "base/hash.h"
#include "mpi/typeplan/engine_calibrate.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/typeplan/pack_gain.h"
#include "mpi/typeplan/plan_credit.h"

/* Up to which measured times the plan packs, and whether local calls are tried both ways: not where the program is
   four times as fast by the models. */
static void set_limits(struct espi_plan *plan, const struct espi_plan_request *request)
{
    struct espi_packed_times *times = &plan->times;
    const bool in_parts = plan->size > ESPI_ENGINE_PART / plan->count;

    times->record = plan->record;
    times->count = plan->count;
    times->gain_ns = plan->packed_ns;
    for (int use = 0; use < ESPI_PACKED_USES; use++) {
        const double engine = plan->engine_ns[use == ESPI_PACK_LOCAL ? ESPI_WHOLE : ESPI_PARTS];
        times->limit_ns[use] =
            plan->packed_ns[use] == 0 || request->packing == ESPI_MODE_ALWAYS ||
                    !espi_engine_for(request->layout->tree, request->layout->extent).measured ||
                    (use == ESPI_PACK_MESSAGE && in_parts) /* their ways are tried: packed/message_ways.h */
                ? 0
                : espi_pack_limit(plan->pack, plan->count, (double)plan->packed_ns[use], engine);
    }
    const bool near = times->limit_ns[ESPI_PACK_LOCAL] > 0 &&
                      4 * (double)plan->packed_ns[ESPI_PACK_LOCAL] <
                          3 * (plan->engine_ns[ESPI_WHOLE] + ESPI_PACK_PASSED_NS);
    for (int unpacks = 0; unpacks < 2; unpacks++) {
        if (plan->local[unpacks].state == ESPI_LOCAL_LEFT)
            continue;
        plan->local[unpacks].anew = true;
        plan->local[unpacks].state = near ? ESPI_LOCAL_TRIED : ESPI_LOCAL_PACKS;
    }
}

/* With ESPALIER_PACK=always whatever there is a program for is packed. */
static void set_open(struct espi_plan *plan, const struct espi_plan_request *request)
{
    for (int near = 0; near < 2; near++)
        plan->open[near] =
            plan->pack == NULL                     ? ESPI_WAYS_NONE
            : request->packing == ESPI_MODE_ALWAYS ? ESPI_WAYS_SURE
            : plan->size <= ESPI_ENGINE_PART / plan->count
                ? ESPI_WAYS_NONE
                : espi_pack_open(plan->pack, plan->count, near, plan->extent == plan->size,
                                 plan->engine_ns[ESPI_PARTS]);
}

/* By what they take: of what is sent and what is received in its place it is the same, wherever they lie. */
static uint32_t alike(const struct espi_pack *pack)
{
    if (pack == NULL)
        return 0;
    const struct espi_pack_cost cost = espi_pack_cost(pack, 1);
    return (uint32_t)espi_mix(espi_mix(cost.lists > 0, (uint64_t)cost.blocks), (uint64_t)cost.calls);
}

/* What stands loses nothing as bytes. Those of which a record is kept are tried in any case: on near cores the whole
   call may take less than what the models are wrong by. (What was found of some counts stays, also for a better
   program.) */
static bool may_lose(const struct espi_plan *plan, const struct espi_plan_request *request,
                     enum espi_message_calls calls)
{
    const double gain = (double)plan->packed_ns[ESPI_PACK_MESSAGE],
                 most = (calls == ESPI_PAIRED ? ESPI_PACK_DOUBT_PAIRED_NS : ESPI_PACK_DOUBT_NS) +
                        plan->engine_ns[ESPI_PARTS] / ESPI_PACK_DOUBT_PART;

    return request->one_node && request->packing == ESPI_MODE_AUTO && !plan->stands &&
           plan->size <= ESPI_ENGINE_PART / plan->count && gain > 0 && (calls == ESPI_KEPT || gain < most);
}

void espi_plan_take_figures(struct espi_plan *plan, const struct espi_plan_request *request,
                            const struct espi_selection *s)
{
    plan->tier = request->tier;
    plan->count = request->count;
    plan->exact = request->exact;
    plan->tried = plan->tried || request->tier == 2;
    plan->improved = plan->improved || s->improved;
    plan->forms_pending = s->forms_pending;
    for (int p = 0; p < ESPI_PURPOSES; p++) {
        plan->gain_ns[p] = s->gain_ns[p];
        plan->excess_ns[p] = s->excess_ns[p];
        plan->engine_ns[p] = s->engine_ns[p];
    }
    for (int use = 0; use < ESPI_PACKABLES; use++)
        atomic_store_explicit(&plan->packed_ns[use], s->packed_ns[use], memory_order_relaxed);
    if (s->packed_ns[ESPI_PACK_MESSAGE] <= ESPI_PACK_TO_BE_TRIED && plan->learnt_ns > 0 &&
        (request->reversed & 1u << ESPI_PACK_MESSAGE) == 0 && plan->pack != NULL)
        atomic_store_explicit(&plan->packed_ns[ESPI_PACK_MESSAGE], espi_plan_learnt_ns(plan), memory_order_relaxed);
    plan->alike = alike(plan->pack);
    for (int calls = 0; calls < ESPI_MESSAGE_CALLS; calls++)
        plan->doubtful[calls] = may_lose(plan, request, (enum espi_message_calls)calls);
    set_open(plan, request);
    set_limits(plan, request);
    atomic_store_explicit(&plan->judged, 0, memory_order_relaxed);
    atomic_store_explicit(&plan->left, 0, memory_order_relaxed);
    plan->last_short.count = 0;
    plan->short_told = 0;
    plan->left_items = 0;
}
