/*
 * Leases: for how many calls a communication tree, or the library, is agreed upon (DESIGN: collectives).
 *
 * Only the root of a gather or scatter knows all counts, and a rank that chose alone would hang the rest. So all
 * ranks count the calls on a (communicator, kind of call, root). The first goes to the library. At the second, and
 * whenever a lease has ended, all ranks tell the root how long calls took, and the root tells them what holds for the
 * next calls.
 * Within a lease there is no message but those of the tree.
 *
 * What the root decides: the model names the methods that may be worth it; treejudge.h decides among them and the
 * library by what calls took. For that every rank keeps the times of a few calls of a lease, of the same calls on all
 * ranks: the time of a call is the longest of all ranks. Where trees cannot win, or have lost, leases are long and
 * nothing is measured. When counts change the tree is made anew; when they become another problem, the contest begins
 * again.
 */
#ifndef ESPI_MPI_LEASE_H
#define ESPI_MPI_LEASE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"
#include "mpi/treejudge.h"
#include "mpi/treeplan.h"

enum espi_lease_family { ESPI_LEASE_GATHERV, ESPI_LEASE_SCATTERV, ESPI_LEASE_GATHER, ESPI_LEASE_SCATTER };

/* Methods: the library's call, or a tree of this kind. */
#define ESPI_METHOD_LIBRARY (-1)
#define ESPI_METHODS (1 + ESPI_COMMTREE_KINDS)

struct espi_lease {
    enum espi_lease_family family;
    int root;
    int64_t calls;     /* seen so far */
    int64_t remaining; /* of the present lease */
    int method;        /* ESPI_METHOD_LIBRARY or enum espi_commtree_kind */
    bool turns;        /* the library has some of the calls, see treejudge.h */
    int64_t lent;      /* calls that the library had in such leases so far */
    struct espi_treeplan plan; /* where method is a tree */
    int64_t length;    /* of the present lease */
    bool quiet;        /* nothing is measured in the present lease */
    int skip;          /* calls at its beginning that are not measured */
    double sample[ESPI_JUDGE_SAMPLES]; /* seconds of this rank's calls in the present lease; negative: none */
    /* At the root: */
    bool changed;      /* a call of the present lease had other counts than planned, */
    bool strayed;      /* and they were another problem */
    int unsteady;      /* leases in a row that began with another problem */
    int64_t rest;      /* what the last of them led to */
    int planned_for;   /* method of `plan` */
    bool outdated;     /* sizes have changed since `plan` was made */
    struct espi_treejudge judge; /* its candidates are order[0 .. methods-1] */
    int methods, order[ESPI_METHODS];
    double measured[ESPI_METHODS], predicted[ESPI_METHODS]; /* seconds, [1 + method]; negative: not known */
    int64_t *planned;  /* p sizes that the methods were chosen for */
};

struct espi_lease_comm {
    MPI_Comm own; /* private; MPI_COMM_NULL before it is needed */
    int rank, size;
    bool one_node; /* all its ranks share memory */
    char *tree; /* espi_lease_tree_bytes(size) bytes, so that no rank can fail between two messages */
    const struct espi_commtree_levels *levels; /* where some ranks share a node and others do not; else NULL */
    /* The optimal tree knows the levels: nodes are ranges, and ranks few enough to build it in a millisecond. */
    bool composed;
};
size_t espi_lease_tree_bytes(int size);

/*
 * Before each call, on all ranks of the communicator: says by which method this call goes. `sizes` (p sizes in bytes)
 * is read at the root only. Collective over comm->own where a lease begins. Never fails: at worst the library.
 */
int espi_lease_begin(struct espi_lease *lease, struct espi_lease_comm *comm, const struct espi_commtree_model *model,
                     const struct espi_settings *settings, const int64_t *sizes);
/* In the middle of a lease in which all go to the library and nothing is looked at: counts the call. False: use the
   above. */
static inline bool espi_lease_pass(struct espi_lease *lease)
{
    if (!lease->quiet || lease->remaining == 0 || lease->method != ESPI_METHOD_LIBRARY)
        return false;
    lease->calls++;
    lease->remaining--;
    return true;
}
/* After the call that was begun: how long it took here. */
void espi_lease_end(struct espi_lease *lease, double seconds);
/* Frees what it holds; the lease may be used again from the start. */
void espi_lease_release(struct espi_lease *lease);

#endif
