#include "mpi/exchange/offer.h"

#include <string.h>

#include "base/buffer_pool.h"
#include "mpi/exchange/ends.h"

/*
 * Shorter blocks, and shorter rows of the sender's, go through the channel: the kernel looks up each row anew. Of
 * dense blocks of 16 kB both take as long on an Intel Xeon (bench/redistribute dense 16), but there the sender need
 * not wait; rows of 2 kB took as long as through slots, of 4 kB three quarters.
 */
enum { LEAST = 24 << 10, LEAST_ROW = 4 << 10 };
/* The receiver's rows may be shorter; those that are too short, or no rows, are unpacked from so much. */
enum { STAGE = 128 << 10 };
_Static_assert((int)LEAST_ROW >= (int)ESPI_FETCH_LEAST_ROW && (int)STAGE <= (int)ESPI_FETCH_MOST, "it is taken");

bool espi_offer_suits(const struct espi_flow *flow)
{
    struct espi_rows rows;

    return espi_exchange_fetches && flow->block.bytes > LEAST && !flow->end->refused && !flow->failed &&
           flow->staged == NULL && espi_exchange_in_rows(&flow->block, LEAST_ROW, &rows);
}

bool espi_offer_goes(struct espi_flow *flow)
{
    struct espi_offer offer = {.bytes = flow->block.bytes};

    if (!flow->offered) {
        char *room = espi_channel_write(flow->end, sizeof offer);
        if (room == NULL)
            return false;
        espi_exchange_in_rows(&flow->block, LEAST_ROW, &offer.rows);
        memcpy(room, &offer, sizeof offer);
        espi_channel_written(flow->end, ESPI_FLOW_OFFERS);
        flow->offered = true;
        return true;
    }
    if (!espi_channel_is_empty(flow->end)) /* nothing was written after it */
        return false;
    flow->through = espi_channel_answered(flow->end) == ESPI_FLOW_TAKEN;
    flow->done = flow->through ? flow->block.bytes : 0;
    flow->offers = false;
    flow->end->refused = !flow->through;
    return true;
}

/* Bytes done .. done + bytes - 1, to where they belong. */
static bool fetch(struct espi_flow *flow, int64_t bytes)
{
    const struct espi_exchange_block *b = &flow->block;
    struct espi_process *process = espi_exchange_process(flow->end->from);
    struct espi_rows ours = {(uintptr_t)flow->staged, b->bytes, 0};

    if (flow->staged != NULL || espi_exchange_in_rows(b, ESPI_FETCH_LEAST_ROW, &ours))
        return espi_fetch(process, &flow->offer.rows, &ours, flow->done, bytes);
    char *stage = espi_pool_get(STAGE);
    bool good = stage != NULL;
    for (int64_t at = 0, n; good && at < bytes; at += n) {
        n = bytes - at < STAGE ? bytes - at : STAGE;
        ours = (struct espi_rows){(uintptr_t)stage - (uintptr_t)(flow->done + at), INT64_MAX, 0};
        good = espi_fetch(process, &flow->offer.rows, &ours, flow->done + at, n);
        if (good && b->pack != NULL)
            espi_unpack_range(b->pack, stage, b->data, b->count, flow->done + at, n);
        else if (good) /* MPI does it: it is shorter than what was offered, and all of it is here */
            flow->failed = espi_exchange_unpack(b, stage, n) != MPI_SUCCESS;
    }
    espi_pool_put(stage);
    return good;
}

void espi_offer_taken(struct espi_flow *flow)
{
    const char *piece = espi_channel_piece(flow->end, sizeof flow->offer);

    if (!flow->offers) { /* it has just come */
        memcpy(&flow->offer, piece, sizeof flow->offer);
        flow->offers = true;
        flow->total = flow->offer.bytes;
    }
    const int64_t all = flow->failed ? 0 : flow->total < flow->block.bytes ? flow->total : flow->block.bytes,
                  bytes = all - flow->done < ESPI_FETCH_MOST ? all - flow->done : ESPI_FETCH_MOST;
    const bool good = bytes <= 0 || fetch(flow, bytes);
    if (good && flow->done + bytes < all) {
        flow->done += bytes;
        return;
    }
    flow->offers = false;
    flow->through = flow->fetched = good;
    flow->done = good ? flow->total : 0;
    espi_channel_answer(flow->end, good ? ESPI_FLOW_TAKEN : ESPI_FLOW_UNKNOWN);
    espi_channel_read(flow->end);
}
