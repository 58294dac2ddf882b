/* Life cycle of the core (init.c). */
#ifndef ESPI_MPI_CORE_LIFECYCLE_H
#define ESPI_MPI_CORE_LIFECYCLE_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/settings.h"
#include "bridge.h"

/* From the end of MPI_Init (or the first session) to the delete callback on MPI_COMM_SELF (or the end of the last
   session). Handlers look at it and pass calls on untouched outside of it. */
extern atomic_bool espi_running;
extern struct espi_settings espi_settings; /* as agreed by all ranks; valid once espi_running was true */

/* For espi_stats_elsewhere: adds what the stub has counted. */
void espi_init_counts(uint64_t *counter, uint64_t *calls);

/* For a program whose MPI_Init was not seen (called through dlsym): starts the core if MPI is initialized and not yet
   finalized. Returns espi_running. */
bool espi_start_late(void);

espi_word espi_handle_init(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);
espi_word espi_handle_session_init(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);
espi_word espi_handle_session_finalize(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);

#endif
