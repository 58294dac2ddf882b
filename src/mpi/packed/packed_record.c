#include "mpi/packed/packed_record.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/overlap.h"
#include "base/table.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/handle_table.h"

enum { BUCKETS = 256 };

atomic_int espi_packed_requests;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the lists, and the record's own fields */
static struct espi_packed_request *table[BUCKETS] ESPI_TABLE;
/* Records of requests that the program freed. What is received is to be unpacked soon after it is there; of the rest
   there is only memory to be given back. */
enum { SENT, RECEIVED, KINDS };
struct queue {
    struct espi_packed_request *first, **end;
    atomic_int n; /* with those that are looked at just now */
};
static struct queue kept[KINDS] = {{.end = &kept[SENT].first}, {.end = &kept[RECEIVED].first}};
/* Memory of records, for the next ones. Where calls overlap, mostly of another thread: so none is kept. */
enum { SPARE_MOST = 256 };
static struct espi_packed_request *spare;
static int spares;
#define AFTER_LOCK (offsetof(struct espi_packed_request, lock) + sizeof(pthread_mutex_t))

struct espi_packed_request *espi_packed_request_new(void)
{
    struct espi_packed_request *r = espi_calls_overlap ? NULL : spare;

    if (r != NULL) {
        spare = r->next;
        spares--;
        memset((char *)r + AFTER_LOCK, 0, sizeof *r - AFTER_LOCK);
        return r;
    }
    r = calloc(1, sizeof *r);
    if (r != NULL && pthread_mutex_init(&r->lock, NULL) != 0) {
        free(r);
        return NULL;
    }
    return r;
}

