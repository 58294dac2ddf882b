/* A derived type as a sequence of elements of one base type (for reductions, and for blocks that are dense). */
#ifndef ESPI_MPI_DATATYPE_ELEMENT_VIEW_H
#define ESPI_MPI_DATATYPE_ELEMENT_VIEW_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout/layout.h"

struct espi_elements {
    MPI_Datatype base;
    unsigned ops;   /* what is defined for base (espi_reduce_op_bit) */
    int64_t each;   /* elements in one copy of the type */
    int64_t unit;   /* extent of base in bytes: elements of a contiguous buffer stand this far apart */
    int64_t extent; /* of the type in bytes */
    bool padded;    /* base has padding (most pair types), so packed bytes are no contiguous buffer */
    bool run;       /* one copy is dense: its elements stand at start, start + unit, ... */
    bool dense;     /* and so are any number of copies */
    int64_t start;  /* bytes */
};

/* One element of a base type; false for ESPI_BASE_NONE, and where MPI has no handle for it. (MPI is asked about its
   own handles only: what is wrong with another one it would tell MPI_COMM_WORLD.) */
bool espi_elements_of_base(espi_base base, struct espi_elements *view);

/* Looks at a valid type; view->base is MPI_DATATYPE_NULL where its elements differ. */
void espi_elements_look(MPI_Datatype type, struct espi_elements *view);

#endif
