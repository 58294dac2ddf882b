/*
 * MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw and their neighbourhood forms within a node, without the library: each
 * rank packs its blocks piece by piece into memory that the ranks share (exchange/channel.h), while the others unpack
 * from there. Each byte is copied twice, through pieces that stay in the caches, or once, where a long block lies in
 * long rows and is read there (offer.h); no copy, no message and no wait of the library's comes to that.
 * doc/exchange.md has the figures.
 *
 * All ranks must do alike, as a rank that called the library would wait for the others there. So nothing is chosen:
 * at the start each rank of MPI_COMM_WORLD says whether it takes part (start.c), and if all do, every such call
 * goes this way whose communicator has at least two ranks, all of MPI_COMM_WORLD; neighbourhood forms on Cartesian
 * ones. Exceptions follow from what is the same on all ranks: short blocks of MPI_Alltoall on nine ranks
 * or more, where the library has an algorithm whose number of messages grows with the logarithm of that of ranks; and
 * turns in which the library is timed, on which the ranks agree in the call (turns.h).
 *
 * A rank waits for those that it exchanges bytes with, as natively: a pair without bytes does not meet. While it
 * waits, the library goes on with what else is under way (espi_exchange_poll), as in its own calls.
 *
 * What MPI would refuse is given to it, as it refuses before it sends anything: bad counts, types and buffers. A
 * block longer than its receiver says is the receiver's MPI_ERR_TRUNCATE; of a shorter one what arrived is in place.
 */
#ifndef ESPI_MPI_EXCHANGE_EXCHANGE_H
#define ESPI_MPI_EXCHANGE_EXCHANGE_H

#include <stdbool.h>

#include "abi.h"
#include "base/settings.h"
#include "job/all_present.h"

/* Ranks on one node open the memory in MPI_Init. Whether settings want that. */
extern const struct espi_meeting espi_exchange_meeting;
bool espi_exchange_is_wanted(const struct espi_settings *settings);
/* Behind MPI_Init, with the world open: says whether this rank takes part. */
void espi_exchange_start(const struct espi_settings *settings);
/* When MPI_Init has come to its end, whatever came of it: one that has said nothing stays out. */
void espi_exchange_begun(void);

extern bool espi_exchange_is_on; /* this rank takes part, until the end */
/* Whether all of MPI_COMM_WORLD do: the same on all that do. The first call may wait for one that has not come to the
   end of its MPI_Init. Not after espi_exchange_stop. */
bool espi_exchange_is_by_all(void);
/* This rank makes no such call any more. */
void espi_exchange_stop(void);

/* Carries the call out, or gives it to `otherwise`, a handler that calls the library. */
espi_word espi_exchange_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                             espi_handler otherwise);

#endif