static void free_record(struct espi_packed_request *r)
{
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void espi_packed_request_drop(struct espi_packed_request *r)
{
    if (r == NULL)
        return;
    if (espi_calls_overlap || spares == SPARE_MOST) {
        free_record(r);
        return;
    }
    r->next = spare;
    spare = r;
    spares++;
}

/* ---- the table ---- */

static struct espi_packed_request **bucket_of(MPI_Request handle)
{
    return &table[((uint32_t)handle ^ (uint32_t)handle >> 8) % BUCKETS];
}

/* Where the record of this handle is linked; *result is NULL where there is none. Under the lock. */
static struct espi_packed_request **link_of(MPI_Request handle)
{
    struct espi_packed_request **at = bucket_of(handle);

    while (*at != NULL && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

/* Under the lock. */
static void put_in(struct espi_packed_request *r)
{
    struct espi_packed_request **bucket = bucket_of(r->handle);

    r->next = *bucket;
    *bucket = r;
    r->listed = true;
}

/* Under the lock. */
static void take_out(struct espi_packed_request *r)
{
    struct espi_packed_request **at = bucket_of(r->handle);

    if (!r->listed)
        return;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    r->listed = false;
}

void espi_packed_message_close(struct espi_packed_message *m, void (*release)(void *owner))
{
    if (m->side.pack != NULL)
        espi_packed_close(&m->side);
    espi_packed_type_back(&m->type);
    release(m->owner);
    espi_way_batch_left(m->batch);
}

static void let_contents_go(struct espi_packed_request *r)
{
    espi_lock(&r->lock);
    const bool ended = r->ended;
    r->ended = true;
    espi_unlock(&r->lock);
    if (ended)
        return;
    if (espi_packed_record_is_collective(r)) {
        for (int i = 0; i < 2; i++)
            if (r->blocks[i] != NULL)
                espi_packed_blocks_close(r->blocks[i], r->release);
    } else {
        espi_packed_message_close(&r->message, r->release);
    }
    espi_add(&espi_packed_requests, -1);
}

void espi_packed_record_enter(struct espi_packed_request *r)
{
    struct espi_packed_request *before;

    espi_way_batch_joined(r->message.batch);
    /* First, so that the requests are not completed by the stub alone. */
    espi_add(&espi_packed_requests, 1);
    espi_handle_table_take_requests();
    espi_lock(&lock);
    before = *link_of(r->handle);
    if (before != NULL) {
        take_out(before);
        if (before->holds > 0)
            before = NULL;
    }
    put_in(r);
    espi_unlock(&lock);
    if (before != NULL) { /* ended where the core did not see it */
        let_contents_go(before);
        espi_packed_request_drop(before);
    }
}

/* `claims[persistent]`: whether it is taken out of the table. */
static struct espi_packed_request *find(MPI_Request handle, const bool claims[2], unsigned *cycle)
{
    struct espi_packed_request *r;

    if (handle == MPI_REQUEST_NULL)
        return NULL;
    espi_lock(&lock);
    r = *link_of(handle);
    if (r != NULL) {
        r->holds++;
        *cycle = atomic_load_explicit(&r->cycle, memory_order_relaxed);
        if (claims[r->persistent])
            take_out(r);
    }
    espi_unlock(&lock);
    return r;
}

struct espi_packed_request *espi_packed_record_hold(MPI_Request handle, unsigned *cycle)
{
    return find(handle, (const bool[]){false, false}, cycle);
}

struct espi_packed_request *espi_packed_record_claim(MPI_Request handle, bool persistent, unsigned *cycle)
{
    return find(handle, (const bool[]){true, persistent}, cycle);
}

/* Under the lock, which it gives back. */
static void hold_no_more(struct espi_packed_request *r)
{
    const bool last = --r->holds == 0 && !r->listed;

    espi_unlock(&lock);
    if (last)
        espi_packed_request_drop(r);
}

void espi_packed_record_let_go(struct espi_packed_request *r)
{
    espi_lock(&lock);
    hold_no_more(r);
}

void espi_packed_record_back(struct espi_packed_request *r, bool persistent)
{
    espi_lock(&lock);
    if (persistent || !r->persistent)
        put_in(r);
    hold_no_more(r);
}

void espi_packed_record_end(struct espi_packed_request *r)
{
    let_contents_go(r);
    espi_packed_record_let_go(r);
}

/* ---- what was received ---- */

bool espi_packed_record_receives(const struct espi_packed_request *r)
{
    return espi_packed_record_is_collective(r) ||
           (r->message.side.pack != NULL && espi_packed_receives(&r->message.side));
}

/* Not that of a request that is inactive, nor of one that was cancelled. */
static bool is_of_message(const MPI_Status *status)
{
    int cancelled = 0;

    return status->MPI_SOURCE != MPI_ANY_SOURCE && espi_pmpi.Test_cancelled(status, &cancelled) == MPI_SUCCESS &&
           !cancelled;
}

static void unpack(struct espi_packed_request *r, const MPI_Status *status)
{
    for (int i = 0; i < 2; i++)
        if (r->blocks[i] != NULL)
            espi_packed_blocks_unpack(r->blocks[i]);
    if (!espi_packed_record_is_collective(r))
        espi_packed_unpack(&r->message.side, r->message.data, r->message.count, r->message.type, status);
}

void espi_packed_record_finish(struct espi_packed_request *r, unsigned cycle, const MPI_Status *status)
{
    const bool receives = espi_packed_record_receives(r);

    if (receives && !espi_packed_record_is_collective(r) && !is_of_message(status))
        return;
    espi_lock(&r->lock); /* whoever comes second returns when the data are there */
    if (!r->ended && r->cycle == cycle && receives && !r->unpacked) {
        const uint64_t begun = espi_way_batch_is_own() ? espi_stats_now() : 0;
        unpack(r, status);
        if (begun != 0)
            espi_way_batch_called(espi_stats_now() - begun);
        r->unpacked = true;
    }
    espi_unlock(&r->lock);
}

void espi_packed_record_inactive(struct espi_packed_request *r, unsigned cycle)
{
    espi_lock(&r->lock);
    if (r->cycle == cycle)
        r->active = false;
    espi_unlock(&r->lock);
}

bool espi_packed_record_is_active(struct espi_packed_request *r)
{
    espi_lock(&r->lock);
    const bool active = r->active;
    espi_unlock(&r->lock);
    return active;
}

/* ---- requests that the program freed ---- */

/* Nothing is compared with MPI's any more (ESPALIER_CHECK): nobody tells the program when all is there. It may see so
   itself, and use the memory for something else, which must not be read then, and written even less. */
static void compare_no_more(struct espi_packed_request *r)
{
    espi_lock(&r->lock);
    MPI_Datatype type = r->message.type;
    r->message.type = MPI_DATATYPE_NULL;
    espi_unlock(&r->lock);
    espi_packed_type_back(&type);
}

static void append(struct queue *q, struct espi_packed_request *r)
{
    espi_lock(&lock);
    r->next = NULL;
    *q->end = r;
    q->end = &r->next;
    espi_unlock(&lock);
}

static struct espi_packed_request *take_first(struct queue *q)
{
    espi_lock(&lock);
    struct espi_packed_request *r = q->first;
    if (r != NULL) {
        q->first = r->next;
        if (q->first == NULL)
            q->end = &q->first;
    }
    espi_unlock(&lock);
    return r;
}

/* False: it is under way. */
static bool is_over(struct espi_packed_request *r)
{
    MPI_Status status = {0};
    int complete = 0, code;

    code = r->persistent ? espi_pmpi.Request_get_status(r->handle, &complete, &status)
                         : espi_pmpi.Test(&r->handle, &complete, &status);
    if (code == MPI_SUCCESS && !complete)
        return false;
    if (code == MPI_SUCCESS)
        espi_packed_record_finish(r, r->cycle, &status);
    if (r->persistent)
        espi_pmpi.Request_free(&r->handle);
    return true;
}

/* Whether this one, which is in no queue, is over; if it is under way, it is put behind the others. Should MPI call
   an error handler that does not come back, only this one is lost. */
static bool look_at(struct queue *q, struct espi_packed_request *r)
{
    if (!is_over(r)) {
        append(q, r);
        return false;
    }
    atomic_fetch_sub(&q->n, 1);
    espi_packed_record_end(r);
    return true;
}

void espi_packed_record_keep(struct espi_packed_request *r)
{
    struct queue *q = &kept[espi_packed_record_receives(r) ? RECEIVED : SENT];

    espi_way_batch_spoilt(r->message.batch);
    compare_no_more(r);
    atomic_fetch_add(&q->n, 1);
    if (q == &kept[RECEIVED])
        look_at(q, r);
    else
        append(q, r);
}

/* Looks at each once, or until so many were found that are under way. */
static void look_through(struct queue *q, int under_way)
{
    struct espi_packed_request *r;

    for (int n = atomic_load_explicit(&q->n, memory_order_relaxed); n > 0 && (r = take_first(q)) != NULL; n--)
        if (!look_at(q, r) && --under_way == 0)
            return;
}

/* A program may free the requests of thousands of sends before the first is received: so they are not all looked at
   each time. */
void espi_packed_record_sweep(void)
{
    look_through(&kept[RECEIVED], INT_MAX);
    look_through(&kept[SENT], 2);
}

void espi_packed_requests_stop(void)
{
    struct espi_packed_request *r;

    for (int i = 0; i < KINDS; i++) {
        look_through(&kept[i], INT_MAX);
        /* MPI reads or writes the buffers until it ends: they stay. */
        while ((r = take_first(&kept[i])) != NULL) {
            espi_pmpi.Request_free(&r->handle);
            espi_packed_type_back(&r->message.type);
            r->release(r->message.owner);
            atomic_fetch_sub(&kept[i].n, 1);
            atomic_fetch_sub(&espi_packed_requests, 1);
            espi_packed_record_let_go(r);
        }
    }
    while ((r = spare) != NULL) {
        spare = r->next;
        free_record(r);
    }
    spares = 0;
}
