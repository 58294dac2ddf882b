/* What a call needs to know of its communicator, looked up without disturbing the program's errors (comm_cache.c). */
#ifndef ESPI_MPI_COMM_COMM_CACHE_H
#define ESPI_MPI_COMM_COMM_CACHE_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Which ranks are on this rank's node, as far as the launcher says so (job/nodes.h). */
enum espi_comm_near { ESPI_NEAR_UNASKED, ESPI_NEAR_NONE, ESPI_NEAR_ALL, ESPI_NEAR_SOME };

struct espi_comm_facts {
    MPI_Comm comm; /* MPI_COMM_NULL: empty */
    unsigned epoch;
    bool inter;
    int rank;
    int peers;   /* ranks that a rank argument may name: of the remote group of an intercommunicator */
    int in, out; /* neighbours of the topology; 0 without one */
    uint64_t nobody; /* a bit for each of the first 64 that is not there, where a grid ends; all: not known */
    int tag_ub;  /* the largest tag */
    enum espi_comm_near near;  /* see espi_comm_is_near */
    const uint64_t *near_bits; /* SOME: a bit for each rank; of the cache */
    bool world_asked;
    const unsigned char *world; /* see espi_comm_world_ranks; of the cache */
    bool cart_asked;
    const unsigned char *cart;  /* see espi_comm_cart_ranks; of the cache */
};

extern atomic_uint espi_comm_epoch; /* raised when a communicator ends: caches of threads are then stale */

/* Whether the facts are those of this communicator, as nothing has changed since they were looked up. */
static inline bool espi_comm_is_last(const struct espi_comm_facts *facts, MPI_Comm comm)
{
    return facts->comm == comm &&
           facts->epoch == atomic_load_explicit(&espi_comm_epoch, memory_order_acquire);
}

/* Fills `facts`, which is also the caller's one-entry cache (give the same one again). False when the handle is not
   that of a living communicator, or under MPI_THREAD_MULTIPLE when it is not known yet. Sets an attribute on the
   communicator, whose delete callback ends what is known of it. Thread-safe. */
bool espi_comm_look(struct espi_comm_facts *facts, MPI_Comm comm);
/* The same for a communicator that MPI has just taken in a call of the program, so that it lives. */
bool espi_comm_look_taken(struct espi_comm_facts *facts, MPI_Comm comm);
/* The same where it must be known before the call. Under MPI_THREAD_MULTIPLE MPI reports a bad handle twice. */
bool espi_comm_look_now(struct espi_comm_facts *facts, MPI_Comm comm);

/* Whether rank and tag of a message are ones that MPI takes, and the rank is somebody. */
static inline bool espi_comm_has_peer(const struct espi_comm_facts *facts, int rank, int tag, bool receiving)
{
    return ((unsigned)rank < (unsigned)facts->peers || (receiving && rank == MPI_ANY_SOURCE)) &&
           ((tag >= 0 && tag <= facts->tag_ub) || (receiving && tag == MPI_ANY_TAG));
}

/* Whether a rank (0 .. peers-1, or MPI_ANY_SOURCE: all of them) is known to be on this rank's node. The first time on
   a communicator takes time with its size; more than 65,536 ranks, and those of other groups, count as not known.
   `facts` are those of a living communicator. */
bool espi_comm_is_near(struct espi_comm_facts *facts, int peer);

/* Of each rank of an intracommunicator, which it is in MPI_COMM_WORLD. NULL: one is not of it, or there are more
   than ESPI_COMM_WORLD_MOST, the same on all ranks. Valid until the next time. Where calls overlap, of the leader
   alone (base/overlap.h). `facts` are those of a living communicator. */
enum { ESPI_COMM_WORLD_MOST = 64 };
const unsigned char *espi_comm_world_ranks(struct espi_comm_facts *facts);
/* The same of each neighbour, `facts->in` of them, where the topology is Cartesian; ESPI_COMM_NOBODY: there is none
   in that direction. NULL, on all ranks: it is not Cartesian, or there are too many. */
enum { ESPI_COMM_NOBODY = 255 };
const unsigned char *espi_comm_cart_ranks(struct espi_comm_facts *facts);

/* `world`: MPI_COMM_WORLD and MPI_COMM_SELF exist. Without them (sessions only) a bad handle is reported by MPI in
   the name of the function that asks about it. */
void espi_comm_cache_start(bool world);
/* Whether the handle was looked at, and has not ended; perhaps so where memory was short. Asks MPI nothing: what ends
   mostly was never looked at. */
bool espi_comm_is_known(MPI_Comm comm);
/* Before the communicator is freed: forgets it. Without this the delete callback of an attribute ends it, but not
   under MPI_THREAD_MULTIPLE. */
void espi_comm_ends(MPI_Comm comm);
/* Forgets everything; while MPI still works. */
void espi_comm_cache_stop(void);

#endif
