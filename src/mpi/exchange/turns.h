/*
 * Turns of the library's way among calls that go through shared memory, so that what these save can be told
 * (turns.c). Only where a report is wanted; nothing is chosen by them.
 *
 * All ranks of a call must take the same turn. So turns follow from how many such calls the communicator has seen,
 * which is the same on all its ranks, as they make its collective calls in one order, and a call that MPI refuses on
 * one rank is counted there no more than MPI matches it. The number stands in an attribute of the communicator: it
 * is lost with it only. Setting one that is there takes no memory, and MPI has some for the first ones.
 */
#ifndef ESPI_MPI_EXCHANGE_TURNS_H
#define ESPI_MPI_EXCHANGE_TURNS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether this rank can take turns; before the first call. */
bool espi_exchange_turns_make(void);
/* All ranks can, or not. */
void espi_exchange_turns_start(bool all);
void espi_exchange_turns_stop(void);

extern bool espi_exchange_has_turns; /* the same on all ranks of MPI_COMM_WORLD */

/* Counts a call, where there are turns. Whether it is the library's turn. */
bool espi_exchange_is_librarys_turn(MPI_Comm comm);

/* Calls of one kind, and what they took: the last ones of each way. NULL: there are too many kinds. Not where calls
   overlap. */
struct espi_exchange_kind;
struct espi_exchange_kind *espi_exchange_kind(uint64_t key);
void espi_exchange_took(struct espi_exchange_kind *kind, bool librarys, uint64_t ns);
/* Nanoseconds that such a call saves, 0 if that is less than times stray; negative: it was not found out. */
double espi_exchange_kind_saves(const struct espi_exchange_kind *kind);
/* What a call saves beside what is credited for it elsewhere, being no more than `most` in all, ns; and what earlier
   ones of its kind did of which that was not known. */
uint64_t espi_exchange_kind_rest(struct espi_exchange_kind *kind, double credited, double most);

#endif
