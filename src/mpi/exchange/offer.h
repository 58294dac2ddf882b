/*
 * Long blocks that lie in long rows are not sent: the sender says where they are, in a piece of its channel, and the
 * receiver reads them there (exchange/fetch.h), while the sender waits. Where it cannot it says so, and they are sent
 * as all others are.
 */
#ifndef ESPI_MPI_EXCHANGE_OFFER_H
#define ESPI_MPI_EXCHANGE_OFFER_H

#include "mpi/exchange/flow.h"

/* Whether what is about to be sent is to be offered. */
bool espi_offer_suits(const struct espi_flow *flow);
/* Makes the offer, or sees what came of it; if it was refused, the block goes in pieces. False: nothing yet. */
bool espi_offer_goes(struct espi_flow *flow);
/* Reads on in what was offered: the piece that has arrived says where. */
void espi_offer_read(struct espi_flow *flow);

#endif
