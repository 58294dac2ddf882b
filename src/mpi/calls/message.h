/*
 * The short way of a message: what a program sends it mostly sends again, so nearly every such call finds its plan
 * and its communicator as the last one left them. A short message is packed, or goes as a better type; of a longer
 * one it is chosen here which way it goes (packed/message_ways.h). What is not so goes the way of all calls
 * (substitute.h), which is always right.
 */
#ifndef ESPI_MPI_CALLS_MESSAGE_H
#define ESPI_MPI_CALLS_MESSAGE_H

#include <stdbool.h>

#include "mpi/core/api_table.h"
#include "mpi/core/thread_state.h"
#include "mpi/packed/message_ways.h"
#include "mpi/packed/packed_call.h"
#include "mpi/typeplan/message_plan.h"

struct espi_packed_request;

/* One side of a call under way. */
struct espi_message_side {
    struct espi_message_plan found; /* without a plan the side is MPI's: */
    struct espi_type_slot *left;    /* its type is one of the program's, and goes as it is; NULL: it is another one */
    int64_t count;                  /* items */
    bool near;                      /* of several parts: */
    enum espi_ways_open open;
    bool asked;                     /* it goes the way that is found for the call: */
    bool packed;                    /* else it goes as a type: */
    MPI_Datatype type;              /* in the place of the program's; MPI_DATATYPE_NULL: that itself */
};

struct espi_message {
    struct espi_thread_state *thread_state;
    const struct espi_api_row *row;
    const espi_word *args; /* as the program gave them */
    enum espi_way_call kind;
    enum espi_message_calls calls; /* what is known of such ones counts */
    struct espi_message_side side[2];
    struct espi_way_turn turn;           /* of sides that are asked about */
    bool timed_alone;                    /* of its time MPI's part alone counts */
    struct espi_packed_request *request; /* of a nonblocking call that is to be followed */
    uint64_t begun;                      /* of one whose time is to be told (core_distance.h); 0: it is not */
    struct espi_packed_call packed;
};

/* Whether calls of this function may go the short way: one buffer and one peer, or two of each, and a request that
   ends with it, if any. */
bool espi_message_is(const struct espi_api_row *row);

/* Of a call with one peer: MPI_PROC_NULL, for whom there is nothing to do. */
bool espi_message_is_to_nobody(const struct espi_api_row *row, const espi_word *args);

/* Of a call with one peer: it carries several parts, and is left to the library as the last one of as many items was.
   The use is counted then, and there is nothing to do. */
bool espi_message_is_left(struct espi_thread_state *thread_state, const struct espi_api_row *row,
                          const espi_word *args);

/* The same where the plan is known of `count` > 0 items. */
bool espi_message_plan_is_left(struct espi_thread_state *thread_state, struct espi_type_slot *slot,
                               struct espi_plan *plan, int64_t count, enum espi_way_call call, int peer,
                               MPI_Comm comm);

/* Whether this one does. If so, what is sent was packed, `changed`, a copy of the arguments, says what MPI is to do,
   and espi_message_end follows; if not, nothing was done. */
bool espi_message_begin(struct espi_message *message, struct espi_thread_state *thread_state,
                        const struct espi_api_row *row, const espi_word *args, espi_word *changed);

/* After the call. True: it shall be made again, with the program's own arguments (espi_substitute_repeat). */
bool espi_message_end(struct espi_message *message, const espi_word *changed, int result);

#endif
