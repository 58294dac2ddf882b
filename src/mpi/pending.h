/*
 * Whether a message from a rank to itself may be pending on a communicator: sent, and not received yet.
 *
 * MPI_Iprobe finds one that has arrived; nothing tells of one that is still on its way. But it must have been sent,
 * by a call that returns before it is received (kind ESPI_LEAVES: MPI_Send, MPI_Isend, MPI_Send_init, ...). So the
 * communicator and rank of every such call are noted, and nothing is ever taken back. Notes share places, which only
 * makes the answer "perhaps" more frequent. Calls that the core does not see, because they are made inside another
 * call (in callbacks, by tools further down), make it "perhaps" everywhere.
 */
#ifndef ESPI_MPI_PENDING_H
#define ESPI_MPI_PENDING_H

#include <mpi.h>
#include <stdbool.h>

#include "bridge.h"
#include "mpi/dispatch.h"

/* Notes a call of kind ESPI_LEAVES, before it is made. */
void espi_pending_note(const struct espi_row *row, const espi_word *args);

/* False: none of the messages that `rank`, the own one in `comm`, has sent to itself is pending. */
bool espi_pending_possible(MPI_Comm comm, int rank);

/* Where calls inside of calls are told of (struct espi_stub). */
void espi_pending_start(const int *nested);

#endif
