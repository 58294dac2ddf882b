#include "mpi/calls/message.h"

#include <mpi.h>

#include "base/overlap.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/packed/core_distance.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/calls/call_args.h"
#include "mpi/calls/late_credit.h"
#include "mpi/calls/substitute.h"
#include "mpi/typeplan/plan_use.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"

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

static int sides_of(const struct espi_api_row *row)
{
    return row->typed[1].shape != ESPI_SHAPE_NONE ? 2 : 1;
}

static int peer_of(const struct espi_buffer_args *typed, const espi_word *args)
{
    return (int)args[(int)(typed->dest >= 0 ? typed->dest : typed->source)];
}

bool espi_message_is_to_nobody(const struct espi_api_row *row, const espi_word *args)
{
    return peer_of(&row->typed[0], args) == MPI_PROC_NULL;
}

static int64_t items_of(const struct espi_api_row *row, const struct espi_buffer_args *typed, const espi_word *args)
{
    return row->large ? (int64_t)args[(int)typed->count] : (int64_t)(int)args[(int)typed->count];
}

/* Whether MPI takes rank and tag. Of two sides one may be for nobody, as at the end of a domain. */
static bool is_addressed(const struct espi_comm_facts *facts, const struct espi_buffer_args *typed,
                         const espi_word *args, bool nobody)
{
    const bool receiving = typed->dest < 0;
    const int tag = (int)args[(int)(receiving ? typed->recvtag : typed->sendtag)];

    return espi_comm_has_peer(facts, nobody ? 0 : peer_of(typed, args), tag, receiving);
}

/* Whether MPI takes the rest of a side that is for nobody, at which it looks nevertheless. */
static bool is_in_order(const struct espi_api_row *row, const struct espi_buffer_args *typed, const espi_word *args)
{
    const MPI_Datatype type = (MPI_Datatype)args[(int)typed->type];
    const int64_t count = items_of(row, typed, args);

    return count >= 0 && (espi_type_is_predefined(type) || espi_slot_of(type) != NULL) &&
           espi_args_side_is_good(args, typed, count);
}

/* By what is not for nobody. */
static enum espi_way_call kind_of(const struct espi_api_row *row, const espi_word *args)
{
    bool sends = false, receives = false;

    for (int side = 0; side < sides_of(row); side++)
        if (peer_of(&row->typed[side], args) != MPI_PROC_NULL && items_of(row, &row->typed[side], args) > 0)
            *(row->typed[side].dest >= 0 ? &sends : &receives) = true;
    return row->kind & ESPI_NONBLOCKING ? ESPI_WAY_BATCH
           : sends && receives          ? ESPI_WAY_BOTH
           : sends                      ? ESPI_WAY_SEND
                                        : ESPI_WAY_RECEIVE;
}

/* As what a side is used, exactly: where the other one is for nobody, as that of a call with one. */
static enum espi_packable use_of(const struct espi_message *m, const struct espi_api_row *row,
                                 const struct espi_buffer_args *typed)
{
    const enum espi_packable use = espi_packed_message_use(row, typed);

    if (m->kind == ESPI_WAY_BOTH || sides_of(row) == 1)
        return use;
    return typed->dest >= 0 ? ESPI_PACK_MESSAGE : ESPI_PACK_RECEIVED;
}

/* Of two sides: the type of one goes as it is, and nothing is due; NULL: else. */
static struct espi_type_slot *left_beside(const struct espi_message *m, const struct espi_api_row *row,
                                          MPI_Datatype type, int64_t count)
{
    if (sides_of(row) == 1)
        return NULL;
    struct espi_type_slot *quiet = espi_types_quiet(type);
    return quiet != NULL ? quiet : espi_message_plan_leaves(type, count, m->calls, true);
}

