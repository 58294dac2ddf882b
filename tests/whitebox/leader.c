/*
 * Where calls of MPI overlap: which thread leads (src/base/overlap.h), what is done for its calls alone, and that
 * each reference to a plan is given back (src/mpi/typeplan/plan_use.h).
 */
#include <check.h>
#include <mpi.h>
#include <pthread.h>
#include <string.h>

#include "base/overlap.h"
#include "mpi/calls/local_turns.h"
#include "mpi/calls/message.h"
#include "mpi/calls/short_local.h"
#include "mpi/calls/short_message.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/datatype/own_types.h"
#include "mpi/packed/message_ways.h"
#include "mpi/packed/stream_type.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

enum { COUNT = 3, GAIN_NS = 100, ROOM = 1 << 14 };

static char data[1 << 16], stream[ROOM];
static MPI_Datatype type;
static struct espi_thread_state *state;
static struct espi_type_slot *slot;
static struct espi_plan *plan;

/* A type whose plan packs its messages and local calls, with nothing to be found out; this thread leads. */
static void begin(void)
{
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    espi_type_service.one_node = true;
    espi_comm_cache_start(true);
    atomic_store(&espi_running, true);
    state = espi_thread_state(&own_thread);
    type = regular_ints(3);
    slot = espi_slot_of(type);
    plan = plan_made(type, COUNT, true, ESPI_PACK_LOCAL);
    plan->forms_pending = false;
    atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    for (int use = 0; use < ESPI_PACKABLES; use++)
        atomic_store(&plan->packed_ns[use], 20 * GAIN_NS * (uint64_t)plan->count);
    memset(plan->doubtful, 0, sizeof plan->doubtful);
    plan->local[0].state = plan->local[1].state = ESPI_LOCAL_PACKS;
    struct espi_type_class *class = espi_slot_class(slot);
    class->packs = class->packs_others = true;
    espi_calls_overlap = true;
    espi_type_service.attributes = false;
    ck_assert(espi_leads());
}

static void end(void)
{
    ck_assert_int_eq(atomic_load(&plan->users), 1);
    espi_type_service.attributes = true;
    atomic_store(&espi_running, false);
    state->comm = (struct espi_comm_facts){.comm = MPI_COMM_NULL};
    MPI_Type_free(&type);
    espi_comm_cache_stop();
    espi_types_stop();
    espi_type_service.one_node = false;
}

static void *ends_while_it_leads(void *none)
{
    static struct espi_thread own; /* that is read when the thread ends */

    ck_assert_ptr_ne(espi_thread_state(&own), NULL);
    return espi_leads() ? &own_thread : none;
}

/* The first thread that asks; when it ends, the next one. */
START_TEST(leads)
{
    pthread_t other;
    void *led;

    espi_calls_overlap = true;
    ck_assert(espi_leads() && espi_leads());
    suite_another_leads(true);
    ck_assert(!espi_leads());
    espi_calls_overlap = false;
    ck_assert(espi_leads()); /* no other thread is in MPI */
    espi_calls_overlap = true;
    espi_leads_no_more(); /* which another one does */
    ck_assert(!espi_leads());
    suite_another_leads(false);
    espi_calls_overlap = true;
    ck_assert_int_eq(pthread_create(&other, NULL, ends_while_it_leads, NULL), 0);
    ck_assert_int_eq(pthread_join(other, &led), 0);
    ck_assert_ptr_ne(led, NULL);
    ck_assert(espi_leads());
    suite_another_leads(true);
    espi_leads_at_the_end();
    ck_assert(espi_leads());
    suite_another_leads(false);
}
END_TEST

/* ---- messages ---- */

static int given; /* type of what MPI was given */

static espi_word takes(espi_word buffer, espi_word count, espi_word of)
{
    (void)buffer, (void)count;
    given = (int)of;
    return MPI_SUCCESS;
}

