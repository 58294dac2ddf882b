/* The constants of the engine's model (engine_cost.h), measured on this machine; and beside them, so that both are of
   one speed of the processor, how far pack programs take longer than their model says (espi_pack_cost_scale). */
#ifndef ESPI_MPI_TYPEPLAN_ENGINE_CALIBRATE_H
#define ESPI_MPI_TYPEPLAN_ENGINE_CALIBRATE_H

#include "mpi/typeplan/engine_cost.h"

/* Measured at the first call in a process, in 30 to 150 microseconds (most of them for code of the library's that was
   not used before), on types and memory of its own; the usual ones where that fails or gives nonsense. Calls MPI;
   calls must exclude each other. */
struct espi_engine espi_engine(void);
/* For items of this layout. Of one block no figure counts, and the usual ones do: nothing is measured for it. */
static inline struct espi_engine espi_engine_for(const struct espi_node *tree, int64_t extent)
{
    return espi_engine_is_block(tree, extent) ? ESPI_ENGINE_USUAL : espi_engine();
}

#endif
