/* Sums that stop at the largest value; in any order of their terms they come out alike. */
#ifndef ESPI_BASE_SATURATE_H
#define ESPI_BASE_SATURATE_H

#include <stdint.h>

static inline uint64_t espi_add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif
