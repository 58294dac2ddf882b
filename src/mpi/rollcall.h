/*
 * Roll call: does every rank of MPI_COMM_WORLD have an active core? (rollcall.c)
 * Nothing collective of Espalier may happen otherwise, for a rank without it would leave the others waiting.
 */
#ifndef ESPI_MPI_ROLLCALL_H
#define ESPI_MPI_ROLLCALL_H

#include <stdbool.h>
#include <stdint.h>

#define ESPI_ROLLCALL_MAX 1024 /* more ranks than this: unknown, so false */

/* Before MPI is initialized in this process. Leaves the connection to the launcher as it found it. `sessions`: this
   rank announces that it may never use MPI_COMM_WORLD. `settings`: a hash of this rank's settings. */
void espi_rollcall_announce(bool sessions, uint64_t settings);

/* After MPI_Init. The same answer on every rank that asks; false when anything is unknown. One rank: true. `*alike`,
   of use when true is returned, and then the same on every rank, too: all have announced the same settings, and
   stand on one node of which the launcher knows. */
bool espi_rollcall_all_present(int rank, int size, bool *alike);

#endif
