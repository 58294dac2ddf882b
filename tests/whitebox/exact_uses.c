/*
 * Uses that differ from others of their kind: messages whose requests are to be kept, ones for nobody, one-sided
 * calls, and collective calls with one buffer for both sides. Which of them are packed, and what they are said to
 * save.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/datatype/own_types.h"
#include "mpi/calls/call_args.h"
#include "mpi/calls/message.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/calls/substitute.h"
#include "mpi/typeplan/tiers.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "mpi/typeplan/plan_use.h"
#include "suite.h"
#include "type_service.h"

static char memory[1 << 16];
static MPI_Datatype type;
static struct espi_thread_state *thread_state;
static struct espi_plan *plan;
static MPI_Request request;

/* The plan says that packing an item saves so much in a message. */
static void begin(uint64_t packed_ns)
{
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    espi_comm_cache_start(true);
    type = regular_ints(3);
    thread_state = espi_thread_state(&own_thread);
    espi_own_types_close(); /* no better type is made */
    const struct espi_way way = espi_types_way(&own_thread, type, 1, false, ESPI_PACK_MESSAGE);
    ck_assert(way.packed != NULL);
    espi_plan_release(way.packed);
    espi_type_service.packing = ESPI_MODE_AUTO;
    plan = atomic_load(&espi_slot_of(type)->plan);
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], packed_ns);
    plan->gain_ns[ESPI_WHOLE] = plan->gain_ns[ESPI_PARTS] = 0;
    atomic_store(&espi_slot_of(type)->look, 1 << 20);
}

static void end(void)
{
    thread_state->comm = (struct espi_comm_facts){.comm = MPI_COMM_NULL};
    MPI_Type_free(&type);
    espi_comm_cache_stop();
    espi_types_stop();
}

/* Whether such a use is packed, in the general way and the short one. What it is said to save, in ns. */
static bool packs(enum espi_packable use, int64_t count, uint64_t *saved_ns)
{
    _Atomic uint64_t *saved = plan->record->saved_ps;
    const uint64_t before = saved[0] + saved[1] + saved[2];
    const struct espi_way way = espi_types_way(&own_thread, type, count, false, use);

    *saved_ns = (saved[0] + saved[1] + saved[2] - before) / 1000;
    if (way.packed != NULL)
        espi_plan_release(way.packed);
    if (use != ESPI_PACK_NOT && use != ESPI_PACK_ONE_SIDED) {
        const struct espi_message_plan found = espi_message_plan(type, count, use);
        ck_assert_int_eq(found.plan != NULL, way.packed != NULL);
        ck_assert(!found.typed);
        espi_plan_give_back(found.plan);
    }
    return way.packed != NULL;
}

/* Calls of one kind lose by packing. Types of the class go on without a plan then, unless it is being found out of
   another kind. */
START_TEST(one_kind_loses)
{
    enum { TRIES = 5 };

    for (int doubtful = 0; doubtful < 2; doubtful++) {
        begin(2000);
        struct espi_type_class *class = espi_slot_class(espi_slot_of(type));
        class->packs = true;
        class->packs_others = false;
        plan->doubtful[ESPI_ALONE] = doubtful;
        plan->tries[ESPI_ALONE] = TRIES;
        plan->found_of[ESPI_KEPT][0] = (struct espi_plan_found){.count = 1, .loses = true};
        plan->n_found[ESPI_KEPT] = plan->n_lost = 1;
        for (int i = 0; i <= TRIES; i++) { /* it is not waited for them for ever */
            ck_assert_ptr_null(espi_message_plan(type, 1, ESPI_PACK_KEPT_RECEIVED).plan);
            ck_assert_int_eq(class->packs, doubtful && i < TRIES);
        }
        plan->n_found[ESPI_KEPT] = plan->n_lost = 0;
        end();
    }
}
END_TEST

