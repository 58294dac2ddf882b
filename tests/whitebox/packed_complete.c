/*
 * Calls that complete many packed receives (src/mpi/packed/packed_requests.c) when there is no memory for what they
 * have to remember: they do what they would natively, a few requests at a time. A record that one thread claims
 * while another looks at it. And many sends whose requests are freed. One process sends to itself.
 */
#include <check.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/overlap.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/reduce/reduce.h"
#include "mpi/calls/substitute.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

static bool refuses;
static unsigned refused;

void *__wrap_malloc(size_t bytes)
{
    refused += refuses;
    return refuses ? NULL : __real_malloc(bytes);
}

/* Of so many requests 16 go without memory, and 128 with statuses of the program. */
enum { MOST = 150, SALT = 3, STRIDE = 2 + SALT, INTS = 24, ROOM = STRIDE * INTS, TAG = 6, NONE = 7 };

static int sent[MOST][INTS], got[MOST][ROOM], seen[MOST];
static MPI_Request request[MOST], sends[MOST];
static MPI_Status status[MOST];

static void begin(void)
{
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    espi_comm_cache_start(true);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

static void end(void)
{
    ck_assert_int_eq(atomic_load(&espi_packed_requests), 0);
    espi_packed_requests_stop();
    espi_comm_cache_stop();
    espi_types_stop();
}

/* A receive, packed; or a synchronous send of what is there. */
static void post(enum espi_fn fn, MPI_Datatype type, int i)
{
    espi_word args[7] = {(espi_word)got[i], 1, (espi_word)type, 0, (espi_word)(TAG + i), MPI_COMM_SELF,
                         (espi_word)&request[i]};
    espi_word changed[7];
    struct espi_substitution d = {.thread = &own_thread, .thread_state = espi_thread_state(&own_thread),
                                  .row = &espi_api_rows[fn], .args = args, .changed = changed};

    memcpy(changed, args, sizeof args);
    espi_substitute_begin(&d);
    ck_assert(changed[2] == (espi_word)MPI_PACKED);
#define POST(name)                                                                                                   \
    PMPI_##name((void *)changed[0], (int)changed[1], MPI_PACKED, 0, TAG + i, MPI_COMM_SELF, &request[i])
    ck_assert_int_eq(fn == ESPI_FN_Irecv ? POST(Irecv) : POST(Issend), MPI_SUCCESS);
#undef POST
    espi_substitute_end(&d, MPI_SUCCESS);
}

/* Receives of all but one number; with `wrong`, two that are too short for what is sent. */
static void receive_all(int n, const int wrong[2])
{
    MPI_Datatype type = regular_ints(SALT);

    memset(got, 0x5a, sizeof got);
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < n; i++) {
        request[i] = MPI_REQUEST_NULL;
        if (wrong != NULL && (i == wrong[0] || i == wrong[1]))
            PMPI_Irecv(got[i], 1, MPI_INT, 0, TAG + i, MPI_COMM_SELF, &request[i]);
        else if (i != NONE)
            post(ESPI_FN_Irecv, type, i);
    }
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
}

static void send_all(int n, int salt)
{
    for (int i = 0; i < n; i++) {
        sends[i] = MPI_REQUEST_NULL;
        for (int k = 0; k < INTS; k++)
            sent[i][k] = salt + 1000 * i + k;
        if (i != NONE)
            PMPI_Isend(sent[i], INTS, MPI_INT, 0, TAG + i, MPI_COMM_SELF, &sends[i]);
    }
}

static void check_one(int i, const MPI_Status *of)
{
    int count = -1;

    ck_assert_int_eq(seen[i]++, 0);
    ck_assert(request[i] == MPI_REQUEST_NULL);
    for (int k = 0; k < ROOM; k++)
        ck_assert_int_eq(got[i][k], k % STRIDE == 0 ? sent[i][k / STRIDE] : 0x5a5a5a5a);
    if (of == NULL)
        return;
    PMPI_Get_count(of, MPI_BYTE, &count);
    ck_assert(of->MPI_TAG == TAG + i && of->MPI_SOURCE == 0 && count == (int)sizeof sent[i]);
}

/* The call, while there is no memory. Outcount, or index; UNTOLD: not even a flag. */
enum { UNTOLD = -77777 };
static int at[MOST];

