/* The handler that only substitutes datatypes: what the others fall back on (generic.c). */
#ifndef ESPI_MPI_CALLS_GENERIC_H
#define ESPI_MPI_CALLS_GENERIC_H

#include "abi.h"

espi_handler espi_generic_handler(enum espi_fn fn);

#endif
