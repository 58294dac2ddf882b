/*
 * How a plan that the root has made reaches the other ranks: each is told its place in the tree, in a scatter of a
 * few bytes for each rank, then its part, which its parent sends it. So no rank but the root ever has more than its
 * own subtree. What that comes to for many ranks: tests/unit/test_commtree_many.c.
 */
#ifndef ESPI_MPI_GATHER_HAND_DOWN_H
#define ESPI_MPI_GATHER_HAND_DOWN_H

#include <mpi.h>
#include <stdbool.h>

#include "mpi/gather/subtree_plan.h"

/* At the root, what it hands down; nothing elsewhere. */
struct espi_whole_plan {
    struct espi_tree_record *records;
    struct espi_tree_place *places;
};
/* At the root, alone; errors of espi_tree_parts. `whole` is the caller's to release, also after an error. */
espi_status espi_whole_plan_make(const struct espi_commtree *tree, const int64_t *size,
                                 struct espi_whole_plan *whole);
void espi_whole_plan_release(struct espi_whole_plan *whole);

/* Collective. MPI_ERR_NO_MEM, on all ranks alike and without a plan, where memory is short on one; other errors are
   those of MPI. Ranks have released a plan that they had before. */
int espi_plan_hand_down(const struct espi_whole_plan *whole, MPI_Comm comm, int size, int rank, int root,
                        int slack_percent, struct espi_subtree_plan *plan);

#endif
