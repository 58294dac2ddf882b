/* Sums that stop at the largest value; in any order of their terms they come out alike. */
#ifndef ESPI_BASE_SATURATE_H
#define ESPI_BASE_SATURATE_H

#include <stdint.h>

static inline uint64_t espi_add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline int64_t espi_add_signed_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : a < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t espi_subtract_signed_saturated(int64_t a, int64_t b)
{
    int64_t difference;
    return !__builtin_sub_overflow(a, b, &difference) ? difference : a < 0 ? INT64_MIN : INT64_MAX;
}

#endif
