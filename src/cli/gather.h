/* espalier gather: what its trees carry, and the algorithms that build them (gather_trees.c). */
#ifndef ESPI_CLI_GATHER_H
#define ESPI_CLI_GATHER_H

#include "commtree/commtree.h"

/* Blocks over links that are alike or differ, or one message again and again (traffic.size NULL). */
struct gather_work {
    struct espi_commtree_problem problem; /* of the blocks; p, root and model in any case */
    struct espi_commtree_traffic traffic;
};

/* Algorithms are numbered as enum espi_commtree_kind, and: */
enum { GATHER_ORDERED = ESPI_COMMTREE_KINDS }; /* of a broadcast or reduction: every subtree is a range */
enum { GATHER_ALGORITHMS = 64 };               /* the most that are built at once */

const char *gather_name(int algorithm);
/* "NAME,..", where `all` stands for several, as algorithms that there are for such work. CLI_OK, or an exit code: the
   error was printed. */
int gather_algorithms(const struct gather_work *work, const char *names, int list[GATHER_ALGORITHMS], int *n);
/* The tree and its time. On success the caller owns the tree. */
espi_status gather_build(const struct gather_work *work, int algorithm, struct espi_commtree *tree, double *time);
/* No tree whose root has data is faster. */
espi_status gather_bound(const struct gather_work *work, double *bound);

#endif
