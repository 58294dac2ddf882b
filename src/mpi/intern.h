/* Arrays of datatypes that outlive the call they are given to (intern.c). */
#ifndef ESPI_MPI_INTERN_H
#define ESPI_MPI_INTERN_H

#include <mpi.h>

/* An array equal to `types` that lives until espi_intern_stop; the same content gives the same array. NULL when memory
   is short, or the arrays of this process have reached their limit (64 MiB). Thread-safe. */
const MPI_Datatype *espi_intern_types(const MPI_Datatype *types, int n);
void espi_intern_stop(void);

#endif
