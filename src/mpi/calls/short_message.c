#include "mpi/calls/short_message.h"

#include "base/often.h"
#include "base/overlap.h"
#include "base/table.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/core/status_bytes.h"
#include "mpi/packed/core_distance.h"
#include "mpi/packed/packed_call.h"
#include "mpi/packed/trial_numbers.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/calls/message.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/typeplan/plan_use.h"
#include "mpi/calls/substitute.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "words.h"

enum { BUFFER, COUNT, TYPE, PEER, TAG, COMM, STATUS };

/* Of the one message of the leader (base/overlap.h) that may be under way. It stays in use where an error handler
   leaves the call by a jump; messages go the other way then. */
static _Alignas(64) char stream[ESPI_ENGINE_PART] ESPI_TABLE;
static bool in_use;

/* What is asked of such a message. */
static struct espi_way_question question_of(const struct espi_plan *plan, int64_t count, enum espi_way_call asking)
{
    return (struct espi_way_question){
        .open = ESPI_WAYS_SURE, .call = asking, .near = true, .bytes = plan->size * count, .no_cells = true,
        .alike = plan->alike};
}

/* Where that is to be told: what such messages save by trials in the calls of message.h, over what the models say;
   0: it is not known yet of such calls; negative: other things to wait for make more difference. Those that send, and
   that receive, are taken together, if they were tried together: one type may be used for both. */
static float told_over_modelled(const struct espi_plan *plan, int64_t count, enum espi_way_call asking,
                                uint64_t modelled_ps)
{
    enum { LEAST = 64 }; /* of which it is one part */
    struct espi_way_question q = question_of(plan, count, asking);

    q.told = true;
    if (!espi_way_was_tried(&q) || espi_way_may_be_asked(&q))
        return 0;
    const double over = 1000 * espi_way_saves_of_both(&q) / (double)(modelled_ps + 1);
    return (float)(over < 0 ? -1 : over < 1. / LEAST ? 1. / LEAST : over);
}

/* What is told that a message saves, of which the models say `modelled_ps`. 0: it is not known yet. What was measured
   has the distance of cores in it, which its first times show too great. */
static uint64_t told_ps(struct espi_plan *plan, int64_t count, enum espi_way_call asking, uint64_t modelled_ps)
{
    const uint64_t farther = 1000 * espi_core_distance_more_of(plan->size * count),
                   nearer = modelled_ps > farther ? modelled_ps - farther : 1;
    const double most = 1000 * espi_plan_saves_at_most(plan, count);

    if (plan->short_told == 0)
        plan->short_told = told_over_modelled(plan, count, asking, nearer);
    const double told = plan->short_told < 0 ? (double)modelled_ps : (double)nearer * (double)plan->short_told;
    return plan->short_told == 0 ? 0 : 1 + (uint64_t)(told < most ? told : most);
}

/* Whether it is still to be found out, in the calls of message.h, if short messages of so many items are better
   packed. */
static bool is_in_doubt(struct espi_plan *plan, struct espi_type_slot *slot, int64_t count, enum espi_way_call asking)
{
    if (!espi_plan_is_doubtful(plan, count, ESPI_ALONE))
        return false;
    if (espi_trial_numbers_are_shared) /* it is decided with the rank that the message is from or for */
        return true;
    struct espi_way_question q = question_of(plan, count, asking);
    q.doubtful = true;
    espi_message_plan_settle(plan, slot, count, ESPI_ALONE, &q);
    return espi_plan_is_doubtful(plan, count, ESPI_ALONE);
}

/* Whether short messages of so many items are packed; notes what that saves. Not kept: what is said of several items
   that are runs, as a reversal ends it without a word. */
static __attribute__((noinline)) bool packs_short(struct espi_plan *plan, struct espi_type_slot *slot, int64_t count,
                                                  enum espi_way_call asking)
{
    const bool kept = !plan->stands || count == 1;
    uint64_t ps, told;

    espi_plan_see_round(plan);
    if (plan->size <= 0 || plan->size > ESPI_ENGINE_PART / count || espi_plan_is_cut(plan, count, 1) ||
        is_in_doubt(plan, slot, count, asking) ||
        !espi_plan_packs_message(plan, count, ESPI_ALONE))
        return false;
    told = ps = espi_plan_saving(plan, count, ESPI_WHOLE, true, ESPI_PACK_MESSAGE).ps;
    if (espi_type_service.told && espi_type_service.one_node && (told = told_ps(plan, count, asking, ps)) == 0)
        return false;
    plan->last_short.packed_ns = atomic_load_explicit(&plan->packed_ns[ESPI_PACK_MESSAGE], memory_order_relaxed);
    plan->last_short.more_ns = espi_core_distance_more();
    plan->last_short.round = plan->round;
    plan->last_short.saved_ps = told;
    plan->last_short.saved_ns = ps > 0 ? 1 + ps / 1000 : 0;
    atomic_store_explicit(&plan->last_short.count, kept ? count : 0, memory_order_relaxed);
    return true;
}

