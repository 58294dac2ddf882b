/* Measured models, kept per user and set of hosts, so that not every run measures (cache.c).

   One file for each set of hosts, with the ranks on each node, the MPI library and the variables that choose its
   transports: $XDG_CACHE_HOME/espalier/model-<hash>, else below $HOME/.cache. Form: commtree/model_file.h. Whatever
   is wrong with folder or file, there is no cache, and nobody is told but in debug messages. */
#ifndef ESPI_MPI_NETMODEL_CACHE_H
#define ESPI_MPI_NETMODEL_CACHE_H

#include <mpi.h>
#include <stdbool.h>

#include "commtree/model_file.h"
#include "mpi/netmodel/topology.h"

struct espi_model_cache {
    bool open;        /* at rank 0 only */
    char folder[512]; /* .../espalier */
    char file[600];
    char about[256];  /* a line for people */
};

/* Collective: who is there. */
void espi_model_cache_open(struct espi_model_cache *cache, MPI_Comm own, int rank, const struct espi_topology *places,
                           bool wanted);
/* At rank 0: the levels that are there; none where the file cannot be trusted. */
void espi_model_cache_read(const struct espi_model_cache *cache, struct espi_level_models *models);
/* At rank 0: the levels that were measured, with those of the file for levels that this run had no use for. */
void espi_model_cache_write(const struct espi_model_cache *cache, const struct espi_level_models *measured);

#endif
