/* One block on its way: from this rank to another one, or the other way round (flow.c). */
#ifndef ESPI_MPI_EXCHANGE_FLOW_H
#define ESPI_MPI_EXCHANGE_FLOW_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "exchange/channel.h"
#include "exchange/fetch.h"
#include "pack/pack.h"

/* `count` items of a type at `data`, `bytes` in all. */
struct espi_exchange_block {
    char *data;
    int64_t count, bytes;
    const struct espi_pack *pack; /* NULL: */
    bool dense;                   /* they stand one behind the other; or else MPI packs them */
    MPI_Datatype type;
};

struct espi_flow {
    struct espi_channel_end *end;
    struct espi_exchange_block block;
    char *staged;  /* all of it, packed, where MPI does that and it does not fit a piece */
    int64_t done;  /* bytes that have gone */
    int64_t total; /* of what arrives, as the sender says, once something has */
    bool failed;   /* there is no memory for it: what is sent is that */
    bool through;  /* all of it has gone */
    enum espi_flow_way { ESPI_FLOW_IN_PIECES, ESPI_FLOW_TO_BE_OFFERED, ESPI_FLOW_OFFERED } way;
    struct espi_offer { /* of the sender's, to read it where it lies (offer.h) */
        int64_t bytes;
        struct espi_rows rows;
    } offer;
    bool fetched; /* the receiver has read it there */
    struct espi_flow *next; /* by the same end, after this one; NULL: none */
};
/* What stands for the bytes of a piece's message: OFFERS, the piece is an offer, and, said by the receiver, TAKEN and
   REFUSED; from ASKS downwards, a piece of none, a word about a turn (turns.h). */
enum { ESPI_FLOW_UNKNOWN = -1, ESPI_FLOW_FAILED = -2, ESPI_FLOW_SENT = -3, ESPI_FLOW_OFFERS = -4,
       ESPI_FLOW_TAKEN = -5, ESPI_FLOW_REFUSED = -6, ESPI_FLOW_ASKS = -7 };

/* Begins one. An empty one goes, too. `failed`: there is no memory for it, which is what is sent. */
void espi_flow_send(struct espi_flow *flow, struct espi_channel_end *end, const struct espi_exchange_block *block,
                    bool failed);
void espi_flow_receive(struct espi_flow *flow, struct espi_channel_end *end, const struct espi_exchange_block *block);

/* Moves a piece on, if there is room for it, or one has arrived. `through` says whether it was the last. */
bool espi_flow_writes(struct espi_flow *flow);
bool espi_flow_reads(struct espi_flow *flow);

/* When it is through: gives back what it took. MPI_SUCCESS, or an error of MPI's. */
int espi_flow_end(struct espi_flow *flow);

/* Packs a block into `stream`, or unpacks it. MPI_SUCCESS, or an error of MPI's. */
int espi_exchange_pack(const struct espi_exchange_block *block, char *stream);
int espi_exchange_unpack(const struct espi_exchange_block *block, const char *stream, int64_t bytes);

/* Whether it lies in rows of at least so many bytes, a constant step apart, or as one. False: *rows is not known. */
bool espi_exchange_in_rows(const struct espi_exchange_block *block, int64_t least, struct espi_rows *rows);

/* Memory that a call can not do without: asked for again for a while. NULL: there is none. Goes back to the pool
   (buffer_pool.h). */
char *espi_exchange_memory(int64_t bytes);

#endif
