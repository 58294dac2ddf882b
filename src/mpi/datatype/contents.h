/*
 * What MPI_Type_get_contents says of a type, and whether a constructor call makes the same type: each of its
 * arguments is among the contents, in the order of wrappers/constructors.h. A type among them is compared by its
 * handle.
 */
#ifndef ESPI_MPI_DATATYPE_CONTENTS_H
#define ESPI_MPI_DATATYPE_CONTENTS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "abi.h"

struct espi_contents {
    MPI_Count ints, addrs, counts, types;
    int combiner;
    char *bytes; /* addresses, counts, ints, types; of the caller, who frees them */
};

/* Of a valid derived datatype that a constructor of wrappers/constructors.h has made. The types among them are
   borrowed: they live as long as the datatype. False: another one has made it, it has more than `most` bytes of
   arguments, memory is short, or MPI does not tell; there is nothing to free then. */
bool espi_contents_ask(MPI_Datatype type, size_t most, struct espi_contents *contents);

/* Bytes of the arguments. */
size_t espi_contents_size(const struct espi_contents *contents);

/* `types` of them. */
const MPI_Datatype *espi_contents_types(const struct espi_contents *contents);

/* Whether a call of the constructor `fn` with these arguments makes such a type. */
bool espi_contents_are_of(const struct espi_contents *contents, enum espi_fn fn, const espi_word *args);

/* A type of the constructor that is not committed, ours until espi_uncommitted_end; MPI_DATATYPE_NULL: MPI makes
   none. Where calls do not overlap. */
MPI_Datatype espi_uncommitted(int combiner);
void espi_uncommitted_end(void);

#endif
