/*
 * Substitution for one call.
 *
 * Better types are put in only when the other arguments are ones that MPI will not refuse: an error must name the
 * program's own type. The few errors that can not be foreseen (at the target of one-sided calls) are
 * repeated with the program's arguments where the program reads them.
 */
#include "mpi/calls/substitute.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/packed/packed_persistent.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/calls/call_args.h"
#include "mpi/calls/local_turns.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/calls/substitute_array.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"

static bool peer_is_good(const struct espi_comm_facts *facts, const espi_word *args, int peer, int tag,
                         bool receiving)
{
    if (peer < 0)
        return true;
    int rank = (int)args[peer], value = (int)args[tag];
    bool rank_good = (rank >= 0 && rank < facts->peers) || rank == MPI_PROC_NULL ||
                     (receiving && rank == MPI_ANY_SOURCE);
    bool tag_good = (value >= 0 && value <= facts->tag_ub) || (receiving && value == MPI_ANY_TAG);
    return rank_good && tag_good;
}

static bool root_is_good(const struct espi_comm_facts *facts, int root)
{
    return (root >= 0 && root < facts->peers) || (facts->inter && (root == MPI_ROOT || root == MPI_PROC_NULL));
}

static bool is_root(const struct espi_comm_facts *facts, int root)
{
    return facts->inter ? root == MPI_ROOT : root == facts->rank;
}

/* Number of elements of an array of counts or types: the sending side of a neighbourhood call counts neighbours that
   are sent to. */
static int array_length(const struct espi_api_row *row, const struct espi_comm_facts *facts, int side)
{
    if (row->kind & ESPI_NEIGHBOUR)
        return side == 0 ? facts->out : facts->in;
    return facts->peers;
}

static int64_t count_at(const struct espi_api_row *row, const espi_word *args, int position)
{
    return row->large ? (int64_t)args[position] : (int64_t)(int)args[position];
}

/* Sum of an array of counts, and how many of them are not 0; -1 when one is negative. */
static int64_t count_sum(const struct espi_api_row *row, const espi_word *args, int position, int n, int *filled)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        int64_t count = espi_count_in(row, args, position, i);
        if (count < 0 || __builtin_add_overflow(sum, count, &sum))
            return -1;
        *filled += count > 0;
    }
    return sum;
}

static bool is_collective(const struct espi_api_row *row)
{
    return row->kind & (ESPI_COLLECTIVE | ESPI_NEIGHBOUR);
}

/* Whether MPI goes through the type of this side in one go: in local calls, and one-sided ones (but where both
   sides of such a one are noncontiguous and the target is this rank); where it packs into a buffer of its own;
   where a rank gives itself data, for nobody else or to be sent from where they are received, unless both sides are
   noncontiguous (MPICH then copies through a buffer, in parts). `use`: what may be done with the side. */
static bool goes_whole(const struct espi_substitution *d, int side, enum espi_packable use)
{
    const struct espi_api_row *row = d->row;
    const struct espi_buffer_args *other;
    MPI_Datatype type;

    if (row->kind & (ESPI_LOCAL | ESPI_RMA) || (is_collective(row) && d->collective[side].whole) ||
        (!is_collective(row) && use == ESPI_PACK_COPIED))
        return true;
    if ((!(row->kind & ESPI_OWN) || d->thread_state->comm.inter || d->thread_state->comm.peers != 1) &&
        (!is_collective(row) || d->collective[side].use != ESPI_PACK_COPIED))
        return false;
    other = &row->typed[1 - side];
    type = (MPI_Datatype)d->args[(int)other->type];
    if ((void *)d->args[(int)other->buffer] == MPI_IN_PLACE ||
        (other->shape == ESPI_SHAPE_W && (void *)d->args[(int)other->type] == NULL))
        return false;
    if (other->shape == ESPI_SHAPE_W)
        type = *(const MPI_Datatype *)d->args[(int)other->type];
    return espi_type_is_predefined(type);
}

/* Data that no message takes anywhere. */
static bool is_for_nobody(const struct espi_substitution *d, const struct espi_buffer_args *typed)
{
    const int peer = typed->dest >= 0 ? typed->dest : typed->source;
    return d->row->kind & ESPI_P2P && peer >= 0 && (int)d->args[peer] == MPI_PROC_NULL;
}

