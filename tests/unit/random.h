/* Random inputs for unit tests: one 64-bit generator, its seed printed, ESPALIER_TEST_SEED overrides it. */
#ifndef ESPI_TESTS_RANDOM_H
#define ESPI_TESTS_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t random_state;

static inline uint64_t random_next(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform in [lo, hi], near enough for tests. */
static inline int64_t random_in(int64_t lo, int64_t hi)
{
    return lo + (int64_t)(random_next() % (uint64_t)(hi - lo + 1));
}

/* Call once in main, before the tests (they may run in forked children). */
static inline void random_seed(const char *name)
{
    const char *text = getenv("ESPALIER_TEST_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : ((uint64_t)now.tv_sec << 20 ^ (uint64_t)now.tv_nsec);
    printf("%s: ESPALIER_TEST_SEED=%llu\n", name, (unsigned long long)seed);
    fflush(stdout);
    random_state = seed;
}

#endif
