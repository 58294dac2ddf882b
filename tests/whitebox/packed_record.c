/*
 * Records of packed messages (src/mpi/packed/packed_record.h): persistent requests and their cycles, requests that
 * are freed, calls that error handlers leave for good, handles that come again, and several threads that ask for the
 * status of one request. One process sends to itself.
 */
#include <check.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/packed/packed_call.h"
#include "mpi/packed/packed_persistent.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/calls/substitute.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

enum { SALT = 3, STRIDE = 2 + SALT, INTS = 24, ROOM = STRIDE * INTS, MB = 1 << 20, TAG = 6 };

static int sent[ROOM], got[ROOM];

static void begin(void)
{
    espi_settings_defaults(&espi_settings);
    espi_settings.pack_mb = 1;
    espi_settings.check = 1;
    start(ESPI_MODE_AUTO);
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    espi_comm_cache_start(true);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

static void end(void)
{
    espi_comm_cache_stop();
    espi_types_stop();
}

/* Nothing is in use any more, and no comparison has failed. */
static void all_is_back(void)
{
    espi_packed_record_sweep();
    ck_assert_int_eq(atomic_load(&espi_packed_requests), 0);
    ck_assert_int_eq(spare_bytes(), MB);
    ck_assert_uint_eq(counted(ESPI_COUNT_checks_failed), 0);
}

/* Makes a request by this function, packed, of a type that is freed at once. */
static MPI_Request make(enum espi_fn fn, void *data, int count)
{
    MPI_Datatype type = regular_ints(SALT);
    MPI_Request request = MPI_REQUEST_NULL;
    espi_word args[7] = {(espi_word)data, (espi_word)count, (espi_word)type, 0, TAG, MPI_COMM_SELF,
                         (espi_word)&request};
    espi_word changed[7];
    struct espi_substitution d = {.thread = &own_thread, .thread_state = espi_thread_state(&own_thread),
                                  .row = &espi_api_rows[fn], .args = args, .changed = changed};
    int code;

    memcpy(changed, args, sizeof args);
    espi_substitute_begin(&d);
    ck_assert(changed[2] == (espi_word)MPI_PACKED);
#define MAKE(name) PMPI_##name((void *)changed[0], (int)changed[1], MPI_PACKED, 0, TAG, MPI_COMM_SELF, &request)
    code = fn == ESPI_FN_Send_init   ? MAKE(Send_init)
           : fn == ESPI_FN_Recv_init ? MAKE(Recv_init)
           : fn == ESPI_FN_Irecv     ? MAKE(Irecv)
                                     : MAKE(Issend);
#undef MAKE
    ck_assert_int_eq(code, MPI_SUCCESS);
    espi_substitute_end(&d, code);
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    return request;
}

static void run(MPI_Request *request)
{
    espi_word args[1] = {(espi_word)request};

    espi_packed_start(ESPI_FN_Start, args);
    ck_assert_int_eq(PMPI_Start(request), MPI_SUCCESS);
}

static espi_word go_on(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread;
    (void)next;
    if (fn == ESPI_FN_Request_free)
        return (espi_word)PMPI_Request_free((MPI_Request *)args[0]);
    if (fn == ESPI_FN_Waitall)
        return (espi_word)PMPI_Waitall((int)args[0], (MPI_Request *)args[1], (MPI_Status *)args[2]);
    return (espi_word)PMPI_Wait((MPI_Request *)args[0], (MPI_Status *)args[1]);
}

static void wait_for(MPI_Request *request)
{
    espi_word args[2] = {(espi_word)request, (espi_word)MPI_STATUS_IGNORE};

    ck_assert_int_eq((int)espi_packed_complete(&own_thread, ESPI_FN_Wait, args, NULL, go_on), MPI_SUCCESS);
}

static void let_free(MPI_Request *request)
{
    espi_word args[1] = {(espi_word)request};

    ck_assert_int_eq((int)espi_packed_complete(&own_thread, ESPI_FN_Request_free, args, NULL, go_on), MPI_SUCCESS);
    ck_assert(*request == MPI_REQUEST_NULL);
}

static void refill(int salt)
{
    for (int i = 0; i < ROOM; i++) {
        sent[i] = salt + i;
        got[i] = -1;
    }
}

/* `bad` is where what was received is not `salt` and its place. */
static int wrong_places(int salt)
{
    int bad = 0;

    for (int i = 0; i < ROOM; i++)
        bad += got[i] != (i % STRIDE == 0 ? salt + i : -1);
    return bad;
}

/* What a program sends is what it has when it starts. */
START_TEST(cycles)
{
    begin();
    MPI_Request send = make(ESPI_FN_Send_init, sent, 1), receive = make(ESPI_FN_Recv_init, got, 1);
    const uint64_t bytes = counted(ESPI_COUNT_bytes_packed), checked = compared_messages(),
                   examined = counted(ESPI_COUNT_calls_examined), packed = counted(ESPI_COUNT_calls_packed);
    struct espi_report_type told = uses_told(), now;
    for (int cycle = 1; cycle < 5; cycle++) {
        refill(1000 * cycle);
        run(&receive);
        run(&send);
        refill(1000 * cycle + 7); /* MPI has it */
        wait_for(&receive);
        ck_assert_int_eq(wrong_places(1000 * cycle), 0);
        wait_for(&send);
        wait_for(&send); /* inactive */
        got[0] = 4711;
        wait_for(&receive);
        ck_assert_int_eq(got[0], 4711);
    }
    ck_assert_uint_eq(counted(ESPI_COUNT_bytes_packed), bytes + 2 * 4 * INTS * sizeof(int));
    /* Each start is a use; the first one was counted when the request was made. */
    ck_assert_uint_eq(counted(ESPI_COUNT_calls_examined), examined + 2 * 3);
    ck_assert_uint_eq(counted(ESPI_COUNT_calls_packed), packed + 2 * 3);
    now = uses_told();
    ck_assert_uint_eq(now.uses, told.uses + 2 * 3);
    ck_assert_uint_eq(now.changed, told.changed + 2 * 3);
    ck_assert_uint_eq(now.elements, told.elements + 2 * 3);
    ck_assert_uint_eq(now.bytes, told.bytes + 2 * 3 * INTS * sizeof(int));
    ck_assert_uint_eq(compared_messages(), checked + 2 * 4);
    ck_assert_int_eq(atomic_load(&espi_packed_requests), 2);
    let_free(&send);
    let_free(&receive);
    all_is_back();
    end();
}
END_TEST

/* An active request that is freed goes on; what it received is there when a later call looks. It is not compared with
   what MPI would have received: the program may have seen that it is there, and use the memory for something else. */
START_TEST(freed)
{
    begin();
    const uint64_t checked = compared_messages();
    MPI_Request send = make(ESPI_FN_Send_init, sent, 1), receive = make(ESPI_FN_Recv_init, got, 1);
    refill(5);
    run(&receive);
    let_free(&receive);
    espi_packed_record_sweep();
    ck_assert_int_eq(atomic_load(&espi_packed_requests), 2);
    run(&send);
    ck_assert_int_eq(wrong_places(5), INTS);
    let_free(&send);
    all_is_back();
    ck_assert_int_eq(wrong_places(5), 0);
    ck_assert_uint_eq(compared_messages(), checked + 1); /* what was sent */
    /* The same of requests that are not persistent; they are asked in turns. */
    MPI_Request receives[3];
    for (int i = 0; i < 3; i++) {
        receives[i] = make(ESPI_FN_Irecv, got, 1);
        let_free(&receives[i]);
    }
    ck_assert_int_eq(atomic_load(&espi_packed_requests), 3);
    for (int i = 0; i < 3; i++) {
        send = make(ESPI_FN_Send_init, sent, 1);
        refill(6 + i);
        run(&send);
        wait_for(&send);
        let_free(&send);
    }
    all_is_back();
    ck_assert_uint_eq(compared_messages(), checked + 1 + 3);
    end();
}
END_TEST

/* While a thread is about to tell the stub that there are requests, another one makes its own: calls that complete it
   come to the core from then on, and not when the first thread has got so far. */
START_TEST(two_at_once)
{
    begin();
    MPI_Request receive[2] = {make(ESPI_FN_Irecv, got, 1), MPI_REQUEST_NULL};
    espi_handle_table_plain(~0U, ESPI_PLAIN_REQUESTS, NULL);
    receive[1] = make(ESPI_FN_Irecv, got, 1);
    const unsigned plain = atomic_load(&espi_hot->plain);
    for (int i = 0; i < 2; i++) {
        PMPI_Cancel(&receive[i]);
        wait_for(&receive[i]);
    }
    all_is_back();
    end();
    ck_assert(!(plain & ESPI_PLAIN_REQUESTS));
}
END_TEST

/* ---- calls that are left for good ---- */

static jmp_buf back;
static MPI_Request ended;

static espi_word leave(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread;
    (void)fn;
    (void)args;
    (void)next;
    longjmp(back, 1);
}

static void leave_call(enum espi_fn fn, espi_word *args)
{
    if (setjmp(back) == 0) {
        espi_packed_complete(&own_thread, fn, args, NULL, leave);
        ck_abort_msg("came back");
    }
}

/* Such a call may have ended what it was to complete, so that nothing of that is touched again; the memory that MPI
   may still write stays. Persistent requests, and what was only asked for, go on as before. Nothing is locked. */
START_TEST(left)
{
    int flag, places[ROOM];

    begin();
    MPI_Request send = make(ESPI_FN_Send_init, sent, 1), receive = make(ESPI_FN_Irecv, places, 1), other;
    MPI_Request again = make(ESPI_FN_Recv_init, got, 1), both[2] = {again, receive};
    leave_call(ESPI_FN_Request_get_status, (espi_word[]){receive, (espi_word)&flag, (espi_word)MPI_STATUS_IGNORE});
    leave_call(ESPI_FN_Request_get_status, (espi_word[]){again, (espi_word)&flag, (espi_word)MPI_STATUS_IGNORE});
    refill(8);
    memset(places, 0, sizeof places);
    run(&send);
    wait_for(&receive);
    ck_assert(places[0] == 8 && places[STRIDE] == 8 + STRIDE);
    wait_for(&send);
    receive = both[1] = make(ESPI_FN_Irecv, places, 1);
    leave_call(ESPI_FN_Waitall, (espi_word[]){2, (espi_word)both, (espi_word)MPI_STATUSES_IGNORE});
    ck_assert_int_eq(spare_bytes(), MB - 3 * INTS * (int64_t)sizeof(int));
    refill(9);
    memset(places, 0, sizeof places);
    ended = receive;
    run(&send);
    wait_for(&receive); /* MPI's alone */
    wait_for(&send);
    /* Another request, which nothing is packed for, has its handle. */
    PMPI_Irecv(got, 1, MPI_INT, 0, TAG + 1, MPI_COMM_SELF, &other);
    ck_assert(other == ended);
    PMPI_Send(&sent[3], 1, MPI_INT, 0, TAG + 1, MPI_COMM_SELF);
    wait_for(&other);
    ck_assert(got[0] == 12 && places[0] == 0 && places[STRIDE] == 0);
    refill(11);
    run(&again);
    run(&send);
    leave_call(ESPI_FN_Wait, (espi_word[]){(espi_word)&again, (espi_word)MPI_STATUS_IGNORE});
    wait_for(&again);
    ck_assert_int_eq(wrong_places(11), 0);
    wait_for(&send);
    let_free(&again);
    let_free(&send);
    ck_assert_int_eq(atomic_load(&espi_packed_requests), 1);
    ck_assert_int_eq(spare_bytes(), MB - INTS * (int64_t)sizeof(int));
    end();
}
END_TEST

/* ---- handles that come again ---- */

static MPI_Request fresh;

/* MPI ends the request, and its handle is another one's before the call comes back, which nothing is packed for. */
static espi_word end_and_pass(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    espi_word result = go_on(thread, fn, args, next);
    int one = 4, other = 0;

    PMPI_Irecv(&other, 1, MPI_INT, 0, TAG + 1, MPI_COMM_SELF, &fresh);
    ck_assert(fresh == ended);
    PMPI_Send(&one, 1, MPI_INT, 0, TAG + 1, MPI_COMM_SELF);
    wait_for(&fresh); /* in another thread */
    return result;
}

/* The same, and it is one of ours. */
static espi_word end_and_reuse(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    espi_word result = go_on(thread, fn, args, next);

    fresh = make(ESPI_FN_Irecv, sent, 1);
    return result;
}

/* Each record goes with its own request. */
START_TEST(reused)
{
    begin();
    MPI_Request send = make(ESPI_FN_Send_init, sent, 1), receive = make(ESPI_FN_Irecv, got, 1);
    ended = receive;
    refill(13);
    run(&send);
    PMPI_Wait(&send, MPI_STATUS_IGNORE);
    ck_assert_int_eq((int)espi_packed_complete(
                         &own_thread, ESPI_FN_Wait,
                         (espi_word[]){(espi_word)&receive, (espi_word)MPI_STATUS_IGNORE}, NULL, end_and_reuse),
                     MPI_SUCCESS);
    ck_assert(fresh == ended); /* else nothing was tested */
    ck_assert_int_eq(wrong_places(13), 0);
    ck_assert_int_eq(atomic_load(&espi_packed_requests), 2);
    refill(15);
    run(&send);
    memset(sent, 0, sizeof sent);
    wait_for(&fresh);
    ck_assert(sent[0] == 15 && sent[STRIDE] == 15 + STRIDE && sent[1] == 0);
    wait_for(&send);
    receive = make(ESPI_FN_Irecv, got, 1);
    ended = receive;
    refill(16);
    run(&send);
    wait_for(&send);
    ck_assert_int_eq((int)espi_packed_complete(
                         &own_thread, ESPI_FN_Wait,
                         (espi_word[]){(espi_word)&receive, (espi_word)MPI_STATUS_IGNORE}, NULL, end_and_pass),
                     MPI_SUCCESS);
    ck_assert_int_eq(wrong_places(16), 0);
    /* One that ended where nobody saw it: the next one with its handle takes its place. */
    receive = make(ESPI_FN_Irecv, got, 1);
    ended = receive;
    run(&send);
    PMPI_Wait(&receive, MPI_STATUS_IGNORE);
    wait_for(&send);
    receive = make(ESPI_FN_Irecv, got, 1);
    ck_assert(receive == ended);
    refill(17);
    run(&send);
    wait_for(&receive);
    ck_assert_int_eq(wrong_places(17), 0);
    wait_for(&send);
    let_free(&send);
    all_is_back();
    end();
}
END_TEST

/* ---- threads that ask for a status ---- */

enum { THREADS = 4, ROUNDS = 2000 };

static MPI_Status told;
static MPI_Request asked;
static pthread_barrier_t gate;
static int bad[THREADS];

/* MPI's answer for a request that is complete. */
static espi_word tell(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread;
    (void)fn;
    (void)next;
    *(int *)args[1] = 1;
    if ((MPI_Status *)args[2] != MPI_STATUS_IGNORE)
        *(MPI_Status *)args[2] = told;
    return MPI_SUCCESS;
}

/* Each thread has data of its own among what is received: sees it, changes it, and finds it changed at the end. */
static void *ask(void *of)
{
    const int me = (int)(intptr_t)of;
    struct espi_thread here = {0};
    int flag, salt;

    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&gate); /* it is complete */
        espi_word args[3] = {(espi_word)asked, (espi_word)&flag, (espi_word)MPI_STATUS_IGNORE};
        espi_packed_complete(&here, ESPI_FN_Request_get_status, args, NULL, tell);
        salt = 100 + round;
        bad[me] += got[me * STRIDE] != salt + me * STRIDE;
        got[me * STRIDE] = -2;
        pthread_barrier_wait(&gate);
        bad[me] += got[me * STRIDE] != -2;
        pthread_barrier_wait(&gate);
    }
    return NULL;
}

