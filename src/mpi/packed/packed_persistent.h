/*
 * Persistent messages that a pack program sees to: MPI_Send_init and its kin, MPI_Recv_init. Whether one is packed is
 * decided when the request is made, on a buffer of ours that lives as long as the request. Each MPI_Start packs the
 * program's data as they are then; each completion unpacks what has come (packed_requests.h).
 */
#ifndef ESPI_MPI_PACKED_PACKED_PERSISTENT_H
#define ESPI_MPI_PACKED_PACKED_PERSISTENT_H

#include <mpi.h>

#include "abi.h"
#include "mpi/packed/packed_record.h"

/* After the call, which succeeded and made `handle`: takes over what the message has, which `release` lets go when
   the request is freed and inactive. */
void espi_packed_persistent_enter(struct espi_packed_request *request, MPI_Request handle,
                                  const struct espi_packed_message *message, void (*release)(void *owner));

/* Before MPI_Start or MPI_Startall is carried out with these arguments. */
void espi_packed_start(enum espi_fn fn, const espi_word *args);

#endif
