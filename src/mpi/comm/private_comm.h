/* How Espalier makes communicators of its own. */
#ifndef ESPI_MPI_COMM_PRIVATE_COMM_H
#define ESPI_MPI_COMM_PRIVATE_COMM_H

#include <mpi.h>

/* A communicator of the same ranks, errors returned, which the caller frees; MPI_COMM_NULL where MPI has none left.
   Collective over `comm`. */
MPI_Comm espi_private_comm(MPI_Comm comm);

#endif
