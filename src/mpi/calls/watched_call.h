/*
 * Calls that are the library's while a trial goes on that is to tell what messages save (packed/message_ways.h): they
 * pass the core then. Messages among them, of calls that block and have one buffer and one peer, are timed beside the
 * trial; mostly their data lie dense.
 */
#ifndef ESPI_MPI_CALLS_WATCHED_CALL_H
#define ESPI_MPI_CALLS_WATCHED_CALL_H

#include "mpi/core/api_table.h"
#include "mpi/core/thread_state.h"

/* Carries out a call that is the library's, of any function, as it is, by `next`. Where espi_ways_are_watched. */
espi_word espi_watched_call(struct espi_thread_state *thread_state, enum espi_fn fn, const espi_word *args,
                            espi_next next);

#endif
