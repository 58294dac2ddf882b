#include "mpi/pending.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { BITS = 13 };

static atomic_uchar seen[1 << BITS];
static const int *inside;

static atomic_uchar *place(MPI_Comm comm, int rank)
{
    uint32_t h = ((uint32_t)comm * 0x9e3779b1u ^ (uint32_t)rank) * 0x85ebca6bu;
    return &seen[h >> (32 - BITS)];
}

void espi_pending_start(const int *nested)
{
    inside = nested;
}

void espi_pending_note(const struct espi_row *row, const espi_word *args)
{
    const struct espi_typed *send = &row->typed[0], *receive = send->source >= 0 ? send : send + 1;
    int dest = (int)args[(int)send->dest], tag;

    /* MPI_Sendrecv, MPI_Sendrecv_replace. */
    if (receive->shape != ESPI_SHAPE_NONE && !(row->kind & ESPI_NONBLOCKING)) {
        tag = (int)args[(int)receive->recvtag];
        if ((int)args[(int)receive->source] == dest && (tag == (int)args[(int)send->sendtag] || tag == MPI_ANY_TAG))
            return; /* where no message was pending before, its receive can only be for its own */
    }
    atomic_store_explicit(place((MPI_Comm)args[(int)row->comm], dest), 1, memory_order_relaxed);
}

bool espi_pending_possible(MPI_Comm comm, int rank)
{
    return inside == NULL || __atomic_load_n(inside, __ATOMIC_RELAXED) != 0 ||
           atomic_load_explicit(place(comm, rank), memory_order_relaxed) != 0;
}
