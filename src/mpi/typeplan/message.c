#include "mpi/typeplan/message.h"

#include <mpi.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/substitute.h"
#include "mpi/typeplan/type_cache.h"

bool espi_message_is(const struct espi_api_row *row)
{
    const struct espi_buffer_args *typed = &row->typed[0];

    return (row->kind & (ESPI_P2P | ESPI_OWN)) == ESPI_P2P && row->comm >= 0 &&
           (typed->dest >= 0 || typed->source >= 0) && (row->args == 6 || row->args == 7) &&
           espi_packed_is_message(row, typed);
}

/* Rank and tag are ones that MPI takes, and the rank is somebody. */
static bool peer_is_somebody(const struct espi_comm_facts *facts, const struct espi_buffer_args *typed,
                             const espi_word *args)
{
    const bool receiving = typed->dest < 0;
    const int rank = (int)args[receiving ? typed->source : typed->dest];
    const int tag = (int)args[receiving ? typed->recvtag : typed->sendtag];

    return (((unsigned)rank < (unsigned)facts->peers) || (receiving && rank == MPI_ANY_SOURCE)) &&
           ((tag >= 0 && tag <= facts->tag_ub) || (receiving && tag == MPI_ANY_TAG));
}

bool espi_message_begin(struct espi_message *m, struct espi_thread_state *thread_state,
                        const struct espi_api_row *row, const espi_word *args, espi_word *changed)
{
    const struct espi_buffer_args *typed = &row->typed[0];
    const MPI_Datatype type = (MPI_Datatype)args[(int)typed->type];
    const int64_t count = row->large ? (int64_t)args[(int)typed->count] : (int64_t)(int)args[(int)typed->count];
    struct espi_plan *plan;

    if (espi_type_is_predefined(type) || count <= 0 || !args[(int)typed->buffer] || espi_settings.check ||
        (!args[row->args - 1] && (row->kind & ESPI_NONBLOCKING || typed->dest < 0)))
        return false;
    if ((plan = espi_message_plan(type, count)) == NULL ||
        !espi_comm_look(&thread_state->comm, (MPI_Comm)args[(int)row->comm]) ||
        !peer_is_somebody(&thread_state->comm, typed, args))
        return false;
    m->request = NULL;
    if (row->kind & ESPI_NONBLOCKING && (m->request = espi_packed_request_new()) == NULL)
        return false;
    if (!espi_packed_begin(&m->packed, 0, row, args, changed, plan->pack, false)) {
        espi_packed_request_drop(m->request);
        return false;
    }
    espi_plan_hold(plan);
    m->plan = plan;
    m->count = count;
    m->thread_state = thread_state;
    m->row = row;
    m->args = args;
    m->packed.side[1].pack = NULL;
    espi_message_plan_used(thread_state->stats, type, plan, count);
    return true;
}

static void release_plan(void *plan)
{
    espi_plan_release(plan);
}

bool espi_message_end(struct espi_message *m, const espi_word *changed, int result)
{
    struct espi_packed_side *side = &m->packed.side[0];
    const struct espi_buffer_args *typed = &m->row->typed[0];
    void *data = (void *)m->args[(int)typed->buffer];
    bool again = false;

    if (__builtin_expect(result != MPI_SUCCESS, 0)) {
        struct espi_substitution call = {.thread_state = m->thread_state, .row = m->row, .args = m->args,
                                         .packed = m->packed};
        again = espi_substitute_repeat(&call, result);
        side->pack = call.packed.side[0].pack; /* the buffer may be given back by now */
        espi_packed_request_drop(m->request);
        m->request = NULL;
    }
    if (m->request != NULL) {
        const struct espi_packed_message message = {
            .side = *side, .data = data, .count = m->count, .type = MPI_DATATYPE_NULL, .owner = m->plan};
        espi_packed_request_enter(m->request, *(const MPI_Request *)m->args[m->row->args - 1], &message,
                                  release_plan);
        return false;
    }
    if (side->pack != NULL) {
        if (side->receives && result == MPI_SUCCESS)
            espi_packed_unpack(side, data, m->count, MPI_DATATYPE_NULL,
                               (const MPI_Status *)changed[m->row->args - 1]);
        espi_packed_close(side);
    }
    espi_plan_release(m->plan);
    return again;
}
