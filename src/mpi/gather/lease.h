/*
 * Leases: for how long a communication tree, or the library, is agreed upon (doc/gather-calls.md).
 *
 * Only the root of a gather or scatter knows all counts, and a rank that chose alone would hang the rest. So the root
 * decides and tells the others; where that may happen without a rank waiting that did not wait natively, agreement.h
 * says: at calls of the program in which all ranks of the communicator wait for each other anyway, its
 * synchronizations. Between two of them the method never changes, whatever calls are made or refused meanwhile, so
 * nothing depends on ranks counting their gathers alike.
 *
 * A lease holds for a number of turns; a turn is so many synchronizations that the root expects a call or more in
 * each. Within a lease there is no message but those of the tree.
 *
 * What the root decides: the model names the methods that may be worth it; method_select.h decides among them and the
 * library by what calls took. For that every rank keeps the times of the calls of some turns of a lease, of the same
 * turns on all ranks: the time of a call is the longest of all ranks. Where trees cannot win, or have lost, leases
 * are long and nothing is measured. When counts change the tree is made anew; when they become another problem, the
 * contest begins again. A tree that changing counts would make anew in each lease holds for so long that making it
 * costs a twentieth of its calls. Where ranks have not made the same calls (arguments that MPI refused, and the like)
 * trees are given up for good.
 */
#ifndef ESPI_MPI_GATHER_LEASE_H
#define ESPI_MPI_GATHER_LEASE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"
#include "commtree/method_select.h"
#include "mpi/gather/subtree_plan.h"

enum espi_lease_family {
    ESPI_LEASE_GATHERV,
    ESPI_LEASE_SCATTERV,
    ESPI_LEASE_GATHER,
    ESPI_LEASE_SCATTER,
    ESPI_LEASE_FAMILIES
};

static inline bool espi_family_gathers(enum espi_lease_family family)
{
    return family == ESPI_LEASE_GATHERV || family == ESPI_LEASE_GATHER;
}

/* Methods: the library's call, or a tree of this kind. */
#define ESPI_METHOD_LIBRARY (-1)
#define ESPI_METHODS (1 + ESPI_COMMTREE_KINDS)

/* ESPI_LEASE_WAITS: no tree promises a gain; what there was is given back, and the root may ask again for other
   sizes. ESPI_LEASE_ENDED: the library has the calls for good. */
enum espi_lease_state { ESPI_LEASE_WAITS, ESPI_LEASE_HOLDS, ESPI_LEASE_ENDED };

struct espi_lease {
    enum espi_lease_family family;
    int root;
    enum espi_lease_state state;
    /* Agreed, the same on all ranks while the lease holds: */
    int method;        /* ESPI_METHOD_LIBRARY or enum espi_commtree_kind */
    int now;           /* the method of calls before the next synchronization */
    bool interleaved;        /* the library has some of the turns, see method_select.h */
    bool unmeasured;        /* nothing is measured */
    int skip;          /* turns at its beginning that are not measured */
    int64_t begun;     /* synchronizations of the communicator when it began */
    int64_t length;    /* turns */
    int64_t stride;    /* synchronizations of a turn */
    struct espi_subtree_plan plan; /* where method is a tree */
    /* Of this rank: */
    int64_t calls;     /* that were not refused; at the root from the first, at the others since there was a lease */
    int64_t library_calls;      /* calls that the library had in leases of a tree so far */
    bool irregular;    /* a call was refused while the calls went along a tree */
    double sample[ESPI_SELECT_SAMPLES]; /* seconds of a call in turns of the present lease; negative: none */
    double seconds;    /* of the calls of the present turn that are measured, */
    int64_t measured_calls; /* so many */
    int64_t calls_before; /* of `calls`, before there was a lease */
    /* At the root: */
    bool irregular_seen; /* on some rank, or not all made as many calls */
    bool changed;      /* a call of the present lease had other counts than planned, */
    bool drifted;      /* and they were another problem */
    int unsteady;      /* leases in a row that began with another problem */
    int64_t rest;      /* what the last of them led to */
    int planned_for;   /* method of `plan` */
    bool outdated;     /* sizes have changed since `plan` was made */
    struct espi_method_select select; /* its candidates are order[0 .. methods-1] */
    int methods, order[ESPI_METHODS];
    double measured[ESPI_METHODS], predicted[ESPI_METHODS]; /* seconds, [1 + method]; negative: not known */
    int64_t *planned;  /* p sizes that the methods were chosen for */
};

struct espi_lease_comm {
    MPI_Comm own; /* the lease's private communicator */
    int rank, size;
    bool one_node; /* all its ranks share memory */
    /* At the root, where some ranks share a node and others do not; else NULL. */
    const struct espi_commtree_levels *levels;
    bool mixed; /* trees that mix the levels are tried: nodes are ranges, and ranks few enough for a millisecond */
};

/* At the root, alone, in the state ESPI_LEASE_WAITS: whether some tree promises a gain for these sizes (bytes, one of
   each of the p ranks). What a lease has found out about such sizes holds. */
bool espi_lease_asks(struct espi_lease *lease, const struct espi_lease_comm *comm,
                     const struct espi_commtree_model *model, const struct espi_settings *settings,
                     const int64_t *sizes);

/* A lease begins: at a synchronization, whose number is `syncs`. `sizes` and `expected`, the synchronizations from
   one call to the next (at least 1), are read at the root only. Collective over comm->own; never fails: at worst the
   lease has ended, on all ranks alike. */
void espi_lease_renew(struct espi_lease *lease, struct espi_lease_comm *comm, const struct espi_commtree_model *model,
                      const struct espi_settings *settings, const int64_t *sizes, int64_t syncs, int64_t expected);
/* The synchronization at which it ends. */
static inline int64_t espi_lease_end(const struct espi_lease *lease)
{
    return lease->begun + lease->length * lease->stride;
}
/* At each synchronization within it: sets the method of the calls that follow. Collective over comm->own where it
   changes. */
void espi_lease_turn(struct espi_lease *lease, const struct espi_lease_comm *comm, int64_t syncs);
/* Whether this number of calls is the same on all ranks, so that no call is under way: collective, the same answer on
   all. Only then may a method change: some ranks may have made a call by one method that others have yet to make,
   as MPI does not let a program do, but lets it get away with. */
bool espi_is_in_step(int64_t calls, MPI_Comm comm);

/* At the root, with the sizes of a call: notes whether they are still those that were planned for. */
void espi_lease_compare(struct espi_lease *lease, int size, const int64_t *sizes);
/* After a call that was not refused: how long it took here. */
static inline void espi_lease_took(struct espi_lease *lease, double seconds)
{
    lease->seconds += seconds;
    lease->measured_calls++;
}
/* Frees what it holds; the state is ESPI_LEASE_ENDED then. */
void espi_lease_release(struct espi_lease *lease);

#endif
