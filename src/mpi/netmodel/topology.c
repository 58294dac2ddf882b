#include "mpi/netmodel/topology.h"

#include <stdlib.h>

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

struct named {
    int name, rank;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

size_t espi_topology_bytes(int size)
{
    return (size_t)size * (2 * sizeof(int) + sizeof(struct named));
}

const int *espi_topology_number(void *memory, struct espi_topology *places)
{
    int size = places->size, *node = memory, *mates = node + size, nodes = 0, runs = size > 0;
    struct named *sorted = (struct named *)(mates + size);
    bool rising = true; /* mostly so */
    for (int i = 0; i < size; i++) {
        sorted[i] = (struct named){node[i], i};
        rising = rising && (i == 0 || node[i] >= node[i - 1]);
        runs += i > 0 && node[i] != node[i - 1];
    }
    if (!rising)
        qsort(sorted, (size_t)size, sizeof *sorted, by_name);
    /* For now a rank's node is called after its first rank. */
    for (int from = 0, to; from < size; from = to) {
        for (to = from; to < size && sorted[to].name == sorted[from].name; to++)
            node[sorted[to].rank] = sorted[from].rank;
        for (int i = from; i < to; i++)
            mates[sorted[i].rank] = to - from;
    }
    int *leads = (int *)sorted;
    for (int i = 0; i < size; i++) {
        leads[i] = node[i] == i;
        node[i] = leads[i] ? nodes++ : node[node[i]];
    }
    *places = (struct espi_topology){size, nodes, runs == nodes, false, node, mates};
    return leads;
}

void espi_topology_of(MPI_Comm own, int own_node, int root, void *memory, struct espi_topology *places)
{
    int size = 0, rank = 0, leads = 0, *node = NULL;
    const int *first = NULL;
    espi_pmpi.Comm_size(own, &size);
    espi_pmpi.Comm_rank(own, &rank);
    *places = (struct espi_topology){.size = size};
    if (rank == root) {
        node = memory;
        for (int i = 0; i < size; i++)
            node[i] = own_node;
    }
    espi_pmpi.Gather(&own_node, 1, MPI_INT, node, 1, MPI_INT, root, own);
    if (rank == root)
        first = espi_topology_number(memory, places);
    int shape[2] = {places->nodes, places->ranges};
    espi_pmpi.Bcast(shape, 2, MPI_INT, root, own);
    espi_pmpi.Scatter(first, 1, MPI_INT, &leads, 1, MPI_INT, root, own);
    places->nodes = shape[0];
    places->ranges = shape[1];
    places->leads = leads;
}
