/* The handlers of all functions, made from api.def; the top of the core (handlers.c). */
#ifndef ESPI_MPI_ENTRY_HANDLERS_H
#define ESPI_MPI_ENTRY_HANDLERS_H

#include "abi.h"

extern const espi_handler espi_core_handlers[ESPI_FN_COUNT];

#endif
