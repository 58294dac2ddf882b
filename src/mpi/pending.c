#include "mpi/pending.h"

#include <stddef.h>

atomic_uchar espi_pending_seen[1 << ESPI_PENDING_BITS];
static const int *inside;

void espi_pending_start(const int *nested)
{
    inside = nested;
}

bool espi_pending_possible(MPI_Comm comm, int rank)
{
    return inside == NULL || __atomic_load_n(inside, __ATOMIC_RELAXED) != 0 ||
           atomic_load_explicit(espi_pending_place(comm, rank), memory_order_relaxed) != 0;
}
