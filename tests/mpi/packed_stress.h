/* The parts of packed_stress.c. Both ranks draw the same from `state` of their workers, in the same order. */
#ifndef ESPI_TESTS_MPI_PACKED_STRESS_H
#define ESPI_TESTS_MPI_PACKED_STRESS_H

#include <mpi.h>
#include <stdbool.h>

#include "bytes.h"

#define TAG 31

enum { BLOCKS = 3 };

struct worker {
    uint64_t seed, state; /* the same on both ranks */
    uint64_t own;         /* of this rank alone */
    MPI_Comm comm, graph;         /* graph: each rank has both as its neighbours */
    double until;
    long passed, failed, passed_over;
    int cancels;
};

extern int me, threads; /* of two ranks; workers */

void compare(struct worker *w, const struct family *f, const struct side *s, const char *what);
void must(struct worker *w, bool good, const char *what);

/* Several messages of a family at the same time, persistent and not, in some cycles. */
void channels(struct worker *w, const struct family *f);
/* MPI_Sendrecv_replace, against itself and against other calls. */
void replace_one(struct worker *w, const struct family *f);
/* Some collective calls. */
void collectives(struct worker *w, const struct family *f);
MPI_Comm graph_of(MPI_Comm comm);
/* Receives that nothing is sent to, cancelled. */
void cancel_one(struct worker *w, const struct family *f);

#endif
