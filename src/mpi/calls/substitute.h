/* Calls that carry a derived type, or an array of types (substitute.c). */
#ifndef ESPI_MPI_CALLS_SUBSTITUTE_H
#define ESPI_MPI_CALLS_SUBSTITUTE_H

#include <mpi.h>
#include <stdbool.h>

#include "mpi/core/api_table.h"
#include "mpi/core/thread_state.h"
#include "mpi/packed/packed_call.h"
#include "mpi/packed/packed_collective.h"

struct espi_plan;
struct espi_packed_request;

/* One call under way. begin - unless it is done then, the call with `changed` - perhaps repeat - end. */
struct espi_substitution {
    struct espi_thread *thread;
    struct espi_thread_state *thread_state;
    const struct espi_api_row *row;
    const espi_word *args; /* as the program gave them */
    espi_word *changed;    /* a copy, in which begin puts better types */
    MPI_Datatype *arrays[2]; /* arrays of types that end frees */
    int substituted; /* uses of types */
    bool asks; /* the communicator is not known, and may be if MPI takes it */
    bool done; /* the call was carried out */
    struct espi_plan *plans[2]; /* of sides that pack programs see to */
    struct espi_packed_call packed;
    struct espi_collective_side collective[2]; /* sides of a collective call */
    struct espi_packed_blocks *blocks[2];      /* of those that are packed */
    struct espi_packed_request *request; /* of a nonblocking call of which a side is packed */
};

void espi_substitute_begin(struct espi_substitution *derived);
/* Before something is packed: makes room for the record of a nonblocking call. False: no memory. */
bool espi_substitute_request(struct espi_substitution *derived);
/* Whether the call shall be made again with the program's own arguments: it failed with a better type in it, nothing
   was communicated, and the program reads the error (so that code and text must be the native ones). */
bool espi_substitute_repeat(struct espi_substitution *derived, int error);
/* `result`: of the call. */
void espi_substitute_end(struct espi_substitution *derived, int result);

#endif
