/* Random inputs for unit tests: one generator, its seed printed; ESPALIER_TEST_SEED sets it. */
#ifndef ESPI_TESTS_RANDOM_H
#define ESPI_TESTS_RANDOM_H

#include "layout/layout.h"

/* Call once in main, before the tests (Check may run them in forked children). */
void random_seed(const char *program);
uint64_t random_next(void);
/* Uniform in [lo, hi], near enough for tests. */
int64_t random_in(int64_t lo, int64_t hi);

/* Ends the program when false; for what is not under test (benchmarks use these files without Check). */
void random_require(bool ok);

/* A tree over all kinds with at most `depth` levels; counts and lengths in 0..4 (empty parts included),
   displacements and strides in -40..40. */
const struct espi_node *random_tree(struct espi_arena *arena, int depth);

#endif