static bool is_short(enum espi_fn fn)
{
    static MPI_Status status;
    const espi_word args[7] = {(espi_word)data, COUNT, (espi_word)type, 0, 0, MPI_COMM_SELF, (espi_word)&status};
    espi_word result;

    return (fn == ESPI_FN_Recv ? espi_short_receive : espi_short_send)(
        state, fn, args, (espi_next)(void (*)(void))takes, &result);
}

/* Whether it goes the way of messages that are seen to by a plan. */
static bool is_message(enum espi_fn fn)
{
    static MPI_Request request;
    const struct espi_api_row *row = &espi_api_rows[fn];
    const espi_word args[7] = {(espi_word)data, COUNT,         (espi_word)type,    0,
                               0,               MPI_COMM_SELF, (espi_word)&request};
    espi_word changed[7];
    struct espi_message m;

    request = MPI_REQUEST_NULL;
    memcpy(changed, args, sizeof changed);
    if (!espi_message_begin(&m, state, row, args, changed)) {
        ck_assert(memcmp(changed, args, sizeof changed) == 0);
        return false;
    }
    ck_assert_int_eq((MPI_Datatype)changed[2], MPI_PACKED);
    espi_message_end(&m, changed, MPI_ERR_OTHER); /* no request was made */
    return true;
}

static void all_of_messages(bool go)
{
    ck_assert_int_eq(is_short(ESPI_FN_Send), go);
    ck_assert_int_eq(is_short(ESPI_FN_Recv), go);
    ck_assert_int_eq(is_message(ESPI_FN_Ssend), go);
    ck_assert_int_eq(is_message(ESPI_FN_Isend), go);
    ck_assert_int_eq(is_message(ESPI_FN_Irecv), go);
    ck_assert_int_eq(espi_message_plan_packs(type, COUNT), go);
    ck_assert_int_eq(atomic_load(&plan->users), 1);
}

/* Of the leader they go the short way; of a type that MPI says is another one by now they do not. */
START_TEST(messages)
{
    begin();
    all_of_messages(true);
    ck_assert_int_eq(given, MPI_PACKED);
    atomic_fetch_add(&slot->generation, 1);
    all_of_messages(false);
    atomic_fetch_sub(&slot->generation, 1);
    all_of_messages(true);
    suite_another_leads(true);
    for (int i = 0; i < 2; i++) {
        ck_assert(!is_short(ESPI_FN_Send) && !is_short(ESPI_FN_Recv));
        ck_assert(!is_message(ESPI_FN_Ssend) && !is_message(ESPI_FN_Irecv));
    }
    suite_another_leads(false);
    espi_calls_overlap = true;
    all_of_messages(true);
    end();
}
END_TEST

/* Short ones of which the models are not sure are packed by the leader alone, which finds it out. */
START_TEST(doubts)
{
    static const enum espi_packable uses[] = {ESPI_PACK_MESSAGE, ESPI_PACK_RECEIVED, ESPI_PACK_PAIRED_SENT};

    begin();
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        for (int doubtful = 0; doubtful < 2; doubtful++) {
            const enum espi_message_calls calls = espi_message_calls_of(uses[i]);
            plan->doubtful[calls] = doubtful;
            ck_assert(espi_plan_is_to_pack(plan, COUNT, ESPI_WHOLE, uses[i], COUNT, 1));
            suite_another_leads(true);
            ck_assert_int_eq(espi_plan_is_to_pack(plan, COUNT, ESPI_WHOLE, uses[i], COUNT, 1), !doubtful);
            plan->found_of[calls][0] = (struct espi_plan_found){.count = COUNT, .loses = false}; /* it was */
            plan->n_found[calls] = 1;
            ck_assert(espi_plan_is_to_pack(plan, COUNT, ESPI_WHOLE, uses[i], COUNT, 1));
            plan->found_of[calls][0].loses = true;
            plan->n_lost = 1;
            ck_assert(!espi_plan_is_to_pack(plan, COUNT, ESPI_WHOLE, uses[i], COUNT, 1));
            plan->n_found[calls] = plan->n_lost = 0;
            plan->doubtful[calls] = false;
            suite_another_leads(false);
            espi_calls_overlap = true;
        }
    end();
}
END_TEST

