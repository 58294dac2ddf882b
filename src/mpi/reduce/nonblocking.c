/*
 * Nonblocking reductions with gaps. The program's request is a generalized request whose poll and wait functions
 * (MPICH's extension) advance MPI's own request, unpack when it is complete and complete the program's. All that this
 * needs is there before MPI's call is made: after it, what is missing could only be made up for by waiting, and a
 * nonblocking call that waits for other ranks may wait for ever.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "mpi/core/pmpi.h"
#include "mpi/reduce/reduce.h"
#include "mpi/core/handle_table.h"

struct espi_later {
    struct espi_staged staged;
    MPI_Request inner, outer;
    bool done;
    int error;
    atomic_flag busy; /* one thread at a time looks after it */
    struct espi_later *next, *prev;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the lists; no MPI call under it */
static struct espi_later *pending; /* the program's request exists */
static struct espi_later *ended;   /* it does not; by `next` */
static atomic_int ended_any;
atomic_int espi_reduce_requests;

void espi_reduce_request_made(void)
{
    atomic_fetch_add(&espi_reduce_requests, 1);
    espi_handle_table_take_requests();
}

static void enter(struct espi_later *later)
{
    pthread_mutex_lock(&lock);
    later->next = pending;
    if (pending)
        pending->prev = later;
    pending = later;
    pthread_mutex_unlock(&lock);
    espi_reduce_request_made();
}

static int query(void *state, MPI_Status *status)
{
    struct espi_later *later = state;
    espi_pmpi.Status_set_elements(status, MPI_BYTE, 0);
    espi_pmpi.Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    return later->error;
}

/* MPICH calls this with its lock held, and dies under MPI_THREAD_MULTIPLE when asked to free a type here. */
static int release(void *state)
{
    struct espi_later *later = state;
    pthread_mutex_lock(&lock);
    if (later->prev)
        later->prev->next = later->next;
    else
        pending = later->next;
    if (later->next)
        later->next->prev = later->prev;
    later->next = ended;
    ended = later;
    atomic_store_explicit(&ended_any, 1, memory_order_release);
    pthread_mutex_unlock(&lock);
    return MPI_SUCCESS;
}

void espi_reduce_later_sweep(void)
{
    if (!atomic_load_explicit(&ended_any, memory_order_acquire))
        return;
    pthread_mutex_lock(&lock);
    struct espi_later *later = ended, *next;
    ended = NULL;
    atomic_store_explicit(&ended_any, 0, memory_order_release);
    pthread_mutex_unlock(&lock);
    for (; later; later = next) {
        next = later->next;
        espi_staged_release(&later->staged);
        espi_pmpi.Type_free(&later->staged.type);
        free(later);
        atomic_fetch_sub(&espi_reduce_requests, 1);
    }
}

/* MPI does not allow it for a collective operation, and the request stays as it is. Mostly MPI says so itself, of its
   own request (espi_reduce_cancel); here is what is left: that one is complete, or the call went past us. */
static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_ERR_REQUEST;
}

static void finish(struct espi_later *later, int error)
{
    later->error = error ? error : espi_staged_unpack(&later->staged);
    later->done = true;
    espi_pmpi.Grequest_complete(later->outer);
}

static int poll(void *state, MPI_Status *status)
{
    struct espi_later *later = state;
    int complete = 0;
    (void)status;
    if (atomic_flag_test_and_set(&later->busy))
        return MPI_SUCCESS;
    if (!later->done) {
        int error = espi_pmpi.Test(&later->inner, &complete, MPI_STATUS_IGNORE);
        if (complete || error)
            finish(later, error);
    }
    atomic_flag_clear(&later->busy);
    return MPI_SUCCESS;
}

static struct espi_later *find(MPI_Request request)
{
    struct espi_later *later;
    pthread_mutex_lock(&lock);
    for (later = pending; later && later->outer != request; later = later->next)
        ;
    pthread_mutex_unlock(&lock);
    return later;
}

/* MPI_Request_get_status of MPICH 4.0.2 waits for the poll function of a generalized request without calling it. */
void espi_reduce_later_advance(MPI_Request request)
{
    MPI_Status status;
    struct espi_later *later = find(request);
    if (later)
        poll(later, &status);
}

bool espi_reduce_later_inner(MPI_Request request, MPI_Request *inner)
{
    const struct espi_later *later = find(request);
    if (later)
        *inner = later->inner;
    return later != NULL;
}

/* Nothing blocks inside: another thread may hold `busy`, and other requests of the program need progress, too. */
static int wait_for(int count, void **states, double timeout, MPI_Status *status)
{
    (void)timeout;
    for (bool all = false; !all;) {
        all = true;
        for (int i = 0; i < count; i++) {
            struct espi_later *later = states[i];
            poll(later, status);
            all = all && later->done;
        }
    }
    return MPI_SUCCESS;
}

struct espi_later *espi_reduce_later_new(MPI_Datatype type)
{
    struct espi_later *later = malloc(sizeof *later);
    if (!later)
        return NULL;
    *later = (struct espi_later){.staged = {.type = MPI_DATATYPE_NULL}, .inner = MPI_REQUEST_NULL,
                                 .busy = ATOMIC_FLAG_INIT};
    /* Our own reference: the program may free its type before the operation is complete. Not MPI_Type_dup, which
       would run the program's attribute callbacks. */
    if (espi_pmpi.Type_contiguous(1, type, &later->staged.type) == MPI_SUCCESS &&
        espi_pmpi.Type_commit(&later->staged.type) == MPI_SUCCESS &&
        espi_pmpi.x_Grequest_start(query, release, cancel, poll, wait_for, later, &later->outer) == MPI_SUCCESS) {
        enter(later);
        return later;
    }
    if (later->staged.type != MPI_DATATYPE_NULL)
        espi_pmpi.Type_free(&later->staged.type);
    free(later);
    return NULL;
}

void espi_reduce_later_drop(struct espi_later *later)
{
    MPI_Request request = later->outer;
    espi_pmpi.Grequest_complete(request);
    espi_pmpi.Request_free(&request);
    espi_reduce_later_sweep();
}

void espi_reduce_later_begin(struct espi_later *later, const struct espi_staged *staged, MPI_Request *request)
{
    const MPI_Datatype type = later->staged.type;
    later->staged = *staged;
    later->staged.type = type;
    later->inner = *request;
    *request = later->outer;
}
