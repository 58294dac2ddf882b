#include "mpi/calls/local_turns.h"

#include "base/overlap.h"
#include "mpi/core/pmpi.h"
#include "stats/stats.h"

static int64_t count_of(const struct espi_api_row *row, const espi_word *args)
{
    const int at = row->typed[0].count;

    return row->large ? (int64_t)args[at] : (int64_t)(int)args[at];
}

/* With the best of its forms; the plan saves less by as much. */
static bool by_library(struct espi_plan *plan, const struct espi_api_row *row, const espi_word *args, bool unpacks)
{
    const MPI_Datatype better = atomic_load_explicit(&plan->better[ESPI_WHOLE], memory_order_acquire);
    const MPI_Datatype type = better != MPI_DATATYPE_NULL ? better : (MPI_Datatype)args[(int)row->typed[0].type];
    const int64_t count = count_of(row, args);
    const MPI_Comm comm = (MPI_Comm)args[6];
    int code;

    if (!espi_packed_local_is_good(row, args, plan->pack)) /* MPI is to report that, once */
        return false;
    if (unpacks && row->large)
        code = espi_pmpi.Unpack_c((const void *)args[0], (MPI_Count)args[1], (MPI_Count *)args[2], (void *)args[3],
                                  count, type, comm);
    else if (unpacks)
        code = espi_pmpi.Unpack((const void *)args[0], (int)args[1], (int *)args[2], (void *)args[3], (int)count,
                                type, comm);
    else if (row->large)
        code = espi_pmpi.Pack_c((const void *)args[0], count, type, (void *)args[3], (MPI_Count)args[4],
                                (MPI_Count *)args[5], comm);
    else
        code = espi_pmpi.Pack((const void *)args[0], (int)count, type, (void *)args[3], (int)args[4], (int *)args[5],
                              comm);
    if (code != MPI_SUCCESS)
        return false;
    espi_bump(&plan->record->saved_ps[ESPI_SAVED_ALONE],
              0 - plan->packed_ns[ESPI_PACK_LOCAL] * 1000 / (uint64_t)plan->count * (uint64_t)count);
    if (better == MPI_DATATYPE_NULL)
        espi_bump(&plan->record->changed, 0 - (uint64_t)1);
    return true;
}

/* About what a local call takes that a program carries out, outside of its times, more than one that is left to the
   library (short_local.h); and what it takes more where calls overlap, for the plan's reference and to ask MPI if the
   type is still the same. */
enum { BESIDE_NS = 30, SHARED_NS = 60 };

static void begin(struct espi_trial *trial)
{
    *trial = (struct espi_trial){.ways = 1u << ESPI_BY_CALL | 1u << ESPI_BY_COPY,
                                 .copy_stays = true,
                                 .beside_ns = BESIDE_NS + (espi_calls_overlap ? SHARED_NS : 0)};
}

static void decide(struct espi_plan *plan, struct espi_local_choice *c, bool unpacks)
{
    const uint64_t *least = c->trial.least, count = (uint64_t)plan->count;

    c->state = c->trial.way == ESPI_BY_CALL ? ESPI_LOCAL_LEFT : ESPI_LOCAL_PACKS;
    if (c->state == ESPI_LOCAL_PACKS)
        return;
    espi_count_anywhere(ESPI_COUNT_packs_reversed, 1);
    espi_stats_type_reversed(plan->record, ESPI_PACKED_LOCALLY, unpacks ? ESPI_SLOW_UNPACKING : ESPI_SLOW_PACKING,
                             least[ESPI_BY_COPY] / count, least[ESPI_BY_CALL] / count);
}

enum espi_local_done espi_local_call(struct espi_plan *plan, const struct espi_api_row *row, const espi_word *args,
                                     bool check)
{
    const bool unpacks = row == &espi_api_rows[ESPI_FN_Unpack] || row == &espi_api_rows[ESPI_FN_Unpack_c];
    struct espi_local_choice *c = &plan->local[unpacks];

    const bool leads = espi_leads();
    if (c->state == ESPI_LOCAL_PACKS || (c->state == ESPI_LOCAL_TRIED && leads && count_of(row, args) != plan->count))
        return espi_packed_local(row, args, plan->pack, &plan->times, check) ? ESPI_LOCAL_PACKED : ESPI_LOCAL_NOT;
    if (c->state == ESPI_LOCAL_LEFT || !leads) /* of other threads nothing is found out */
        return by_library(plan, row, args, unpacks) ? ESPI_LOCAL_BY_LIBRARY : ESPI_LOCAL_NOT;
    if (atomic_exchange(&c->anew, false))
        begin(&c->trial);
    const enum espi_selfcopy_way way = espi_trial_turn(&c->trial);
    const uint64_t begun = espi_stats_now();
    const bool done = way == ESPI_BY_CALL ? by_library(plan, row, args, unpacks)
                                          : espi_packed_local(row, args, plan->pack, NULL, check);
    if (!done)
        return ESPI_LOCAL_NOT;
    if (espi_trial_took(&c->trial, way, espi_stats_now() - begun) && !c->anew)
        decide(plan, c, unpacks);
    return way == ESPI_BY_CALL ? ESPI_LOCAL_BY_LIBRARY : ESPI_LOCAL_PACKED;
}
