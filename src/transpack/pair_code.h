/* Pairs of displacements as single numbers; see transpack.c. */
#ifndef ESPI_TRANSPACK_PAIR_CODE_H
#define ESPI_TRANSPACK_PAIR_CODE_H

#include "layout/layout.h"

/* One side: displacements are origin + unit * (small number). */
struct espi_pair_side {
    const struct espi_typemap *map;
    int64_t origin, unit;
    int64_t reach; /* the largest of those small numbers and of their differences */
};

struct espi_pair_code {
    struct espi_pair_side from, onto;
    int64_t factor; /* K */
};

uint64_t espi_common_divisor(uint64_t a, uint64_t b);

/* The two trees that a tree of coded numbers stands for. */
espi_status espi_pair_read(struct espi_arena *arena, const struct espi_pair_code *code, const struct espi_node *coded,
                           const struct espi_node **from, const struct espi_node **onto);

#endif
