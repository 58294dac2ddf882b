#include "mpi/typeplan/plan_credit.h"

#include "mpi/packed/core_distance.h"

static enum espi_stats_saved where_saved(enum espi_packable use)
{
    switch (use) {
    case ESPI_PACK_MESSAGE:
    case ESPI_PACK_KEPT_SENT:
    case ESPI_PACK_STARTED_SENT:
    case ESPI_PACK_PAIRED_SENT:
        return ESPI_SAVED_SENDING;
    case ESPI_PACK_RECEIVED:
    case ESPI_PACK_KEPT_RECEIVED:
    case ESPI_PACK_STARTED_RECEIVED:
    case ESPI_PACK_PAIRED_RECEIVED:
        return ESPI_SAVED_RECEIVING;
    default:
        return ESPI_SAVED_ALONE;
    }
}

/* By the verdict on the last call, which is this one's, but where threads call at the same time. */
static uint64_t saved_as_judged(const struct espi_plan *plan, int64_t count)
{
    const uint64_t each = atomic_load_explicit(&plan->judged, memory_order_relaxed) >> ESPI_JUDGED_EACH;

    return each > 0 ? atomic_load_explicit(&plan->judged_ns, memory_order_relaxed) * ((uint64_t)count / each) : 0;
}

struct espi_plan_saving espi_plan_saving(const struct espi_plan *plan, int64_t count, enum espi_purpose purpose,
                                         bool packs, enum espi_packable use)
{
    const enum espi_packable as = espi_packs_as(use);
    const enum espi_stats_saved where = purpose == ESPI_PARTS ? where_saved(use) : ESPI_SAVED_ALONE;
    const bool is_short = packs && purpose == ESPI_WHOLE && as == ESPI_PACK_MESSAGE && !espi_packs_kept(use);
    const uint64_t farther = is_short ? espi_core_distance_more_of(plan->size * count) : 0;

    if (packs && purpose == ESPI_WHOLE && as != ESPI_PACK_LOCAL && espi_plan_item_stands(plan, count))
        return (struct espi_plan_saving){1000 * (espi_plan_run_ns(plan) + farther), where};
    if (packs && as == ESPI_PACK_MESSAGE && espi_plan_judges_messages(plan, count))
        return (struct espi_plan_saving){1000 * (farther + (espi_packs_kept(use) ? espi_plan_kept_ns(plan, count)
                                                                                 : saved_as_judged(plan, count))),
                                         where};
    const uint64_t scale = (uint64_t)plan->count;
    uint64_t saved = plan->gain_ns[purpose];

    if (packs && !espi_packs_kept(use) && as < ESPI_PACKABLES)
        saved += plan->packed_ns[as];
    saved = count == plan->count ? 1000 * saved : 1000 * saved / scale * (uint64_t)count;
    if (packs && espi_packs_kept(use))
        saved += 1000 * espi_plan_kept_ns(plan, count);
    else if (packs && as >= ESPI_PACKABLES)
        saved += 1000 * saved_as_judged(plan, count);
    saved += 1000 * farther;
    return (struct espi_plan_saving){saved, where};
}

static uint64_t as_noted(uint64_t ps)
{
    return ps > 0 ? 1 + ps / 1000 : 0;
}

/* Picoseconds of what was measured, as far as that can be. */
static uint64_t ps_of(const struct espi_plan *plan, int64_t count, double ns)
{
    const double most = espi_plan_saves_at_most(plan, count);

    return ns > 0 ? (uint64_t)(1000 * (ns < most ? ns : most)) : 0;
}

void espi_plan_credit_told(struct espi_plan *plan, int64_t count, enum espi_purpose purpose, bool packs,
                           enum espi_packable use, double ns)
{
    espi_bump(&plan->record->changed, 1);
    if (use == ESPI_PACK_ONE_SIDED)
        return;
    const struct espi_plan_saving saving = espi_plan_saving(plan, count, purpose, packs, use);
    if (ns >= 0)
        espi_bump(&plan->record->saved_ps[ESPI_SAVED_ALONE], ps_of(plan, count, ns));
    else
        espi_bump(&plan->record->saved_ps[saving.where], saving.ps);
    if (packs || purpose != ESPI_PARTS || plan->pack == NULL) /* else it may yet be found that it is better packed */
        atomic_store_explicit(&plan->saved_ns, as_noted(saving.ps), memory_order_relaxed);
}

void espi_plan_credit(struct espi_plan *plan, int64_t count, enum espi_purpose purpose, bool packs,
                      enum espi_packable use)
{
    espi_plan_credit_told(plan, count, purpose, packs, use, -1);
}

void espi_plan_credit_waiting(struct espi_plan *plan, int64_t count, double ns)
{
    espi_bump(&plan->record->saved_ps[ESPI_SAVED_ALONE], ps_of(plan, count, ns));
}

/* Sides of messages whose times pass together are not told apart: what was timed is the whole of the calls. Blocks of
   collective calls mostly have types of their own, and go as the program's. */
void espi_plan_credit_measured(struct espi_plan *plan, int64_t count, enum espi_packable use,
                               const struct espi_message_saving *measured, bool made)
{
    const uint64_t type = espi_packs_blocks(use) ? 0 : 1000 * espi_plan_parts_ns(plan, count),
                   way = ps_of(plan, count, measured->by_way), saved = way + type;

    espi_bump(&plan->record->changed, made);
    if (made && measured->in_all >= 0) {
        espi_bump(&plan->record->saved_ps[ESPI_SAVED_ALONE], ps_of(plan, count, measured->in_all));
    } else if (made) {
        espi_bump(&plan->record->saved_ps[ESPI_SAVED_ALONE], way);
        espi_bump(&plan->record->saved_ps[where_saved(use)], type);
    }
    atomic_store_explicit(&plan->saved_ns, as_noted(saved), memory_order_relaxed);
}
