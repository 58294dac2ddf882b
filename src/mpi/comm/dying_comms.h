/*
 * Communicators that are being freed. The program's attribute delete functions may use them meanwhile, on all ranks
 * alike; all of these calls are of an unknown communicator. An attribute that is set on one while MPI walks through
 * its attributes would not end it, and what was learnt of it would be taken for the next one of this handle.
 */
#ifndef ESPI_MPI_COMM_DYING_COMMS_H
#define ESPI_MPI_COMM_DYING_COMMS_H

#include <mpi.h>
#include <stdbool.h>

/* Before MPI is asked to free it, and when it has done so, or refused to. Thread-safe; one may be within another. */
void espi_comm_free_begins(MPI_Comm comm);
void espi_comm_free_ends(MPI_Comm comm);

/* Whether it is in between, in a call of this thread: delete functions run there. */
bool espi_comm_is_dying(MPI_Comm comm);

#endif
