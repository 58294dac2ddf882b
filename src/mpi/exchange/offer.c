#include "mpi/exchange/offer.h"

#include <string.h>

#include "base/buffer_pool.h"
#include "mpi/exchange/ends.h"

/*
 * Shorter blocks, and shorter rows of the sender's, go through the channel: the kernel looks up each row anew. Of
 * dense blocks of 16 kB both take as long on an Intel Xeon (bench/redistribute dense 16), but there the sender need
 * not wait; about rows of 2 kB they take as long, too.
 */
enum { LEAST = 24 << 10, LEAST_ROW = 4 << 10 };
/* The receiver's rows may be shorter; those that are too short, or no rows, are unpacked from so much; where there is
   no memory, from so much on the stack. */
enum { STAGE = 128 << 10, FEW = 8 << 10 };
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

    if (flow->way == ESPI_FLOW_TO_BE_OFFERED && flow->end->refused) { /* the one before it was */
        flow->way = ESPI_FLOW_IN_PIECES;
        return espi_flow_writes(flow);
    }
    if (flow->way == ESPI_FLOW_TO_BE_OFFERED) {
        char *room = espi_channel_write(flow->end, sizeof offer);
        if (room == NULL)
            return false;
        espi_exchange_in_rows(&flow->block, LEAST_ROW, &offer.rows);
        memcpy(room, &offer, sizeof offer);
        espi_channel_written(flow->end, ESPI_FLOW_OFFERS);
        flow->way = ESPI_FLOW_OFFERED;
        return true;
    }
    if (!espi_channel_is_empty(flow->end)) /* nothing was written after it */
        return false;
    flow->through = espi_channel_answered(flow->end) == ESPI_FLOW_TAKEN;
    flow->done = flow->through ? flow->block.bytes : 0;
    flow->way = ESPI_FLOW_IN_PIECES;
    flow->end->refused = !flow->through;
    return true;
}

/* Bytes first .. first + bytes - 1 by way of `stage`, which has `room` bytes. */
static bool fetch_staged(struct espi_flow *flow, int64_t first, int64_t bytes, char *stage, int64_t room)
{
    const struct espi_exchange_block *b = &flow->block;

    for (int64_t at = first, end = first + bytes, n; at < end; at += n) {
        n = end - at < room ? end - at : room;
        /* one row, in which byte `at` is the first one of the stage */
        const struct espi_rows ours = {(uintptr_t)stage - (uintptr_t)at, INT64_MAX, 0};
        if (!espi_fetch(espi_exchange_process(flow->end->from), &flow->offer.rows, &ours, at, n))
            return false;
        if (b->pack != NULL)
            espi_unpack_range(b->pack, stage, b->data, b->count, at, n);
        else /* MPI does it: it is as short as a piece (else all of it is staged), and all of it is here */
            flow->failed = espi_exchange_unpack(b, stage, n) != MPI_SUCCESS;
    }
    return true;
}

/* The same, to where they belong. */
static bool fetch(struct espi_flow *flow, int64_t bytes)
{
    const struct espi_exchange_block *b = &flow->block;
    struct espi_rows ours = {(uintptr_t)flow->staged, b->bytes, 0};
    _Alignas(64) char few[FEW];

    if (flow->staged != NULL || espi_exchange_in_rows(b, b->dense ? 1 : ESPI_FETCH_LEAST_ROW, &ours))
        return espi_fetch(espi_exchange_process(flow->end->from), &flow->offer.rows, &ours, flow->done, bytes);
    char *stage = b->pack != NULL && bytes <= FEW ? NULL : espi_pool_get(STAGE);
    if (stage == NULL && b->pack == NULL)
        flow->failed = true; /* MPI unpacks it in one go */
    const bool good = flow->failed || fetch_staged(flow, flow->done, bytes, stage != NULL ? stage : few,
                                                   stage != NULL ? STAGE : FEW);
    espi_pool_put(stage);
    return good;
}

void espi_offer_read(struct espi_flow *flow)
{
    if (flow->way != ESPI_FLOW_OFFERED) { /* it has just come */
        memcpy(&flow->offer, espi_channel_piece(flow->end, sizeof flow->offer), sizeof flow->offer);
        flow->way = ESPI_FLOW_OFFERED;
        flow->total = flow->offer.bytes;
    }
    const int64_t all = flow->failed ? 0 : flow->total < flow->block.bytes ? flow->total : flow->block.bytes,
                  bytes = all - flow->done < ESPI_FETCH_MOST ? all - flow->done : ESPI_FETCH_MOST;
    const bool good = bytes <= 0 || fetch(flow, bytes);
    if (good && flow->done + bytes < all) {
        flow->done += bytes;
        return;
    }
    flow->way = ESPI_FLOW_IN_PIECES;
    flow->through = flow->fetched = good;
    flow->done = good ? flow->total : 0; /* what was too long is done with, too */
    espi_channel_answer(flow->end, good ? ESPI_FLOW_TAKEN : ESPI_FLOW_REFUSED);
    espi_channel_read(flow->end);
}