/* `count` items in so many blocks. */
static void one_type(struct espi_substitution *d, const struct espi_buffer_args *typed, int side, int64_t count,
                     int blocks)
{
    MPI_Datatype type = (MPI_Datatype)d->args[(int)typed->type];
    if (count <= 0 || espi_type_is_predefined(type) || is_for_nobody(d, typed))
        return;
    espi_count(d->thread_state->stats, ESPI_COUNT_calls_examined, 1);
    enum espi_packable use = ESPI_PACK_NOT;
    if (side < 2)
        use = is_collective(d->row) ? d->collective[side].use : espi_packable(d->row, typed, d->args);
    const bool whole = goes_whole(d, side, use);
    if (use == ESPI_PACK_MESSAGE)
        use = espi_packed_message_use(d->row, typed);
    else if (d->row->kind & ESPI_RMA)
        use = ESPI_PACK_ONE_SIDED;
    const int together = side < 2 && is_collective(d->row) ? d->collective[side].together : 1;
    struct espi_way way = espi_types_blocks_way(d->thread, type, count, whole, use, count / blocks, together);
    if (way.packed) {
        d->plans[side] = way.packed;
    } else if (way.type != type) {
        d->changed[(int)typed->type] = way.type;
        d->substituted++;
    }
}

static void release_plans(struct espi_substitution *d)
{
    for (int side = 0; side < 2; side++) {
        if (d->plans[side])
            espi_plan_release(d->plans[side]);
        d->plans[side] = NULL;
    }
}

static void forget(struct espi_substitution *d)
{
    memcpy(d->changed, d->args, d->row->args * sizeof *d->changed);
    d->substituted = 0;
    release_plans(d);
    espi_substitute_array_end(d, MPI_ERR_OTHER);
}

bool espi_substitute_request(struct espi_substitution *d)
{
    const bool wanted = d->row->kind & (ESPI_NONBLOCKING | ESPI_PERSISTENT);
    if (wanted && !d->request)
        d->request = espi_packed_request_new();
    return d->request || !wanted;
}

/* A side of a collective call, all of whose blocks have one type; with it goes the plan. */
static void pack_collective(struct espi_substitution *d, int side)
{
    const struct espi_collective_side *facts = &d->collective[side];
    const struct espi_buffer_args *typed = &d->row->typed[side];
    struct espi_plan *plan = d->plans[side];
    int filled;
    const int64_t items = espi_collective_items(d->row, typed, facts, d->args, &filled);
    int64_t bytes = 0;
    struct espi_packed_blocks *packed = NULL;
    if (items >= 0 && !__builtin_mul_overflow(items, plan->size, &bytes))
        packed = espi_collective_new(typed, facts, bytes, false);
    for (int i = 0; packed && i < facts->blocks; i++)
        espi_packed_blocks_each(packed)[i] =
            (struct espi_packed_block){.pack = plan->pack,
                                       .times = &plan->times,
                                       .size = plan->size,
                                       .extent = plan->extent,
                                       .type = (MPI_Datatype)d->args[(int)typed->type],
                                       .owner = i == 0 ? plan : NULL};
    if (!packed || !espi_substitute_request(d) ||
        !espi_collective_begin(packed, d->row, typed, facts, d->args, d->changed,
                               espi_message_plan_way(ESPI_WAY_BLOCKS, bytes / facts->blocks),
                               espi_plan_is_new(plan), espi_settings.check)) {
        if (packed)
            espi_packed_blocks_drop(packed);
        espi_count(d->thread_state->stats, ESPI_COUNT_left_no_buffer, 1);
        return;
    }
    d->blocks[side] = packed;
    d->plans[side] = NULL;
    espi_count(d->thread_state->stats, ESPI_COUNT_calls_packed, 1);
    espi_count(d->thread_state->stats, ESPI_COUNT_bytes_packed, (uint64_t)bytes);
}

