/*
 * Collective calls that come again. What a program exchanges in one step it exchanges in the next: the same function
 * on the same communicator, the same counts and places, types of the same layouts. Of calls of short blocks, where
 * finding all that takes longer than packing, the last ones are kept as they were made, with the room for what is
 * packed and what MPI sees of it: the next one is compared with them, packed and counted.
 *
 * Types are compared by their plans, so that types made anew in the same way are the same; what is due to be looked
 * at is not the same. Only where calls do not overlap (base/overlap.h).
 */
#ifndef ESPI_MPI_CALLS_REPEATED_H
#define ESPI_MPI_CALLS_REPEATED_H

#include <stdbool.h>

#include "mpi/calls/call_side.h"
#include "mpi/calls/collective.h"

extern int64_t espi_repeated_bytes; /* in the blocks of all that are kept */

/* Whether any call is kept. */
static inline bool espi_repeated_any(void)
{
    return espi_repeated_bytes > 0;
}

/* Whether a call is one that is kept. Then what is sent is packed, all but the call is counted, `call` is filled and
   `changed`, a copy of the arguments, says what MPI is to do, as after espi_collective_course. `first`: it was not
   asked yet whether a rank gives itself data in it (selfcopy/self_copy.h); where that is due, it is not one. */
bool espi_repeated_begin(struct espi_collective *call, struct espi_thread_state *thread_state,
                         const struct espi_api_row *row, const espi_word *args, espi_word *changed, bool first);

/* A call that was packed and counted: keeps it, if one like it was made before. `call->repeated` says whether it did;
   the blocks of the call are not to be given back then. */
void espi_repeated_keep(struct espi_collective *call, const struct espi_call_side side[2], const espi_word *changed);

/* The call that `repeated` was taken for or made of has ended, and what was received is unpacked. */
void espi_repeated_end(struct espi_repeated *repeated);
/* Or it failed: from here on the blocks are the call's alone, and it is not kept. */
void espi_repeated_forget(struct espi_repeated *repeated);

/* Nothing is kept any more. */
void espi_repeated_stop(void);

#endif
