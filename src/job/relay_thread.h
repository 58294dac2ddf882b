/*
 * Puts a relay (relay.h) between the MPI library and the launcher for as long as MPI_Init takes (relay_thread.c).
 */
#ifndef ESPI_JOB_RELAY_THREAD_H
#define ESPI_JOB_RELAY_THREAD_H

#include <stdbool.h>

#include "job/pmi_message.h"
#include "job/roll.h"

/* Before the real MPI_Init, on its thread. `wire`: the descriptor that the library will speak on. `roll` stays the
   caller's and must last until espi_relay_stop. False: nothing has changed; MPI_Init goes its way as without. */
bool espi_relay_start(int wire, const struct espi_roll *roll);

/* What has come of it. */
struct espi_relay_ended {
    enum espi_pmi_version version; /* UNKNOWN: nothing can be asked */
    char space[ESPI_PMI_SPACE];
};
/* When it is over, whatever it returned: the descriptor leads to the launcher again, and no thread, descriptor or
   memory is left. (Where the library has not read all that the launcher has said, or waits for an answer, the relay
   stays: false, as where there was none.) */
bool espi_relay_stop(struct espi_relay_ended *ended);

#endif
