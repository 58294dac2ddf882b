/* Waiting for other ranks where they may share processors. */
#ifndef ESPI_MPI_CORE_YIELDING_WAIT_H
#define ESPI_MPI_CORE_YIELDING_WAIT_H

#include <mpi.h>

/* Waits for what a nonblocking call has begun; `begun` is what that call returned. Returns the first error, or
   MPI_SUCCESS; `status` as in MPI_Wait. Calls of MPICH that block poll until their time slice ends, while the rank
   that they wait for may have no processor: this one yields. */
int espi_wait_yielding(int begun, MPI_Request *request, MPI_Status *status);

#endif
