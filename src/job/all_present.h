/*
 * Roll call: does every rank of MPI_COMM_WORLD have an active core? And which settings has rank 0? (all_present.c)
 * Nothing collective of Espalier may happen otherwise, for a rank without it would leave the others waiting.
 */
#ifndef ESPI_JOB_ALL_PRESENT_H
#define ESPI_JOB_ALL_PRESENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/roll.h"

#define ESPI_ALL_PRESENT_TEXT ESPI_ROLL_TEXT /* bytes of settings at most */
#define ESPI_ALL_PRESENT_DEFAULTS 0 /* stands for the hash of the defaults */

/* What ranks on one node do in MPI_Init to meet. */
struct espi_meeting {
    /* On rank 0, of so many: writes what it says to all (roll.h). Nothing, or NULL here: they do not meet. */
    void (*says)(int size, char said[ESPI_ROLL_SAID]);
    /* On each rank, when it knows that all are present and on its node, and what rank 0 has said. When MPI_Init is
       over this has been on every rank, or will not be any more (relay_calls.h). */
    void (*meets)(int rank, int size, const char *said);
};

/* Right before the real MPI_Init. `library`: anything in the MPI library. `hash`: of this rank's settings, or
   ESPI_ALL_PRESENT_DEFAULTS. `text`, of `length` bytes, is what the others may take from rank 0; 0 bytes: the
   defaults. It must stay until espi_all_present_announced, and `meeting`, which may be NULL, too. */
void espi_all_present_announce(const void *library, uint64_t hash, const char *text, size_t length,
                               const struct espi_meeting *meeting);

/* Right after the real MPI_Init, whatever it returned. */
void espi_all_present_announced(void);

/* After MPI_Init: whether rank 0 announced other settings than this rank. Then `text` holds what it has left. */
bool espi_all_present_settings(int rank, char *text, size_t size, size_t *length);

/* After MPI_Init: the same answer on every rank that asks; false when anything is unknown. One rank: true. Not while
   another thread may be inside of MPI, unless espi_all_present_is_local. */
bool espi_all_present(int size);

/* Whether the answers of this rank need no launcher. */
bool espi_all_present_is_local(void);

/* Whether this rank could say that it is there. If not, its launcher is none that it knows. */
bool espi_all_present_is_heard(void);

/* Whether all are present, and know from the launcher that they stand on one node: the same answer on every rank, as
   soon as espi_all_present has been asked. */
bool espi_all_present_on_node(void);

#endif
