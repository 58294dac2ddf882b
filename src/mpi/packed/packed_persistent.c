#include "mpi/packed/packed_persistent.h"

#include "stats/stats.h"

void espi_packed_persistent_enter(struct espi_packed_request *r, MPI_Request handle,
                                  const struct espi_packed_message *message, void (*release)(void *owner))
{
    espi_packed_record_sweep();
    r->handle = handle;
    r->persistent = true;
    r->message = *message;
    r->release = release;
    espi_packed_record_enter(r);
}

/* Also where MPI will refuse: a request that is active already sends what the program has now, which it may not have
   changed. */
static void start(struct espi_packed_request *r)
{
    const struct espi_packed_message *m = &r->message;

    pthread_mutex_lock(&r->lock);
    r->cycle++;
    r->active = true;
    r->unpacked = false;
    if (!r->ended && !espi_packed_receives(&m->side))
        espi_packed_pack(&m->side, m->data, m->count, m->type);
    pthread_mutex_unlock(&r->lock);
    espi_count_anywhere(ESPI_COUNT_bytes_packed, (uint64_t)m->side.bytes);
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
