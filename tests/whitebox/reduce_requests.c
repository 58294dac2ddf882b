/*
 * Requests of reductions on types with gaps (src/mpi/reduce): a nonblocking call waits for nobody, whatever it does
 * not get, and leaves nothing behind; whoever is told that a persistent one is complete finds its result. One
 * process, whose reductions are complete when the test says so.
 */
#include <check.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#include "base/buffer_pool.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/comm/self_comm.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/reduce/reduce.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
int __real_espi_staged_unpack(struct espi_staged *staged);
int __wrap_espi_staged_unpack(struct espi_staged *staged);

/* What can be refused, by its number since the call began; NONE: nothing. */
enum { NONE = -1 };
static int to_refuse = NONE, asked;
static bool calling, refused;

static bool refuse(void)
{
    const bool now = calling && asked++ == to_refuse;

    refused = refused || now;
    return now;
}

void *__wrap_malloc(size_t bytes)
{
    return refuse() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return refuse() ? NULL : __real_calloc(n, bytes);
}

static int contiguous(int n, MPI_Datatype old, MPI_Datatype *made)
{
    return refuse() ? MPI_ERR_NO_MEM : PMPI_Type_contiguous(n, old, made);
}

static int commit(MPI_Datatype *type)
{
    return refuse() ? MPI_ERR_NO_MEM : PMPI_Type_commit(type);
}

static int grequest_start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *let_go,
                          MPI_Grequest_cancel_function *cancel, MPIX_Grequest_poll_function *poll,
                          MPIX_Grequest_wait_function *wait, void *state, MPI_Request *request)
{
    return refuse() ? MPI_ERR_NO_MEM : PMPIX_Grequest_start(query, let_go, cancel, poll, wait, state, request);
}

enum { SALT = 3, STRIDE = 2 + SALT, INTS = 24, ROOM = STRIDE * INTS };
static int in[ROOM], out[ROOM];

/* ---- reductions that are complete when the test says so ---- */

static MPI_Request inner;
static int *result;
static int started, waited;
static bool mpi_refuses;

