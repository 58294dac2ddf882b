/* Finding MPI in this process, and speaking when there is something to say (find.c). */
#ifndef ESPI_WRAPPERS_FIND_H
#define ESPI_WRAPPERS_FIND_H

#include "stub.h"

/* The next definition of `name` behind the stub: in the global scope, else in the MPI library that Espalier was built
   for, else in any other loaded library (a host that loads its MPI privately). NULL when there is none. */
ESPI_HIDDEN void *espi_find_symbol(const char *name);
/* The loaded library of that name, without loading it; NULL when it is not loaded. */
ESPI_HIDDEN void *espi_find_loaded(const char *soname);
/* File name of the object that holds the address; "" when unknown. */
ESPI_HIDDEN const char *espi_object_name(const void *address);
/* "espalier: ", the text and a line end in one write to stderr. */
ESPI_HIDDEN void espi_say(const char *text);

/* Addresses of the loaded object that holds this one: low <= address < high. 0, 0: none does. */
struct espi_range {
    uintptr_t low, high;
};
ESPI_HIDDEN struct espi_range espi_object_range(const void *address);

#endif
