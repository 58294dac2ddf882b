/* MPI_Gatherv, MPI_Scatterv, MPI_Gather and MPI_Scatter: by the library or along trees, as leases say (lease.h). */
#ifndef ESPI_MPI_COLLECTIVE_H
#define ESPI_MPI_COLLECTIVE_H

#include "bridge.h"
#include "mpi/lease.h"
#include "mpi/tree_model.h"

/* Handler (bridge.h). `library` carries the call out by the library, with better datatypes where there are any. */
espi_word espi_collective_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);

/* Before the program frees the communicator: ends what hangs on it here, not in a callback inside of MPI's
   progress. */
void espi_collective_comm_ends(struct espi_thread *thread, MPI_Comm comm);
void espi_collectives_start(void);
/* Frees the private communicators; collective over each of them, so only where MPI itself is collective. */
void espi_collectives_stop(void);

#endif