/* Those that the plan leaves go on, whoever sends them. */
START_TEST(left)
{
    begin();
    ck_assert_ptr_eq(espi_message_plan_leaves(type, COUNT, ESPI_ALONE, true), NULL);
    for (int use = 0; use < ESPI_PACKABLES; use++)
        atomic_store(&plan->packed_ns[use], 0);
    for (int led = 0; led < 2; led++) {
        if (led)
            suite_another_leads(true);
        ck_assert_ptr_eq(espi_message_plan_leaves(type, COUNT, ESPI_ALONE, true), slot);
        ck_assert_int_eq(atomic_load(&plan->users), 1);
    }
    suite_another_leads(false);
    espi_calls_overlap = true;
    end();
}
END_TEST

/* What others complete of a batch does not end it, nor is it counted. */
START_TEST(batches)
{
    const struct espi_way_question q = {
        .open = ESPI_WAYS_EVEN, .call = ESPI_WAY_BATCH, .near = true, .packs = true, .bytes = 20000};
    struct espi_way_turn turn = {.batch = 0};

    espi_calls_overlap = true;
    ck_assert(espi_leads());
    espi_ways_start(true);
    for (int i = 0; i < 10000 && turn.batch == 0; i++) {
        turn = espi_way_turn(&q);
        if (turn.batch == 0)
            espi_way_turn_end(&turn, true);
    }
    ck_assert_uint_ne(turn.batch, 0);
    espi_way_batch_joined(turn.batch);
    espi_way_turn_end(&turn, true);
    const unsigned batch = espi_way_batch;
    ck_assert_uint_ne(batch, 0);
    suite_another_leads(true);
    espi_way_batch_left(batch);
    espi_way_batch_took(1);
    espi_way_batch_spoilt(batch);
    ck_assert_uint_eq(espi_way_batch, batch);
    const struct espi_way_turn of_another = espi_way_turn(&q);
    ck_assert(of_another.group == NULL && of_another.way == ESPI_WAY_TYPED);
    ck_assert(!espi_way_is_known(&q) && !espi_way_was_tried(&q));
    suite_another_leads(false);
    espi_calls_overlap = true;
    ck_assert(espi_leads());
    espi_way_batch_left(batch);
    espi_way_batch_took(1);
    ck_assert_uint_eq(espi_way_batch, 0);
}
END_TEST

/* ---- cells ---- */

static void ends_with_a_callback(MPI_Datatype cells, bool does)
{
    const long held = held_types();

    espi_pmpi.Type_free(&cells);
    ck_assert_int_eq(held_types() < held, does);
}

/* Types of ours have no callback that MPI might call from within its progress: none is freed for another one's sake,
   and each counts until it is. */
START_TEST(cells)
{
    enum { FIRST = 9000, N = 64 };
    MPI_Datatype kept[N];
    int n = 0;

    for (int overlap = 0; overlap < 2; overlap++) {
        espi_calls_overlap = overlap;
        start_cells();
        const long none = held_types();
        ends_with_a_callback(espi_stream_type_take(FIRST, ESPI_STREAM_IN_ROW), !overlap);
        espi_own_types_add(none - held_types());
        for (int i = 0; i < N; i++) {
            kept[i] = espi_stream_type_take(FIRST + i, ESPI_STREAM_SPLIT);
            if (kept[i] != MPI_DATATYPE_NULL)
                espi_stream_type_back(kept[i], FIRST + i, ESPI_STREAM_SPLIT);
            n += kept[i] != MPI_DATATYPE_NULL;
        }
        ck_assert_int_eq(n, overlap ? 16 - 2 : N); /* two were not given back */
        for (int i = 0; i < N && overlap; i++) /* the same ones all the time */
            ck_assert(kept[i] == MPI_DATATYPE_NULL ||
                      espi_stream_type_take(FIRST + i, ESPI_STREAM_SPLIT) == kept[i]);
        for (int i = 0; i < N && overlap; i++)
            if (kept[i] != MPI_DATATYPE_NULL)
                espi_stream_type_back(kept[i], FIRST + i, ESPI_STREAM_SPLIT);
        ck_assert_int_eq(held_types() - none, overlap ? n : 16);
        espi_stream_types_close();
        ck_assert_int_eq(held_types(), none);
        n = 0;
    }
}
END_TEST