/* To keep a request costs what short messages gain by packing. */
START_TEST(kept)
{
    static const struct {
        enum espi_packable use;
        uint64_t each;
        int64_t count;
        uint64_t saves; /* 0: it is not packed */
    } is[] = {{ESPI_PACK_MESSAGE, 200, 1, 200},       {ESPI_PACK_RECEIVED, 200, 1, 200},
              {ESPI_PACK_KEPT_SENT, 200, 1, 0},       {ESPI_PACK_KEPT_RECEIVED, 200, 1, 0},
              {ESPI_PACK_KEPT_SENT, 300, 1, 0},       {ESPI_PACK_KEPT_SENT, 301, 1, 1},
              {ESPI_PACK_KEPT_RECEIVED, 1000, 1, 700}, {ESPI_PACK_KEPT_SENT, 200, 3, 300},
              {ESPI_PACK_MESSAGE, 200, 3, 600},        {ESPI_PACK_STARTED_SENT, 200, 1, 200},
              {ESPI_PACK_STARTED_RECEIVED, 200, 1, 200}, {ESPI_PACK_PAIRED_SENT, 200, 1, 200},
              {ESPI_PACK_PAIRED_RECEIVED, 200, 1, 200}};
    uint64_t saved;

    for (size_t i = 0; i < sizeof is / sizeof is[0]; i++) {
        begin(is[i].each);
        ck_assert_int_eq(plan->count, 1);
        ck_assert_int_eq(packs(is[i].use, is[i].count, &saved), is[i].saves > 0);
        ck_assert_uint_eq(saved, is[i].saves);
        end();
    }
    begin(0); /* whatever it costs */
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    ck_assert(packs(ESPI_PACK_KEPT_SENT, 1, &saved));
    ck_assert_uint_eq(saved, 0);
    end();
}
END_TEST

/* Which sides of messages of several parts are whose. */
START_TEST(sides)
{
    static const struct {
        enum espi_packable use;
        enum espi_stats_saved where;
    } is[] = {{ESPI_PACK_MESSAGE, ESPI_SAVED_SENDING},       {ESPI_PACK_KEPT_SENT, ESPI_SAVED_SENDING},
              {ESPI_PACK_RECEIVED, ESPI_SAVED_RECEIVING},    {ESPI_PACK_KEPT_RECEIVED, ESPI_SAVED_RECEIVING},
              {ESPI_PACK_PAIRED_SENT, ESPI_SAVED_SENDING},   {ESPI_PACK_PAIRED_RECEIVED, ESPI_SAVED_RECEIVING},
              {ESPI_PACK_STARTED_SENT, ESPI_SAVED_SENDING},  {ESPI_PACK_STARTED_RECEIVED, ESPI_SAVED_RECEIVING},
              {ESPI_PACK_LOCAL, ESPI_SAVED_ALONE},           {ESPI_PACK_EACH, ESPI_SAVED_ALONE}};

    begin(1000);
    for (size_t i = 0; i < sizeof is / sizeof is[0]; i++)
        for (int p = 0; p < ESPI_PURPOSES; p++) {
            uint64_t before[ESPI_SAVED_KINDS];
            for (int k = 0; k < ESPI_SAVED_KINDS; k++)
                before[k] = plan->record->saved_ps[k];
            plan->packed_ns[ESPI_PACK_LOCAL] = 1000;
            plan->judged = UINT64_C(1) << ESPI_JUDGED_EACH;
            plan->judged_ns = 1000;
            espi_plan_credit(plan, 1, (enum espi_purpose)p, true, is[i].use);
            for (int k = 0; k < ESPI_SAVED_KINDS; k++) {
                const bool here = k == (p == ESPI_PARTS ? (int)is[i].where : ESPI_SAVED_ALONE);
                ck_assert_int_eq(plan->record->saved_ps[k] > before[k], here);
            }
        }
    end();
}
END_TEST

/* In collective calls what a block was found to save counts, for each of them. */
START_TEST(blocks)
{
    uint64_t before;

    begin(1000);
    before = plan->record->saved_ps[ESPI_SAVED_ALONE];
    plan->judged = UINT64_C(3) << ESPI_JUDGED_EACH;
    plan->judged_ns = 70;
    espi_plan_credit(plan, 12, ESPI_WHOLE, true, ESPI_PACK_EACH);
    ck_assert_uint_eq(plan->record->saved_ps[ESPI_SAVED_ALONE] - before, 4 * 70 * 1000);
    ck_assert_uint_eq(plan->saved_ns, 4 * 70 + 1);
    plan->judged = 0; /* ESPALIER_PACK=always asks nothing */
    espi_plan_credit(plan, 12, ESPI_WHOLE, true, ESPI_PACK_EACH);
    ck_assert_uint_eq(plan->saved_ns, 0);
    end();
}
END_TEST

/* Reductions are uses as others are, but save nothing: they are errors without us. What is decided by savings goes on
   as it was. */
