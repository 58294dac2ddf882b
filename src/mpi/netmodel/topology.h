/* Which ranks of a communicator share a node. */
#ifndef ESPI_MPI_NETMODEL_TOPOLOGY_H
#define ESPI_MPI_NETMODEL_TOPOLOGY_H

#include <mpi.h>
#include <stdbool.h>

/* Of a communicator. */
struct espi_topology {
    int size;
    int nodes;   /* different nodes among its ranks */
    bool ranges; /* the ranks of each node are neighbours: trees of ranges can be composed of trees of nodes */
    int *node;   /* size entries: 0 .. nodes-1, numbered by first appearance; not owned */
};

/* The lowest rank of `world` on the same node: names the node in all communicators of these ranks; and how many
   `ranks` it has. Collective. Nodes are what the library shares memory in (MPI_COMM_TYPE_SHARED), not what is called
   a host. */
int espi_node_of(MPI_Comm world, int *ranks);
/* Fills `places` from every rank's node; `node` has room for all ranks of `own`, and is kept by the result.
   Collective. */
void espi_topology_of(MPI_Comm own, int own_node, int *node, struct espi_topology *places);

#endif
