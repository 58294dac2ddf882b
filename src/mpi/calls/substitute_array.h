/* Substitution for a side of a call that has a type for each peer. */
#ifndef ESPI_MPI_CALLS_SUBSTITUTE_ARRAY_H
#define ESPI_MPI_CALLS_SUBSTITUTE_ARRAY_H

#include "mpi/calls/substitute.h"

/* Element i of an array of counts, the argument at `position`. */
int64_t espi_count_in(const struct espi_api_row *row, const espi_word *args, int position, int i);

/* Puts better types for the `n` ones of this side into d->changed, or lets pack programs see to all of its blocks.
   `whole`: as espi_types_better. */
void espi_substitute_array(struct espi_substitution *d, const struct espi_buffer_args *typed, int side, bool whole,
                           int n);
/* What was begun with pack programs ends: after the call with its result, or without it with an error. */
void espi_substitute_array_end(struct espi_substitution *d, int result);

#endif
