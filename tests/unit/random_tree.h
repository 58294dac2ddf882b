/* A random small type tree over all kinds; used by tests of what walks trees. */
#ifndef ESPI_TESTS_RANDOM_TREE_H
#define ESPI_TESTS_RANDOM_TREE_H

#include "layout/layout.h"

/* At most `depth` levels; counts and lengths in 0..4 (empty parts included), displacements in -40..40. */
const struct espi_node *random_tree(struct espi_arena *arena, int depth);

#endif
