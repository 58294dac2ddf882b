#include "mpi/typeplan/collective.h"

#include <mpi.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/core/array_pool.h"
#include "mpi/core/runtime.h"
#include "mpi/packed/message_ways.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/substitute.h"
#include "mpi/typeplan/substitute_array.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"

enum { TYPES_MOST = ESPI_COLLECTIVE_TYPES };

/* One side of a call. */
struct side {
    struct espi_collective_side facts;
    int types;     /* one, or one for each block; 0: nothing to do */
    int64_t bytes; /* in all blocks, where it is packed */
    int64_t longest; /* of blocks that are packed, and go as messages of several parts; 0: there are none */
    bool near;   /* all ranks are on one node */
    bool mixed;  /* blocks of which some might be packed, which are all left */
    bool joined; /* the models would not pack it, or not all of it: whether it is packed is found out */
    bool packed; /* else blocks with a plan are the library's because the way of long ones is that now */
    int64_t count[TYPES_MOST]; /* items of each type; 0: there is nothing to do for it */
    struct espi_blocks_plan found[TYPES_MOST];
};

bool espi_collective_is(const struct espi_api_row *row)
{
    return row->args <= 10 && espi_collective_may_be_packed(row);
}

static const MPI_Datatype *types_of(const struct espi_buffer_args *typed, const espi_word *args)
{
    return typed->shape == ESPI_SHAPE_W ? (const MPI_Datatype *)args[typed->type]
                                        : (const MPI_Datatype *)&args[typed->type];
}

static bool is_in_place(const struct espi_buffer_args *typed, const espi_word *args)
{
    return (void *)args[typed->buffer] == MPI_IN_PLACE;
}

/* MPICH copies what a rank has for itself through a buffer, in parts, unless one of the types is predefined. */
static bool goes_whole(const struct espi_api_row *row, int which, const struct espi_collective_side *facts,
                       const espi_word *args)
{
    const struct espi_buffer_args *other = &row->typed[1 - which];

    return facts->whole || (facts->use == ESPI_PACK_COPIED && other->shape != ESPI_SHAPE_W &&
                            !is_in_place(other, args) && espi_type_is_predefined((MPI_Datatype)args[other->type]));
}

/* Blocks of so many bytes are packed. */
static void note_block(struct side *s, const struct espi_blocks_plan *found, int64_t bytes)
{
    if (found->purpose == ESPI_PARTS && espi_packs_blocks(s->facts.use) && bytes > ESPI_ENGINE_PART &&
        bytes > s->longest)
        s->longest = bytes;
}

/* The `others`, blocks that no model would pack, go with those that are packed, or are tried. False: not all can. */
static bool join_others(struct side *s, int others, int *unnoted)
{
    struct espi_plan *plans[TYPES_MOST];
    int joined = 0;

    for (int i = 0; i < s->types; i++) {
        plans[i] = s->count[i] > 0 && s->found[i].plan == NULL ? espi_blocks_plan_of_other(&s->found[i], s->count[i])
                                                               : NULL;
        joined += plans[i] != NULL;
    }
    if (joined == 0 || joined < others)
        return false;
    for (int i = 0; i < s->types; i++) {
        struct espi_blocks_plan *found = &s->found[i];
        if (plans[i] == NULL)
            continue;
        *unnoted -= found->unnoted;
        found->unnoted = false;
        found->plan = plans[i];
        s->bytes += plans[i]->size * s->count[i];
        note_block(s, found, plans[i]->size * s->count[i]);
    }
    return true;
}

/* Blocks beside such as no program is there for. */
static bool leave_mixed(struct side *s)
{
    for (int i = 0; i < s->types; i++)
        s->found[i].plan = NULL;
    s->bytes = s->longest = 0;
    return s->mixed = true;
}

