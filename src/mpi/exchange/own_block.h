/* The block that a rank sends itself in a call that ranks exchange (own_block.c). */
#ifndef ESPI_MPI_EXCHANGE_OWN_BLOCK_H
#define ESPI_MPI_EXCHANGE_OWN_BLOCK_H

#include "abi.h"
#include "mpi/exchange/flow.h"

/* One that is copied step by step, as pieces of the other blocks go: rows for both stand side by side, and what the
   caches fetch for one has the other's. It follows from layouts and not from times, so that ranks mostly do alike:
   each waits for the others' pieces. */
struct espi_own_steps {
    const struct espi_exchange_block *from, *to;
    int64_t done, end;
};

/* Copies it, from layout to layout. MPI_SUCCESS, or an error of MPI's, as of a block that is too long. With `steps`,
   all zero, or NULL, it may be left to them: until `done` is `end`. */
int espi_exchange_copy_own(struct espi_thread *thread, const struct espi_exchange_block *from,
                           const struct espi_exchange_block *to, struct espi_own_steps *steps);
/* So many bytes of what is left, at most. */
void espi_own_steps_go(struct espi_own_steps *steps, int64_t bytes);

#endif
