/*
 * When the ranks of a communicator agree on leases (agreement.c): only at calls of the program in which each of them
 * waits for all others by their meaning, so that agreeing makes no rank wait that did not wait natively.
 *
 * Such a synchronization is MPI_Barrier, or MPI_Allreduce of a byte or more. A call that MPI refuses is none, as no
 * other rank has learnt of it, nor is a reduction that this rank had no memory for before MPI saw it. All ranks count
 * these calls alike, whatever else a program does on some of them only: a rank that missed one would be waited for
 * natively as well.
 *
 * At the first, second, fourth, ... synchronization (the eighth first unless trees are wanted in any case) the ranks
 * exchange a word: whether some root asks for a lease. It does where a tree promises a gain for the sizes of its
 * calls. Nothing else is made or agreed before. Where the ranks have not all made as many calls of that kind (a rank
 * left one out, which natively nobody notices) no lease begins, and roots ask for calls of that kind again after four
 * times as many synchronizations. Where a lease ends it is renewed, without that word.
 */
#ifndef ESPI_MPI_GATHER_AGREEMENT_H
#define ESPI_MPI_GATHER_AGREEMENT_H

#include <stdbool.h>

#include "abi.h"
#include "mpi/gather/comm_state.h"

/* Handlers (abi.h) of MPI_Barrier and MPI_Allreduce: the call, and what is to be agreed after it. */
espi_word espi_agreement_barrier(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);
espi_word espi_agreement_allreduce(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next);

/* Whether an error that a call returned means that MPI has refused its arguments, and so done nothing. */
bool espi_is_refusal(int rc);

#endif
