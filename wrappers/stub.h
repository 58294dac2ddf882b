/* Inside of the stub (libespalier.so). */
#ifndef ESPI_WRAPPERS_STUB_H
#define ESPI_WRAPPERS_STUB_H

#include <stdatomic.h>
#include <stdbool.h>

#include "bridge.h"

#define ESPI_HIDDEN __attribute__((visibility("hidden")))

extern ESPI_HIDDEN struct espi_hot espi_hot;
/* initial-exec: no call, no allocation, safe wherever MPI may be entered. */
extern ESPI_HIDDEN __thread struct espi_thread espi_here __attribute__((tls_model("initial-exec")));

/* Decides, once per process, between the core and passing through. Returns the table now in espi_hot.handlers. */
ESPI_HIDDEN const espi_handler *espi_start(void);
/* Finds and remembers the next definition of a function; never NULL: where there is none, a function that returns an
   error. */
ESPI_HIDDEN espi_next espi_find_next(bool profiling, enum espi_fn fn);

#endif
