/* The block that a rank has for itself in a call that ranks exchange. */
#ifndef ESPI_MPI_EXCHANGE_OWN_BLOCK_H
#define ESPI_MPI_EXCHANGE_OWN_BLOCK_H

#include "abi.h"
#include "mpi/exchange/flow.h"

/* Copies it, from layout to layout. MPI_SUCCESS, or an error of MPI's, as of a block that is too long. */
int espi_exchange_copy_own(struct espi_thread *thread, const struct espi_exchange_block *from,
                           const struct espi_exchange_block *to);

#endif
