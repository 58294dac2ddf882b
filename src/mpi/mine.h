/* What the core keeps per thread (mine.c). */
#ifndef ESPI_MPI_MINE_H
#define ESPI_MPI_MINE_H

#include "bridge.h"
#include "mpi/comms.h"
#include "mpi/onto.h"
#include "stats/stats.h"

struct espi_lease;

/* The lease that the last gather or scatter of this thread used; collective.c. */
struct espi_last_lease {
    struct espi_lease *lease; /* NULL: none */
    MPI_Comm comm;
    int fn, root;
    unsigned epoch;
};

struct espi_mine {
    struct espi_stats_thread *stats; /* never NULL */
    struct espi_comm_facts comm;     /* of the last communicator that was looked at */
    struct espi_onto_cache onto;     /* pairs of layouts that were decided */
    struct espi_last_lease lease;
};

/* Makes it, and arranges that it is given back when the thread ends. NULL when memory is short. */
struct espi_mine *espi_mine_make(struct espi_thread *thread);

static inline struct espi_mine *espi_mine(struct espi_thread *thread)
{
    struct espi_mine *mine = thread->core;
    return __builtin_expect(mine != 0, 1) ? mine : espi_mine_make(thread);
}

#endif
