/*
 * Is this process a rank that a proxy of MPICH's process manager Hydra has started? (hydra.c)
 *
 * For who has to say something to the launcher outside of the MPI library's conversation: `espalier run`, when it
 * ends a job before it begins. Nobody may say a word on that descriptor then, unless it is known that the launcher
 * stands it: it may be any file of the program's, and Slurm takes a word that it does not expect for the end of the
 * job. Hydra's proxies take "abort" at any time (versions 1.4 to 5.0; fn_abort in their source).
 */
#ifndef ESPI_JOB_HYDRA_H
#define ESPI_JOB_HYDRA_H

#include <stdbool.h>

/* Then `wire` is the descriptor of the conversation with the proxy. False: it is not, or that cannot be known; then
   nothing may be said. Looks only: reads and writes nothing of what the descriptor leads to. */
bool espi_hydra_find(int *wire);

#endif
