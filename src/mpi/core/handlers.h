/* The handlers of all functions, made from api.def; the top of the core (handlers.c). */
#ifndef ESPI_MPI_CORE_HANDLERS_H
#define ESPI_MPI_CORE_HANDLERS_H

#include <stdint.h>

#include "abi.h"

extern const espi_handler espi_core_handlers[ESPI_FN_COUNT];

/* For struct espi_hot: `committed`. */
void espi_type_was_committed(struct espi_thread *thread, uint32_t type);

#endif
