/*
 * Data in the memory of GPUs: an MPI library that was built for them takes such buffers, which the processor may not
 * touch. Which buffers are there nobody asks for each call; so where the library takes them, all of Espalier that
 * moves data by itself, or times it, is off.
 */
#ifndef ESPI_MPI_CORE_DEVICE_MEMORY_H
#define ESPI_MPI_CORE_DEVICE_MEMORY_H

#include <stdbool.h>

#include "base/settings.h"

/* After MPI has begun: turns off what touches data, if the library takes them in the memory of GPUs; `speak`: says
   so. MPIR_CVAR_ENABLE_GPU=0 is how a user tells MPICH, and so us, that there are none. */
void espi_device_memory_look(struct espi_settings *settings, bool speak);

#endif
