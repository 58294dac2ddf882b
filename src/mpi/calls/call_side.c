#include "mpi/calls/call_side.h"

#include "mpi/typeplan/engine_cost.h"
#include "mpi/core/handle_table.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/calls/substitute_array.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"

/* Bytes of a block that goes with runs. */
enum { BESIDE_RUNS = 512 };

/* MPICH copies what a rank has for itself through a buffer, in parts, unless one of the types is predefined. */
static bool goes_whole(const struct espi_api_row *row, int which, const struct espi_collective_side *facts,
                       const espi_word *args)
{
    const struct espi_buffer_args *other = &row->typed[1 - which];

    return facts->whole || (facts->use == ESPI_PACK_COPIED && other->shape != ESPI_SHAPE_W &&
                            !espi_call_side_is_in_place(other, args) &&
                            espi_type_is_predefined((MPI_Datatype)args[other->type]));
}

/* Blocks of so many bytes are packed. */
static void note_block(struct espi_call_side *s, const struct espi_blocks_plan *found, int64_t bytes)
{
    if (found->purpose == ESPI_PARTS && espi_packs_blocks(s->facts.use) && bytes > ESPI_ENGINE_PART &&
        bytes > s->longest)
        s->longest = bytes;
}

/* The `others`, blocks that no model would pack, go with those that are packed, or are tried. False: not all can. */
static bool join_others(struct espi_call_side *s, int others, int *unnoted)
{
    struct espi_plan *plans[ESPI_CALL_TYPES];
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

/* Blocks that no model would pack: short runs of bytes, as nothing is to be packed, which go where they stand, and
   what is beside them, if it is short enough to cost less than it saves them. */
static void take_runs(struct espi_call_side *s, struct espi_plan *const run[], int *unnoted)
{
    for (int i = 0; i < s->types; i++) {
        struct espi_blocks_plan *found = &s->found[i];
        if (s->count[i] == 0 || found->plan != NULL)
            continue;
        *unnoted -= found->unnoted;
        found->unnoted = false;
        found->plan = run[i];
        s->bytes += run[i]->size * s->count[i];
    }
}

/* Whether all blocks of a packed side may be sent or received where they stand. */
static bool may_stand(const struct espi_call_side *s, const struct espi_api_row *row,
                      const struct espi_buffer_args *typed, const espi_word *args)
{
    for (int i = 0; i < s->types; i++)
        if (s->count[i] > 0 && !(s->found[i].plan->stands && espi_collective_may_stand(row, typed, args, i,
                                                                                    s->found[i].plan->pack,
                                                                                    s->count[i])))
            return false;
    return true;
}

/* Blocks beside such as no program is there for. */
static bool leave_mixed(struct espi_call_side *s)
{
    for (int i = 0; i < s->types; i++)
        s->found[i].plan = NULL;
    s->bytes = s->longest = 0;
    return s->mixed = true;
}

/* Whether a type without a plan may yet have one. */
static bool may_have_plan(const struct espi_type_slot *slot)
{
    return !atomic_load_explicit(&slot->settled, memory_order_relaxed) &&
           atomic_load_explicit(&slot->look, memory_order_relaxed) != ESPI_NEVER;
}

/* A type for each block. False: not here. */
static bool find_plans(struct espi_call_side *s, const struct espi_api_row *row, int which, const espi_word *args)
{
    const struct espi_buffer_args *typed = &row->typed[which];
    const MPI_Datatype *types = espi_call_side_types(typed, args);
    const bool blocks = espi_packs_blocks(s->facts.use);
    int programs = 0, others = 0, derived = 0, unnoted = 0, tried = 0, runs = 0, beside = 0, waiting = 0;
    struct espi_plan *run[ESPI_CALL_TYPES];

    if (s->facts.blocks > ESPI_CALL_TYPES || types == NULL || args[typed->count] == 0)
        return false;
    s->types = s->facts.blocks;
    for (int i = 0; i < s->types; i++)
        s->found[i].of = NULL;
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
        if (!espi_blocks_plan(found, types[i], count, s->facts.whole, s->facts.use, count, 1, s->near) ||
            (found->plan != NULL && (__builtin_mul_overflow(found->plan->size, count, &bytes) ||
                                     __builtin_add_overflow(s->bytes, bytes, &s->bytes))))
            return false;
        programs += found->plan != NULL;
        others += found->plan == NULL;
        run[i] = found->plan == NULL && blocks ? espi_blocks_plan_of_other(found, count) : NULL;
        if (run[i] != NULL && espi_plan_item_stands(run[i], count) && run[i]->size <= ESPI_ENGINE_PART)
            runs++;
        else
            beside += run[i] != NULL && run[i]->size <= BESIDE_RUNS / count;
        waiting += found->plan == NULL && run[i] == NULL && may_have_plan(found->slot);
        derived++;
        unnoted += found->unnoted;
        tried += found->tried;
        note_block(s, found, bytes);
    }
    if (runs > 0 && runs + beside == others) {
        take_runs(s, run, &unnoted);
        programs = derived;
        others = 0;
    }
    /* Beside long ones only: of short ones the models know. */
    if (derived > programs && (s->longest > 0 || tried > 0) && join_others(s, others, &unnoted)) {
        s->joined = s->near;
        programs = derived;
        others = 0;
    }
    s->mixed = tried > 0 && !s->joined;
    if (runs > 0 && waiting > 0 && others > 0) /* the next time all may go together: it says nothing of the runs */
        return leave_mixed(s);
    if (unnoted > 0)
        return false;
    s->packed = programs > 0 && others == 0;
    s->stands = s->packed && may_stand(s, row, typed, args);
    if (s->packed || programs == 0)
        return true;
    return (!s->near || derived > programs) && leave_mixed(s); /* beside predefined ones the general way knows */
}

