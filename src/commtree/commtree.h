/* Communication trees for irregular gather and scatter.

   The model is that of J. L. Traeff, "On Optimal Trees for Irregular Gather and Scatter Collectives" (IEEE TPDS
   30(9), 2019): fully connected, one-ported; a message of m > 0 bytes costs alpha + beta*m, an empty one nothing.
   Joining two finished subtrees costs the later completion time plus the message. A rank that receives also copies
   its own block, gamma*m. doc/gather-trees.md explains the model, its conventions and the proofs.

   Times are doubles in the unit of the model's constants; as long as all constants are integers and every time
   is below 2^53 they are exact. Sizes are bytes. */
#ifndef ESPI_COMMTREE_COMMTREE_H
#define ESPI_COMMTREE_COMMTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* The paper's model has latency 0 and early_copy false. */
struct espi_commtree_model {
    double alpha;   /* per message, serialised at both ends (the overhead o of LogP when latency is used) */
    double beta;    /* per byte */
    double gamma;   /* per byte of a receiving rank's own block */
    double latency; /* per message, overlapped with other messages: the L of LogP */
    bool early_copy; /* the own block may be copied while waiting for the first message, wherever it lies; in the
                        paper a rank behind its first child's blocks copies after them */
};

/* Children stand in the order in which a gather receives them; a scatter sends to them in reverse order. */
struct espi_commtree {
    int p;
    int root;
    int n;       /* ranks that take part */
    bool ordered; /* every subtree is a range of the ranks that take part */
    int *parent; /* p entries; ESPI_COMMTREE_ROOT for the root, ESPI_COMMTREE_ABSENT for ranks outside the tree */
    int *first;  /* p+1 entries: the children of v are child[first[v]] .. child[first[v+1]-1] */
    int *child;  /* n-1 entries */
};
#define ESPI_COMMTREE_ROOT (-1)
#define ESPI_COMMTREE_ABSENT (-2)
#define ESPI_COMMTREE_INIT ((struct espi_commtree){0, 0, 0, false, 0, 0, 0})

enum espi_commtree_op { ESPI_COMMTREE_GATHER, ESPI_COMMTREE_SCATTER };

enum espi_commtree_kind {
    ESPI_COMMTREE_LINEAR,   /* every rank with data is a child of the root */
    ESPI_COMMTREE_BINARY,   /* optimal among trees of at most two children per rank, received from left to right; with
                               a latency only if that counted as alpha and copies were late */
    ESPI_COMMTREE_BINOMIAL, /* rank-ordered binomial, blind to sizes: neighbours of 2^k ranks join, rightmost leads */
    ESPI_COMMTREE_ADAPTIVE, /* the same joins, the lighter side sends to the heavier */
    ESPI_COMMTREE_OPTIMAL,  /* least completion time of all ordered trees of the ranks with data in which what a rank
                               holds is always a range, too (a binary tree may be faster: its root 4 may receive {0},
                               then {1,2,3}) */
    ESPI_COMMTREE_UNORDERED, /* any tree: exact for up to 14 ranks with data, else ordered by decreasing size */
    ESPI_COMMTREE_TWOSIZE,  /* runs of small blocks by rounds; these and the large ones by rounds or one by one */
    ESPI_COMMTREE_KINDS
};

#define ESPI_COMMTREE_BEST (-1) /* as a root: choose the root too, among ranks with data */

struct espi_commtree_problem {
    int p;               /* ranks, >= 1 */
    const int64_t *size; /* p block sizes >= 0 */
    int root;            /* 0 .. p-1, or ESPI_COMMTREE_BEST */
    struct espi_commtree_model model;
    size_t max_bytes;    /* memory a construction may take; 0: no limit but 65,535 ranks for the quadratic ones */
};

/* "linear", "binary", "binomial", "adaptive", "optimal", "unordered", "two-size"; NULL outside the enum. */
const char *espi_commtree_kind_name(enum espi_commtree_kind kind);
/* False when no kind has this name. */
bool espi_commtree_kind_parse(const char *name, enum espi_commtree_kind *kind);

/* Builds a tree; on success the caller owns it. LINEAR, OPTIMAL, UNORDERED and TWOSIZE leave ranks without data out
   (except a fixed root). BINARY, BINOMIAL and ADAPTIVE keep them where they are, as published: their joins are
   free, but a rank with such a child still copies its block. Errors: ARGUMENT (p, root, sizes, model out
   of range), OVERFLOW (sizes that add up beyond 2^63-1), LIMIT (too many ranks or bytes), MEMORY. */
espi_status espi_commtree_build(enum espi_commtree_kind kind, const struct espi_commtree_problem *problem,
                                struct espi_commtree *tree);

/* The same with every rank without data left out, for any kind: never slower in the model for ADAPTIVE use. */
espi_status espi_commtree_build_compact(enum espi_commtree_kind kind, const struct espi_commtree_problem *problem,
                                        struct espi_commtree *tree);

void espi_commtree_release(struct espi_commtree *tree);

/* Makes a tree of n-1 joins: in step s the rank to[s], with all it holds, receives all that from[s] holds. Steps of
   one receiver must be in time order. With no steps the tree is the root alone. ARGUMENT unless it is a tree. */
espi_status espi_commtree_from_joins(int p, int root, int steps, const int *from, const int *to, bool ordered,
                                     struct espi_commtree *tree);

/* Completion time in O(p). Both operations take equally long on one tree; they are computed independently. */
espi_status espi_commtree_time(const struct espi_commtree *tree, const int64_t *size,
                               const struct espi_commtree_model *model, enum espi_commtree_op op, double *time);

