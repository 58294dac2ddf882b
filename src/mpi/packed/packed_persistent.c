#include "mpi/packed/packed_persistent.h"

#include "base/overlap.h"

void espi_packed_persistent_enter(struct espi_packed_request *r, MPI_Request handle,
                                  const struct espi_packed_message *message,
                                  const struct espi_packed_start_use *use, void (*release)(void *owner))
{
    espi_packed_record_sweep();
    r->handle = handle;
    r->persistent = true;
    r->start_use = *use;
    r->message = *message;
    r->release = release;
    espi_packed_record_enter(r);
}

/* ---- how often they are started ---- */

/* Of those that the program has freed lately: how many, and how often they were started. */
static atomic_uint lives, starts;
/* After so many starts one lasts: others that are made by now may, too. */
enum { LASTS = 16 };

static void forget_lives(void)
{
    atomic_store_explicit(&lives, 0, memory_order_relaxed);
    atomic_store_explicit(&starts, 0, memory_order_relaxed);
}

void espi_packed_persistent_freed(const struct espi_packed_request *r)
{
    enum { LIVES_MOST = 256 };
    const unsigned cycle = atomic_load_explicit(&r->cycle, memory_order_relaxed);
    unsigned n = 1 + atomic_load_explicit(&lives, memory_order_relaxed),
             sum = (cycle < LASTS ? cycle : LASTS) + atomic_load_explicit(&starts, memory_order_relaxed);

    if (n == LIVES_MOST) {
        n /= 2;
        sum /= 2;
    }
    atomic_store_explicit(&lives, n, memory_order_relaxed);
    atomic_store_explicit(&starts, sum, memory_order_relaxed);
}

bool espi_packed_starts_are_few(void)
{
    /* A program may make all its requests once to warm up, and then others that last: these stay as was decided. */
    enum { LIVES_LEAST = 64, STARTS_LEAST = 4 };
    const unsigned n = atomic_load_explicit(&lives, memory_order_relaxed);

    return n >= LIVES_LEAST && atomic_load_explicit(&starts, memory_order_relaxed) < STARTS_LEAST * n;
}

static atomic_uint decided;

bool espi_packed_starts_too_few(void)
{
    enum { TRIED_EACH = 32 };

    return espi_packed_starts_are_few() && atomic_load_explicit(&decided, memory_order_relaxed) % TRIED_EACH != 0;
}

void espi_packed_starts_decided(void)
{
    atomic_store_explicit(&decided, atomic_load_explicit(&decided, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* ---- */

/* One more use: requests of one type may be started by several threads. */
static void count_use(const struct espi_packed_request *r)
{
    const struct espi_packed_start_use *use = &r->start_use;

    espi_count_anywhere(ESPI_COUNT_calls_examined, 1);
    espi_count_anywhere(ESPI_COUNT_calls_packed, 1);
    espi_add_u64(&use->record->uses, 1);
    espi_add_u64(&use->record->elements, (uint64_t)r->message.count);
    espi_add_u64(&use->record->bytes, (uint64_t)r->message.side.bytes);
    espi_add_u64(&use->record->changed, 1);
    espi_add_u64(&use->record->saved_ps[use->where], use->saved_ps);
}

/* Also where MPI will refuse: a request that is active already sends what the program has now, which it may not have
   changed. */
static void start(struct espi_packed_request *r)
{
    const struct espi_packed_message *m = &r->message;

    pthread_mutex_lock(&r->lock);
    const unsigned cycle = ++r->cycle;
    if (cycle == LASTS)
        forget_lives();
    r->active = true;
    r->unpacked = false;
    if (!r->ended && !espi_packed_receives(&m->side))
        espi_packed_pack(&m->side, m->data, m->count, m->type);
    pthread_mutex_unlock(&r->lock);
    espi_count_anywhere(ESPI_COUNT_bytes_packed, (uint64_t)m->side.bytes);
    if (cycle > 1)
        count_use(r);
}

void espi_packed_start(enum espi_fn fn, const espi_word *args)
{
    const MPI_Request *requests = (const MPI_Request *)args[fn == ESPI_FN_Start ? 0 : 1];
    const int n = fn == ESPI_FN_Start ? 1 : (int)args[0];
    unsigned cycle;

    espi_packed_record_sweep();
    for (int i = 0; i < n && requests != NULL; i++) {
        struct espi_packed_request *r = espi_packed_record_hold(requests[i], &cycle);
        if (r == NULL)
            continue;
        if (r->persistent)
            start(r);
        espi_packed_record_let_go(r);
    }
}
