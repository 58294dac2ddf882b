#include "mpi/netmodel/topology.h"

#include "mpi/core/pmpi.h"

int espi_node_of(MPI_Comm world, int *ranks)
{
    MPI_Comm node = MPI_COMM_NULL;
    int rank = 0, first;
    *ranks = 1;
    espi_pmpi.Comm_rank(world, &rank);
    first = rank;
    if (espi_pmpi.Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node) != MPI_SUCCESS ||
        node == MPI_COMM_NULL)
        return rank; /* alone, as far as is known */
    if (espi_pmpi.Allreduce(&rank, &first, 1, MPI_INT, MPI_MIN, node) != MPI_SUCCESS)
        first = rank;
    espi_pmpi.Comm_size(node, ranks);
    espi_pmpi.Comm_free(&node);
    return first;
}

void espi_topology_of(MPI_Comm own, int own_node, int *node, struct espi_topology *places)
{
    int size = 0, runs = 1, nodes = 0;
    bool sorted = true; /* names that only grow cannot come again */
    espi_pmpi.Comm_size(own, &size);
    for (int i = 0; i < size; i++)
        node[i] = own_node;
    espi_pmpi.Allgather(&own_node, 1, MPI_INT, node, 1, MPI_INT, own);
    for (int i = 1; i < size; i++)
        runs += node[i] != node[i - 1], sorted = sorted && node[i] >= node[i - 1];
    /* In place, so that no rank can be short of memory and disagree with the others: numbers go in as -1 - number.
       Ranks of a node mostly are neighbours. */
    for (int i = 0; i < size; i++) {
        int name = node[i];
        if (name < 0)
            continue;
        for (int k = i; k < size && (!sorted || node[k] == name); k++)
            if (node[k] == name)
                node[k] = -1 - nodes;
        nodes++;
    }
    for (int i = 0; i < size; i++)
        node[i] = -1 - node[i];
    *places = (struct espi_topology){size, nodes, runs == nodes, node};
}
