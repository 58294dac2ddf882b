/*
 * The short way of a collective call of derived types: each side is packed by a pack program, or goes as it is. What
 * a program does it mostly does again, so nearly every such call finds its plans and its communicator as the last one
 * left them. What is not so goes the way of all calls (substitute.h), which is always right.
 */
#ifndef ESPI_MPI_CALLS_COLLECTIVE_H
#define ESPI_MPI_CALLS_COLLECTIVE_H

#include <stdbool.h>

#include "mpi/core/api_table.h"
#include "mpi/core/thread_state.h"
#include "mpi/packed/message_ways.h"
#include "mpi/packed/packed_collective.h"
#include "mpi/calls/call_side.h"

struct espi_packed_request;
struct espi_repeated;

/* A call under way. */
struct espi_collective {
    struct espi_thread_state *thread_state;
    const struct espi_api_row *row;
    const espi_word *args;                /* as the program gave them */
    struct espi_packed_blocks *blocks[2]; /* of each side; NULL: it goes as it is */
    struct espi_repeated *repeated;       /* keeps the blocks for the next call like this one; NULL: nothing does */
    struct espi_packed_request *request;  /* of a nonblocking call */
    struct espi_way_turn turn;            /* of long blocks */
    int substituted;                      /* types that better ones stand for */
    MPI_Datatype better[2][ESPI_CALL_TYPES]; /* what MPI sees in an array where there are some */
};

/* Whether calls of this function may go the short way. */
bool espi_collective_is(const struct espi_api_row *row);

enum espi_course {
    ESPI_COURSE_GENERAL,  /* it does not; nothing was done */
    ESPI_COURSE_AS_IT_IS, /* both sides go as they are, and were counted */
    ESPI_COURSE_PACKED    /* what is sent was packed, or is timed; `changed`, a copy of the arguments, says what MPI
                             is to do, and espi_collective_end follows */
};
/* What becomes of this one. */
enum espi_course espi_collective_course(struct espi_collective *call, struct espi_thread_state *thread_state,
                                        const struct espi_api_row *row, const espi_word *args, espi_word *changed);

/* After the call. True: it shall be made again, with the program's own arguments (espi_substitute_repeat). */
bool espi_collective_end(struct espi_collective *call, int result);

#endif
