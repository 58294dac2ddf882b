/* Which values are replicated: kept whole by all processes instead of by one each.

   A value that one consumer wants replicated and whose producer is not has to be broadcast; a replicated one can be
   read as if it were not, for nothing. Which values to replicate at least cost is a minimum cut between what must be
   and what must not be replicated (S. Chatterjee, J. R. Gilbert, R. Schreiber, T. J. Sheffler, "Array distribution in
   data-parallel programs", LCPC 1994; for mobile alignment by the same authors with J. R. Gilbert and R. Schreiber,
   Supercomputing 1993). This holds for any graph, also where planning in general is NP-hard. */
#ifndef ESPI_PLACEMENT_REPLICATE_H
#define ESPI_PLACEMENT_REPLICATE_H

#include <stdbool.h>

#include "base/status.h"

struct espi_place_copies {
    double once;       /* cost of making and keeping it once; INFINITY: it must be replicated */
    double replicated; /* the same replicated; INFINITY: it must not be */
};

struct espi_place_read {
    int from, to;     /* nodes */
    double broadcast; /* if `from` is kept once and `to` replicated */
};

/* Sets replicated[v] for each of n nodes; of several choices of least cost the one with fewest replicated. *cost is
   INFINITY, and nothing set, where demands contradict each other. At most O(n^2 reads) steps (E. A. Dinic, 1970).
   ARGUMENT: nodes out of range, costs that are negative or no numbers; MEMORY. */
espi_status espi_place_replicate(const struct espi_place_copies *node, int n, const struct espi_place_read *read,
                                 int reads, bool *replicated, double *cost);

#endif
