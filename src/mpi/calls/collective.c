#include "mpi/calls/collective.h"

#include <mpi.h>

#include "base/overlap.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/array_pool.h"
#include "mpi/core/runtime.h"
#include "mpi/packed/message_ways.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/calls/call_side.h"
#include "mpi/calls/repeated.h"
#include "mpi/calls/substitute.h"
#include "mpi/typeplan/type_cache.h"

bool espi_collective_is(const struct espi_api_row *row)
{
    return row->args <= 10 && espi_collective_may_be_packed(row);
}

/* What is asked of the way of long blocks: both sides go one way. False: there are none. */
static bool ask_way(const struct espi_call_side side[2], struct espi_way_question *q)
{
    *q = (struct espi_way_question){
        .open = ESPI_WAYS_SURE, .call = ESPI_WAY_BLOCKS, .near = true, .packs = true};
    for (int i = 0; i < 2; i++) {
        if (!side[i].packed || side[i].longest == 0)
            continue;
        q->near = side[i].near;
        q->no_cells = q->no_cells || !side[i].facts.messages;
        q->packs = q->packs && !side[i].joined;
        if (side[i].joined)
            q->open = ESPI_WAYS_EVEN;
        q->bytes = side[i].longest > q->bytes ? side[i].longest : q->bytes;
        for (int t = 0; t < side[i].types; t++)
            if (side[i].count[t] > 0 && side[i].found[t].plan->open[side[i].near] != ESPI_WAYS_SURE)
                q->open = ESPI_WAYS_EVEN;
    }
    return q->bytes > 0;
}

/* A call that is not timed packs what no model speaks for only where it was found to pay. */
static void leave_untimed(struct espi_call_side *s)
{
    const struct espi_way_question q = {
        .open = ESPI_WAYS_EVEN, .call = ESPI_WAY_BLOCKS, .near = s->near, .packs = true, .bytes = s->longest};

    if (!s->joined || espi_way_is_known(&q))
        return;
    for (int i = 0; i < s->types; i++)
        s->found[i].plan = NULL;
    s->packed = s->joined = false;
    s->mixed = true; /* the next time it may be packed */
    s->bytes = s->longest = 0;
}

/* Leaves a side that is not packed to the library, with better types where there are some. */
static void see_types(struct espi_collective *call, struct espi_call_side *s, int which, espi_word *changed)
{
    const struct espi_buffer_args *typed = &call->row->typed[which];
    const MPI_Datatype *own = espi_call_side_types(typed, call->args);
    MPI_Datatype *better = call->better[which];
    const void *seen = better;
    int any = 0;

    for (int i = 0; i < s->types; i++) {
        const bool is_better = s->count[i] > 0 && s->found[i].better != MPI_DATATYPE_NULL;
        better[i] = is_better ? s->found[i].better : own[i];
        any += is_better;
    }
    if (any == 0)
        return;
    if (typed->shape == ESPI_SHAPE_W && call->row->kind & ESPI_NONBLOCKING) /* MPI may read it until the end */
        seen = espi_pooled_array(better, (size_t)s->types * sizeof *better);
    if (seen == NULL) {
        for (int i = 0; i < s->types; i++)
            s->found[i].better = MPI_DATATYPE_NULL;
        return;
    }
    changed[typed->type] = typed->shape == ESPI_SHAPE_W ? (espi_word)seen : (espi_word)better[0];
    call->substituted += any;
}