static int ask(enum espi_fn fn, int n, bool ignores, int *code)
{
    MPI_Status *to = ignores ? MPI_STATUSES_IGNORE : status;
    int told = UNTOLD, flag = UNTOLD;
#define ASK(name, ...)                                                                                               \
    *code = (int)espi_packed_complete(&own_thread, ESPI_FN_##name,                                                   \
                                      (espi_word[5]){(espi_word)n, (espi_word)request, __VA_ARGS__},                 \
                                      (espi_next)PMPI_##name, espi_reduce_complete)
    refuses = true;
    switch (fn) {
    case ESPI_FN_Waitall:
        ASK(Waitall, (espi_word)to);
        told = n;
        break;
    case ESPI_FN_Testall:
        ASK(Testall, (espi_word)&flag, (espi_word)to);
        told = flag == UNTOLD ? UNTOLD : flag ? n : 0;
        break;
    case ESPI_FN_Waitany:
        ASK(Waitany, (espi_word)&at[0], (espi_word)to);
        told = at[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1;
        break;
    case ESPI_FN_Testany:
        at[0] = UNTOLD;
        ASK(Testany, (espi_word)&at[0], (espi_word)&flag, (espi_word)to);
        told = flag == UNTOLD ? UNTOLD : !flag ? 0 : at[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1;
        break;
    case ESPI_FN_Waitsome:
        ASK(Waitsome, (espi_word)&told, (espi_word)at, (espi_word)to);
        break;
    default:
        ASK(Testsome, (espi_word)&told, (espi_word)at, (espi_word)to);
    }
    refuses = false;
    if (fn == ESPI_FN_Testany && flag == 0)
        ck_assert_int_eq(at[0], MPI_UNDEFINED);
    return told;
}

static bool is_all(enum espi_fn fn)
{
    return fn == ESPI_FN_Waitall || fn == ESPI_FN_Testall;
}

static bool is_test(enum espi_fn fn)
{
    return fn == ESPI_FN_Testall || fn == ESPI_FN_Testany || fn == ESPI_FN_Testsome;
}

static void complete_all(enum espi_fn fn, int n, bool ignores)
{
    int told, code;

    receive_all(n, NULL);
    refused = 0;
    if (is_test(fn)) {
        ck_assert_int_eq(ask(fn, n, ignores, &code), 0);
        ck_assert_int_eq(code, MPI_SUCCESS);
    }
    send_all(n, (int)fn);
    while ((told = ask(fn, n, ignores, &code)) != MPI_UNDEFINED) {
        ck_assert_int_eq(code, MPI_SUCCESS);
        for (int k = 0; k < told; k++) {
            const int i = is_all(fn) ? k : at[k];
            if (i != NONE)
                check_one(i, ignores ? NULL : &status[k]);
        }
        if (is_all(fn) && told > 0)
            break;
    }
    ck_assert_int_eq(code, MPI_SUCCESS);
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(seen[i], i != NONE);
    ck_assert_uint_gt(refused, 0);
    ck_assert_int_eq(PMPI_Waitall(n, sends, status), MPI_SUCCESS);
}

static const enum espi_fn fns[] = {ESPI_FN_Waitall, ESPI_FN_Testall,  ESPI_FN_Waitany,
                                   ESPI_FN_Testany, ESPI_FN_Waitsome, ESPI_FN_Testsome};
enum { FNS = sizeof fns / sizeof *fns };

/* Also where calls do not overlap: nothing is locked there, and records are used again. */
START_TEST(without_memory)
{
    for (int overlap = 0; overlap < 2; overlap++) {
        begin();
        espi_calls_overlap = overlap;
        for (int i = 0; i < FNS; i++)
            for (int ignores = 0; ignores < 2; ignores++)
                for (int n = 18; n <= MOST; n += n < 50 ? 16 : MOST - 50)
                    complete_all(fns[i], n, ignores);
        end();
    }
}
END_TEST

/* What the statuses say after errors. MPICH completes nothing behind one, and says that it is pending. */
static int judge(int n, const int wrong[2])
{
    int pending = 0;

    for (int k = 0; k < n; k++) {
        const bool is_wrong = k == wrong[0] || k == wrong[1];
        int class = MPI_SUCCESS;
        if (seen[k] || k == NONE)
            continue;
        if (status[k].MPI_ERROR != MPI_SUCCESS)
            PMPI_Error_class(status[k].MPI_ERROR, &class);
        if (class == MPI_ERR_PENDING) {
            ck_assert(request[k] != MPI_REQUEST_NULL);
            pending++;
            continue;
        }
        ck_assert_msg(class == (is_wrong ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "request %d: error %d", k,
                      status[k].MPI_ERROR);
        ck_assert(request[k] == MPI_REQUEST_NULL);
        if (is_wrong)
            seen[k] = 1;
        else
            check_one(k, &status[k]);
    }
    return pending;
}

START_TEST(errors_without_memory)
{
    static const int wrong[3][2] = {{3, 37}, {0, 1}, {20, 49}};
    enum { N = 50 };
    int code, class, pending;

    begin();
    for (int i = 0; i < 2; i++)
        for (int w = 0; w < 3; w++) {
            receive_all(N, wrong[w]);
            send_all(N, w);
            refused = 0;
            do {
                for (int k = 0; k < N; k++)
                    status[k].MPI_ERROR = UNTOLD;
                while (ask(fns[i], N, false, &code) == 0)
                    ;
                PMPI_Error_class(code, &class);
                if (code == MPI_SUCCESS) /* says nothing of errors in statuses */
                    for (int k = 0; k < N; k++)
                        status[k].MPI_ERROR = MPI_SUCCESS;
                else
                    ck_assert_int_eq(class, MPI_ERR_IN_STATUS);
                pending = judge(N, wrong[w]);
            } while (pending > 0);
            for (int k = 0; k < N; k++)
                ck_assert_int_eq(seen[k], k != NONE);
            ck_assert_uint_gt(refused, 0);
            PMPI_Waitall(N, sends, status);
        }
    end();
}
END_TEST

/* A thread asks for the status of a request that another one completes or frees: it does not give back what it only
   held, or nobody else would see that the record is claimed. */
START_TEST(held_while_claimed)
{
    unsigned cycle;

    for (int freed = 0; freed < 2; freed++) {
        int complete = 0;
        begin();
        espi_calls_overlap = true;
        receive_all(1, NULL);
        struct espi_packed_request *held = espi_packed_record_hold(request[0], &cycle);
        struct espi_packed_request *claimed = espi_packed_record_claim(request[0], false, &cycle);
        ck_assert(held != NULL && claimed == held);
        espi_packed_record_let_go(held);
        ck_assert_ptr_null(espi_packed_record_hold(request[0], &cycle));
        if (freed)
            espi_packed_record_keep(claimed);
        else
            espi_packed_record_back(claimed, false);
        send_all(1, freed);
        while (!complete)
            PMPI_Request_get_status(request[0], &complete, MPI_STATUS_IGNORE);
        if (freed)
            espi_packed_record_sweep();
        else
            espi_packed_complete(&own_thread, ESPI_FN_Wait, (espi_word[2]){(espi_word)request, (espi_word)status},
                                 (espi_next)PMPI_Wait, espi_reduce_complete);
        request[0] = MPI_REQUEST_NULL;
        check_one(0, NULL);
        PMPI_Wait(sends, MPI_STATUS_IGNORE);
        end();
    }
}
END_TEST

static int (*real_test)(MPI_Request *, int *, MPI_Status *);
static unsigned tests;

static int counting_test(MPI_Request *of, int *flag, MPI_Status *status_of)
{
    tests++;
    return real_test(of, flag, status_of);
}

static void let_free(int i)
{
    espi_packed_complete(&own_thread, ESPI_FN_Request_free, (espi_word[1]){(espi_word)&request[i]},
                         (espi_next)PMPI_Request_free, espi_reduce_complete);
    ck_assert(request[i] == MPI_REQUEST_NULL);
}

/* Many sends under way whose requests the program has freed, and a receive: that is looked at in every call, of the
   sends a few. When they are over, the next call gives all their buffers back. */
START_TEST(freed_sends)
{
    enum { LOOKS_MOST = 6 }; /* when a send is made, and when it is freed */
    int back[INTS];

    begin();
    MPI_Datatype type = regular_ints(SALT);
    real_test = espi_pmpi.Test;
    espi_pmpi.Test = counting_test;
    memset(got, 0x5a, sizeof got);
    memset(seen, 0, sizeof seen);
    post(ESPI_FN_Irecv, type, 0);
    let_free(0);
    for (int i = 1; i < MOST; i++) {
        for (int k = 0; k < INTS; k++)
            got[i][k * STRIDE] = 1000 * i + k;
        tests = 0;
        post(ESPI_FN_Issend, type, i);
        let_free(i);
        ck_assert_uint_le(tests, LOOKS_MOST);
    }
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    send_all(1, 5);
    PMPI_Wait(&sends[0], MPI_STATUS_IGNORE);
    espi_packed_record_sweep();
    check_one(0, NULL);
    ck_assert_int_eq(atomic_load(&espi_packed_requests), MOST - 1);
    for (int i = 1; i < MOST; i++) {
        PMPI_Recv(back, INTS, MPI_INT, 0, TAG + i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        for (int k = 0; k < INTS; k++)
            ck_assert_int_eq(back[k], 1000 * i + k);
    }
    espi_packed_record_sweep();
    espi_pmpi.Test = real_test;
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "packed_complete", without_memory, errors_without_memory,
                     held_while_claimed, freed_sends);
}
