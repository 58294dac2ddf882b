/* From MPI_Init to the end of MPI (lifecycle.c). */
#ifndef ESPI_MPI_ENTRY_LIFECYCLE_H
#define ESPI_MPI_ENTRY_LIFECYCLE_H

#include <stdint.h>

#include "abi.h"

/* For espi_stats_elsewhere: adds what the stub has counted. */
void espi_stub_counts(uint64_t *counter, uint64_t *calls);

/* To be called once, as the core is loaded. */
void espi_lifecycle_prepare(void);

/* Calls that complete requests pass by the core again, until one is made that is its own, unless there is one. */
void espi_requests_go_back(void);

espi_word espi_handle_init(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);
espi_word espi_handle_session_init(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);
espi_word espi_handle_session_finalize(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);

#endif