/* False: no memory. */
static bool begin_message(struct espi_substitution *d, int side, struct espi_plan *plan)
{
    const int64_t count = count_at(d->row, d->args, d->row->typed[side].count);
    const enum espi_message_way way = espi_message_plan_way(ESPI_WAY_SEND, count * plan->size);

    return espi_packed_begin(&d->packed, side, d->row, d->args, d->changed, plan->pack, &plan->times, way,
                             espi_settings.check);
}

/* Lets pack programs see to the sides that are theirs. */
static void pack_sides(struct espi_substitution *d)
{
    for (int side = 0; side < 2; side++) {
        struct espi_plan *plan = d->plans[side];
        const struct espi_buffer_args *typed = &d->row->typed[side];
        if (!plan)
            continue;
        if (is_collective(d->row)) {
            pack_collective(d, side);
            continue;
        }
        if (!espi_substitute_request(d)) {
            espi_count(d->thread_state->stats, ESPI_COUNT_left_no_buffer, 1);
            continue;
        }
        enum espi_local_done local = ESPI_LOCAL_NOT;
        if (d->row->kind & ESPI_LOCAL)
            local = espi_local_call(plan, d->row, d->args, espi_settings.check);
        d->done = d->done || local != ESPI_LOCAL_NOT;
        if (local == ESPI_LOCAL_BY_LIBRARY) {
            espi_count(d->thread_state->stats, ESPI_COUNT_left_not_better, 1);
            continue;
        }
        bool packed = d->row->kind & ESPI_LOCAL ? d->done : begin_message(d, side, plan);
        if (packed) {
            espi_count(d->thread_state->stats, ESPI_COUNT_calls_packed, 1);
            if (!(d->row->kind & ESPI_PERSISTENT)) /* at each start */
                espi_count(d->thread_state->stats, ESPI_COUNT_bytes_packed,
                           (uint64_t)count_at(d->row, d->args, typed->count) * (uint64_t)plan->size);
        } else {
            espi_count(d->thread_state->stats, d->row->kind & ESPI_LOCAL ? ESPI_COUNT_left_bad_argument
                                                                         : ESPI_COUNT_left_no_buffer, 1);
        }
    }
}

/* A call with a better type for one side must not have an unknown one (not committed, say) on the other. */
static bool all_known(const struct espi_substitution *d)
{
    for (const struct espi_buffer_args *typed = d->row->typed; typed->shape != ESPI_SHAPE_NONE; typed++) {
        MPI_Datatype type = (MPI_Datatype)d->args[(int)typed->type];
        if (typed->shape == ESPI_SHAPE_W || d->changed[(int)typed->type] != d->args[(int)typed->type] ||
            espi_type_is_predefined(type) || (typed->buffer >= 0 && (void *)d->args[typed->buffer] == MPI_IN_PLACE))
            continue;
        if (!typed->at_root && !espi_types_known(d->thread, type))
            return false;
    }
    return true;
}

/* What MPI refuses because of addresses, which packing changes, and of equal types, of which one may be bettered. */
static bool is_aliased(const struct espi_substitution *d, const struct espi_comm_facts *facts)
{
    for (int side = 0; side < 2 && is_collective(d->row); side++) {
        const struct espi_buffer_args *typed = &d->row->typed[side];
        const struct espi_buffer_args *other = &d->row->typed[1 - side];
        const int at = typed->type;
        MPI_Count size = 0;
        if ((typed->shape != ESPI_SHAPE_ONE && typed->shape != ESPI_SHAPE_V) ||
            other->shape == ESPI_SHAPE_NONE || d->args[at] != d->args[(int)other->type] ||
            (!d->plans[side] && d->changed[at] == d->args[at]))
            continue;
        if (espi_pmpi.Type_size_x((MPI_Datatype)d->args[at], &size) != MPI_SUCCESS ||
            espi_collective_is_aliased(d->row, side, d->args, facts, size))
            return true;
    }
    return false;
}

