/* The start of MPI on some ranks, each a process of its own with a small MPI library, and the test itself is their
   launcher. */
#ifndef ESPI_TESTS_ALL_PRESENT_JOB_H
#define ESPI_TESTS_ALL_PRESENT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/all_present.h"

enum { RANKS = 5, FEW = 4, BEHIND = 64 };
#define VALUE "espalier-world-" PACKAGE_VERSION "-"

/* What a rank is told, and what it comes to. */
struct rank {
    bool absent; /* has no core */
    bool again;  /* announces itself twice, with other settings the second time */
    bool no_wire;
    bool late; /* its library waits for its barrier when MPI_Init is over */
    int here; /* ranks on its node, as the launcher says; -1: it says nothing */
    int size, number;
    uint64_t hash;
    char text[ESPI_ALL_PRESENT_TEXT + 1];
    size_t length;
    bool known; /* as soon as MPI_Init is over */
    bool all, other, local, heard, on_node;
    char settings[ESPI_ALL_PRESENT_TEXT + BEHIND];
    size_t settings_length;
    int gets; /* that the launcher was asked, in MPI_Init and behind it */
    int met;  /* times that it met the others, and how many ranks had when its MPI_Init was over */
    int seen;
};
extern struct rank *ranks;
extern int barriers; /* of the library */
extern bool refuses; /* the launcher, rank 0's puts */
extern bool speaks;  /* rank 0 has something to say */

void setup(void);
void teardown(void);

/* All on one node with the same settings, not the defaults. */
void begin(void);
/* Into the store, before anybody comes. */
void put(const char *key, const char *value);
/* Starts the first ranks, to their ends. */
void run(int count);

int have_met(void);
void check_alone(int count);

#endif