START_TEST(asked_by_threads)
{
    pthread_t thread[THREADS];

    begin();
    espi_settings.check = 0; /* MPI is single-threaded here */
    MPI_Request send = make(ESPI_FN_Send_init, sent, 1);
    asked = make(ESPI_FN_Recv_init, got, 1);
    pthread_barrier_init(&gate, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, ask, (void *)(intptr_t)i), 0);
    for (int round = 0; round < ROUNDS; round++) {
        int flag = 0;
        refill(100 + round);
        run(&asked);
        run(&send);
        PMPI_Wait(&send, MPI_STATUS_IGNORE);
        while (!flag)
            PMPI_Request_get_status(asked, &flag, &told);
        pthread_barrier_wait(&gate);
        pthread_barrier_wait(&gate);
        pthread_barrier_wait(&gate);
        wait_for(&asked); /* unpacks no more */
        ck_assert_int_eq(got[0], -2);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        ck_assert_int_eq(bad[i], 0);
    }
    pthread_barrier_destroy(&gate);
    let_free(&asked);
    let_free(&send);
    all_is_back();
    end();
}
END_TEST

/* A status that is told late, when the request has been started again, or was not active, changes nothing. */
START_TEST(late)
{
    unsigned cycle;
    int flag = 0;

    begin();
    MPI_Request send = make(ESPI_FN_Send_init, sent, 1), receive = make(ESPI_FN_Recv_init, got, 1);
    refill(21);
    run(&receive);
    run(&send);
    while (!flag)
        PMPI_Request_get_status(receive, &flag, &told);
    struct espi_packed_request *record = espi_packed_record_hold(receive, &cycle);
    wait_for(&receive);
    wait_for(&send);
    refill(23);
    run(&receive);
    espi_packed_record_finish(record, cycle, &told);
    ck_assert_int_eq(got[0], -1);
    MPI_Status none = told;
    none.MPI_SOURCE = MPI_ANY_SOURCE; /* inactive */
    espi_packed_record_finish(record, cycle + 1, &none);
    espi_packed_record_let_go(record);
    run(&send);
    wait_for(&receive);
    ck_assert_int_eq(wrong_places(23), 0);
    wait_for(&send);
    let_free(&receive);
    let_free(&send);
    all_is_back();
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "packed_record", cycles, freed, two_at_once, reused, asked_by_threads, late,
                     left);
}
