/* Where the ranks of this job are, as far as the launcher says so in the environment. */
#ifndef ESPI_JOB_NODES_H
#define ESPI_JOB_NODES_H

#include <stdbool.h>

/* Whether all `size` ranks of the job are known to be on this node: Hydra counts those on the node, Slurm the nodes
   of the step. False when nothing is known. Meant for choices between ways that are all right, no more. */
bool espi_job_on_one_node(int size);

#endif
