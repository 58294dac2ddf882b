/*
 * The one table of real MPI functions that the core calls: espi_pmpi.Type_commit(&type). They are PMPI_ symbols taken
 * from the MPI library's own handle, so a call never meets the stub, another tool, or a second MPI. The core is not
 * linked to MPI; a direct call of MPI_X or PMPI_X in it does not link.
 * Needed functions: a row in pmpi.def.
 *
 * A function is looked up when it is first called: most processes need few of them, and to find one takes as long as
 * a short message. A function that the library does not have returns MPI_ERR_INTERN.
 */
#ifndef ESPI_MPI_CORE_PMPI_H
#define ESPI_MPI_CORE_PMPI_H

#include <mpi.h>

struct espi_pmpi {
#define ESPI_PMPI(name, args) _Atomic(__typeof__(&PMPI_##name)) name;
#define ESPI_PMPI_X(name, args) _Atomic(__typeof__(&PMPIX_##name)) x_##name;
#define ESPI_PMPI_TIME(name) _Atomic(__typeof__(&PMPI_##name)) name;
#include "mpi/core/pmpi.def"
#undef ESPI_PMPI
#undef ESPI_PMPI_X
#undef ESPI_PMPI_TIME
};
extern struct espi_pmpi espi_pmpi;

/* Opens the table on a dlopen handle. Returns NULL, or the name of a function that the library does not have; only a
   young one is looked for. */
const char *espi_pmpi_open(void *library);
/* Looks up every function, too (`library`: RTLD_DEFAULT in a program that is linked to MPI). Returns NULL, or the
   name of one that the library does not have. */
const char *espi_pmpi_load(void *library);
/* Once MPI has begun, and before locks: where threads may call MPI at the same time, looks up every function. The
   first call of one waits for the loader, which in the constructor of a library may wait for a call of MPI, and that
   for one of our locks. */
void espi_pmpi_for_threads(void);
/* A function by its whole name ("MPI_Scan_c"), looked up at each call; NULL when there is none. */
void (*espi_pmpi_find(const char *name))(void);

#endif
