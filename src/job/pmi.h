/*
 * The key-value store that Hydra keeps for MPI's own start (pmi.c). Other launchers are not asked: there nothing
 * can be put or learnt. Used before the real MPI_Init, and afterwards only while no other thread can be inside of
 * MPI. What is put before MPI_Init can be got after it, by every rank: MPI_Init on more than one rank contains a
 * barrier of that store.
 */
#ifndef ESPI_JOB_PMI_H
#define ESPI_JOB_PMI_H

#include <stdbool.h>
#include <stddef.h>

struct espi_pmi_pair {
    char key[64], value[1000]; /* no blanks, no line ends */
};
/* Leaves the conversation as MPI expects it. False: not all could be put. */
bool espi_pmi_put(const struct espi_pmi_pair *pairs, int count);

/* False: there is no such key, or nothing can be learnt. A missing key is answered at once. */
bool espi_pmi_get(const char *key, char *value, size_t size);

/* Whether the keys `base`0 to `base`(count-1) are there, each with a value that begins with `begin`. */
bool espi_pmi_all(const char *base, int count, const char *begin);

#endif
