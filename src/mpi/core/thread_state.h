/* What the core keeps per thread (thread_state.c). */
#ifndef ESPI_MPI_CORE_THREAD_STATE_H
#define ESPI_MPI_CORE_THREAD_STATE_H

#include "abi.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/selfcopy/recent_pairs.h"
#include "stats/stats.h"

/* The communicator of this thread's last gather, scatter or synchronization; of this epoch (comm_state.h). */
struct espi_last_gather_comm {
    struct espi_gather_comm *state; /* NULL: none */
    MPI_Comm comm;
    unsigned epoch;
};

struct espi_thread_state {
    struct espi_stats_thread *stats; /* never NULL */
    struct espi_comm_facts comm;     /* of the last communicator that was looked at */
    struct espi_selfcopy_cache pairs;    /* of types between which it copies */
    struct espi_last_gather_comm gather_comm;
};

/* Makes it, and arranges that it is given back when the thread ends. NULL when memory is short. */
struct espi_thread_state *espi_thread_state_make(struct espi_thread *thread);

static inline struct espi_thread_state *espi_thread_state(struct espi_thread *thread)
{
    struct espi_thread_state *state = thread->core;
    return __builtin_expect(state != 0, 1) ? state : espi_thread_state_make(thread);
}

#endif
