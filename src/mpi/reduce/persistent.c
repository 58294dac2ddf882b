/*
 * Persistent reductions with gaps. MPI's persistent request works on contiguous buffers and is the program's request;
 * packing happens when it is started, unpacking when a completion call says that it is complete. Programs without
 * such requests pay one load and a branch in those calls.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/hash.h"
#include "mpi/core/pmpi.h"
#include "mpi/reduce/reduce.h"
#include "words.h"

struct persistent {
    MPI_Request request;
    struct espi_staged staged;
    pthread_mutex_t lock; /* guards `active`, and is held while data are packed or unpacked */
    bool active;          /* started, and not yet unpacked */
    bool was_active;      /* before the start that is being made */
    UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `table` */
static struct persistent *table;

static struct persistent *find_request(MPI_Request request)
{
    struct persistent *found;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, &request, sizeof request, found);
    pthread_mutex_unlock(&lock);
    return found;
}

/* Of a request that is active, which is an error to free, the buffers stay: MPI may write to them until it ends. */
static void drop(struct persistent *entry)
{
    pthread_mutex_lock(&lock);
    HASH_DEL(table, entry);
    pthread_mutex_unlock(&lock);
    atomic_fetch_sub(&espi_reduce_requests, 1);
    espi_pmpi.Type_free(&entry->staged.type);
    if (entry->active)
        entry->staged.elements_in = entry->staged.elements_out = NULL;
    espi_staged_release(&entry->staged);
    pthread_mutex_destroy(&entry->lock);
    free(entry);
}

int espi_reduce_persist(struct espi_staged *staged, MPI_Request *request)
{
    struct persistent *entry = calloc(1, sizeof *entry);
    bool added = false;
    int rc = MPI_ERR_NO_MEM;
    if (!entry)
        goto failed;
    entry->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    entry->staged = *staged;
    entry->staged.type = MPI_DATATYPE_NULL;
    entry->request = *request;
    /* Our own reference: the program may free its type at once. */
    if ((rc = espi_pmpi.Type_contiguous(1, staged->type, &entry->staged.type)) ||
        (rc = espi_pmpi.Type_commit(&entry->staged.type)))
        goto failed;
    pthread_mutex_lock(&lock);
    HASH_ADD(hh, table, request, sizeof entry->request, entry);
    added = entry->hh.tbl != NULL;
    pthread_mutex_unlock(&lock);
    rc = MPI_ERR_NO_MEM;
    if (!added)
        goto failed;
    espi_reduce_request_made();
    return MPI_SUCCESS;
failed:
    if (entry && entry->staged.type != MPI_DATATYPE_NULL)
        espi_pmpi.Type_free(&entry->staged.type);
    free(entry);
    espi_pmpi.Request_free(request);
    espi_staged_release(staged);
    return rc;
}