/* False: leave the whole call alone, so that MPI reports what is wrong with it. */
static bool examine(struct espi_substitution *d, const struct espi_comm_facts *facts)
{
    const struct espi_api_row *row = d->row;
    const espi_word *args = d->args;
    if (row->root >= 0 && !root_is_good(facts, (int)args[row->root]))
        return false;
    if (!espi_args_buffers_differ(row, args))
        return false;
    for (int side = 0; row->typed[side].shape != ESPI_SHAPE_NONE; side++) {
        const struct espi_buffer_args *typed = &row->typed[side];
        if (typed->buffer >= 0 && (void *)args[typed->buffer] == MPI_IN_PLACE)
            continue;
        if (typed->at_root && !is_root(facts, (int)args[row->root]))
            continue;
        if (!peer_is_good(facts, args, typed->dest, typed->sendtag, false) ||
            !peer_is_good(facts, args, typed->source, typed->recvtag, true))
            return false;
        if (is_collective(row) && side < 2)
            espi_collective_side(&d->collective[side], row, side, args, facts, array_length(row, facts, side));
        int64_t count = 1;
        int filled = 0;
        switch (typed->shape) {
        case ESPI_SHAPE_ONE:
            count = count_at(row, args, typed->count);
            if (count < 0 || !espi_args_side_is_good(args, typed, count))
                return false;
            one_type(d, typed, side, count, 1);
            break;
        case ESPI_SHAPE_V:
            if (!args[typed->count])
                return array_length(row, facts, side) == 0;
            if ((MPI_Datatype)args[typed->type] == MPI_DATATYPE_NULL)
                return false;
            if (espi_type_is_predefined((MPI_Datatype)args[typed->type]))
                break;
            count = count_sum(row, args, typed->count, array_length(row, facts, side), &filled);
            if (count < 0)
                return false;
            if (!espi_args_side_is_good(args, typed, count))
                d->collective[side].use = ESPI_PACK_NOT;
            one_type(d, typed, side, count, filled);
            break;
        case ESPI_SHAPE_W:
            espi_substitute_array(d, typed, side, goes_whole(d, side, ESPI_PACK_NOT), array_length(row, facts, side));
            break;
        }
    }
    return true;
}

void espi_substitute_begin(struct espi_substitution *d)
{
    struct espi_comm_facts none = {.comm = MPI_COMM_NULL};
    const struct espi_comm_facts *facts = &none;
    if (d->row->treatment == ESPI_API_COUNT) {
        espi_count(d->thread_state->stats, ESPI_COUNT_calls_examined, 1);
        espi_count(d->thread_state->stats, ESPI_COUNT_left_passes, 1);
        return;
    }
    if (d->row->comm >= 0) {
        if (!espi_comm_look(&d->thread_state->comm, (MPI_Comm)d->args[d->row->comm])) {
            espi_count(d->thread_state->stats, ESPI_COUNT_left_bad_argument, 1);
            d->asks = true;
            return;
        }
        facts = &d->thread_state->comm;
    }
    if (!espi_args_handles_are_good(d->row, d->args) || !examine(d, facts) || is_aliased(d, facts) ||
        ((d->substituted || d->plans[0] || d->plans[1]) &&
         (!all_known(d) || (d->row->kind & ESPI_RMA && !espi_args_target_is_good(d->row, d->args))))) {
        espi_count(d->thread_state->stats, ESPI_COUNT_left_bad_argument,
                   d->substituted ? (uint64_t)d->substituted : 1);
        forget(d);
    }
    if (d->substituted)
        espi_count(d->thread_state->stats, ESPI_COUNT_calls_substituted, (uint64_t)d->substituted);
    if (d->plans[0] || d->plans[1])
        pack_sides(d);
}

/* Whether errors of this call are returned to the program: with another handler it has already been called. */
static bool error_is_returned(const struct espi_substitution *d)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    int code;
    if (d->row->kind & ESPI_RMA) {
        const struct espi_buffer_args *target = espi_args_last_side(d->row);
        code = espi_pmpi.Win_get_errhandler((MPI_Win)d->args[target->type + 1], &handler);
    } else if (d->row->comm >= 0) {
        code = espi_pmpi.Comm_get_errhandler((MPI_Comm)d->args[d->row->comm], &handler);
    } else {
        return false;
    }
    bool returned = code == MPI_SUCCESS && handler == MPI_ERRORS_RETURN;
    if (code == MPI_SUCCESS)
        espi_pmpi.Errhandler_free(&handler);
    return returned;
}

