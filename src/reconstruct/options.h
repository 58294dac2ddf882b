/* What is asked of a reconstruction, and what comes of it. */
#ifndef ESPI_RECONSTRUCT_OPTIONS_H
#define ESPI_RECONSTRUCT_OPTIONS_H

#include "layout/layout.h"

enum espi_set {
    ESPI_SET_BASIC,   /* leaf, vec, idx, struc */
    ESPI_SET_MPI,     /* and idxbuc */
    ESPI_SET_EXTENDED /* and bucket, each with one copy at least */
};

struct espi_reconstruct_options {
    enum espi_set set;
    struct espi_costs costs;
    size_t exact_limit;  /* up to this many entries the result is exact whatever it takes; default 2000 */
    uint64_t budget_ns;  /* soft bound on the time spent; 0 = none */
};

struct espi_reconstruction {
    const struct espi_node *tree; /* lives in the arena that was given */
    int64_t cost;                 /* of tree, under the options' costs */
    int64_t lower_bound;          /* proved; equals cost when exact */
    bool exact;
    uint64_t elapsed_ns;
};

#endif
