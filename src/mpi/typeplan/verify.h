/* Under ESPALIER_CHECK: whether a substitute moves the same bytes as the type it stands for. */
#ifndef ESPI_MPI_TYPEPLAN_VERIFY_H
#define ESPI_MPI_TYPEPLAN_VERIFY_H

#include <mpi.h>

#include "layout/layout.h"

/*
 * Compares the entries of `type`, read back, with those of `tree` (up to some millions), and what it packs and
 * unpacks with what `original` does, one item on at most 64 MiB of scratch memory; larger ones pass by their entries
 * alone. Both types are committed. Calls MPI.
 */
bool espi_types_agree(const struct espi_node *tree, MPI_Datatype original, MPI_Datatype type);

#endif