START_TEST(reductions)
{
    static const enum espi_packable uses[] = {ESPI_PACK_LOCAL, ESPI_PACK_REDUCED, ESPI_PACK_REDUCED_NOT};

    for (int i = 0; i < 3; i++) {
        const bool packed = uses[i] != ESPI_PACK_REDUCED_NOT;
        begin(1000);
        plan->packed_ns[ESPI_PACK_LOCAL] = 1000;
        const uint64_t before = plan->record->saved_ps[ESPI_SAVED_ALONE], changed = plan->record->changed,
                       examined = counted(ESPI_COUNT_calls_examined), packs = counted(ESPI_COUNT_calls_packed);
        const struct espi_way way =
            espi_types_counted_way(&own_thread, thread_state->stats, type, 1, true, uses[i]);
        ck_assert_int_eq(way.packed != NULL, packed);
        if (packed) {
            espi_plan_release(way.packed);
            ck_assert_uint_eq(plan->saved_ns, 1001);
        }
        ck_assert_uint_eq(plan->record->saved_ps[ESPI_SAVED_ALONE] - before,
                          uses[i] == ESPI_PACK_LOCAL ? 1000000 : 0);
        ck_assert_uint_eq(plan->record->changed - changed, packed);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_examined) - examined, 1);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_packed) - packs, packed);
        end();
    }
}
END_TEST

/* A message of several parts whose ways were timed: packing saves what was measured, on top of the better type, and
   that its gain where it is used; as the program's type it is known to save nothing. What was measured in all is for
   the report alone. Where ways were not timed yet,
   what a type saves says nothing of what packing will; and one that goes as a type in its turn, while the others are
   packed, saves nothing itself. */
START_TEST(timed_ways)
{
    static const struct {
        bool packed, better;
        uint64_t gain;
        double measured, in_all; /* negative: it was not */
        uint64_t saves; /* and 1; 0: nothing is known; 77: what was known before */
        uint64_t said;  /* in the report */
    } is[] = {{true, false, 0, 300, -1, 301, 300},  {true, true, 500, 300, -1, 1301, 1300},
              {true, true, 500, 0, -1, 1001, 1000}, {false, true, 500, 0, -1, 1001, 1000},
              {false, true, 500, -1, -1, 77, 1000}, {false, false, 0, 0, -1, 1, 0},
              {true, false, 0, 0, -1, 0, 0},        {false, false, 0, -1, -1, 77, 0},
              {false, false, 0, 300, -1, 301, 0},   {true, false, 0, 300, 700, 301, 700},
              {true, true, 500, 300, 900, 1301, 900}, {false, true, 500, 0, 600, 1001, 600},
              {false, false, 0, 0, 400, 1, 400},    {true, true, 500, 0, 0, 1001, 0}};

    for (size_t i = 0; i < sizeof is / sizeof is[0]; i++) {
        begin(1000);
        const struct espi_message_plan found = {
            .plan = plan, .slot = espi_slot_of(type), .bytes = 20000, .parts = true};
        uint64_t before[ESPI_SAVED_KINDS], said[ESPI_SAVED_KINDS];
        const uint64_t changed = plan->record->changed;
        for (int k = 0; k < ESPI_SAVED_KINDS; k++)
            before[k] = plan->record->saved_ps[k];
        const struct espi_message_saving saved = {is[i].measured, is[i].in_all};
        plan->gain_ns[ESPI_PARTS] = is[i].gain;
        plan->saved_ns = 77;
        if (is[i].packed)
            espi_message_plan_packed(thread_state->stats, &found, 2, ESPI_PACK_MESSAGE, &saved);
        else
            espi_message_plan_typed(thread_state->stats, &found, 2, is[i].better ? MPI_INT : MPI_DATATYPE_NULL,
                                    ESPI_PACK_MESSAGE, &saved);
        ck_assert_uint_eq(plan->saved_ns, is[i].saves);
        ck_assert_uint_eq(plan->record->changed - changed, is[i].packed || is[i].better);
        for (int k = 0; k < ESPI_SAVED_KINDS; k++)
            said[k] = (plan->record->saved_ps[k] - before[k]) / 1000;
        if (is[i].in_all < 0)
            ck_assert_uint_eq(said[ESPI_SAVED_SENDING], 2 * is[i].gain); /* of a side */
        ck_assert_uint_eq(said[ESPI_SAVED_ALONE] + said[ESPI_SAVED_SENDING], is[i].said);
        end();
    }
}
END_TEST

