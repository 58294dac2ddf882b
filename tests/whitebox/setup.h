/* Starts the table of real MPI functions in a program that is linked to MPI. */
#ifndef ESPI_TESTS_WHITEBOX_SETUP_H
#define ESPI_TESTS_WHITEBOX_SETUP_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi/core/pmpi.h"

static inline void types_setup(void)
{
    const char *missing = espi_pmpi_load(RTLD_DEFAULT);

    if (missing != NULL) {
        fprintf(stderr, "the MPI library has no %s\n", missing);
        exit(99);
    }
}

#endif
