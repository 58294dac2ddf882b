/* From a type tree to a committed MPI datatype. */
#ifndef ESPI_MPI_DATATYPE_EMIT_H
#define ESPI_MPI_DATATYPE_EMIT_H

#include <mpi.h>

#include "layout/layout.h"

struct espi_emitted {
    MPI_Datatype type; /* committed, owned by the caller; MPI_DATATYPE_NULL after a failure */
    size_t types;      /* datatypes made on the way, the result included */
};

/*
 * Builds `tree` with the bounds lb and lb + extent: vec as contiguous or hvector, idx as hindexed_block, idxbuc as
 * hindexed, struc as struct, dense children as block lengths, one resize at the end where the bounds differ; equal
 * sub-trees once. Entries keep their order, so the signature is that of the tree. Counts that do not fit an int use
 * the large-count constructors. All intermediate datatypes are freed. ESPI_ERR_LIMIT: more than `max_types` would be
 * needed; ESPI_ERR_UNSUPPORTED: a base type without a handle, or an empty type map.
 */
espi_status espi_emit(const struct espi_node *tree, int64_t lb, int64_t extent, size_t max_types,
                      struct espi_emitted *out);

/* True when MPI reports the same size, lower bound, extent, true lower bound and true extent for both. */
bool espi_same_bounds(MPI_Datatype a, MPI_Datatype b);

#endif
