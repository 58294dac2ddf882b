/*
 * Whether a message from a rank to itself may be pending on a communicator: sent, and not received yet.
 *
 * MPI_Iprobe finds one that has arrived; nothing tells of one that is still on its way. But it must have been sent,
 * by a call that returns before it is received (kind ESPI_LEAVES: MPI_Send, MPI_Isend, MPI_Send_init, ...). So the
 * communicator and rank of every such call are noted, and nothing is ever taken back. Notes share places, which only
 * makes the answer "perhaps" more frequent. Calls that the core does not see, because they are made inside another
 * call (in callbacks, by tools further down), make it "perhaps" everywhere.
 */
#ifndef ESPI_MPI_SELFCOPY_SELF_SENDS_H
#define ESPI_MPI_SELFCOPY_SELF_SENDS_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "mpi/core/api_table.h"
#include "mpi/core/handle_table.h"

static inline atomic_uchar *espi_self_sends_place(MPI_Comm comm, int rank)
{
    return &espi_hot->pending[espi_self_sends_at((uint32_t)comm, rank)];
}

/* Notes a call of kind ESPI_LEAVES, before it is made (wrappers/fastpath.h does it for the calls that stay in the
   stub).
   `comm`: position of the communicator. On every message's way, so it is made for `typed` and `kind` that the
   compiler knows. */
static inline __attribute__((always_inline)) void espi_self_sends_note(const struct espi_buffer_args *typed,
                                                                       unsigned kind, int comm, const espi_word *args)
{
    const struct espi_buffer_args *send = &typed[0], *receive = send->source >= 0 ? send : send + 1;
    int dest = (int)args[(int)send->dest], tag;

    /* MPI_Sendrecv, MPI_Sendrecv_replace. */
    if (receive->shape != ESPI_SHAPE_NONE && !(kind & ESPI_NONBLOCKING)) {
        tag = (int)args[(int)receive->recvtag];
        if ((int)args[(int)receive->source] == dest && (tag == (int)args[(int)send->sendtag] || tag == MPI_ANY_TAG))
            return; /* where no message was pending before, its receive can only be for its own */
    }
    atomic_store_explicit(espi_self_sends_place((MPI_Comm)args[comm], dest), 1, memory_order_relaxed);
}

/* False: none of the messages that `rank`, the own one in `comm`, has sent to itself is pending. */
bool espi_self_sends_possible(MPI_Comm comm, int rank);

#endif