/* A type for each block. False: not here. */
static bool find_plans(struct side *s, const struct espi_api_row *row, int which, const espi_word *args)
{
    const struct espi_buffer_args *typed = &row->typed[which];
    const MPI_Datatype *types = types_of(typed, args);
    int programs = 0, others = 0, derived = 0, unnoted = 0, tried = 0;

    if (s->facts.blocks > TYPES_MOST || types == NULL || args[typed->count] == 0)
        return false;
    s->types = s->facts.blocks;
    for (int i = 0; i < s->types; i++) {
        struct espi_blocks_plan *found = &s->found[i];
        const int64_t count = s->count[i] = espi_count_in(row, args, typed->count, i);
        int64_t bytes = 0;
        if (count == 0)
            continue;
        if (count < 0 || types[i] == MPI_DATATYPE_NULL)
            return false;
        if (espi_type_is_predefined(types[i])) {
            s->count[i] = 0;
            others++;
            continue;
        }
        if (!espi_blocks_plan(found, types[i], count, s->facts.whole, s->facts.use, count, s->near) ||
            (found->plan != NULL && (__builtin_mul_overflow(found->plan->size, count, &bytes) ||
                                     __builtin_add_overflow(s->bytes, bytes, &s->bytes))))
            return false;
        programs += found->plan != NULL;
        others += found->plan == NULL;
        derived++;
        unnoted += found->unnoted;
        tried += found->tried;
        note_block(s, found, bytes);
    }
    /* On one node beside long ones only: of short ones the models know. */
    if (derived > programs && (s->near ? s->longest > 0 || tried > 0 : programs > 0) &&
        join_others(s, others, &unnoted)) {
        s->joined = s->near;
        programs = derived;
        others = 0;
    }
    if (unnoted > 0)
        return false;
    s->packed = programs > 0 && others == 0;
    if (s->near || s->packed || programs == 0)
        return programs == 0 || others == 0; /* where they are mixed they are counted there */
    return leave_mixed(s);
}

/* One type for all blocks. False: not here. */
static bool find_plan(struct side *s, const struct espi_api_row *row, int which, const espi_word *args)
{
    const struct espi_buffer_args *typed = &row->typed[which];
    const MPI_Datatype type = (MPI_Datatype)args[typed->type];
    const bool one = typed->shape == ESPI_SHAPE_ONE;
    int64_t all, each, items;
    int filled;

    if (type == MPI_DATATYPE_NULL || (!one && args[typed->count] == 0))
        return false;
    if (espi_type_is_predefined(type) && !one)
        return true;
    all = espi_collective_items(row, typed, &s->facts, args, &filled);
    if (all < 0 || espi_type_is_predefined(type))
        return all >= 0 && args[typed->buffer] != 0;
    if (all == 0 || filled == 0 || args[typed->buffer] == 0)
        return false;
    each = all / filled;
    items = one ? each : all; /* as uses are counted */
    s->types = 1;
    s->count[0] = items;
    if (!espi_blocks_plan(&s->found[0], type, items, goes_whole(row, which, &s->facts, args), s->facts.use, each,
                          s->near))
        return false;
    if (s->found[0].tried && (s->found[0].plan = espi_blocks_plan_of_other(&s->found[0], items)) != NULL)
        s->joined = true;
    else if (s->found[0].unnoted)
        return false;
    s->packed = s->found[0].plan != NULL;
    if (!s->packed)
        return true;
    if (__builtin_mul_overflow(s->found[0].plan->size, all, &s->bytes))
        return false;
    note_block(s, &s->found[0], s->found[0].plan->size * each);
    return true;
}

static bool has_derived(const struct espi_buffer_args *typed, const espi_word *args)
{
    return typed->shape == ESPI_SHAPE_W || !espi_type_is_predefined((MPI_Datatype)args[typed->type]);
}

/* Finds what becomes of a side. False: not here. */
static bool look_at_side(struct side *s, struct espi_comm_facts *facts, const struct espi_api_row *row,
                         int which, const espi_word *args)
{
    const struct espi_buffer_args *typed = &row->typed[which];
    int peers = facts->peers;

    s->types = 0;
    s->bytes = s->longest = 0;
    s->packed = s->mixed = s->joined = false;
    if (typed->shape == ESPI_SHAPE_NONE || is_in_place(typed, args) ||
        (typed->at_root && (int)args[row->root] != facts->rank))
        return true;
    if (row->kind & ESPI_NEIGHBOUR)
        peers = which == 0 ? facts->out : facts->in;
    if (peers <= 0)
        return false;
    espi_collective_side(&s->facts, row, which, args, facts, peers);
    s->near = espi_type_service.one_node || !espi_packs_blocks(s->facts.use) ||
              (espi_type_service.attributes && has_derived(typed, args) && espi_comm_is_near(facts, MPI_ANY_SOURCE));
    return typed->shape == ESPI_SHAPE_W ? find_plans(s, row, which, args) : find_plan(s, row, which, args);
}

/* What MPI may refuse because of addresses, which packing changes. */
static bool may_be_aliased(const struct espi_api_row *row, const espi_word *args)
{
    const struct espi_buffer_args *a = &row->typed[0], *b = &row->typed[1];

    return b->shape != ESPI_SHAPE_NONE && a->buffer >= 0 && b->buffer >= 0 &&
           (args[a->buffer] == args[b->buffer] ||
            (a->shape != ESPI_SHAPE_W && b->shape != ESPI_SHAPE_W && args[a->type] == args[b->type] &&
             espi_collective_minds_alias(row)));
}

