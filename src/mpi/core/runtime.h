/* Whether the core runs, and by which settings. All parts ask here; lifecycle.c sets it. */
#ifndef ESPI_MPI_CORE_RUNTIME_H
#define ESPI_MPI_CORE_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/settings.h"

/* From the end of MPI_Init (or the first session) to the delete callback on MPI_COMM_SELF (or the end of the last
   session). Handlers look at it and pass calls on untouched outside of it. */
extern atomic_bool espi_running;
extern struct espi_settings espi_settings; /* as agreed by all ranks; valid once espi_running was true */

/* Returns espi_running, and for a program whose MPI_Init was not seen (called through dlsym) starts the core before,
   if MPI is initialized and not yet finalized. */
bool espi_start_late(void);
/* How it is started. */
void espi_runtime_starter(bool (*start)(void));

static inline bool espi_is_running(void)
{
    return __builtin_expect(atomic_load_explicit(&espi_running, memory_order_acquire), 1) || espi_start_late();
}

#endif