/* No more is said to be saved than a message can save, whatever calls had to wait for; and one that goes as the
   program's type in its turn says nothing of others. */
START_TEST(bounds)
{
    for (int packed = 0; packed < 2; packed++) {
        begin(1000);
        const struct espi_message_plan found = {
            .plan = plan, .slot = espi_slot_of(type), .bytes = 20000, .parts = true};
        const struct espi_message_saving huge = {packed ? 1e12 : 0, 1e12}, by_way = {1e12, -1};
        const double most = espi_plan_saves_at_most(plan, 2);
        uint64_t before = plan->record->saved_ps[ESPI_SAVED_ALONE];
        if (packed)
            espi_message_plan_packed(thread_state->stats, &found, 2, ESPI_PACK_MESSAGE, &huge);
        else
            espi_message_plan_typed(thread_state->stats, &found, 2, MPI_DATATYPE_NULL, ESPI_PACK_MESSAGE, &huge);
        ck_assert_uint_eq(plan->record->saved_ps[ESPI_SAVED_ALONE] - before, (uint64_t)(1000 * most));
        before = plan->record->saved_ps[ESPI_SAVED_ALONE];
        espi_message_plan_packed(thread_state->stats, &found, 2, ESPI_PACK_MESSAGE, &by_way);
        ck_assert_uint_eq(plan->record->saved_ps[ESPI_SAVED_ALONE] - before, (uint64_t)(1000 * most));
        plan->saved_ns = 77;
        before = plan->record->saved_ps[ESPI_SAVED_ALONE];
        espi_message_plan_own(thread_state->stats, &found, 2);
        ck_assert_uint_eq(plan->saved_ns, 77);
        ck_assert_uint_eq(plan->record->saved_ps[ESPI_SAVED_ALONE], before);
        end();
    }
}
END_TEST

/* What the library does with the types of one-sided calls is not modelled, so nothing is said to be saved. */
START_TEST(one_sided)
{
    uint64_t saved;

    begin(1000);
    plan->gain_ns[ESPI_WHOLE] = 500;
    atomic_store(&plan->better[ESPI_WHOLE], MPI_INT); /* is never used */
    packs(ESPI_PACK_ONE_SIDED, 1, &saved);
    ck_assert_uint_eq(saved, 0);
    packs(ESPI_PACK_NOT, 1, &saved);
    ck_assert_uint_eq(saved, 500);
    atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    end();
}
END_TEST

/* A message for nobody goes on as it is, and no use is counted, in any call. */
START_TEST(nobody)
{
    static const enum espi_fn fns[] = {ESPI_FN_Send, ESPI_FN_Recv, ESPI_FN_Isend, ESPI_FN_Irecv, ESPI_FN_Ssend};
    MPI_Status status;

    begin(1000000);
    for (size_t i = 0; i < sizeof fns / sizeof fns[0]; i++)
        for (int null = 0; null < 2; null++) {
            const struct espi_api_row *row = &espi_api_rows[fns[i]];
            espi_word args[7] = {(espi_word)memory, 1, type, null ? (espi_word)MPI_PROC_NULL : 0, 1, MPI_COMM_SELF,
                                 row->kind & ESPI_NONBLOCKING ? (espi_word)&request : (espi_word)&status};
            espi_word changed[7];
            struct espi_substitution d = {.thread = &own_thread, .thread_state = thread_state, .row = row,
                                          .args = args, .changed = changed};
            const uint64_t uses = espi_slot_of(type)->uses;
            memcpy(changed, args, sizeof changed);
            ck_assert(espi_message_is(row));
            ck_assert_int_eq(espi_message_is_to_nobody(row, args), null);
            espi_substitute_begin(&d);
            ck_assert_int_eq(changed[2] != args[2], !null);
            ck_assert_int_eq(espi_slot_of(type)->uses - uses, !null);
            espi_substitute_end(&d, MPI_ERR_OTHER);
        }
    end();
}
END_TEST

/* As MPICH: one buffer for both sides is refused where counts and types are the same ones, too, but not among
   neighbours. */
