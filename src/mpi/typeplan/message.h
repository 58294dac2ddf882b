/*
 * The short way of a message that a pack program sees to. What a program sends it mostly sends again, so nearly every
 * such call finds its plan, its communicator and its buffer as the last one left them. What is not so goes the way of
 * all calls (substitute.h), which is always right.
 */
#ifndef ESPI_MPI_TYPEPLAN_MESSAGE_H
#define ESPI_MPI_TYPEPLAN_MESSAGE_H

#include <stdbool.h>

#include "mpi/core/api_table.h"
#include "mpi/core/thread_state.h"
#include "mpi/packed/packed_call.h"
#include "mpi/typeplan/message_plan.h"

struct espi_packed_request;

/* A call under way. */
struct espi_message {
    struct espi_thread_state *thread_state;
    const struct espi_api_row *row;
    const espi_word *args;             /* as the program gave them */
    struct espi_message_plan found[2]; /* of each side, a reference; without a plan the side is MPI's */
    int64_t count[2];                  /* items */
    struct espi_packed_request *request; /* of a nonblocking call */
    struct espi_packed_call packed;
};

/* Whether calls of this function may go the short way: one buffer and one peer, or two of each, and a request that
   ends with it, if any. */
bool espi_message_is(const struct espi_api_row *row);

/* Of a call with one peer: MPI_PROC_NULL, for whom there is nothing to do. */
bool espi_message_is_to_nobody(const struct espi_api_row *row, const espi_word *args);

/* Whether this one does. If so, what is sent was packed, `changed`, a copy of the arguments, says what MPI is to do,
   and espi_message_end follows; if not, nothing was done. */
bool espi_message_begin(struct espi_message *message, struct espi_thread_state *thread_state,
                        const struct espi_api_row *row, const espi_word *args, espi_word *changed);

/* After the call. True: it shall be made again, with the program's own arguments (espi_substitute_repeat). */
bool espi_message_end(struct espi_message *message, const espi_word *changed, int result);

#endif