static void release_plan(void *plan)
{
    espi_plan_release(plan);
}

/* What is asked of the way of long blocks: both sides go one way. False: there are none. */
static bool ask_way(const struct side side[2], struct espi_way_question *q)
{
    *q = (struct espi_way_question){ESPI_WAYS_SURE, ESPI_WAY_BLOCKS, true, true, 0};
    for (int i = 0; i < 2; i++) {
        if (!side[i].packed || side[i].longest == 0)
            continue;
        q->near = side[i].near;
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

/* Leaves a side that is not packed to the library, with better types where there are some. */
static void see_types(struct espi_collective *call, struct side *s, int which, espi_word *changed)
{
    const struct espi_buffer_args *typed = &call->row->typed[which];
    const MPI_Datatype *own = types_of(typed, call->args);
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
static bool pack_side(struct espi_collective *call, const struct side *s, int which, espi_word *changed)
{
    const struct espi_buffer_args *typed = &call->row->typed[which];
    const MPI_Datatype *types = types_of(typed, call->args);
    struct espi_packed_blocks *packed = espi_collective_new(typed, &s->facts, s->bytes);
    bool is_new = false;

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
            is_new = espi_plan_is_new(plan) || is_new;
        }
    }
    const bool extra = is_new && s->facts.received && call->turn.group != NULL;
    const uint64_t begun = extra ? espi_stats_now() : 0;
    if (espi_collective_begin(packed, call->row, typed, &s->facts, call->args, changed, call->turn.way, is_new,
                              false)) {
        if (extra) /* room that holds what is there: what the first calls take more says nothing of the way */
            call->turn.begun += espi_stats_now() - begun;
        call->blocks[which] = packed;
        return true;
    }
    espi_packed_blocks_close(packed, release_plan);
    return false;
}

/* A side of which nothing was sent or received yet. */
static void let_go(struct espi_packed_blocks **side)
{
    if (*side != NULL)
        espi_packed_blocks_close(*side, release_plan);
    *side = NULL;
}

/* `saved`: the side's part of what the call is measured to save; negative: it was not. */
static void count_uses(const struct espi_collective *call, const struct side *s, int which, double saved)
{
    struct espi_stats_thread *stats = call->thread_state->stats;
    const struct espi_api_row *row = call->row;
    const MPI_Datatype *types = types_of(&row->typed[which], call->args);
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
static bool pack_sides(struct espi_collective *call, struct side side[2], espi_word *changed)
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

enum espi_course espi_collective_course(struct espi_collective *call, struct espi_thread_state *thread_state,
                                        const struct espi_api_row *row, const espi_word *args, espi_word *changed)
{
    struct espi_comm_facts *facts = &thread_state->comm;
    struct espi_way_question question;
    struct side side[2];
    double saved = -1;

    if (espi_settings.check || !espi_comm_look(facts, (MPI_Comm)args[row->comm]) || facts->inter ||
        facts->peers <= 1 || (row->root >= 0 && (unsigned)args[row->root] >= (unsigned)facts->peers) ||
        (row->kind & ESPI_NONBLOCKING && !args[row->args - 1]) || may_be_aliased(row, args))
        return ESPI_COURSE_GENERAL;
    for (int i = 0; i < 2; i++)
        if (!look_at_side(&side[i], facts, row, i, args))
            return ESPI_COURSE_GENERAL;
    call->thread_state = thread_state;
    call->row = row;
    call->args = args;
    call->blocks[0] = call->blocks[1] = NULL;
    call->request = NULL;
    call->substituted = 0;
    call->turn = (struct espi_way_turn){.way = ESPI_WAY_DENSE};
    const bool chosen = ask_way(side, &question);
    if (chosen) {
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
    return side[0].packed || side[1].packed || chosen || call->substituted > 0 ? ESPI_COURSE_PACKED
                                                                               : ESPI_COURSE_AS_IT_IS;
}

bool espi_collective_end(struct espi_collective *call, int result)
{
    bool again = false;

    if (__builtin_expect(result != MPI_SUCCESS, 0)) {
        struct espi_substitution failed = {.thread_state = call->thread_state, .row = call->row, .args = call->args,
                                           .substituted = call->substituted,
                                           .blocks = {call->blocks[0], call->blocks[1]}};
        again = espi_substitute_repeat(&failed, result);
        call->blocks[0] = failed.blocks[0]; /* they may be given back by now */
        call->blocks[1] = failed.blocks[1];
    } else if (call->request != NULL) {
        espi_packed_request_enter_blocks(call->request, *(const MPI_Request *)call->args[call->row->args - 1],
                                         call->blocks, release_plan);
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