/* Finds the plan of a side, where its type is one that a program has made; elsewhere it is MPI's. False: neither. */
static bool find_plan(struct espi_message *m, const struct espi_api_row *row, const espi_word *args, int which)
{
    const struct espi_buffer_args *typed = &row->typed[which];
    const MPI_Datatype type = (MPI_Datatype)args[(int)typed->type];
    const int64_t count = items_of(row, typed, args);
    struct espi_message_side *side = &m->side[which];

    *side = (struct espi_message_side){.count = count, .type = MPI_DATATYPE_NULL};
    if (type == MPI_DATATYPE_NULL)
        return false;
    if (count <= 0 || espi_type_is_predefined(type))
        return count == 0 || (count > 0 && args[(int)typed->buffer]);
    side->found = espi_message_plan(type, count, use_of(m, row, typed));
    if (side->found.plan == NULL)
        return args[(int)typed->buffer] && (side->left = left_beside(m, row, type, count)) != NULL;
    if (!args[(int)typed->buffer] && side->found.plan->begins == 0)
        return false; /* MPI_BOTTOM, and no addresses in the type */
    if (!side->found.parts)
        return true;
    side->near = espi_comm_is_near(&m->thread_state->comm, peer_of(typed, args));
    side->open = side->found.plan->open[side->near];
    if (side->open != ESPI_WAYS_NONE)
        return true;
    if (sides_of(row) == 1 || !args[(int)typed->buffer] ||
        atomic_load_explicit(&side->found.plan->better[ESPI_PARTS], memory_order_relaxed) != MPI_DATATYPE_NULL)
        return false;
    espi_plan_give_back(side->found.plan);
    side->found.plan = NULL;
    side->left = side->found.slot;
    return true;
}

/* Whether all is known that the call needs, and in order. */
static bool is_known(struct espi_message *m, const struct espi_api_row *row, const espi_word *args)
{
    struct espi_comm_facts *facts = &m->thread_state->comm;
    const int sides = sides_of(row);

    if (!espi_comm_look(facts, (MPI_Comm)args[(int)row->comm]))
        return false;
    for (int side = 0; side < sides; side++) {
        const bool nobody = sides == 2 && peer_of(&row->typed[side], args) == MPI_PROC_NULL;
        if (!is_addressed(facts, &row->typed[side], args, nobody) ||
            !(nobody ? is_in_order(row, &row->typed[side], args) : find_plan(m, row, args, side)))
            return false;
    }
    return m->side[0].found.plan != NULL || m->side[1].found.plan != NULL;
}

/* ---- the way of a longer message ---- */

/* A short one of which it is to be found out if it is better packed. */
static bool is_doubtful(const struct espi_message *m, const struct espi_message_side *side)
{
    return side->found.plan != NULL && !side->found.parts && !side->found.typed &&
           espi_plan_is_doubtful(side->found.plan, side->count, m->calls);
}

/* Whether a side's part of the call is asked about: a longer message; and a short one within the node, of which it is
   to be told what it saves, or found out. */
static bool is_asked(const struct espi_message *m, const struct espi_message_side *side)
{
    return side->found.plan != NULL &&
           (side->found.parts || is_doubtful(m, side) || (espi_type_service.told && espi_type_service.one_node));
}

/* Of two sides the one that counts more: the longer one, of short ones that which is doubtful. */
static bool counts_more(const struct espi_message *m, const struct espi_message_side *a,
                        const struct espi_message_side *b)
{
    if (a->found.parts == b->found.parts && is_doubtful(m, a) != is_doubtful(m, b))
        return is_doubtful(m, a);
    return a->found.bytes > b->found.bytes;
}

/* What is asked of its way. Of two sides one counts, and both go its way, but beside one that is doubtful; what is
   not sure about one of them is not sure. Gives that side, or NULL. */
static struct espi_message_side *ask_way(struct espi_message *m, const struct espi_api_row *row,
                                         struct espi_way_question *q)
{
    struct espi_message_side *longer = NULL;
    bool typed_alone = true;

    for (int i = 0; i < 2; i++) {
        struct espi_message_side *side = &m->side[i];
        side->asked = is_asked(m, side);
        if (!side->asked)
            continue;
        typed_alone = typed_alone && side->found.typed;
        if (longer == NULL || counts_more(m, side, longer))
            longer = side;
    }
    if (longer == NULL)
        return NULL;
    const struct espi_buffer_args *typed = &row->typed[longer - m->side];
    const struct espi_plan *plan = longer->found.plan;
    const bool parts = longer->found.parts;
    enum espi_ways_open open = parts ? longer->open : ESPI_WAYS_SURE;
    for (int i = 0; i < 2; i++)
        if (m->side[i].found.plan != NULL && m->side[i].found.parts && m->side[i].open == ESPI_WAYS_EVEN)
            open = ESPI_WAYS_EVEN;
    *q = (struct espi_way_question){
        .open = open,
        .call = m->kind,
        .near = longer->near || !parts,
        .packs = espi_plan_gains_by_models(plan, longer->count, parts ? ESPI_ALONE : m->calls),
        .bytes = longer->found.bytes,
        .no_cells = !parts,
        .told = espi_type_service.told,
        .typed = typed_alone,
        .doubtful = is_doubtful(m, longer),
        .alike = plan->alike};
    for (int i = 0; i < 2 && q->doubtful; i++) /* that is found out, and nothing of the other side with it */
        m->side[i].asked = m->side[i].asked && is_doubtful(m, &m->side[i]);
    espi_message_others(q, &m->thread_state->comm, peer_of(typed, m->args));
    return longer;
}

