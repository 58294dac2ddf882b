/*
 * Records are found by the handle of MPI's request, in a small table under a lock that is never held over an MPI
 * call. A call that may complete a request takes its record out first, and puts it back if the request is still
 * there: as soon as MPI has ended it, the handle may be that of another thread's request.
 *
 * MPICH gives sends that are complete at once one handle for all of them: so such a send is let go when it was made,
 * and has no record.
 *
 * A request that the program frees while its message is on the way is kept by us, until a later call finds it
 * complete.
 */
#include "mpi/packed/packed_requests.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/core/pmpi.h"
#include "mpi/typeplan/handle_table.h"

struct espi_packed_request {
    MPI_Request handle;
    struct espi_packed_side side;
    struct espi_packed_blocks *blocks[2]; /* of a collective call, which has no `side` */
    void *data; /* of the program */
    int64_t count;
    bool unpacked; /* MPI_Request_get_status has told of the end */
    void *owner;
    void (*release)(void *owner);
    struct espi_packed_request *next;
    /* In the call that is under way: the index among its requests, and the next one that was found. */
    int at;
    struct espi_packed_request *found;
};

enum { BUCKETS = 256, STATUSES = 128 };

atomic_int espi_packed_requests;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the lists */
static struct espi_packed_request *table[BUCKETS];
static struct espi_packed_request *freed; /* by the program; by `next` */
static atomic_int any_freed;

struct espi_packed_request *espi_packed_request_new(void)
{
    return calloc(1, sizeof(struct espi_packed_request));
}

void espi_packed_request_drop(struct espi_packed_request *request)
{
    free(request);
}

static struct espi_packed_request **bucket_of(MPI_Request handle)
{
    return &table[((uint32_t)handle ^ (uint32_t)handle >> 8) % BUCKETS];
}

/* Takes the record of this handle out of the table; NULL: there is none. */
static struct espi_packed_request *claim(MPI_Request handle)
{
    struct espi_packed_request **at, *r;

