#include "mpi/exchange/flow.h"

#include <sched.h>
#include <string.h>

#include "base/buffer_pool.h"
#include "mpi/comm/self_comm.h"
#include "mpi/core/pmpi.h"
#include "mpi/exchange/offer.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

char *espi_exchange_memory(int64_t bytes)
{
    enum { TRIES = 100 };
    char *memory = NULL;

    for (int i = 0; i < TRIES && (memory = espi_pool_get((size_t)bytes)) == NULL; i++)
        sched_yield();
    return memory;
}

static bool is_by_mpi(const struct espi_exchange_block *block)
{
    return block->pack == NULL && !block->dense;
}

bool espi_exchange_in_rows(const struct espi_exchange_block *b, int64_t least, struct espi_rows *rows)
{
    int64_t at = 0;

    *rows = (struct espi_rows){(uintptr_t)b->data, b->bytes, 0};
    if (b->pack != NULL && !espi_pack_is_rows(b->pack, b->count, &at, &rows->row, &rows->step))
        return false;
    rows->first += (uintptr_t)at;
    return (b->pack != NULL || b->dense) && rows->row >= least;
}

/* For MPI_Pack, which sends nothing. There may be no room for a communicator of our own. */
static MPI_Comm comm_to_pack(void)
{
    const MPI_Comm own = espi_self_comm();

    return own != MPI_COMM_NULL ? own : MPI_COMM_SELF;
}

/* MPI_Pack does not know MPI_BOTTOM (MPICH 4.0.2). */
int espi_exchange_pack(const struct espi_exchange_block *b, char *stream)
{
    MPI_Count position = 0;

    if (b->pack != NULL)
        espi_pack_run(b->pack, b->data, b->count, stream);
    else if (b->dense)
        memcpy(stream, b->data, (size_t)b->bytes);
    else if (b->data != NULL)
        return espi_pmpi.Pack_c(b->data, b->count, b->type, stream, b->bytes, &position, comm_to_pack());
    else
        return espi_self_copy(b->data, b->count, b->type, stream, b->bytes, MPI_PACKED);
    return MPI_SUCCESS;
}

/* Of a part MPI_Unpack makes an error; a message may be short. */
int espi_exchange_unpack(const struct espi_exchange_block *b, const char *stream, int64_t bytes)
{
    MPI_Count position = 0;

    if (b->pack != NULL && bytes == b->bytes)
        espi_unpack_run(b->pack, stream, b->data, b->count);
    else if (b->pack != NULL)
        espi_unpack_range(b->pack, stream, b->data, b->count, 0, bytes);
    else if (b->dense)
        memcpy(b->data, stream, (size_t)bytes);
    else if (b->data != NULL && bytes == b->bytes)
        return espi_pmpi.Unpack_c(stream, bytes, &position, b->data, b->count, b->type, comm_to_pack());
    else
        return espi_self_copy(stream, bytes, MPI_PACKED, b->data, b->count, b->type);
    return MPI_SUCCESS;
}

/* Whether it has to be staged; does so. */
static void stage(struct espi_flow *flow)
{
    if (!is_by_mpi(&flow->block) || flow->block.bytes <= flow->end->room)
        return;
    flow->staged = espi_exchange_memory(flow->block.bytes);
    flow->failed = flow->staged == NULL;
}

void espi_flow_send(struct espi_flow *flow, struct espi_channel_end *end, const struct espi_exchange_block *block,
                    bool failed)
{
    *flow = (struct espi_flow){.end = end, .block = *block, .total = ESPI_FLOW_SENT};
    if (!failed)
        stage(flow);
    if (flow->staged != NULL)
        flow->failed = espi_exchange_pack(block, flow->staged) != MPI_SUCCESS;
    flow->failed = flow->failed || failed;
    flow->way = espi_offer_suits(flow) ? ESPI_FLOW_TO_BE_OFFERED : ESPI_FLOW_IN_PIECES;
}

void espi_flow_receive(struct espi_flow *flow, struct espi_channel_end *end, const struct espi_exchange_block *block)
{
    *flow = (struct espi_flow){.end = end, .block = *block, .total = ESPI_FLOW_UNKNOWN};
    stage(flow);
}

/* Of longer blocks the other slots are being read meanwhile, and to claim lines takes more than it saves. */
enum { LONG = 256 << 10 };

/* The next bytes of it; it has not failed. */
static void fill(struct espi_flow *flow, char *room, int64_t bytes)
{
    const struct espi_exchange_block *b = &flow->block;

    if (flow->staged != NULL)
        memcpy(room, flow->staged + flow->done, (size_t)bytes);
    else if (b->dense)
        memcpy(room, b->data + flow->done, (size_t)bytes);
    else if (b->pack != NULL && bytes < b->bytes)
        espi_pack_range(b->pack, b->data, b->count, flow->done, bytes, room);
    else
        flow->failed = espi_exchange_pack(b, room) != MPI_SUCCESS;
}

bool espi_flow_writes(struct espi_flow *flow)
{
    if (flow->way != ESPI_FLOW_IN_PIECES)
        return espi_offer_goes(flow);

    const struct espi_exchange_block *b = &flow->block;
    const int64_t bytes = flow->failed ? 0 : least(flow->end->room, b->bytes - flow->done);
    char *room = espi_channel_write(flow->end, bytes);

    if (room == NULL)
        return false;
    if (b->bytes < LONG)
        espi_channel_claim(room, bytes);
    if (bytes > 0) /* of an empty one there may be no data */
        fill(flow, room, bytes);
    espi_channel_written(flow->end, flow->failed ? ESPI_FLOW_FAILED : b->bytes);
    flow->done += bytes;
    flow->through = flow->failed || flow->done == b->bytes;
    return true;
}

bool espi_flow_reads(struct espi_flow *flow)
{
    const struct espi_exchange_block *b = &flow->block;
    int64_t total;

    if (!espi_channel_has_piece(flow->end, &total))
        return false;
    if (total <= ESPI_FLOW_ASKS) {
        espi_channel_read(flow->end);
        return true;
    }
    if (total == ESPI_FLOW_OFFERS) {
        espi_offer_read(flow);
        return true;
    }
    flow->total = total;
    const int64_t bytes = least(flow->end->room, total - flow->done), /* negative: there are none */
                  wanted = least(bytes, b->bytes - flow->done);
    if (wanted > 0 && !flow->failed) {
        const char *piece = espi_channel_piece(flow->end, bytes);
        if (flow->staged != NULL)
            memcpy(flow->staged + flow->done, piece, (size_t)wanted);
        else if (b->dense)
            memcpy(b->data + flow->done, piece, (size_t)wanted);
        else if (b->pack != NULL && wanted < b->bytes)
            espi_unpack_range(b->pack, piece, b->data, b->count, flow->done, wanted);
        else
            flow->failed = espi_exchange_unpack(b, piece, wanted) != MPI_SUCCESS;
    }
    espi_channel_read(flow->end);
    flow->done += bytes > 0 ? bytes : 0;
    flow->through = flow->done >= total;
    return true;
}

int espi_flow_end(struct espi_flow *flow)
{
    const bool received = flow->total != ESPI_FLOW_SENT, truncated = received && flow->total > flow->block.bytes;
    int result = flow->failed || flow->total == ESPI_FLOW_FAILED ? MPI_ERR_NO_MEM : MPI_SUCCESS;

    if (flow->staged != NULL && received && result == MPI_SUCCESS)
        result = espi_exchange_unpack(&flow->block, flow->staged, least(flow->done, flow->block.bytes));
    espi_pool_put(flow->staged);
    return result != MPI_SUCCESS ? result : truncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}
