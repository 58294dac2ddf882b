/* Constants of the communication model: from a file, or from a short measurement. */
#ifndef ESPI_MPI_TREE_MODEL_H
#define ESPI_MPI_TREE_MODEL_H

#include <mpi.h>
#include <stdbool.h>

#include "base/settings.h"
#include "commtree/commtree.h"

/* The model of the communicator `own`, in seconds and bytes: from the file that ESPALIER_MODEL names, else from a
   measurement of about a millisecond between two of its ranks. Collective; equal on all ranks. */
void espi_model_of(MPI_Comm own, const struct espi_settings *settings, struct espi_commtree_model *model);

#endif
