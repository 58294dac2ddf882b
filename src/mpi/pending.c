#include "mpi/pending.h"

bool espi_pending_possible(MPI_Comm comm, int rank)
{
    return atomic_load_explicit(&espi_hot->nested, memory_order_relaxed) != 0 ||
           atomic_load_explicit(espi_pending_place(comm, rank), memory_order_relaxed) != 0;
}
