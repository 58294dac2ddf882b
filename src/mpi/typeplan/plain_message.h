/*
 * Messages that are the library's, mostly as their data lie dense: while a trial goes on that is to tell what others
 * save (packed/message_ways.h) they are timed. Calls that block, of one buffer and one peer.
 */
#ifndef ESPI_MPI_TYPEPLAN_PLAIN_MESSAGE_H
#define ESPI_MPI_TYPEPLAN_PLAIN_MESSAGE_H

#include "mpi/core/api_table.h"
#include "mpi/core/thread_state.h"

/* Carries out a call that is the library's, of any function, as it is, by `next`. Where espi_ways_are_watched. */
espi_word espi_watched_call(struct espi_thread_state *thread_state, enum espi_fn fn, const espi_word *args,
                            espi_next next);

#endif
