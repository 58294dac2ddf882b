#include "mpi/core/yielding_wait.h"

#include <sched.h>

#include "mpi/core/pmpi.h"

int espi_wait_yielding(int begun, MPI_Request *request, MPI_Status *status)
{
    enum { LOOKS = 64 }; /* some microseconds: mostly it is there by then where each rank has a processor */
    int result = begun, ended = 0;

    for (int looks = 0; result == MPI_SUCCESS && !ended; looks++) {
        result = espi_pmpi.Test(request, &ended, status);
        if (!ended && looks >= LOOKS)
            sched_yield();
    }
    return result;
}
