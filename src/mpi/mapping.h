/* On which node a rank stands, as the launcher tells it in PMI_process_mapping. */
#ifndef ESPI_MPI_MAPPING_H
#define ESPI_MPI_MAPPING_H

/* `mapping` is "(vector,(first node,nodes,ranks on each),...)": nodes are filled with ranks in that order, and where
   there are more ranks than that, from the first block that begins with node 0 again, or the first of all. -1 for a
   negative rank, and where the text is not of this form to its end: every number in decimal, without sign, blank or
   leading 0, the last two of a block from 1, at most 9,999,999. */
int espi_mapping_node(const char *mapping, int rank);

#endif
