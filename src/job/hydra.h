/*
 * Is this process a rank that a proxy of MPICH's process manager Hydra has started? (hydra.c)
 *
 * Before the MPI library opens its conversation with the launcher, nobody may say a word on that descriptor, unless
 * it is known that the launcher stands it: a second "init" may be an error that ends the job (Slurm), and the
 * descriptor may be any file of the program's. Hydra's proxies answer "init" as often as it is said (versions 1.4 to
 * 5.0; fn_init in their source). So whoever wants to say something asks here first.
 */
#ifndef ESPI_JOB_HYDRA_H
#define ESPI_JOB_HYDRA_H

#include <stdbool.h>

struct espi_hydra {
    int wire;       /* descriptor of the conversation with the proxy */
    long proxy;     /* its process */
    int rank, size; /* of this process in its MPI_COMM_WORLD */
    bool one_node;  /* all ranks stand on one node */
    bool spawned;   /* by MPI_Comm_spawn */
};
/* False: it is not, or that cannot be known; then nothing may be said. Looks only: reads and writes nothing of what
   the descriptor leads to. */
bool espi_hydra_find(struct espi_hydra *hydra);

#endif
