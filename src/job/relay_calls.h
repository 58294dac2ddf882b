/*
 * Puts a relay (relay.h) between the MPI library and the launcher for as long as MPI_Init takes (relay_calls.c).
 */
#ifndef ESPI_JOB_RELAY_CALLS_H
#define ESPI_JOB_RELAY_CALLS_H

#include <stdbool.h>

#include "job/pmi_message.h"
#include "job/roll.h"

/* What is called when all is known of the ranks that there is to know, in MPI_Init: before this rank goes into the
   barrier that was held back for it. So behind that barrier it has been called on each rank, or never will be. */
typedef void (*espi_relay_known)(const struct espi_roll_ask *ask);

/* Before the real MPI_Init, on its thread. `wire`: the descriptor that the library will speak on; `library`: anything
   in it; `known` may be NULL. `roll` stays the caller's and must last until espi_relay_stop. False: nothing has
   changed; MPI_Init goes its way as without. */
bool espi_relay_start(int wire, const void *library, const struct espi_roll *roll, espi_relay_known known);

/* What has come of it. */
struct espi_relay_ended {
    enum espi_pmi_version version;
    char space[ESPI_PMI_SPACE];
    char mapping[ESPI_PMI_MAPPING]; /* of ranks to nodes; empty: it was not heard */
    struct espi_roll_ask ask; /* what is known already */
};
/* When it is over, whatever it returned. False: nothing can be asked, as the protocol is not known, the library waits
   for an answer or has not read all that was said, or its descriptor leads elsewhere; or there was no relay. */
bool espi_relay_stop(struct espi_relay_ended *ended);

#endif
