/*
 * What Espalier keeps of a communicator of the program for gathers and scatters along trees (comm_state.c): its
 * synchronizations so far, its leases, and what the model needs to know of it.
 */
#ifndef ESPI_MPI_GATHER_COMM_STATE_H
#define ESPI_MPI_GATHER_COMM_STATE_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/thread_state.h"
#include "mpi/gather/lease.h"
#include "mpi/netmodel/netmodel.h"
#include "mpi/gather/lease_report.h"

/* The calls of one kind with one root. At the root there is one as soon as there was a call, at the others once the
   root has asked for a lease. */
struct espi_gather_lease {
    struct {
        int family, root;
    } key;
    struct espi_lease lease;
    struct espi_lease_comm comm;
    struct espi_lease_report report;
    struct espi_gather_lease *next; /* of those that hold, in the order in which they were agreed */
    int64_t latest;      /* of `calls` of the communicator, when a call went along its tree */
    /* At the root: */
    int64_t *sizes;      /* of the latest call; comm.size entries. 0 for ranks whose block was empty at times: */
    bool *was_empty;     /* they stay out of trees, where others would wait for them that natively did not */
    bool looked_at;      /* since the root last thought about asking */
    int64_t first;       /* synchronizations when `first_calls` calls had been made */
    int64_t first_calls;
    UT_hash_handle hh;
};

struct espi_gather_comm {
    struct espi_gather_comm *next, *prev;
    MPI_Comm comm; /* the program's */
    int rank, size;
    int64_t syncs; /* calls in which all its ranks waited for each other, the same number on all of them */
    int64_t poll;  /* when roots may ask for leases again, */
    int64_t due;   /* and when there is anything to agree on */
    struct espi_gather_lease *leases, *held;
    int64_t calls; /* along trees */
    int64_t made[ESPI_LEASE_FAMILIES]; /* calls of each kind that were not refused */
    /* Synchronizations before which no root asks for calls of a kind: the ranks had not all made as many of them. */
    int64_t put_off[ESPI_LEASE_FAMILIES];
    /* Once a lease was agreed: */
    bool placed;
    struct espi_model model;
    struct espi_topology places;
    int places_root; /* that has the lists of `places` */
    struct espi_commtree_model flat; /* one level for all, see espi_model_flat */
    /* Where this rank was a root; NULL elsewhere: */
    void *lists; /* of places */
    struct espi_commtree_levels levels; /* of lists and model; used where ranks share nodes and there are several */
};

/* Changes whenever a communicator or lease ends, so that no thread uses one that it remembers. */
extern atomic_uint espi_gather_epoch;

static inline void espi_gather_epoch_next(void)
{
    atomic_fetch_add_explicit(&espi_gather_epoch, 1, memory_order_release);
}

/* Of the communicator that the thread has looked at last; made at the first call. NULL: after the end. Memory may be
   short: then one of a few in reserve is taken, as a rank without one would not come when the others agree on
   something. */
struct espi_gather_comm *espi_gather_comm_of_thread(struct espi_thread_state *thread_state);
/* NULL: there is none. */
struct espi_gather_lease *espi_gather_lease_find(struct espi_gather_comm *state, enum espi_lease_family family,
                                                 int root);
/* Finds or makes it. NULL: memory is short. */
struct espi_gather_lease *espi_gather_lease_of(struct espi_gather_comm *state, enum espi_lease_family family,
                                               int root);
/* Gives a lease's private communicator back; to be called on all its ranks. Not where messages may be left in it,
   which the next communicator of the same context would meet. */
void espi_gather_lease_close(struct espi_gather_lease *entry);

/* Ends what hangs on a communicator before the program frees it, not in a callback inside of MPI's progress. */
void espi_gather_comm_ends(const struct espi_comm_facts *facts);
void espi_gather_comms_start(void);
void espi_gather_comms_stop(void);

#endif
