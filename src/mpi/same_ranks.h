/* How Espalier makes communicators of its own. */
#ifndef ESPI_MPI_SAME_RANKS_H
#define ESPI_MPI_SAME_RANKS_H

#include <mpi.h>

/* A communicator of the same ranks, errors returned, which the caller frees; MPI_COMM_NULL where MPI has none left.
   Collective over `comm`. */
MPI_Comm espi_same_ranks(MPI_Comm comm);

#endif
