/* What the files of test-pack share. */
#ifndef ESPI_TESTS_TEST_PACK_H
#define ESPI_TESTS_TEST_PACK_H

#include <check.h>

#include "pack/program.h"

enum { PACK_LIMIT = 1 << 18 }; /* entries of type maps */

extern struct espi_arena arena; /* empty at the begin of each test */

const struct espi_node *made(espi_status status, const struct espi_node *const *node);
const struct espi_node *leaf(const char *name);
const struct espi_node *vec(int64_t count, int64_t stride, const struct espi_node *child);
/* Packs, unpacks and packs ranges of `count` items by every level of instructions, beside the type map. False: it is
   too long, and was not compared. */
bool check_layout(const struct espi_node *tree, int64_t extent, int64_t count);
/* n + 1 zeros. */
int64_t *numbers(int64_t n);

/* The tests of test_pack_cases.c. */
enum { PACK_CASES = 8 };
const TTest *pack_case(int number);

#endif
