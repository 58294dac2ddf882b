/* What a call through shared memory saves against the library's, for the report (saving.c). */
#ifndef ESPI_MPI_EXCHANGE_SAVING_H
#define ESPI_MPI_EXCHANGE_SAVING_H

#include <stdint.h>

/* Measures both in turns, on MPI_COMM_WORLD of so many ranks, with blocks of some lengths; collective. Takes a
   millisecond or two, and begins nothing more after five. */
void espi_exchange_measure(int rank, int size);
/* Nanoseconds that a call of this rank saves which sends `bytes` in all to `peers` others; 0: it was not measured. */
uint64_t espi_exchange_saves(int64_t bytes, int peers);

#endif
