/*
 * The one table of real MPI functions that the core calls: espi_real.Type_commit(&type). They are PMPI_ symbols taken
 * from the MPI library's own handle, so a call never meets the stub, another tool, or a second MPI. The core is not
 * linked to MPI; a direct call of MPI_X or PMPI_X in it does not link.
 * Needed functions: a row in real.def.
 */
#ifndef ESPI_MPI_REAL_H
#define ESPI_MPI_REAL_H

#include <mpi.h>

struct espi_real {
#define ESPI_REAL(name) __typeof__(&PMPI_##name) name;
#define ESPI_REAL_X(name) __typeof__(&PMPIX_##name) x_##name;
#include "mpi/real.def"
#undef ESPI_REAL
#undef ESPI_REAL_X
};
extern struct espi_real espi_real;

/* Fills the table from a dlopen handle (RTLD_DEFAULT in a test program that is linked to MPI). Returns NULL, or the
   name of the first function that the library does not have. */
const char *espi_real_load(void *library);
/* The same for a function by its whole name ("MPI_Scan_c"), looked up at each call; NULL when there is none. */
void (*espi_real_find(const char *name))(void);

#endif
