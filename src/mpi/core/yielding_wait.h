/* Waiting for other ranks where they may share processors. */
#ifndef ESPI_MPI_CORE_YIELDING_WAIT_H
#define ESPI_MPI_CORE_YIELDING_WAIT_H

#include <mpi.h>

/* Waits for what a nonblocking collective call has begun; `begun` is what that call returned. Returns the first
   error, or MPI_SUCCESS; after an error of MPI_Test the call may still be under way, so what it reads and writes
   should be static. Calls of MPICH that block poll until their time slice ends, while the rank that they wait for may
   have no processor: this one yields. Not for messages: of their errors MPI_Test of MPICH 4.0 tells the handler of
   MPI_COMM_WORLD, whatever communicator they are on. */
int espi_wait_yielding(int begun, MPI_Request *request);

#endif
