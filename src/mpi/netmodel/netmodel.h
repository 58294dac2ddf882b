/* Constants of the communication model, per level: from a file, from a cache, or from a short measurement. */
#ifndef ESPI_MPI_NETMODEL_NETMODEL_H
#define ESPI_MPI_NETMODEL_NETMODEL_H

#include <mpi.h>
#include <stdbool.h>

#include "base/settings.h"
#include "commtree/model_file.h"
#include "mpi/netmodel/topology.h"

enum espi_model_source { ESPI_MODEL_ASSUMED, ESPI_MODEL_MEASURED, ESPI_MODEL_CACHED, ESPI_MODEL_FILE };
/* "assumed", "measured", "cache", "file". */
const char *espi_model_source_text(enum espi_model_source source);

/* Seconds and bytes. */
struct espi_model {
    struct espi_level_models levels;
    enum espi_model_source source[ESPI_LEVELS];
};

/* Adds the levels that the communicator `own` uses and rank 0's `model` does not have yet: from the file that
   ESPALIER_MODEL names, from the cache, or from a measurement of some milliseconds between four pairs of its ranks at
   most, however many there are. Collective; the result is equal on all ranks. `root` has the lists of `places`. */
void espi_model_complete(MPI_Comm own, int root, const struct espi_topology *places,
                         const struct espi_settings *settings, struct espi_model *model);

/* One pair of constants for the whole communicator: those of the node where all ranks share one, else of the
   network. */
struct espi_commtree_model espi_model_flat(const struct espi_model *model, const struct espi_topology *places);
/* Ranks of several nodes, some sharing one, in ranges: two-level trees (commtree.h) can be made. */
bool espi_model_two_level(const struct espi_topology *places);

/* All of the above for one communicator, whose ranks are the whole world: the flat model alone. Collective. */
void espi_model_of(MPI_Comm own, const struct espi_settings *settings, struct espi_commtree_model *model);

#endif
