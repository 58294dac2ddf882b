/* What the files of types_measure share. */
#ifndef ESPI_TESTS_WHITEBOX_MICROBENCH_H
#define ESPI_TESTS_WHITEBOX_MICROBENCH_H

#include <check.h>

#include "mpi/core/pmpi.h"

enum { SCRATCH = 64 << 20 };

/* What espi_pmpi is at the start of each test. */
extern struct espi_pmpi real;

/* Adds its tests. */
void types_measure_rounds(TCase *all);

#endif
