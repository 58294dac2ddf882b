/* A clock that a test sets: takes the place of clock_gettime in a program linked with -Wl,--wrap=clock_gettime. */
#ifndef ESPI_TESTS_WHITEBOX_CLOCK_H
#define ESPI_TESTS_WHITEBOX_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds. Each look at the clock makes it go on by `each`, the time and the processor time alike. */
extern struct test_clock {
    bool set; /* false: the system's clock */
    uint64_t now, cpu, each;
} test_clock;

/* The clock is set, and stands still. */
void test_clock_stands(void);
/* So much time passes, and the process has a processor for so much of it. */
void test_clock_passes(uint64_t ns, uint64_t cpu);

#endif
