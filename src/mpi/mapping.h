/* On which node a rank stands, as the launcher tells it in PMI_process_mapping. */
#ifndef ESPI_MPI_MAPPING_H
#define ESPI_MPI_MAPPING_H

/* `mapping` is "(vector,(first node,nodes,ranks on each),...)": nodes are filled with ranks in that order, and where
   there are more ranks than that, from the first node again. -1 where it is not understood. */
int espi_mapping_node(const char *mapping, int rank);

#endif
