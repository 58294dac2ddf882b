/*
 * MPI_Pack and MPI_Unpack, which take some 0.1 us beside the copying: what stands around a pack program is kept as
 * short as that, and a call that is left to the library goes on at once. What is not so goes the general way.
 */
#ifndef ESPI_MPI_CALLS_SHORT_LOCAL_H
#define ESPI_MPI_CALLS_SHORT_LOCAL_H

#include <stdbool.h>

#include "mpi/core/api_table.h"
#include "mpi/core/thread_state.h"
#include "mpi/typeplan/type_cache.h"

/* Whether calls of a function may go this way. */
#define ESPI_IS_SHORT_LOCAL(fn)                                                                                      \
    ((fn) == ESPI_FN_Pack || (fn) == ESPI_FN_Pack_c || (fn) == ESPI_FN_Unpack || (fn) == ESPI_FN_Unpack_c)

/* Carries a call out by the pack program of its type, or by `next` with the better type for it, and counts it; the
   result is the call's. False: it goes another way, and nothing was done. */
bool espi_short_local(struct espi_thread_state *thread_state, enum espi_fn fn, const espi_word *args, espi_next next,
                      espi_word *result);

/* As espi_types_left, for such a call of `count` items (> 0): its type has a plan, but is better left to the library
   here. NULL: it is not. */
struct espi_type_slot *espi_short_local_leaves(MPI_Datatype type, int64_t count, enum espi_fn fn);

#endif