/* ---- a message that is left to the library ---- */

/* It went as the program's type, and was not timed: the next one of as many items may be left at once. */
static void note_left(const struct espi_message *m)
{
    const struct espi_message_side *side = &m->side[0];

    if (side->found.parts && m->turn.group == NULL && m->turn.way == ESPI_WAY_TYPED &&
        m->side[1].found.plan == NULL && m->side[0].type == MPI_DATATYPE_NULL)
        side->found.plan->left_items = side->count;
}

bool espi_message_plan_is_left(struct espi_thread_state *thread_state, struct espi_type_slot *slot,
                               struct espi_plan *plan, int64_t count, enum espi_way_call call, int peer,
                               MPI_Comm comm)
{
    struct espi_comm_facts *facts = &thread_state->comm;

    if (atomic_load_explicit(&plan->left_items, memory_order_relaxed) != count ||
        atomic_load_explicit(&slot->uses, memory_order_relaxed) + 1 >=
            atomic_load_explicit(&slot->look, memory_order_relaxed) ||
        atomic_load_explicit(&plan->better[ESPI_PARTS], memory_order_relaxed) != MPI_DATATYPE_NULL ||
        plan->open[true] != ESPI_WAYS_EVEN || facts->near != ESPI_NEAR_ALL || !espi_comm_is_last(facts, comm))
        return false;
    struct espi_way_question question = {.open = ESPI_WAYS_EVEN,
                                         .call = call,
                                         .near = true,
                                         .bytes = plan->size * count,
                                         .told = espi_type_service.told};
    bool found;
    espi_message_others(&question, facts, peer);
    if ((question.told && espi_way_saves_in_all(&question) > 0) || !espi_way_is_left(&question, &found))
        return false;
    if (found) /* that it saves nothing */
        atomic_store_explicit(&plan->saved_ns, 1, memory_order_relaxed);
    espi_plan_count_use(thread_state->stats, slot, count);
    espi_count(thread_state->stats, ESPI_COUNT_left_not_better, 1);
    return true;
}

bool espi_message_is_left(struct espi_thread_state *thread_state, const struct espi_api_row *row,
                          const espi_word *args)
{
    const struct espi_buffer_args *typed = &row->typed[0];
    const MPI_Datatype type = (MPI_Datatype)args[(int)typed->type];
    const int64_t count = items_of(row, typed, args);
    struct espi_type_slot *slot;
    struct espi_plan *plan;

    if (espi_type_is_predefined(type) || count <= 0 || !espi_leads() || (slot = espi_slot_of(type)) == NULL ||
        (plan = espi_plan_borrow(slot)) == NULL)
        return false;
    const bool left = espi_message_plan_is_left(thread_state, slot, plan, count, kind_of(row, args),
                                                peer_of(typed, args), (MPI_Comm)args[(int)row->comm]);
    espi_plan_give_back(plan);
    return left;
}

/* ---- a call ---- */

/* One side goes as a type: the better one for such messages, if there is one. */
static void go_typed(struct espi_message_side *side, const struct espi_buffer_args *typed, espi_word *changed)
{
    const enum espi_purpose purpose = side->found.parts ? ESPI_PARTS : ESPI_WHOLE;

    side->type = atomic_load_explicit(&side->found.plan->better[purpose], memory_order_acquire);
    if (side->type != MPI_DATATYPE_NULL)
        changed[(int)typed->type] = (espi_word)side->type;
}

/* Gives back what sides have, before or after the call. */
static void let_go(struct espi_packed_side *side)
{
    if (side->pack != NULL)
        espi_packed_close(side);
    else
        espi_packed_sent(side);
}

