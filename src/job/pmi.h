/*
 * Questions to the key-value store that the launcher keeps for MPI's own start, once MPI_Init is over (pmi.c). Only
 * while no other thread can be inside of MPI, which speaks on the same descriptor.
 */
#ifndef ESPI_JOB_PMI_H
#define ESPI_JOB_PMI_H

#include <stdbool.h>
#include <stddef.h>

#include "job/pmi_message.h"

/* The conversation that the MPI library has opened on descriptor `wire`. */
void espi_pmi_open(int wire, enum espi_pmi_version version, const char *space);

/* False: there is no such key, or nothing can be learnt. */
bool espi_pmi_get(const char *key, char *value, size_t size);

#endif