/* MPI refuses to start a request that is active: its buffers are MPI's. One whose end was not seen here is not. */
static bool is_under_way(const struct persistent *entry)
{
    int complete = 0;
    return entry->active &&
           espi_pmpi.Request_get_status(entry->request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && !complete;
}

static int before_start(MPI_Request request)
{
    struct persistent *entry = find_request(request);
    int rc = MPI_SUCCESS;
    if (!entry)
        return rc;
    const bool under_way = is_under_way(entry);
    pthread_mutex_lock(&entry->lock);
    entry->was_active = entry->active;
    if (!under_way)
        rc = espi_staged_pack(&entry->staged);
    entry->active = true;
    pthread_mutex_unlock(&entry->lock);
    return rc;
}

static void start_failed(MPI_Request request)
{
    struct persistent *entry = find_request(request);
    if (!entry)
        return;
    pthread_mutex_lock(&entry->lock);
    entry->active = entry->was_active;
    pthread_mutex_unlock(&entry->lock);
}

espi_word espi_reduce_start(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    const bool one = fn == ESPI_FN_Start;
    int rc = MPI_SUCCESS, begun = 0;
    MPI_Request *requests = (MPI_Request *)args[one ? 0 : 1];
    (void)thread;
    if (atomic_load_explicit(&espi_reduce_requests, memory_order_acquire) > 0)
        for (const int n = one ? 1 : (int)args[0]; requests && begun < n && !rc; begun++)
            rc = before_start(requests[begun]);
    if (!rc)
        rc = (int)(one ? ESPI_CALL(next, 1, args) : ESPI_CALL(next, 2, args));
    while (rc && begun-- > 0)
        start_failed(requests[begun]);
    return rc;
}

/* Whoever comes second returns when the data are there. */
static int after(MPI_Request request, int rc)
{
    struct persistent *entry = find_request(request);
    if (!entry)
        return rc;
    pthread_mutex_lock(&entry->lock);
    if (entry->active && !rc)
        rc = espi_staged_unpack(&entry->staged);
    entry->active = false;
    pthread_mutex_unlock(&entry->lock);
    return rc;
}

/* A call that failed has completed some requests and not others; which ones, the requests themselves know. */
static int after_failure(const MPI_Request *requests, int n, int rc)
{
    for (int i = 0; i < n; i++) {
        struct persistent *entry = find_request(requests[i]);
        int complete = 0;
        if (entry && entry->active &&
            espi_pmpi.Request_get_status(entry->request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete)
            after(requests[i], MPI_SUCCESS);
    }
    return rc;
}

static int after_all(const MPI_Request *requests, int n, int rc)
{
    for (int i = 0; i < n; i++)
        rc = after(requests[i], rc);
    return rc;
}

static int after_some(const MPI_Request *requests, const int *indices, int n, int rc)
{
    for (int i = 0; i < n; i++) /* MPI_UNDEFINED is negative */
        rc = after(requests[indices[i]], rc);
    return rc;
}

static espi_word go_on(enum espi_fn fn, espi_word *args, espi_next next)
{
    switch (fn) {
    case ESPI_FN_Request_free:
        return ESPI_CALL(next, 1, args);
    case ESPI_FN_Wait:
        return ESPI_CALL(next, 2, args);
    case ESPI_FN_Test:
    case ESPI_FN_Waitall:
    case ESPI_FN_Request_get_status:
        return ESPI_CALL(next, 3, args);
    case ESPI_FN_Waitany:
    case ESPI_FN_Testall:
        return ESPI_CALL(next, 4, args);
    default: /* Testany, Waitsome, Testsome */
        return ESPI_CALL(next, 5, args);
    }
}

espi_word espi_reduce_complete(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread;
    if (atomic_load_explicit(&espi_reduce_requests, memory_order_acquire) == 0)
        return go_on(fn, args, next);
    bool array = fn == ESPI_FN_Waitall || fn == ESPI_FN_Waitany || fn == ESPI_FN_Testall || fn == ESPI_FN_Testany ||
                 fn == ESPI_FN_Waitsome || fn == ESPI_FN_Testsome;
    const MPI_Request *requests = (const MPI_Request *)args[array ? 1 : 0];
    MPI_Request one = fn == ESPI_FN_Request_get_status ? (MPI_Request)args[0]
                      : !array && requests             ? *requests
                                                       : MPI_REQUEST_NULL;
    if (fn == ESPI_FN_Request_get_status)
        espi_reduce_later_advance(one);
    MPI_Request inner;
    if (fn == ESPI_FN_Request_free && espi_reduce_later_inner(one, &inner)) { /* which MPI refuses */
        espi_word other[1] = {(espi_word)&inner};
        return go_on(fn, other, next);
    }
    int rc = (int)go_on(fn, args, next);
    espi_reduce_later_sweep();
    int class = MPI_SUCCESS;
    if (rc && array && espi_pmpi.Error_class(rc, &class) == MPI_SUCCESS && class == MPI_ERR_IN_STATUS) {
        bool counted = fn == ESPI_FN_Waitsome || fn == ESPI_FN_Testsome || fn == ESPI_FN_Waitall ||
                       fn == ESPI_FN_Testall;
        return counted ? after_failure(requests, (int)args[0], rc) : rc;
    }
    switch (fn) {
    case ESPI_FN_Request_free: {
        struct persistent *entry = rc ? NULL : find_request(one);
        if (entry)
            drop(entry);
        return rc;
    }
    case ESPI_FN_Wait:
        return after(one, rc);
    case ESPI_FN_Test:
    case ESPI_FN_Request_get_status:
        return !rc && *(int *)args[1] ? after(one, rc) : rc;
    case ESPI_FN_Waitall:
        return rc ? rc : after_all(requests, (int)args[0], rc);
    case ESPI_FN_Testall:
        return !rc && *(int *)args[2] ? after_all(requests, (int)args[0], rc) : rc;
    case ESPI_FN_Waitany:
        return !rc && *(int *)args[2] >= 0 ? after(requests[*(int *)args[2]], rc) : rc;
    case ESPI_FN_Testany:
        return !rc && *(int *)args[3] && *(int *)args[2] >= 0 ? after(requests[*(int *)args[2]], rc) : rc;
    default: /* Waitsome, Testsome */
        return rc ? rc : after_some(requests, (const int *)args[3], *(int *)args[2], rc);
    }
}

espi_word espi_reduce_cancel(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    const MPI_Request *request = (const MPI_Request *)args[0];
    MPI_Request inner;
    espi_word other[1] = {(espi_word)&inner};
    (void)thread;
    (void)fn;
    if (request && atomic_load_explicit(&espi_reduce_requests, memory_order_acquire) > 0 &&
        espi_reduce_later_inner(*request, &inner) && inner != MPI_REQUEST_NULL)
        return ESPI_CALL(next, 1, other);
    return ESPI_CALL(next, 1, args);
}
