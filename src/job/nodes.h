/* Where the ranks of this job are, as far as the launcher says so. Meant for choices between ways that are all right,
   no more. */
#ifndef ESPI_JOB_NODES_H
#define ESPI_JOB_NODES_H

#include <stdbool.h>

/* Whether all `size` ranks of the job are known to be on this node, from the environment: Hydra counts those on
   the node, Slurm the nodes of the step. False when nothing is known. */
bool espi_job_on_one_node(int size);

/* What the launcher answered when the library asked for the mapping of ranks to nodes, "(vector,(0,2,16))", say: from
   node 0 on two nodes with 16 ranks each; several such blocks follow each other, and begin again where there are
   more ranks. NULL or something else: nothing is known any more. Before other threads ask. */
void espi_job_nodes_learn(const char *mapping);
/* The node, by number, of a rank (>= 0) of MPI_COMM_WORLD; -1: not known. Takes time with the number of blocks. */
int espi_job_node_of(int rank);

#endif
