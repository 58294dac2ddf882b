/* A process that plays Hydra's proxy: it runs a program of that name (hydra_pmi_proxy.c) and makes the wire, so it is
   taken for one. It says nothing. */
#ifndef ESPI_TESTS_PLAYER_H
#define ESPI_TESTS_PLAYER_H

#include <stdbool.h>
#include <sys/types.h>

/* Writes the rank's end to `wire`, a stream or a socket of datagrams. Returns its process, which ends with the one
   that calls. `program`: ESPI_PLAYER or another name of it. */
pid_t player_start(const char *program, int *wire, bool datagrams);

/* What the launcher says to a rank in its environment; ranks_here -1: nothing of those on this node. */
void player_environment(int wire, int rank, int size, int ranks_here);

#endif
