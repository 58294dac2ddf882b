/* A second plain procedure, O(n^3) to O(n^4), for more and longer random inputs than oracle.h can take. */
#ifndef ESPI_TESTS_PLAIN_H
#define ESPI_TESTS_PLAIN_H

#include "reconstruct/reconstruct.h"

/* The least cost of a tree of `map` (n > 0), any set; the extended one for n <= 64. */
int64_t plain_cost(const struct espi_typemap *map, enum espi_set set, const struct espi_costs *costs);

/* Strings with dense repetition structure, as type maps of at most n entries: periodic stretches with defects,
   powers within powers, Fibonacci-like words, runs of one stride with gaps. Appends to an empty map. */
void repetitive_map(struct espi_typemap *map, int64_t n);

#endif
