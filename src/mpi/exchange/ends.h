/* This rank's ends of the channels between the ranks of MPI_COMM_WORLD (start.c). */
#ifndef ESPI_MPI_EXCHANGE_ENDS_H
#define ESPI_MPI_EXCHANGE_ENDS_H

#include <stdbool.h>

#include "exchange/segment.h"

extern struct espi_channel_end espi_exchange_ends[2][ESPI_SEGMENT_PROCESSES]; /* to, and from, each other rank */
extern bool espi_exchange_is_crowded; /* there are more ranks than processors for them; all know the same */

extern bool espi_exchange_fetches; /* blocks may be read in the sender's memory */
extern struct espi_process espi_exchange_processes[ESPI_SEGMENT_PROCESSES]; /* of each other rank */

/* Lets the library go on with what is under way. */
void espi_exchange_poll(void);
/* Nothing has moved since so many looks: a little later there may be something. */
void espi_exchange_wait(unsigned looks);

static inline struct espi_channel_end *espi_exchange_to(int rank)
{
    return &espi_exchange_ends[0][rank];
}

static inline struct espi_channel_end *espi_exchange_from(int rank)
{
    return &espi_exchange_ends[1][rank];
}

static inline struct espi_process *espi_exchange_process(int rank)
{
    return &espi_exchange_processes[rank];
}

#endif
