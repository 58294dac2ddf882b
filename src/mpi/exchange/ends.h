/* This rank's ends of the channels between the ranks of MPI_COMM_WORLD, when it is known that all take part
   (start.c). */
#ifndef ESPI_MPI_EXCHANGE_ENDS_H
#define ESPI_MPI_EXCHANGE_ENDS_H

#include <stdbool.h>

#include "exchange/segment.h"

/* By ranks: what calls with one of them need stands together. */
extern struct espi_exchange_peer {
    struct espi_channel_end to, from;
    struct espi_process process;
} espi_exchange_peers[ESPI_SEGMENT_PROCESSES];
extern bool espi_exchange_is_crowded; /* there are more ranks than processors for them */

extern bool espi_exchange_fetches; /* blocks may be read in the sender's memory */

/* Lets the library go on with what is under way. */
void espi_exchange_poll(void);
/* Nothing has moved since so many looks: a little later there may be something. */
void espi_exchange_wait(unsigned looks);

static inline struct espi_channel_end *espi_exchange_to(int rank)
{
    return &espi_exchange_peers[rank].to;
}

static inline struct espi_channel_end *espi_exchange_from(int rank)
{
    return &espi_exchange_peers[rank].from;
}

static inline struct espi_process *espi_exchange_process(int rank)
{
    return &espi_exchange_peers[rank].process;
}

#endif
