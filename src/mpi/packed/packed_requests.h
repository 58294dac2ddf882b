/*
 * Nonblocking messages and collective calls that a pack program sees to. The program gets MPI's own request; a record
 * (packed_record.h) is found by that handle when a call completes it: then what was received is unpacked, and the
 * buffer given back.
 */
#ifndef ESPI_MPI_PACKED_PACKED_REQUESTS_H
#define ESPI_MPI_PACKED_PACKED_REQUESTS_H

#include <mpi.h>
#include <stdbool.h>

#include "abi.h"
#include "mpi/packed/packed_record.h"

/* After the call, which succeeded and made `handle`: takes over what the message has, which `release` lets go when it
   is complete. A message sent that is complete already is let go at once. */
void espi_packed_request_enter(struct espi_packed_request *request, MPI_Request handle,
                               const struct espi_packed_message *message, void (*release)(void *owner));

/* The same for a collective call, of which the sides that are not NULL are taken over. */
void espi_packed_request_enter_blocks(struct espi_packed_request *request, MPI_Request handle,
                                      struct espi_packed_blocks *const sides[2], void (*release)(void *owner));

/* Carries out a call that completes or frees requests, some of which may be ours; `go_on` makes it, with `args` that
   may be changed. */
espi_word espi_packed_complete(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                               espi_handler go_on);

#endif
