#include "mpi/typeplan/message.h"

#include <mpi.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/typeplan/substitute.h"
#include "mpi/typeplan/type_cache.h"

bool espi_message_is(const struct espi_api_row *row)
{
    const struct espi_buffer_args *typed = row->typed;

    if (!(row->kind & ESPI_P2P) || row->comm < 0 || !espi_packed_is_message(row, &typed[0]))
        return false;
    if (typed[1].shape != ESPI_SHAPE_NONE)
        return !(row->kind & ESPI_NONBLOCKING) && row->args == 12 && espi_packed_is_message(row, &typed[1]);
    return !(row->kind & ESPI_OWN) && (typed->dest >= 0 || typed->source >= 0) &&
           (row->args == 6 || row->args == 7);
}

bool espi_message_is_to_nobody(const struct espi_api_row *row, const espi_word *args)
{
    const struct espi_buffer_args *typed = &row->typed[0];

    return (int)args[typed->dest >= 0 ? typed->dest : typed->source] == MPI_PROC_NULL;
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

/* Finds the plan of a side, where its type is one that a program has made; elsewhere it is MPI's. False: neither. */
static bool find_plan(struct espi_message *m, const struct espi_api_row *row, const espi_word *args, int side)
{
    const struct espi_buffer_args *typed = &row->typed[side];
    const MPI_Datatype type = (MPI_Datatype)args[(int)typed->type];
    const int64_t count = row->large ? (int64_t)args[(int)typed->count] : (int64_t)(int)args[(int)typed->count];

    m->count[side] = count;
    m->found[side].plan = NULL;
    if (!args[(int)typed->buffer] || type == MPI_DATATYPE_NULL)
        return false;
    if (espi_type_is_predefined(type))
        return count >= 0;
    if (count > 0)
        m->found[side] = espi_message_plan(type, count, espi_packed_message_use(row, typed));
    return m->found[side].plan != NULL;
}

static int sides_of(const struct espi_api_row *row)
{
    return row->typed[1].shape != ESPI_SHAPE_NONE ? 2 : 1;
}

/* Whether all is known that the call needs, and in order: `found` and `count` then say what is packed. */
static bool is_known(struct espi_message *m, const struct espi_api_row *row, const espi_word *args)
{
    struct espi_comm_facts *facts = &m->thread_state->comm;
    const int sides = sides_of(row);

    m->found[1].plan = NULL;
    for (int side = 0; side < sides; side++)
        if (!find_plan(m, row, args, side))
            return false;
    if ((m->found[0].plan == NULL && m->found[1].plan == NULL) ||
        !espi_comm_look(facts, (MPI_Comm)args[(int)row->comm]))
        return false;
    for (int side = 0; side < sides; side++)
        if (!peer_is_somebody(facts, &row->typed[side], args))
            return false;
    return true;
}

/* Gets buffers, and packs. False: nothing is held. */
static bool begin_sides(struct espi_message *m, const struct espi_api_row *row, const espi_word *args,
                        espi_word *changed)
{
    m->packed.side[0].pack = m->packed.side[1].pack = NULL;
    for (int side = 0; side < 2; side++) {
        if (m->found[side].plan == NULL ||
            espi_packed_begin(&m->packed, side, row, args, changed, m->found[side].plan->pack,
                              &m->found[side].plan->times, false))
            continue;
        if (m->packed.side[0].pack != NULL)
            espi_packed_close(&m->packed.side[0]);
        return false;
    }
    return true;
}

bool espi_message_begin(struct espi_message *m, struct espi_thread_state *thread_state,
                        const struct espi_api_row *row, const espi_word *args, espi_word *changed)
{
    const bool gives_back = row->kind & ESPI_NONBLOCKING || row->typed[0].dest < 0 || sides_of(row) == 2;

    if (espi_settings.check || (gives_back && !args[row->args - 1]))
        return false;
    m->thread_state = thread_state;
    if (!is_known(m, row, args))
        return false;
    m->request = NULL;
    if (row->kind & ESPI_NONBLOCKING && (m->request = espi_packed_request_new()) == NULL)
        return false;
    if (!begin_sides(m, row, args, changed)) {
        espi_packed_request_drop(m->request);
        return false;
    }
    m->row = row;
    m->args = args;
    for (int side = 0; side < 2; side++) {
        if (m->found[side].plan == NULL)
            continue;
        espi_plan_hold(m->found[side].plan);
        espi_message_plan_used(thread_state->stats, &m->found[side], m->count[side],
                               espi_packed_message_use(row, &row->typed[side]));
    }
    return true;
}

static void release_plan(void *plan)
{
    espi_plan_release(plan);
}

static void end_side(struct espi_message *m, const espi_word *changed, int result, int which)
{
    struct espi_packed_side *side = &m->packed.side[which];

    if (side->pack != NULL) {
        if (side->receives && result == MPI_SUCCESS)
            espi_packed_unpack(side, (void *)m->args[(int)m->row->typed[which].buffer], m->count[which],
                               MPI_DATATYPE_NULL, (const MPI_Status *)changed[m->row->args - 1]);
        espi_packed_close(side);
    }
    espi_plan_release(m->found[which].plan);
}

bool espi_message_end(struct espi_message *m, const espi_word *changed, int result)
{
    bool again = false;

    if (__builtin_expect(result != MPI_SUCCESS, 0)) {
        struct espi_substitution call = {.thread_state = m->thread_state, .row = m->row, .args = m->args,
                                         .packed = m->packed};
        again = espi_substitute_repeat(&call, result);
        m->packed = call.packed; /* buffers may be given back by now */
        espi_packed_request_drop(m->request);
        m->request = NULL;
    }
    if (m->request != NULL) {
        espi_packed_sent(&m->packed.side[0]);
        const struct espi_packed_message message = {.side = m->packed.side[0],
                                                    .data = (void *)m->args[(int)m->row->typed[0].buffer],
                                                    .count = m->count[0],
                                                    .type = MPI_DATATYPE_NULL,
                                                    .owner = m->found[0].plan};
        espi_packed_request_enter(m->request, *(const MPI_Request *)m->args[m->row->args - 1], &message,
                                  release_plan);
        return false;
    }
    for (int side = 0; side < 2; side++)
        if (m->found[side].plan != NULL)
            end_side(m, changed, result, side);
    return again;
}
