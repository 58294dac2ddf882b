/*
 * Nonblocking messages that a pack program sees to. The program gets MPI's own request; a record is found by that
 * handle when a call completes it: then what was received is unpacked, and the buffer given back.
 */
#ifndef ESPI_MPI_PACKED_PACKED_REQUESTS_H
#define ESPI_MPI_PACKED_PACKED_REQUESTS_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "abi.h"
#include "mpi/packed/packed_blocks.h"
#include "mpi/packed/packed_call.h"

/* Records that are there: as long as it is 0 nothing is to be done where requests are completed. */
extern atomic_int espi_packed_requests;

/* Memory for one, before the call is made; NULL when it is short. */
struct espi_packed_request *espi_packed_request_new(void);
void espi_packed_request_drop(struct espi_packed_request *request);

/* After the call, which succeeded and made `handle`: takes the buffer over, and `owner`, which `release` lets go when
   the message is complete. A message sent that is complete already is let go at once. */
void espi_packed_request_enter(struct espi_packed_request *request, MPI_Request handle, struct espi_packed_side *side,
                               void *data, int64_t count, void *owner, void (*release)(void *owner));

/* The same for a collective call, of which the sides that are not NULL are taken over. */
void espi_packed_request_enter_blocks(struct espi_packed_request *request, MPI_Request handle,
                                      struct espi_packed_blocks *const sides[2], void (*release)(void *owner));

/* Carries out a call that completes or frees requests, some of which are ours; `go_on` makes it, with `args` that may
   be changed. */
espi_word espi_packed_complete(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                               espi_handler go_on);

/* While MPI still works: lets all go that nobody will ask for any more. */
void espi_packed_requests_stop(void);

#endif
