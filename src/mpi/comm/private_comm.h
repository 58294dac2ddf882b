/* How Espalier makes communicators of its own. */
#ifndef ESPI_MPI_COMM_PRIVATE_COMM_H
#define ESPI_MPI_COMM_PRIVATE_COMM_H

#include <mpi.h>
#include <stdbool.h>

/* A communicator of the same ranks, errors returned, which the caller frees; MPI_COMM_NULL where MPI has none left.
   Collective over `comm`. `early`: the program has had no chance to use up what MPI has; then a handler is left in
   its place that ends the program, or may be none (comm_cache.c, ask_without_handlers). */
MPI_Comm espi_private_comm(MPI_Comm comm, bool early);

#endif