/* Packs a side. False: no memory, and nothing was done. */
static bool pack_side(struct espi_collective *call, struct espi_call_side *s, int which, espi_word *changed)
{
    const struct espi_buffer_args *typed = &call->row->typed[which];
    const MPI_Datatype *types = espi_call_side_types(typed, call->args);
    struct espi_packed_blocks *packed = espi_collective_new(typed, &s->facts, s->bytes, s->stands);

    if (packed == NULL)
        return false;
    struct espi_packed_block *blocks = espi_packed_blocks_each(packed);
    for (int i = 0; i < s->facts.blocks; i++) {
        const int t = s->types == 1 ? 0 : i;
        struct espi_plan *plan = s->found[t].plan;
        const bool empty = s->count[t] == 0;
        const bool holds = i < s->types && !empty;
        blocks[i].pack = empty ? NULL : plan->pack;
        blocks[i].times = empty ? NULL : &plan->times;
        blocks[i].size = empty ? 0 : plan->size;
        blocks[i].extent = empty ? 0 : plan->extent;
        blocks[i].type = types[t];
        blocks[i].owner = holds ? plan : NULL;
        if (holds) {
            espi_plan_hold(plan);
            s->is_new = espi_plan_is_new(plan) || s->is_new;
        }
    }
    const bool extra = s->is_new && s->facts.received && !s->facts.sent && call->turn.group != NULL;
    const uint64_t begun = extra ? espi_stats_now() : 0;
    if (espi_collective_begin(packed, call->row, typed, &s->facts, call->args, changed, call->turn.way, s->is_new,
                              false)) {
        if (extra) /* room that holds what is there: what the first calls take more says nothing of the way */
            call->turn.begun += espi_stats_now() - begun;
        call->blocks[which] = packed;
        return true;
    }
    espi_packed_blocks_close(packed, espi_plan_release_owner);
    return false;
}

/* A side of which nothing was sent or received yet. */
static void let_go(struct espi_packed_blocks **side)
{
    if (*side != NULL)
        espi_packed_blocks_close(*side, espi_plan_release_owner);
    *side = NULL;
}

/* `saved`: the side's part of what the call is measured to save; negative: it was not. */
static void count_uses(const struct espi_collective *call, const struct espi_call_side *s, int which, double saved)
{
    struct espi_stats_thread *stats = call->thread_state->stats;
    const struct espi_api_row *row = call->row;
    const MPI_Datatype *types = espi_call_side_types(&row->typed[which], call->args);
    const bool root = row->root >= 0 && (int)call->args[row->root] == call->thread_state->comm.rank,
               both = espi_both_derived(row->typed, call->args);
    const enum espi_fn fn = (enum espi_fn)(row - espi_api_rows);

    for (int i = 0; i < s->types; i++) {
        const int64_t count = s->count[i];
        if (count == 0)
            continue;
        if (s->found[i].plan == NULL) {
            if (s->found[i].better != MPI_DATATYPE_NULL)
                espi_blocks_plan_better(stats, &s->found[i], count);
            else
                espi_blocks_plan_left(stats, &s->found[i], types[i], count,
                                      s->mixed ? 0 : espi_use_kind(fn, which, count, root, both));
            continue;
        }
        const int64_t bytes = s->types == 1 ? s->bytes : count * s->found[i].plan->size;
        const double here = saved < 0 ? -1 : saved * (double)bytes / (double)s->bytes;
        if (s->packed)
            espi_blocks_plan_packed(stats, &s->found[i], count, bytes, here);
        else
            espi_blocks_plan_typed(stats, &s->found[i], count, bytes, s->found[i].better, here);
    }
}

/* Packs what is to be packed. False: no memory, and nothing was done. */
static bool pack_sides(struct espi_collective *call, struct espi_call_side side[2], espi_word *changed)
{
    if (!side[0].packed && !side[1].packed)
        return true;
    if (call->row->kind & ESPI_NONBLOCKING && (call->request = espi_packed_request_new()) == NULL)
        return false;
    for (int i = 0; i < 2; i++) {
        if (!side[i].packed || pack_side(call, &side[i], i, changed))
            continue;
        let_go(&call->blocks[0]);
        if (call->request != NULL)
            espi_packed_request_drop(call->request);
        return false;
    }
    return true;
}

/* What becomes of a call whose sides are known. */
static enum espi_course course_of(struct espi_collective *call, struct espi_thread_state *thread_state,
                                  const struct espi_api_row *row, const espi_word *args, espi_word *changed,
                                  struct espi_call_side side[2])
{
    struct espi_comm_facts *facts = &thread_state->comm;
    struct espi_way_question question;
    double saved = -1;