/* ---- MPI_Pack ---- */

static int at;

static const espi_word *local_args(void)
{
    static espi_word args[7];
    const espi_word now[7] = {(espi_word)data, COUNT,           (espi_word)type, (espi_word)stream,
                              ROOM,            (espi_word)&at, MPI_COMM_SELF};

    at = 0;
    memcpy(args, now, sizeof args);
    return args;
}

static bool local_is_short(void)
{
    espi_word result;

    return espi_short_local(state, ESPI_FN_Pack, local_args(), (espi_next)(void (*)(void))takes, &result);
}

START_TEST(local)
{
    const struct espi_api_row *row = &espi_api_rows[ESPI_FN_Pack];

    begin();
    ck_assert(local_is_short());
    ck_assert_int_eq(at, COUNT * (int)plan->size);
    atomic_fetch_add(&slot->generation, 1);
    ck_assert(!local_is_short());
    atomic_fetch_sub(&slot->generation, 1);
    ck_assert_int_eq(atomic_load(&plan->users), 1);
    plan->local[0].state = ESPI_LOCAL_TRIED;
    ck_assert_int_eq(espi_local_call(plan, row, local_args(), false), ESPI_LOCAL_PACKED); /* the first of its turns */
    ck_assert_uint_eq(plan->local[0].trial.turns[ESPI_BY_COPY], 1);
    suite_another_leads(true);
    for (int i = 0; i < 100; i++) { /* of others' nothing is found out: the library does it */
        ck_assert(!local_is_short());
        ck_assert_ptr_eq(espi_short_local_leaves(type, COUNT, ESPI_FN_Pack), NULL);
        ck_assert_int_eq(espi_local_call(plan, row, local_args(), false), ESPI_LOCAL_BY_LIBRARY);
        ck_assert_int_eq(at, COUNT * (int)plan->size);
    }
    ck_assert_uint_eq(plan->local[0].trial.turns[ESPI_BY_COPY], 1);
    ck_assert_uint_eq(plan->local[0].trial.turns[ESPI_BY_CALL], 0);
    ck_assert_int_eq(plan->local[0].state, ESPI_LOCAL_TRIED);
    plan->local[0].state = ESPI_LOCAL_PACKS;
    ck_assert_int_eq(espi_local_call(plan, row, local_args(), false), ESPI_LOCAL_PACKED);
    plan->local[0].state = ESPI_LOCAL_TRIED;
    suite_another_leads(false);
    espi_calls_overlap = true;
    ck_assert_int_eq(espi_local_call(plan, row, local_args(), false), ESPI_LOCAL_PACKED);
    ck_assert_uint_eq(plan->local[0].trial.turns[ESPI_BY_COPY], 2);
    plan->local[0].anew = true; /* the plan was improved, by any thread */
    ck_assert_int_eq(espi_local_call(plan, row, local_args(), false), ESPI_LOCAL_PACKED);
    ck_assert_uint_eq(plan->local[0].trial.turns[ESPI_BY_COPY], 1);
    ck_assert(!plan->local[0].anew);
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "whitebox/leader", leads, messages, doubts, left, batches, cells, local);
}