/* Gets buffers, and packs. False: no memory. */
static bool begin_sides(struct espi_message *m, const struct espi_api_row *row, const espi_word *args,
                        espi_word *changed)
{
    m->packed.side[0].pack = m->packed.side[1].pack = NULL;
    m->packed.side[0].sent_as = m->packed.side[1].sent_as = MPI_DATATYPE_NULL;
    for (int i = 0; i < 2; i++) {
        struct espi_message_side *side = &m->side[i];
        if (side->found.plan == NULL)
            continue;
        if (side->asked && m->turn.way == ESPI_WAY_OWN) {
            if (is_doubtful(m, side)) /* as it would without packing */
                go_typed(side, &row->typed[i], changed);
            continue;
        }
        if (side->found.typed || (side->found.parts && m->turn.way == ESPI_WAY_TYPED)) {
            go_typed(side, &row->typed[i], changed);
        } else if (!espi_packed_begin(&m->packed, i, row, args, changed, side->found.plan->pack,
                                      &side->found.plan->times, m->turn.way, false)) {
            return false;
        } else {
            side->packed = true;
        }
    }
    return true;
}

/* Of a nonblocking message: something is to be done at its end. */
static bool asks_for_record(const struct espi_message *m)
{
    return (m->side[0].packed && !m->packed.side[0].stands) || m->turn.batch != 0;
}

/* What a side saves is credited later. */
static void note_for_later(const struct espi_message *m, const struct espi_message_side *side,
                           const struct espi_way_question *q, enum espi_packable use, double part)
{
    struct espi_plan_saving modelled = {0};

    if (side->packed || side->type != MPI_DATATYPE_NULL)
        modelled = espi_plan_saving(side->found.plan, side->count, side->found.parts ? ESPI_PARTS : ESPI_WHOLE,
                                    side->packed, use);
    espi_late_credit(side->found.plan, side->count, q, m->turn.way, &modelled, part);
}

static void count_uses(struct espi_message *m, const struct espi_way_question *q, bool chosen)
{
    const double saved = chosen ? espi_way_saves(q) : -1, /* by both sides, measured at once */
                 in_all = chosen && !q->doubtful ? espi_way_saves_in_all(q) : -1;
    const bool later = chosen && m->turn.way != ESPI_WAY_OWN && espi_way_will_be_told(q);
    int64_t all = 0;

    for (int i = 0; i < 2; i++)
        all += m->side[i].asked ? m->side[i].found.bytes : 0;
    for (int i = 0; i < 2; i++) {
        const struct espi_message_side *side = &m->side[i];
        const enum espi_packable use = espi_packed_message_use(m->row, &m->row->typed[i]);
        if (side->left != NULL)
            espi_types_used(m->thread_state->stats, (MPI_Datatype)m->args[(int)m->row->typed[i].type], side->left,
                            side->count);
        if (side->found.plan == NULL)
            continue;
        const double part = side->asked ? (double)side->found.bytes / (double)all : 0;
        const double in_all_here = part == 0 ? -1 : later ? 0 : in_all >= 0 ? in_all * part : -1;
        const struct espi_message_saving here = {side->found.parts && saved >= 0 ? saved * part : -1, in_all_here};
        espi_plan_hold(side->found.plan);
        if (part > 0 && later)
            note_for_later(m, side, q, use, part);
        if (part > 0 && m->turn.way == ESPI_WAY_OWN && side->type == MPI_DATATYPE_NULL)
            espi_message_plan_own(m->thread_state->stats, &side->found, side->count);
        else if (side->packed)
            espi_message_plan_packed(m->thread_state->stats, &side->found, side->count, use, &here);
        else
            espi_message_plan_typed(m->thread_state->stats, &side->found, side->count, side->type, use, &here);
    }
}

/* What is handed over at once, and does not wait for the other rank. */
static bool is_handed_over(const struct espi_message *m)
{
    const struct espi_buffer_args *typed = &m->row->typed[0];

    return !(m->row->kind & ESPI_NONBLOCKING) && sides_of(m->row) == 1 && typed->dest >= 0 &&
           m->row - espi_api_rows != ESPI_FN_Ssend && m->row - espi_api_rows != ESPI_FN_Ssend_c &&
           m->side[0].packed && !m->side[0].found.parts && espi_type_service.one_node &&
           (int)m->args[typed->dest] != m->thread_state->comm.rank;
}

