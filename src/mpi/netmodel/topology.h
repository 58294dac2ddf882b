/* Which ranks of a communicator share a node. */
#ifndef ESPI_MPI_NETMODEL_TOPOLOGY_H
#define ESPI_MPI_NETMODEL_TOPOLOGY_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* Of a communicator. One rank has the lists; the others know what they need. */
struct espi_topology {
    int size;
    int nodes;   /* different nodes among its ranks */
    bool ranges; /* the ranks of each node are neighbours: trees of ranges can be composed of trees of nodes */
    bool leads;  /* this rank is the first of its node */
    /* At the rank that asked, elsewhere NULL; not owned: */
    int *node;   /* size entries: 0 .. nodes-1, numbered by first appearance */
    int *mates;  /* size entries: ranks on the same node, itself among them */
};

/* The lowest rank of `world` on the same node: names the node in all communicators of these ranks; and how many
   `ranks` it has. Collective. Nodes are what the library shares memory in (MPI_COMM_TYPE_SHARED), not what is called
   a host. */
int espi_node_of(MPI_Comm world, int *ranks);
/* Bytes that the rank with the lists needs. */
size_t espi_topology_bytes(int size);
/* Numbers nodes by first appearance, in O(size log size): `memory`, of espi_topology_bytes(size), begins with `size`
   names; places->size is set. Fills the rest of `places` but `leads`, and returns `size` numbers, not 0 for the first
   rank of each node, in memory that is used no more. */
const int *espi_topology_number(void *memory, struct espi_topology *places);
/* Fills `places` from every rank's node. Collective; `root` gets the lists, in `memory`, which is read there only and
   kept by the result. */
void espi_topology_of(MPI_Comm own, int own_node, int root, void *memory, struct espi_topology *places);

#endif
