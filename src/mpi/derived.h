/* Calls that carry a derived type, or an array of types (derived.c). */
#ifndef ESPI_MPI_DERIVED_H
#define ESPI_MPI_DERIVED_H

#include <mpi.h>
#include <stdbool.h>

#include "mpi/dispatch.h"
#include "mpi/mine.h"

/* One call under way. begin - the call with `changed` - perhaps repeat - end. */
struct espi_derived {
    struct espi_thread *thread;
    struct espi_mine *mine;
    const struct espi_row *row;
    const espi_word *args; /* as the program gave them */
    espi_word *changed;    /* a copy, in which begin puts better types */
    MPI_Datatype *arrays[2]; /* arrays of types that end frees */
    int substituted; /* uses of types */
    bool asks; /* the communicator is not known, and may be if MPI takes it */
};

void espi_derived_begin(struct espi_derived *derived);
/* Whether the call shall be made again with the program's own arguments: it failed with a better type in it, nothing
   was communicated, and the program reads the error (so that code and text must be the native ones). */
bool espi_derived_repeat(struct espi_derived *derived, int error);
/* `result`: of the call. */
void espi_derived_end(struct espi_derived *derived, int result);

#endif
