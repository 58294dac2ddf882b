#include "mpi/selfcopy/self_sends.h"

bool espi_self_sends_possible(MPI_Comm comm, int rank)
{
    return atomic_load_explicit(&espi_hot->nested, memory_order_relaxed) != 0 ||
           atomic_load_explicit(espi_self_sends_place(comm, rank), memory_order_relaxed) != 0;
}