    if (handle == MPI_REQUEST_NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    for (at = bucket_of(handle); *at != NULL && (*at)->handle != handle; at = &(*at)->next)
        ;
    r = *at;
    if (r != NULL)
        *at = r->next;
    pthread_mutex_unlock(&lock);
    return r;
}

static void put_back(struct espi_packed_request *r)
{
    pthread_mutex_lock(&lock);
    struct espi_packed_request **bucket = bucket_of(r->handle);
    r->next = *bucket;
    *bucket = r;
    pthread_mutex_unlock(&lock);
}

static bool is_collective(const struct espi_packed_request *r)
{
    return r->blocks[0] != NULL || r->blocks[1] != NULL;
}

static void let_go(struct espi_packed_request *r)
{
    for (int i = 0; i < 2; i++)
        if (r->blocks[i] != NULL)
            espi_packed_blocks_close(r->blocks[i], r->release);
    if (!is_collective(r)) {
        espi_packed_close(&r->side);
        r->release(r->owner);
    }
    free(r);
    atomic_fetch_sub(&espi_packed_requests, 1);
}

static bool receives(const struct espi_packed_request *r)
{
    return is_collective(r) || espi_packed_receives(&r->side);
}

/* The message is complete, and this is its status. */
static void finish(struct espi_packed_request *r, const MPI_Status *status)
{
    int cancelled = 0;

    if (r->unpacked || !receives(r))
        return;
    r->unpacked = true;
    for (int i = 0; i < 2; i++)
        if (r->blocks[i] != NULL)
            espi_packed_blocks_unpack(r->blocks[i]);
    if (is_collective(r))
        return;
    if (espi_pmpi.Test_cancelled(status, &cancelled) == MPI_SUCCESS && !cancelled)
        espi_packed_unpack(&r->side, r->data, r->count, status);
}

/* Asks for the messages whose requests the program has freed. */
static void sweep(void)
{
    struct espi_packed_request *r, *next, *left = NULL;
    MPI_Status status;

    if (atomic_load_explicit(&any_freed, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&lock);
    r = freed;
    freed = NULL;
    pthread_mutex_unlock(&lock);
    for (; r != NULL; r = next) {
        int complete = 0;
        next = r->next;
        if (espi_pmpi.Test(&r->handle, &complete, &status) == MPI_SUCCESS && !complete) {
            r->next = left;
            left = r;
            continue;
        }
        if (complete)
            finish(r, &status);
        let_go(r);
        atomic_fetch_sub(&any_freed, 1);
    }
    if (left == NULL)
        return;
    pthread_mutex_lock(&lock);
    for (r = left; r->next != NULL; r = r->next)
        ;
    r->next = freed;
    freed = left;
    pthread_mutex_unlock(&lock);
}

void espi_packed_request_enter(struct espi_packed_request *r, MPI_Request handle, struct espi_packed_side *side,
                               void *data, int64_t count, void *owner, void (*release)(void *owner))
{
    int complete = 0;

    sweep();
    *r = (struct espi_packed_request){
        .handle = handle, .side = *side, .data = data, .count = count, .owner = owner, .release = release};
    side->pack = NULL;
    /* First, so that the requests are not completed by the stub alone. */
    if (atomic_fetch_add(&espi_packed_requests, 1) == 0)
        espi_handle_table_plain(~(unsigned)ESPI_PLAIN_REQUESTS, 0);
    if (!espi_packed_receives(&r->side) &&
        espi_pmpi.Request_get_status(handle, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete) {
        let_go(r);
        return;
    }
    put_back(r);
}

void espi_packed_request_enter_blocks(struct espi_packed_request *r, MPI_Request handle,
                                      struct espi_packed_blocks *const sides[2], void (*release)(void *owner))
{
    sweep();
    *r = (struct espi_packed_request){.handle = handle, .blocks = {sides[0], sides[1]}, .release = release};
    if (atomic_fetch_add(&espi_packed_requests, 1) == 0)
        espi_handle_table_plain(~(unsigned)ESPI_PLAIN_REQUESTS, 0);
    put_back(r);
}

/* ---- calls that complete requests ---- */

/* Where the requests and statuses of a call are. */
struct completion {
    int n; /* requests */
    MPI_Request *requests;
    int status_at;    /* the argument for one status or an array of them */
    const int *index; /* of the one that is complete; NULL: see fn */
    int statuses;     /* as many there may be */
};

static struct completion read_call(enum espi_fn fn, const espi_word *args)
{
    switch (fn) {
    case ESPI_FN_Wait:
        return (struct completion){1, (MPI_Request *)args[0], 1, NULL, 1};
    case ESPI_FN_Test:
        return (struct completion){1, (MPI_Request *)args[0], 2, NULL, 1};
    case ESPI_FN_Waitall:
        return (struct completion){(int)args[0], (MPI_Request *)args[1], 2, NULL, (int)args[0]};
    case ESPI_FN_Testall:
        return (struct completion){(int)args[0], (MPI_Request *)args[1], 3, NULL, (int)args[0]};
    case ESPI_FN_Waitany:
        return (struct completion){(int)args[0], (MPI_Request *)args[1], 3, (const int *)args[2], 1};
    case ESPI_FN_Testany:
        return (struct completion){(int)args[0], (MPI_Request *)args[1], 4, (const int *)args[2], 1};
    case ESPI_FN_Waitsome:
    case ESPI_FN_Testsome:
        return (struct completion){(int)args[0], (MPI_Request *)args[1], 4, (const int *)args[3], (int)args[0]};
    default:
        return (struct completion){0, NULL, -1, NULL, 0};
    }
}

/* The status of request number `at`, which is complete. */
static const MPI_Status *status_of(enum espi_fn fn, const espi_word *args, const struct completion *c, int at)
{
    const MPI_Status *statuses = (const MPI_Status *)args[c->status_at];

    if (fn == ESPI_FN_Waitall || fn == ESPI_FN_Testall)
        return &statuses[at];
    if (fn == ESPI_FN_Waitsome || fn == ESPI_FN_Testsome)
        for (int k = 0; k < *(const int *)args[2]; k++)
            if (c->index[k] == at)
                return &statuses[k];
    return statuses;
}

/* After the call: those that are complete have no request any more. */
static void end_found(enum espi_fn fn, const espi_word *args, const struct completion *c,
                      struct espi_packed_request *found, int result)
{
    struct espi_packed_request *next;
    int class = MPI_SUCCESS;

    if (result != MPI_SUCCESS)
        espi_pmpi.Error_class(result, &class);
    for (; found != NULL; found = next) {
        next = found->found;
        if (c->requests[found->at] == found->handle) {
            put_back(found);
            continue;
        }
        const MPI_Status *status = status_of(fn, args, c, found->at); /* there is none where nothing is received */
        if (receives(found) &&
            (result == MPI_SUCCESS || (class == MPI_ERR_IN_STATUS && status->MPI_ERROR == MPI_SUCCESS)))
            finish(found, status);
        let_go(found);
    }
}

static espi_word complete_some(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                               espi_handler go_on)
{
    struct completion c = read_call(fn, args);
    struct espi_packed_request *found = NULL, *record;
    MPI_Status own[STATUSES], *statuses = own;
    bool asks = false;

    for (int i = 0; i < c.n && c.requests != NULL; i++) {
        if ((record = claim(c.requests[i])) == NULL)
            continue;
        record->at = i;
        record->found = found;
        found = record;
        asks = asks || receives(record);
    }
    if (asks && (MPI_Status *)args[c.status_at] == MPI_STATUS_IGNORE) {
        if (c.statuses > STATUSES)
            statuses = malloc((size_t)c.statuses * sizeof *statuses);
        if (statuses == NULL) { /* as MPICH does with so many; nothing was completed */
            for (; found != NULL; found = record) {
                record = found->found;
                put_back(found);
            }
            return MPI_ERR_NO_MEM;
        }
        args[c.status_at] = (espi_word)statuses;
    }
    espi_word result = go_on(thread, fn, args, next);
    end_found(fn, args, &c, found, (int)result);
    if (statuses != own)
        free(statuses);
    return result;
}

static espi_word ask_status(struct espi_thread *thread, espi_word *args, espi_next next, espi_handler go_on)
{
    struct espi_packed_request *record = claim((MPI_Request)args[0]);
    MPI_Status own;

    if (record != NULL && args[2] == (espi_word)MPI_STATUS_IGNORE)
        args[2] = (espi_word)&own;
    espi_word result = go_on(thread, ESPI_FN_Request_get_status, args, next);
    if (record != NULL && (int)result == MPI_SUCCESS && *(const int *)args[1])
        finish(record, (const MPI_Status *)args[2]);
    if (record != NULL)
        put_back(record);
    return result;
}

/* MPI goes on with a message whose request is freed; so must we. That of a collective call may not be freed. */
static bool keep_freed(MPI_Request *request)
{
    struct espi_packed_request *record = request != NULL ? claim(*request) : NULL;

    if (record == NULL)
        return false;
    if (is_collective(record)) {
        put_back(record);
        return false;
    }
    pthread_mutex_lock(&lock);
    record->next = freed;
    freed = record;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&any_freed, 1);
    *request = MPI_REQUEST_NULL;
    return true;
}

espi_word espi_packed_complete(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                               espi_handler go_on)
{
    sweep();
    if (fn == ESPI_FN_Request_get_status)
        return ask_status(thread, args, next, go_on);
    if (fn == ESPI_FN_Request_free)
        return keep_freed((MPI_Request *)args[0]) ? MPI_SUCCESS : go_on(thread, fn, args, next);
    return complete_some(thread, fn, args, next, go_on);
}

void espi_packed_requests_stop(void)
{
    sweep();
    pthread_mutex_lock(&lock);
    struct espi_packed_request *r = freed;
    freed = NULL;
    pthread_mutex_unlock(&lock);
    /* MPI reads or writes the buffers until it ends: they stay. */
    for (struct espi_packed_request *next; r != NULL; r = next) {
        next = r->next;
        espi_pmpi.Request_free(&r->handle);
        r->release(r->owner);
        free(r);
    }
    atomic_store(&any_freed, 0);
}
