/* From an MPI datatype to the type tree it was built as. */
#ifndef ESPI_MPI_DATATYPE_DECODE_H
#define ESPI_MPI_DATATYPE_DECODE_H

#include <mpi.h>

#include "layout/layout.h"

/*
 * ---- base types (decode_base.c) ----
 * Predefined datatypes stand for the base types of the layout vocabulary. Types made by MPI_Type_create_f90_real,
 * _complex and _integer are predefined, too, but have no fixed handle: each becomes a base type of this process when
 * it is first met. Thread-safe.
 */

/* The base type of a predefined handle; ESPI_BASE_NONE for one that has no data of its own (MPI_LB, MPI_UB) or whose
   size differs from what the vocabulary says. */
espi_base espi_base_of_handle(MPI_Datatype type);
/* The handle to build datatypes from; MPI_DATATYPE_NULL for a base type that no handle is known for. */
MPI_Datatype espi_base_handle(espi_base base);
/* The base type of an unnamed predefined type `type`, called `name`; added when it is new. */
espi_base espi_base_of_f90(const char *name, MPI_Datatype type);

/* ---- trees ---- */

struct espi_decoded {
    const struct espi_node *tree; /* in the arena that was given */
    int64_t lb, extent;           /* bytes, as MPI_Type_get_extent_c */
};

/*
 * The type map of `type` in the order of the standard, as a tree that follows the constructors. Blocks of no
 * elements vanish, an empty type map is struc(0, <>, <>). Explicit bounds stand in lb and extent only, those by
 * MPI_LB and MPI_UB in a struct, too; inside, they have become displacements and strides. `type` must be a valid
 * handle. Handles that MPI returns on the way are freed again. ESPI_ERR_UNSUPPORTED: a combiner that is not known, a
 * base type without a name, MPI_LB or MPI_UB elsewhere, a nesting deeper than 256, or a result whose size or true
 * bounds are not those that MPI reports. ESPI_ERR_LIMIT: more than `limit` array elements (displacements and the
 * like) were met; 0 is no limit.
 */
espi_status espi_decode(struct espi_arena *arena, MPI_Datatype type, size_t limit, struct espi_decoded *out);

#endif