static int nothing(void *state, MPI_Status *status)
{
    (void)state;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int let_go(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int no_cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

/* In the place of MPI_Iallreduce: it doubles. */
static espi_word reduce(espi_word from, espi_word to, espi_word count, espi_word type, espi_word op, espi_word comm,
                        espi_word request)
{
    (void)op, (void)comm;
    calling = false;
    started++;
    if (mpi_refuses || count != INTS || type != (espi_word)MPI_INT)
        return MPI_ERR_OTHER;
    result = (int *)to;
    for (int i = 0; i < INTS; i++)
        result[i] = 2 * ((const int *)from)[i];
    PMPI_Grequest_start(nothing, let_go, no_cancel, NULL, &inner);
    *(MPI_Request *)request = inner;
    calling = true;
    return MPI_SUCCESS;
}

/* Whoever waits waits for the other ranks. */
static int wait_in_vain(MPI_Request *request, MPI_Status *status)
{
    waited++;
    PMPI_Grequest_complete(inner);
    return PMPI_Wait(request, status);
}

static struct espi_pmpi real;

static void begin(enum espi_mode packing)
{
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_ALWAYS);
    espi_type_service.packing = packing;
    espi_comm_cache_start(true);
    espi_self_comm();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    atomic_store(&espi_running, true);
    real = espi_pmpi;
    espi_pmpi.Wait = wait_in_vain;
    for (int i = 0; i < ROOM; i++) {
        in[i] = 1000 + i;
        out[i] = -1;
    }
}

static void end(void)
{
    ck_assert_int_eq(atomic_load(&espi_reduce_requests), 0);
    ck_assert_int_eq(waited, 0);
    espi_pmpi = real;
    atomic_store(&espi_running, false);
    espi_comm_cache_stop();
    espi_types_stop();
    espi_self_stop();
}

static void result_is_there(void)
{
    for (int i = 0; i < ROOM; i++) {
        ck_assert_int_eq(out[i], i % STRIDE == 0 ? 2 * in[i] : -1);
        out[i] = -1;
    }
}

static int call(MPI_Datatype type, MPI_Request *request)
{
    espi_word args[7] = {(espi_word)in,      (espi_word)out,     1, (espi_word)type, (espi_word)MPI_SUM,
                         (espi_word)MPI_COMM_SELF, (espi_word)request};

    *request = MPI_REQUEST_NULL;
    started = asked = 0;
    refused = false;
    calling = true;
    const int code = (int)espi_reduce_call(&own_thread, ESPI_FN_Iallreduce, args, (espi_next)reduce);
    calling = false;
    return code;
}

/* Waits as the program does. */
static void complete(MPI_Request *request)
{
    espi_word args[2] = {(espi_word)request, (espi_word)MPI_STATUS_IGNORE};

    PMPI_Grequest_complete(inner);
    ck_assert_int_eq((int)espi_reduce_complete(&own_thread, ESPI_FN_Wait, args, (espi_next)PMPI_Wait), MPI_SUCCESS);
    ck_assert(*request == MPI_REQUEST_NULL);
    result_is_there();
}

/* ---- */

/* Each piece of memory and each object of MPI's is refused once: then there is an error at once and nothing has
   begun, or the call goes its way. */
static void refuse_each(MPI_Datatype type)
{
    MPI_Request request;
    int code, class, refusals = 0, errors = 0;

    espi_pmpi.Type_contiguous = contiguous;
    espi_pmpi.Type_commit = commit;
    espi_pmpi.x_Grequest_start = grequest_start;
    for (to_refuse = 0;; to_refuse++) {
        espi_pool_release();
        code = call(type, &request);
        ck_assert_int_eq(waited, 0);
        if (code == MPI_SUCCESS) {
            ck_assert_int_eq(started, 1);
            ck_assert(request != MPI_REQUEST_NULL && request != inner);
            complete(&request);
        } else {
            MPI_Error_class(code, &class);
            ck_assert_int_eq(class, MPI_ERR_NO_MEM);
            ck_assert_int_eq(started, 0);
            ck_assert(request == MPI_REQUEST_NULL);
            errors++;
        }
        ck_assert_int_eq(atomic_load(&espi_reduce_requests), 0);
        refusals += refused;
        if (!refused)
            break;
    }
    to_refuse = NONE;
    ck_assert_int_eq(code, MPI_SUCCESS);
    ck_assert_int_ge(errors, 6); /* two buffers, the record, its type and that of MPI's, its request */
    ck_assert_int_le(errors, refusals);
}

START_TEST(waits_for_nobody)
{
    for (int packing = ESPI_MODE_OFF; packing <= ESPI_MODE_ALWAYS; packing++) {
        MPI_Datatype type;
        MPI_Request request;

        begin((enum espi_mode)packing);
        type = regular_ints(SALT);
        ck_assert_int_eq(call(type, &request), MPI_SUCCESS); /* looks at the type */
        complete(&request);
        refuse_each(type);
        espi_types_ending(espi_thread_state(&own_thread), type);
        MPI_Type_free(&type);
        end();
    }
}
END_TEST

/* MPI refuses the call: all that was made ready for it goes. */
START_TEST(refused_by_mpi)
{
    MPI_Datatype type;
    MPI_Request request;

    begin(ESPI_MODE_OFF);
    type = regular_ints(SALT);
    mpi_refuses = true;
    ck_assert_int_eq(call(type, &request), MPI_ERR_OTHER);
    mpi_refuses = false;
    ck_assert_int_eq(started, 1);
    ck_assert_int_eq(atomic_load(&espi_reduce_requests), 0);
    ck_assert_int_eq(call(type, &request), MPI_SUCCESS);
    complete(&request);
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    end();
}
END_TEST

/* ---- persistent requests ---- */

static sem_t unpacking;
static atomic_bool slow, unpacked;

/* Takes so long that whoever does not wait for it comes first. */
int __wrap_espi_staged_unpack(struct espi_staged *staged)
{
    if (!atomic_load(&slow))
        return __real_espi_staged_unpack(staged);
    sem_post(&unpacking);
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    const int code = __real_espi_staged_unpack(staged);
    atomic_store(&unpacked, true);
    return code;
}

/* In the place of MPI_Request_get_status: it is complete. */
static espi_word is_complete(espi_word request, espi_word flag, espi_word status)
{
    (void)request, (void)status;
    *(int *)flag = 1;
    return MPI_SUCCESS;
}

static MPI_Request persistent;

static void ended(MPI_Datatype type)
{
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    end();
}

/* A request of a reduction, made by this function of MPI, or one in its place. */
static MPI_Datatype persist(espi_next init)
{
    MPI_Datatype type;

    begin(ESPI_MODE_ALWAYS); /* nothing that unpacks calls MPI */
    type = regular_ints(SALT);
    espi_word args[8] = {(espi_word)in,      (espi_word)out,           1,
                         (espi_word)type,    (espi_word)MPI_SUM,       (espi_word)MPI_COMM_SELF,
                         (espi_word)MPI_INFO_NULL, (espi_word)&persistent};
    ck_assert_int_eq((int)espi_reduce_call(&own_thread, ESPI_FN_Allreduce_init, args, init), MPI_SUCCESS);
    return type;
}

static int start_by(espi_next next)
{
    espi_word args[1] = {(espi_word)&persistent};

    return (int)espi_reduce_start(&own_thread, ESPI_FN_Start, args, next);
}

static void wait_by(espi_next next)
{
    espi_word args[2] = {(espi_word)&persistent, (espi_word)MPI_STATUS_IGNORE};

    ck_assert_int_eq((int)espi_reduce_complete(&own_thread, ESPI_FN_Wait, args, next), MPI_SUCCESS);
}

static int free_by(MPI_Request *request, espi_next next)
{
    espi_word args[1] = {(espi_word)request};

    return (int)espi_reduce_complete(&own_thread, ESPI_FN_Request_free, args, next);
}

/* The input, or nothing. */
static void holds(bool result_there)
{
    for (int i = 0; i < ROOM; i++)
        ck_assert_int_eq(out[i], result_there && i % STRIDE == 0 ? in[i] : -1);
}

static bool seen[2]; /* by the one who comes first, and by the other */

static void ask(int who)
{
    struct espi_thread here = {0};
    int flag = 0;
    espi_word args[3] = {(espi_word)persistent, (espi_word)&flag, (espi_word)MPI_STATUS_IGNORE};

    espi_reduce_complete(&here, ESPI_FN_Request_get_status, args, (espi_next)is_complete);
    seen[who] = flag && atomic_load(&unpacked);
}

static void *ask_first(void *unused)
{
    ask(0);
    return unused;
}

/* Two threads ask for the status of a request: neither is told of the end before the result is there. */
START_TEST(two_ask)
{
    MPI_Datatype type = persist((espi_next)PMPI_Allreduce_init);
    pthread_t first;

    ck_assert_int_eq(start_by((espi_next)PMPI_Start), MPI_SUCCESS);
    sem_init(&unpacking, 0, 0);
    atomic_store(&slow, true);
    pthread_create(&first, NULL, ask_first, NULL);
    sem_wait(&unpacking);
    ask(1);
    pthread_join(first, NULL);
    atomic_store(&slow, false);
    ck_assert(seen[0] && seen[1]);
    wait_by((espi_next)PMPI_Wait);
    holds(true);
    ck_assert_int_eq(free_by(&persistent, (espi_next)PMPI_Request_free), MPI_SUCCESS);
    ended(type);
}
END_TEST

static espi_word refuse_start(espi_word request)
{
    (void)request;
    return MPI_ERR_OTHER;
}

/* In the place of MPI_Wait, which in MPICH 4.0.2 never returns where no collective call was started. */
static espi_word no_wait(espi_word request, espi_word status)
{
    (void)request, (void)status;
    return MPI_SUCCESS;
}

/* A start that MPI refuses begins nothing: whoever waits then gets no result. */
START_TEST(not_started)
{
    MPI_Datatype type = persist((espi_next)PMPI_Allreduce_init);

    ck_assert_int_eq(start_by((espi_next)refuse_start), MPI_ERR_OTHER);
    wait_by((espi_next)no_wait);
    holds(false);
    ck_assert_int_eq(start_by((espi_next)PMPI_Start), MPI_SUCCESS);
    wait_by((espi_next)PMPI_Wait);
    holds(true);
    ck_assert_int_eq(free_by(&persistent, (espi_next)PMPI_Request_free), MPI_SUCCESS);
    ended(type);
}
END_TEST

/* ---- requests that are freed while MPI works on them: an error ---- */

static MPI_Request asked_to_free;

static espi_word refuse_free(espi_word request)
{
    asked_to_free = *(const MPI_Request *)request;
    return MPI_ERR_OTHER;
}

/* MPI refuses, as its own request is that of a collective call; that goes on. */
START_TEST(freed_nonblocking)
{
    MPI_Datatype type;
    MPI_Request request, before;

    begin(ESPI_MODE_OFF);
    type = regular_ints(SALT);
    ck_assert_int_eq(call(type, &request), MPI_SUCCESS);
    before = request;
    ck_assert_int_eq(free_by(&request, (espi_next)refuse_free), MPI_ERR_OTHER);
    ck_assert(asked_to_free == inner && request == before);
    complete(&request);
    ended(type);
}
END_TEST

static const void *works_on[2];

/* In the place of MPI_Allreduce_init, MPI_Start and MPI_Request_free. */
static espi_word work_on(espi_word from, espi_word to, espi_word count, espi_word type, espi_word op, espi_word comm,
                         espi_word info, espi_word request)
{
    (void)count, (void)type, (void)op, (void)comm, (void)info;
    works_on[0] = (const void *)from;
    works_on[1] = (const void *)to;
    *(MPI_Request *)request = 77;
    return MPI_SUCCESS;
}

static espi_word agree(espi_word request)
{
    (void)request;
    return MPI_SUCCESS;
}

/* Nobody else gets the buffers that MPI works on. */
START_TEST(freed_persistent)
{
    MPI_Datatype type = persist((espi_next)work_on);
    void *buffer;

    ck_assert_int_eq(start_by((espi_next)agree), MPI_SUCCESS);
    ck_assert_int_eq(free_by(&persistent, (espi_next)agree), MPI_SUCCESS);
    for (int i = 0; i < 2; i++) {
        buffer = espi_pool_get(INTS * sizeof(int) + 16);
        ck_assert(buffer != works_on[0] && buffer != works_on[1]);
    }
    ended(type);
}
END_TEST

/* ---- */

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "reduce_requests", waits_for_nobody, refused_by_mpi, two_ask, not_started,
                     freed_nonblocking, freed_persistent);
}
