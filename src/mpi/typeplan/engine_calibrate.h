/* The constants of the engine's model (engine_cost.h), measured on this machine. */
#ifndef ESPI_MPI_TYPEPLAN_ENGINE_CALIBRATE_H
#define ESPI_MPI_TYPEPLAN_ENGINE_CALIBRATE_H

#include "mpi/typeplan/engine_cost.h"

/* Measured at the first call in a process, in some 50 microseconds, on types and memory of its own; the usual ones
   where that fails or gives nonsense. Calls MPI; calls must exclude each other. */
struct espi_engine espi_engine(void);

#endif