/* One type for all blocks. False: not here. */
static bool find_plan(struct espi_call_side *s, const struct espi_api_row *row, int which, const espi_word *args)
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
                          s->facts.together, s->near))
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

bool espi_call_side_look(struct espi_call_side *s, struct espi_comm_facts *facts, const struct espi_api_row *row,
                         int which, const espi_word *args)
{
    const struct espi_buffer_args *typed = &row->typed[which];
    int peers = facts->peers;

    s->types = 0;
    s->bytes = s->longest = 0;
    s->packed = s->mixed = s->joined = s->seen = s->is_new = s->near = s->stands = false;
    if (typed->shape == ESPI_SHAPE_NONE || espi_call_side_is_in_place(typed, args) ||
        (typed->at_root && (int)args[row->root] != facts->rank))
        return true;
    s->seen = true;
    if (row->kind & ESPI_NEIGHBOUR)
        peers = which == 0 ? facts->out : facts->in;
    if (peers <= 0)
        return false;
    espi_collective_side(&s->facts, row, which, args, facts, peers);
    s->near = espi_type_service.one_node || !espi_packs_blocks(s->facts.use) ||
              (has_derived(typed, args) && espi_comm_is_near(facts, MPI_ANY_SOURCE));
    return typed->shape == ESPI_SHAPE_W ? find_plans(s, row, which, args) : find_plan(s, row, which, args);
}

void espi_call_side_give_back(struct espi_call_side *s)
{
    for (int i = 0; i < s->types; i++)
        espi_plan_give_back(s->found[i].of);
}

bool espi_call_may_be_aliased(const struct espi_api_row *row, const espi_word *args)
{
    const struct espi_buffer_args *a = &row->typed[0], *b = &row->typed[1];

    return b->shape != ESPI_SHAPE_NONE && a->buffer >= 0 && b->buffer >= 0 &&
           (args[a->buffer] == args[b->buffer] ||
            (a->shape != ESPI_SHAPE_W && b->shape != ESPI_SHAPE_W && args[a->type] == args[b->type] &&
             espi_collective_minds_alias(row)));
}
