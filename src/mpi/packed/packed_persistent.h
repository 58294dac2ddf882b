/*
 * Persistent messages that a pack program sees to: MPI_Send_init and its kin, MPI_Recv_init. Whether one is packed is
 * decided when the request is made, on a buffer of ours that lives as long as the request. Each MPI_Start packs the
 * program's data as they are then; each completion unpacks what has come (packed_requests.h).
 */
#ifndef ESPI_MPI_PACKED_PACKED_PERSISTENT_H
#define ESPI_MPI_PACKED_PACKED_PERSISTENT_H

#include <mpi.h>
#include <stdbool.h>

#include "abi.h"
#include "mpi/packed/packed_record.h"

/* After the call, which succeeded and made `handle`: takes over what the message has, which `release` lets go when
   the request is freed and inactive. `use`: what each start counts as; the first one was counted with the call. */
void espi_packed_persistent_enter(struct espi_packed_request *request, MPI_Request handle,
                                  const struct espi_packed_message *message,
                                  const struct espi_packed_start_use *use, void (*release)(void *owner));

/* The program frees the request of this record. */
void espi_packed_persistent_freed(const struct espi_packed_request *request);

/* Whether this program frees such requests when they were started a few times: a record of one then costs more than
   packing a short message saves (bench/kinds, once and few). */
bool espi_packed_starts_are_few(void);
/* The same of the next one that is made: one of some is packed all the same, to see if it is still so. The second one
   counts it. */
bool espi_packed_starts_too_few(void);
void espi_packed_starts_decided(void);

/* Before MPI_Start or MPI_Startall is carried out with these arguments. */
void espi_packed_start(enum espi_fn fn, const espi_word *args);

#endif
