/* The plain procedure that exact reconstruction is held against. */
#ifndef ESPI_TESTS_ORACLE_H
#define ESPI_TESTS_ORACLE_H

#include "reconstruct/reconstruct.h"

/* The least cost of a tree of `map` (n > 0) over the set, by trying everything: O(n^4) for n entries. */
int64_t oracle_cost(const struct espi_typemap *map, enum espi_set set, const struct espi_costs *costs);

/* Random type maps of 1 to n entries of many shapes: runs, nested repeats, near repeats, random, mixed base types,
   repeated and negative displacements; starting at 0 or elsewhere. Appends to an empty map. */
void random_map(struct espi_typemap *map, int64_t n);
/* Cost constants: the default ones, small random ones or large random ones. */
struct espi_costs random_costs(void);

#endif