    call->thread_state = thread_state;
    call->row = row;
    call->args = args;
    call->blocks[0] = call->blocks[1] = NULL;
    call->repeated = NULL;
    call->request = NULL;
    call->substituted = 0;
    call->turn = (struct espi_way_turn){.way = ESPI_WAY_DENSE};
    for (int i = 0; i < 2 && row->kind & ESPI_NONBLOCKING; i++)
        leave_untimed(&side[i]);
    const bool chosen = ask_way(side, &question);
    if (chosen) {
        espi_message_others(&question, facts, MPI_ANY_SOURCE);
        if (row->kind & ESPI_NONBLOCKING)
            call->turn.way = espi_way_of(&question);
        else
            call->turn = espi_way_turn(&question);
        saved = espi_way_saves(&question);
    }
    for (int i = 0; i < 2; i++)
        side[i].packed = side[i].packed && (side[i].longest == 0 || call->turn.way != ESPI_WAY_TYPED);
    if (!pack_sides(call, side, changed)) {
        espi_way_turn_end(&call->turn, false);
        return ESPI_COURSE_GENERAL;
    }
    for (int i = 0; i < 2; i++)
        if (!side[i].packed)
            see_types(call, &side[i], i, changed);
    const double all = (side[0].longest > 0 ? (double)side[0].bytes : 0) +
                       (side[1].longest > 0 ? (double)side[1].bytes : 0);
    for (int i = 0; i < 2; i++)
        count_uses(call, &side[i], i, side[i].longest == 0 || saved < 0 ? -1 : saved * (double)side[i].bytes / all);
    if (side[0].packed || side[1].packed)
        espi_repeated_keep(call, side, changed);
    return side[0].packed || side[1].packed || chosen || call->substituted > 0 ? ESPI_COURSE_PACKED
                                                                               : ESPI_COURSE_AS_IT_IS;
}

enum espi_course espi_collective_course(struct espi_collective *call, struct espi_thread_state *thread_state,
                                        const struct espi_api_row *row, const espi_word *args, espi_word *changed)
{
    struct espi_comm_facts *facts = &thread_state->comm;
    struct espi_call_side side[2];
    enum espi_course course = ESPI_COURSE_GENERAL;

    if (espi_repeated_begin(call, thread_state, row, args, changed, false))
        return ESPI_COURSE_PACKED;
    if (espi_settings.check || !espi_leads() || !espi_comm_look(facts, (MPI_Comm)args[row->comm]) || facts->inter ||
        facts->peers <= 1 || (row->root >= 0 && (unsigned)args[row->root] >= (unsigned)facts->peers) ||
        (row->kind & ESPI_NONBLOCKING && !args[row->args - 1]) || espi_call_may_be_aliased(row, args))
        return ESPI_COURSE_GENERAL;
    side[1].types = 0;
    if (espi_call_side_look(&side[0], facts, row, 0, args) && espi_call_side_look(&side[1], facts, row, 1, args))
        course = course_of(call, thread_state, row, args, changed, side);
    for (int i = 0; i < 2; i++)
        espi_call_side_give_back(&side[i]);
    return course;
}

bool espi_collective_end(struct espi_collective *call, int result)
{
    bool again = false;

    if (call->repeated != NULL && __builtin_expect(result == MPI_SUCCESS, 1)) {
        for (int i = 0; i < 2; i++)
            if (call->blocks[i] != NULL)
                espi_packed_blocks_unpack(call->blocks[i]);
        espi_repeated_end(call->repeated);
        return false;
    }
    if (__builtin_expect(result != MPI_SUCCESS, 0)) {
        if (call->repeated != NULL)
            espi_repeated_forget(call->repeated);
        struct espi_substitution failed = {.thread_state = call->thread_state, .row = call->row, .args = call->args,
                                           .substituted = call->substituted,
                                           .blocks = {call->blocks[0], call->blocks[1]}};
        again = espi_substitute_repeat(&failed, result);
        call->blocks[0] = failed.blocks[0]; /* they may be given back by now */
        call->blocks[1] = failed.blocks[1];
    } else if (call->request != NULL) {
        espi_packed_request_enter_blocks(call->request, *(const MPI_Request *)call->args[call->row->args - 1],
                                         call->blocks, espi_plan_release_owner);
        return false;
    }
    if (call->request != NULL)
        espi_packed_request_drop(call->request);
    for (int i = 0; i < 2; i++) {
        if (call->blocks[i] != NULL && result == MPI_SUCCESS)
            espi_packed_blocks_unpack(call->blocks[i]);
        let_go(&call->blocks[i]);
    }
    espi_way_turn_end(&call->turn, result == MPI_SUCCESS);
    return again;
}
