/*
 * Short messages of calls that block and have one buffer and one peer: MPI_Send and its kin, and MPI_Recv. Such a
 * message takes some 0.3 to 1 us one way, so what stands around packing it is kept short: no copy of the arguments,
 * no buffer of the pool, nothing that only other calls need. Longer ones that are left to the library go at once,
 * too. What is not so goes the way of all messages (message.h).
 */
#ifndef ESPI_MPI_CALLS_SHORT_MESSAGE_H
#define ESPI_MPI_CALLS_SHORT_MESSAGE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/core/api_table.h"
#include "mpi/core/thread_state.h"

/* Whether calls of a function of so many arguments may go this way; then they stand in the places of MPI_Send, or
   of MPI_Recv, which has one more. */
#define ESPI_IS_SHORT_MESSAGE(kind, args, large)                                                                     \
    (((kind) & (ESPI_P2P | ESPI_NONBLOCKING | ESPI_PERSISTENT | ESPI_PARTITIONED | ESPI_OWN | ESPI_BUFFERED)) ==     \
         ESPI_P2P &&                                                                                                 \
     !(large) && ((args) == 6 || (args) == 7))

/* Carries a call out that sends, or receives, by `next`; it is counted. The result is the call's. False: it goes
   another way, and nothing was done. */
bool espi_short_send(struct espi_thread_state *thread_state, enum espi_fn fn, const espi_word *args, espi_next next,
                     espi_word *result);
bool espi_short_receive(struct espi_thread_state *thread_state, enum espi_fn fn, const espi_word *args,
                        espi_next next, espi_word *result);

#endif