bool espi_substitute_repeat(struct espi_substitution *d, int error)
{
    int class = MPI_SUCCESS;
    const bool packed = d->packed.side[0].pack || d->packed.side[1].pack || d->blocks[0] || d->blocks[1];
    if ((!d->substituted && !packed) || espi_pmpi.Error_class(error, &class) != MPI_SUCCESS)
        return false;
    switch (class) {
    case MPI_ERR_BUFFER:
    case MPI_ERR_COUNT:
    case MPI_ERR_TYPE:
    case MPI_ERR_TAG:
    case MPI_ERR_COMM:
    case MPI_ERR_RANK:
    case MPI_ERR_ROOT:
    case MPI_ERR_ARG:
    case MPI_ERR_WIN:
    case MPI_ERR_DISP:
    case MPI_ERR_RMA_SYNC:
    case MPI_ERR_RMA_RANGE:
        break;
    default:
        return false;
    }
    if (!error_is_returned(d))
        return false;
    espi_count(d->thread_state->stats, ESPI_COUNT_calls_repeated, 1);
    /* What comes now is packed and unpacked by the library. */
    for (int side = 0; side < 2; side++)
        if (d->packed.side[side].pack)
            espi_packed_close(&d->packed.side[side]);
    espi_substitute_array_end(d, error);
    return true;
}

/* What one start of a packed persistent message saves, and where that is counted. */
static struct espi_packed_start_use start_use(const struct espi_substitution *d, const struct espi_plan *plan,
                                              int64_t count)
{
    const struct espi_buffer_args *typed = &d->row->typed[0];
    const enum espi_packable use = espi_packable(d->row, typed, d->args);
    const struct espi_plan_saving saving =
        espi_plan_saving(plan, count, espi_plan_purpose(plan, count, goes_whole(d, 0, use)), true,
                         use == ESPI_PACK_MESSAGE ? espi_packed_message_use(d->row, typed) : use);

    return (struct espi_packed_start_use){plan->record, saving.where, saving.ps};
}

/* A call that makes a request has one side, unless it is a collective one. */
static void enter_request(struct espi_substitution *d, int result)
{
    struct espi_packed_side *side = &d->packed.side[0];
    const struct espi_buffer_args *typed = &d->row->typed[0];
    if (result != MPI_SUCCESS || (!side->pack && !d->blocks[0] && !d->blocks[1])) {
        espi_packed_request_drop(d->request);
        return;
    }
    MPI_Request handle = *(const MPI_Request *)d->args[d->row->args - 1];
    if (!side->pack) {
        espi_packed_request_enter_blocks(d->request, handle, d->blocks, espi_plan_release_owner);
        d->blocks[0] = d->blocks[1] = NULL;
        return;
    }
    espi_packed_sent(side);
    const MPI_Datatype type = (MPI_Datatype)d->args[typed->type];
    const bool compares = espi_settings.check && (side->receives || d->row->kind & ESPI_PERSISTENT);
    const struct espi_packed_message message = {.side = *side,
                                                .data = (void *)d->args[typed->buffer],
                                                .count = count_at(d->row, d->args, typed->count),
                                                .type = compares ? espi_packed_type_copy(type) : MPI_DATATYPE_NULL,
                                                .owner = d->plans[0]};
    if (d->row->kind & ESPI_PERSISTENT) {
        const struct espi_packed_start_use use = start_use(d, d->plans[0], message.count);
        espi_packed_persistent_enter(d->request, handle, &message, &use, espi_plan_release_owner);
    } else {
        espi_packed_request_enter(d->request, handle, &message, espi_plan_release_owner);
    }
    side->pack = NULL;
    d->plans[0] = NULL;
}

void espi_substitute_end(struct espi_substitution *d, int result)
{
    if (d->request)
        enter_request(d, result);
    if (d->asks && result == MPI_SUCCESS)
        espi_comm_look_taken(&d->thread_state->comm, (MPI_Comm)d->args[d->row->comm]);
    espi_substitute_array_end(d, result);
    if (d->plans[0] || d->plans[1]) {
        espi_packed_end(&d->packed, d->row, d->args, d->changed, result, espi_settings.check);
        release_plans(d);
    }
    for (int side = 0; side < 2; side++)
        free(d->arrays[side]);
}
