/* How large a tree is for those who walk it: shared parts count wherever they occur, but for equal neighbours. */
#ifndef ESPI_MPI_TYPEPLAN_TREE_SIZE_H
#define ESPI_MPI_TYPEPLAN_TREE_SIZE_H

#include <stdbool.h>

#include "layout/layout.h"

/* Whether a walk comes by at most `most` nodes, of which those deep down count more. */
bool espi_tree_may_be_walked(const struct espi_node *tree, int most);

#endif