/* A use that is due to be looked at: see espi_type_is_looked_at. */
static __attribute__((noinline, cold)) bool is_looked_at(struct espi_type_slot *s, MPI_Datatype type, int64_t count)
{
    return espi_type_is_looked_at(s, type, count, ESPI_PACK_MESSAGE);
}

/* The plan by which `count` items of a derived type are packed that make a message of one part, or left to the
   library (`left`) that make one of several; NULL: there is none, or something is due, or it is the first one of its
   class, which does not know as yet. Nothing is counted; the plan is borrowed (plan_use.h). */
static inline __attribute__((always_inline)) struct espi_plan *find_plan(MPI_Datatype type, int64_t count,
                                                                         enum espi_way_call asking,
                                                                         struct espi_type_slot **slot, bool *left)
{
    struct espi_type_slot *s = *slot = espi_slot_of(type);
    struct espi_plan *plan;

    *left = false;
    if (s == NULL || count <= 0 ||
        (__builtin_expect(atomic_load_explicit(&s->uses, memory_order_relaxed) + 1 >=
                              atomic_load_explicit(&s->look, memory_order_relaxed), 0) &&
         !is_looked_at(s, type, count)) ||
        (espi_slot_class(s) != NULL && !espi_slot_class(s)->packs) || (plan = espi_plan_borrow(s)) == NULL)
        return NULL;
    if (atomic_load_explicit(&plan->last_short.count, memory_order_relaxed) == count &&
        plan->last_short.more_ns == espi_core_distance_more() && plan->last_short.round == espi_trial_round() &&
        plan->last_short.packed_ns ==
            atomic_load_explicit(&plan->packed_ns[ESPI_PACK_MESSAGE], memory_order_relaxed))
        return plan;
    *left = atomic_load_explicit(&plan->left_items, memory_order_relaxed) == count;
    if (*left || packs_short(plan, s, count, asking))
        return plan;
    espi_plan_give_back(plan);
    return NULL;
}

/* Counts a message that is packed. */
static void count_packed(struct espi_stats_thread *stats, struct espi_type_slot *slot, struct espi_plan *plan,
                         int64_t count, int64_t bytes)
{
    espi_trial_round_counts();
    espi_plan_count_use(stats, slot, count);
    espi_bump(&plan->record->changed, 1);
    espi_bump(&plan->record->saved_ps[ESPI_SAVED_ALONE], plan->last_short.saved_ps);
    atomic_store_explicit(&plan->saved_ns, plan->last_short.saved_ns, memory_order_relaxed);
    espi_count(stats, ESPI_COUNT_calls_packed, 1);
    espi_count(stats, ESPI_COUNT_bytes_packed, (uint64_t)bytes);
}

/* One that is under way: `bytes` of MPI_PACKED at `stream` in the place of what the program gave. */
struct under_way {
    struct espi_plan *plan;
    void *stream;
    int bytes;
    bool stands; /* these are the program's, where they stand */
};

/* Which way the call goes. Packed: it is counted, and what is sent was packed, if it has to be; left: it is counted;
   another one: nothing was done. */
enum course { ANOTHER, LEFT, PACKED };

static inline __attribute__((always_inline)) enum course begin(struct under_way *m,
                                                               struct espi_thread_state *thread_state,
                                                               enum espi_fn fn, const espi_word *args, bool receives)
{
    const enum espi_way_call call = receives ? ESPI_WAY_RECEIVE : ESPI_WAY_SEND;
    const MPI_Datatype type = (MPI_Datatype)args[TYPE];
    const int64_t count = (int64_t)(int)args[COUNT];
    struct espi_comm_facts *facts = &thread_state->comm;
    struct espi_type_slot *slot;
    struct espi_plan *plan;
    bool left;

