/* What the files of types_measure share. */
#ifndef ESPI_TESTS_MPI_TYPES_MEASURE_H
#define ESPI_TESTS_MPI_TYPES_MEASURE_H

#include <check.h>

#include "mpi/real.h"

enum { SCRATCH = 64 << 20 };

/* What espi_real is at the start of each test. */
extern struct espi_real real;

/* Adds its tests. */
void types_measure_rounds(TCase *all);

#endif