/* What is known of the call is enough: it begins. */
static bool begin(struct espi_message *m, const struct espi_api_row *row, const espi_word *args, espi_word *changed)
{
    struct espi_way_question question;

    m->row = row;
    m->args = args;
    m->request = NULL;
    m->turn = (struct espi_way_turn){.way = ESPI_WAY_DENSE};
    espi_trial_round_counts();
    const struct espi_message_side *asked = ask_way(m, row, &question);
    const bool chosen = asked != NULL;
    if (chosen)
        m->turn = espi_way_turn(&question);
    if (!begin_sides(m, row, args, changed) ||
        (row->kind & ESPI_NONBLOCKING && asks_for_record(m) && (m->request = espi_packed_request_new()) == NULL)) {
        for (int i = 0; i < 2; i++)
            let_go(&m->packed.side[i]);
        espi_way_turn_end(&m->turn, false);
        return false;
    }
    count_uses(m, &question, chosen);
    if (chosen && question.doubtful)
        espi_message_plan_settle(asked->found.plan, asked->found.slot, asked->count, m->calls, &question);
    note_left(m);
    m->begun = is_handed_over(m) && espi_core_distance_is_due() ? espi_stats_now() : 0;
    m->timed_alone = m->turn.way == ESPI_WAY_OWN && !m->side[0].packed && !m->side[1].packed;
    if (m->timed_alone)
        espi_way_turn_calls(&m->turn);
    return true;
}

bool espi_message_begin(struct espi_message *m, struct espi_thread_state *thread_state,
                        const struct espi_api_row *row, const espi_word *args, espi_word *changed)
{
    const bool gives_back = row->kind & ESPI_NONBLOCKING || row->typed[0].dest < 0 || sides_of(row) == 2;

    if (espi_settings.check || (gives_back && !args[row->args - 1]) || !espi_leads())
        return false;
    m->thread_state = thread_state;
    m->kind = kind_of(row, args);
    m->calls = espi_message_calls_of(use_of(m, row, &row->typed[0]));
    m->side[0] = m->side[1] = (struct espi_message_side){.type = MPI_DATATYPE_NULL};
    const bool begun = is_known(m, row, args) && begin(m, row, args, changed);
    for (int i = 0; i < 2; i++)
        espi_plan_give_back(m->side[i].found.plan);
    return begun;
}

static void end_side(struct espi_message *m, const espi_word *changed, int result, int which)
{
    struct espi_packed_side *side = &m->packed.side[which];

    if (side->pack != NULL && side->receives && result == MPI_SUCCESS)
        espi_packed_unpack(side, (void *)m->args[(int)m->row->typed[which].buffer], m->side[which].count,
                           MPI_DATATYPE_NULL, (const MPI_Status *)changed[m->row->args - 1]);
    let_go(side);
    espi_plan_release(m->side[which].found.plan);
}

/* The record of the request takes over what the message has. One without a pack program, or of what stands, is there
   to see the end. */
static void enter_request(struct espi_message *m)
{
    struct espi_packed_side *side = &m->packed.side[0];

    espi_packed_sent(side);
    side->receives = m->row->typed[0].dest < 0;
    const struct espi_packed_message message = {.side = *side,
                                                .data = (void *)m->args[(int)m->row->typed[0].buffer],
                                                .count = m->side[0].count,
                                                .type = MPI_DATATYPE_NULL,
                                                .batch = m->turn.batch,
                                                .owner = m->side[0].found.plan};
    espi_packed_request_enter(m->request, *(const MPI_Request *)m->args[m->row->args - 1], &message,
                              espi_plan_release_owner);
}

bool espi_message_end(struct espi_message *m, const espi_word *changed, int result)
{
    const int typed = (m->side[0].type != MPI_DATATYPE_NULL) + (m->side[1].type != MPI_DATATYPE_NULL);
    bool again = false;

    if (m->timed_alone)
        espi_way_turn_called(&m->turn);
    if (m->begun != 0 && result == MPI_SUCCESS)
        espi_core_distance_took(espi_stats_now() - m->begun);
    if (__builtin_expect(result != MPI_SUCCESS, 0)) {
        struct espi_substitution call = {.thread_state = m->thread_state, .row = m->row, .args = m->args,
                                         .packed = m->packed, .substituted = typed};
        again = espi_substitute_repeat(&call, result);
        m->packed = call.packed; /* buffers may be given back by now */
        if (m->request != NULL)
            espi_packed_request_drop(m->request);
        m->request = NULL;
    }
    if (m->request != NULL) {
        enter_request(m);
    } else {
        for (int side = 0; side < 2; side++)
            if (m->side[side].found.plan != NULL)
                end_side(m, changed, result, side);
    }
    espi_way_turn_end(&m->turn, result == MPI_SUCCESS);
    return again;
}