START_TEST(one_buffer)
{
    static const int counts[2], others[2];
    static const MPI_Datatype types[2], more[2];
    static const struct {
        enum espi_fn fn;
        bool counts, types, is_good;
    } is[] = {{ESPI_FN_Alltoallw, false, false, false},         {ESPI_FN_Alltoallw, true, false, true},
              {ESPI_FN_Alltoallw, false, true, true},           {ESPI_FN_Ialltoallw, false, false, false},
              {ESPI_FN_Ialltoallw, true, true, true},           {ESPI_FN_Neighbor_alltoallw, false, false, true},
              {ESPI_FN_Ineighbor_alltoallw, false, false, true}};

    for (size_t i = 0; i < sizeof is / sizeof is[0]; i++) {
        espi_word args[10] = {(espi_word)memory, (espi_word)counts, 0, (espi_word)types, (espi_word)memory,
                              (espi_word)(is[i].counts ? others : counts), 0,
                              (espi_word)(is[i].types ? more : types), MPI_COMM_SELF, (espi_word)&request};
        ck_assert_int_eq(espi_args_buffers_differ(&espi_api_rows[is[i].fn], args), is[i].is_good);
        args[4] = (espi_word)(memory + 8);
        ck_assert(espi_args_buffers_differ(&espi_api_rows[is[i].fn], args));
    }
    espi_word args[] = {(espi_word)memory, 1, MPI_INT, (espi_word)memory, 1, MPI_INT, MPI_COMM_SELF};
    ck_assert(!espi_args_buffers_differ(&espi_api_rows[ESPI_FN_Alltoall], args));
    ck_assert(espi_args_buffers_differ(&espi_api_rows[ESPI_FN_Neighbor_alltoall], args));
    ck_assert(espi_args_buffers_differ(&espi_api_rows[ESPI_FN_Neighbor_allgather], args));
}
END_TEST

static struct espi_type_class *class_of_list;

/* So many uses of a type in a long block of a call through shared memory: whether the last one has a plan. */
static bool soon(int numbers, int uses)
{
    int at[64];
    MPI_Datatype list;

    for (int i = 0; i < numbers; i++)
        at[i] = 700 * i + i % 3;
    MPI_Type_create_indexed_block(numbers, 600, at, MPI_DOUBLE, &list);
    MPI_Type_commit(&list);
    espi_types_committed(espi_thread_state(&own_thread), list);
    uint64_t saved = 0;
    bool found = false;
    for (int use = 0; use < uses; use++) {
        struct espi_plan *one = espi_exchanged_plan(thread_state->stats, list, 1, 1, true, &saved);
        if ((found = one != NULL))
            espi_plan_release(one);
    }
    class_of_list = espi_slot_class(espi_slot_of(list));
    espi_types_ending(espi_thread_state(&own_thread), list);
    MPI_Type_free(&list);
    return found;
}

/* It is planned at once where that takes a few microseconds, a list when it comes again, as the same type or as one
   of many that are made alike, or where others came again. */
START_TEST(exchanged)
{
    enum { ALIKE = 8 };

    begin(1000);
    espi_type_service.packing = ESPI_MODE_AUTO;
    ck_assert(soon(12, 1));
    for (int i = 0; i < ALIKE; i++)
        ck_assert(!soon(60, 1));
    ck_assert(soon(60, 1));
    /* Lists of a class that has a plan, which are others all the same, wait as everywhere. */
    *class_of_list = (struct espi_type_class){
        .hint = class_of_list->hint, .uses = 100, .items = 100, .ended = 100, .state = ESPI_CLASS_BETTER,
        .exchanged = true, .tier = 1, .size = class_of_list->size, .numbers = class_of_list->numbers, .gain_ns = 1,
        .look_ns = 1, .make_ns = 1000000, .recognized = ESPI_TIERS_PROVED, .anew = 4, .often = -4};
    ck_assert(!soon(60, ALIKE));
    ck_assert(soon(60, ALIKE + 1)); /* but not for ever */
    ck_assert(!soon(40, 1));
    for (int i = 0; i < ALIKE; i++) {
        ck_assert_ptr_ne(class_of_list->family, NULL);
        class_of_list->family->make_ns = 1; /* whatever disturbed the first one */
        ck_assert(soon(41 + i, 2));
    }
    ck_assert(soon(50, 1)); /* as others like it were used again */
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "exact_uses", kept, one_kind_loses, sides, blocks, reductions, timed_ways,
                     bounds, one_sided, nobody, one_buffer, exchanged);
}
