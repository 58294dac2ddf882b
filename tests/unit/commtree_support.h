/* What the tests of communication trees share: random problems, checks of a tree, plain oracles. */
#ifndef ESPI_TESTS_COMMTREE_SUPPORT_H
#define ESPI_TESTS_COMMTREE_SUPPORT_H

#include <check.h>

#include "commtree/commtree.h"

#define MOST 48 /* ranks that the oracles take */

enum gamma_kind { SMALL_GAMMA, ANY_GAMMA }; /* small: at most beta, so that the fast method applies */
void random_sizes(int p, int64_t *size);
/* Fills p sizes; the root is fixed or best. */
struct espi_commtree_problem random_problem(int p, int64_t *size, enum gamma_kind gamma, bool latency);

/* The time of a gather, after comparing it with that of a scatter. */
double time_of(const struct espi_commtree *tree, const struct espi_commtree_problem *problem);
/* A tree's form: parents and children agree, ranges are ranges, the root is the wanted one. At most 4,096 ranks. */
void check_form(const struct espi_commtree *tree, const struct espi_commtree_problem *problem);
/* Builds a tree, checks its form and returns its time. */
double build_time(enum espi_commtree_kind kind, const struct espi_commtree_problem *problem);
/* Equal up to rounding, or the problem is printed. */
void expect_time(double got, double want, const char *what, const struct espi_commtree_problem *problem);

/* The recurrences as they are defined: every split, memoised. */
double oracle_optimal(const struct espi_commtree_problem *problem);
double oracle_binary(const struct espi_commtree_problem *problem);

#endif