    if (in_use || espi_settings.check || espi_type_is_predefined(type) || (int)args[PEER] == MPI_PROC_NULL ||
        (receives && args[STATUS] == 0) || !espi_leads() ||
        (plan = find_plan(type, count, call, &slot, &left)) == NULL)
        return ANOTHER;
    if (left) {
        left = espi_message_plan_is_left(thread_state, slot, plan, count, call, (int)args[PEER],
                                         (MPI_Comm)args[COMM]);
        espi_plan_give_back(plan);
        if (left)
            espi_count_call(thread_state->stats, fn);
        return left ? LEFT : ANOTHER;
    }
    if ((args[BUFFER] == 0 && plan->begins == 0) || /* MPI_BOTTOM, and no addresses in the type */
        !(espi_comm_is_last(facts, (MPI_Comm)args[COMM]) || espi_comm_look(facts, (MPI_Comm)args[COMM])) ||
        !espi_comm_has_peer(facts, (int)args[PEER], (int)args[TAG], receives) ||
        !espi_types_slot_is_tied(slot, type)) {
        espi_plan_give_back(plan);
        return ANOTHER;
    }
    *m = (struct under_way){plan, stream, (int)(plan->size * count), plan->stands && count == 1};
    if (m->stands) {
        m->stream = (void *)((uintptr_t)args[BUFFER] + (uintptr_t)plan->begins);
    } else {
        in_use = true;
        if (!receives)
            espi_packed_move(&plan->times, false, plan->pack, (void *)args[BUFFER], count, stream);
    }
    if (!espi_calls_overlap) /* else it is by the borrowed reference */
        espi_plan_hold(plan);
    espi_count_call(thread_state->stats, fn);
    count_packed(thread_state->stats, slot, plan, count, m->bytes);
    return PACKED;
}

/* After the call, with the status of one that receives, else NULL. True: it shall be made again, with the program's
   own arguments. */
static inline __attribute__((always_inline)) bool end(const struct under_way *m,
                                                      struct espi_thread_state *thread_state, enum espi_fn fn,
                                                      const espi_word *args, int result, const MPI_Status *status)
{
    if (!m->stands) {
        if (__builtin_expect(result == MPI_SUCCESS, 1) && status != NULL)
            espi_packed_received(&m->plan->times, m->plan->pack, m->stream, espi_status_bytes(status), m->bytes,
                                 (void *)args[BUFFER], (int64_t)(int)args[COUNT]);
        in_use = false;
    }
    espi_plan_release(m->plan);
    if (__builtin_expect(result == MPI_SUCCESS, 1))
        return false;
    struct espi_substitution call = {
        .thread_state = thread_state, .row = &espi_api_rows[fn], .args = args, .substituted = 1};
    return espi_substitute_repeat(&call, result);
}

/* Hands it over, and tells how long that took. */
static __attribute__((noinline)) espi_word send_timed(espi_next next, const espi_word *changed)
{
    const uint64_t begun = espi_stats_now();
    const espi_word result = ESPI_CALL(next, 6, changed);

    if ((int)result == MPI_SUCCESS)
        espi_core_distance_took(espi_stats_now() - begun);
    return result;
}

ESPI_OFTEN bool espi_short_send(struct espi_thread_state *thread_state, enum espi_fn fn, const espi_word *args,
                                espi_next next, espi_word *result)
{
    struct under_way m;

    const enum course course = begin(&m, thread_state, fn, args, false);
    if (__builtin_expect(course != PACKED, 0)) {
        if (course == LEFT)
            *result = ESPI_CALL(next, 6, args);
        return course == LEFT;
    }
    const espi_word changed[6] = {(espi_word)m.stream, (espi_word)m.bytes, MPI_PACKED, args[PEER], args[TAG],
                                  args[COMM]};
    if (fn != ESPI_FN_Ssend && espi_type_service.one_node && (int)args[PEER] != thread_state->comm.rank &&
        espi_core_distance_is_due())
        *result = send_timed(next, changed);
    else
        *result = ESPI_CALL(next, 6, changed);
    if (__builtin_expect(end(&m, thread_state, fn, args, (int)*result, NULL), 0))
        *result = ESPI_CALL(next, 6, args);
    return true;
}

ESPI_OFTEN bool espi_short_receive(struct espi_thread_state *thread_state, enum espi_fn fn, const espi_word *args,
                                   espi_next next, espi_word *result)
{
    MPI_Status own, *status = (MPI_Status *)args[STATUS] == MPI_STATUS_IGNORE ? &own : (MPI_Status *)args[STATUS];
    struct under_way m;

    const enum course course = begin(&m, thread_state, fn, args, true);
    if (__builtin_expect(course != PACKED, 0)) {
        if (course == LEFT)
            *result = ESPI_CALL(next, 7, args);
        return course == LEFT;
    }
    const espi_word changed[7] = {(espi_word)m.stream, (espi_word)m.bytes, MPI_PACKED, args[PEER],
                                  args[TAG],           args[COMM],         (espi_word)status};
    *result = ESPI_CALL(next, 7, changed);
    if (__builtin_expect(end(&m, thread_state, fn, args, (int)*result, status), 0))
        *result = ESPI_CALL(next, 7, args);
    return true;
}
