/* MPI_Gatherv, MPI_Scatterv, MPI_Gather and MPI_Scatter: by the library or along trees, as leases say (lease.h). */
#ifndef ESPI_MPI_GATHER_CALL_H
#define ESPI_MPI_GATHER_CALL_H

#include "abi.h"

/* Handler (abi.h): carries the call out along a tree where a lease says so, else by the library, with better
   datatypes where there are any. */
espi_word espi_collective_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);

#endif
