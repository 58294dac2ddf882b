/*
 * Short messages of calls that block and have one buffer and one peer: MPI_Send and its kin, and MPI_Recv. Such a
 * message takes some 0.3 to 1 us one way, so what stands around packing it is kept short: no copy of the arguments,
 * no buffer of the pool, nothing that only other calls need. What is not so goes the way of all messages (message.h).
 */
#ifndef ESPI_MPI_TYPEPLAN_SHORT_MESSAGE_H
#define ESPI_MPI_TYPEPLAN_SHORT_MESSAGE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/core/api_table.h"
#include "mpi/core/thread_state.h"

struct espi_plan;

/* One that is under way, in the place of what the program gave: `bytes` of MPI_PACKED at `stream`. */
struct espi_short_message {
    struct espi_plan *plan;
    void *stream;
    int bytes;
    bool stands; /* these are the program's, where they stand */
    bool timed;  /* what it takes to hand it over is to be told (core_distance.h) */
};

/* Whether calls of a function of so many arguments may go this way; then they stand in the places of MPI_Send, or
   of MPI_Recv, which has one more. */
#define ESPI_IS_SHORT_MESSAGE(kind, args, large)                                                                     \
    (((kind) & (ESPI_P2P | ESPI_NONBLOCKING | ESPI_PERSISTENT | ESPI_PARTITIONED | ESPI_OWN | ESPI_BUFFERED)) ==     \
         ESPI_P2P &&                                                                                                 \
     !(large) && ((args) == 6 || (args) == 7))

/* Whether a call does; if so it is counted, what is sent was packed, if it has to be, and the end follows. If not,
   nothing was done. */
bool espi_short_message_begin(struct espi_short_message *m, struct espi_thread_state *thread_state, enum espi_fn fn,
                              const espi_word *args, bool receives);

/* After the call, with the status of one that receives, else NULL. True: it shall be made again, with the program's
   own arguments (espi_substitute_repeat). */
bool espi_short_message_end(const struct espi_short_message *m, struct espi_thread_state *thread_state,
                            enum espi_fn fn, const espi_word *args, int result, const MPI_Status *status);

#endif
