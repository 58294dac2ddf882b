#include "mpi/core/yielding_wait.h"

#include <sched.h>

#include "mpi/core/pmpi.h"

int espi_wait_yielding(int begun, MPI_Request *request)
{
    enum { LOOKS = 64 }; /* some microseconds: mostly it is there by then where each rank has a processor */
    int result = begun, looks = 0, ended = 0;

    while (result == MPI_SUCCESS && !ended) {
        result = espi_pmpi.Test(request, &ended, MPI_STATUS_IGNORE);
        if (looks < LOOKS)
            looks++;
        else if (!ended)
            sched_yield();
    }
    return result;
}