/* No tree, ordered or not, is faster; root may be ESPI_COMMTREE_BEST: no tree whose root has data, then (binary and
   binomial trees may choose one without). */
espi_status espi_commtree_lower_bound(const struct espi_commtree_problem *problem, double *bound);

/* Different links: a message from i to j costs alpha[i*p+j] + beta[i*p+j]*m. Latency 0, late copy. */
struct espi_commtree_links {
    int p;
    const double *alpha, *beta; /* p*p each, row: sender */
    double gamma;
};

/* Optimal ordered tree over such links for op: exact, by a recurrence over ranges and roots with about n^5/60 steps
   for n ranks with data; LIMIT above ESPI_COMMTREE_LINKS_RANKS. */
#define ESPI_COMMTREE_LINKS_RANKS 128
espi_status espi_commtree_optimal_links(const struct espi_commtree_links *links, const int64_t *size, int root,
                                        enum espi_commtree_op op, struct espi_commtree *tree);

/* Ranks in nodes: a message within a node costs what `within` says, one between nodes what `across` says. */
struct espi_commtree_levels {
    const int *node;                        /* p entries: any integers, equal for ranks of one node */
    struct espi_commtree_model within, across; /* early_copy must agree; gamma of `within` is used */
};
/* The fastest ordered tree, exactly, where the network is not faster than a node in any constant, and
   - each node is a range of the ranks that take part, at most 2,048 of them: O(n^3), or
   - n^3/6 * (nodes) is at most 1.5e8 (n = 256 in 32 nodes, placed in any way).
   Beyond that the fastest of several: a tree for each run of neighbours of one node and one over the runs, and trees
   that know no nodes. Both operations take equally long. */
espi_status espi_commtree_two_level(const struct espi_commtree_problem *problem,
                                    const struct espi_commtree_levels *levels, struct espi_commtree *tree);
/* An ordered tree for any number of ranks, in time that grows as the ranks do (0.1 s for 1,000,000): the optimal one
   where no more than ESPI_COMMTREE_GROUPED_RANKS have data and there are no levels, else optimal trees of groups of
   neighbours, joined by one more; with levels the first groups are the nodes (the runs of neighbours of one node).
   `levels` may be NULL; problem->model is not used with them. Errors as for espi_commtree_build. */
#define ESPI_COMMTREE_GROUPED_RANKS 512
espi_status espi_commtree_grouped(const struct espi_commtree_problem *problem,
                                  const struct espi_commtree_levels *levels, struct espi_commtree *tree);
espi_status espi_commtree_time_levels(const struct espi_commtree *tree, const int64_t *size,
                                      const struct espi_commtree_levels *levels, enum espi_commtree_op op,
                                      double *time);

/* What a tree carries, and what its messages cost. */
struct espi_commtree_traffic {
    enum espi_commtree_op op;
    const int64_t *size; /* p blocks; NULL: a broadcast (op SCATTER) or reduction (GATHER) of `bytes` bytes, in which
                            all messages, also empty ones, are alike and each one received costs a reduction
                            gamma*bytes more, to be combined */
    int64_t bytes;
    const struct espi_commtree_model *model; /* of every message; or, with blocks, */
    const struct espi_commtree_links *links; /* by pair, where model is NULL */
};
/* Completion time of any of these, and when each rank's message with its parent occupies the parent's port (start and
   finish, p entries each, set only for ranks with a parent; both may be NULL). ARGUMENT: links of another p. */
espi_status espi_commtree_schedule(const struct espi_commtree *tree, const struct espi_commtree_traffic *traffic,
                                   double *start, double *finish, double *time);

/* A tree for such a broadcast or reduction, children in the order in which a reduction receives them. Optimal under
   the model incl. latency; ranks are numbered around from the root, so a reduction so arranged needs a commutative
   operation. With `in_order` every subtree is a range: ceil(log2 p) rounds, which is optimal for latency 0. */
espi_status espi_commtree_broadcast(int p, int root, const struct espi_commtree_traffic *traffic, bool in_order,
                                    struct espi_commtree *tree);

/* The paper's block-size distributions. */
enum espi_commtree_dist {
    ESPI_DIST_SAME, ESPI_DIST_RANDOM, ESPI_DIST_RANDOM_DECREASING, ESPI_DIST_RANDOM_INCREASING, ESPI_DIST_BUCKET,
    ESPI_DIST_SPIKES, ESPI_DIST_DECREASING, ESPI_DIST_INCREASING, ESPI_DIST_ALTERNATING, ESPI_DIST_SKEWED,
    ESPI_DIST_TWO_BLOCKS, ESPI_DISTS
};
const char *espi_commtree_dist_name(enum espi_commtree_dist dist);
bool espi_commtree_dist_parse(const char *name, enum espi_commtree_dist *dist);
/* Fills size[0..p-1]; b >= 0 is about the average, rho >= 1. OVERFLOW when a size or the sum leaves 63 bits. */
espi_status espi_commtree_dist_fill(enum espi_commtree_dist dist, int p, int64_t b, int64_t rho, uint64_t seed,
                                    int64_t *size);

/* Pictures of a tree; bytes as labels of the edges, which run from parent to child. SVG: the messages of the
   operation, ranks from left to right, time downwards. ERR_IO. */
espi_status espi_commtree_write_dot(FILE *out, const struct espi_commtree *tree,
                                    const struct espi_commtree_traffic *traffic);
espi_status espi_commtree_write_svg(FILE *out, const struct espi_commtree *tree,
                                    const struct espi_commtree_traffic *traffic);

#endif
