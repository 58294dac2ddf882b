/*
 * How much a message of MPI_PACKED or MPI_BYTE had, from its status. MPI_Get_elements_x says the same in more than a
 * hundred instructions, in which a short one is packed. What the two words are is public in MPICH's mpi.h, and the
 * same for all of its ABI; the core runs with the version alone that it was built with (entry.c), and a self-test
 * holds this against MPI_Status_set_elements_x before anything is packed (packed/self_test.c).
 */
#ifndef ESPI_MPI_CORE_STATUS_BYTES_H
#define ESPI_MPI_CORE_STATUS_BYTES_H

#include <mpi.h>
#include <stdint.h>

static inline int64_t espi_status_bytes(const MPI_Status *status)
{
    const int64_t high = (int64_t)((unsigned)status->count_hi_and_cancelled >> 1); /* the last bit: cancelled */

    return high << 32 | (unsigned)status->count_lo;
}

#endif
