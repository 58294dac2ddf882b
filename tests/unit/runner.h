/* The main program of a unit test: one suite of tests. */
#ifndef ESPI_TESTS_RUNNER_H
#define ESPI_TESTS_RUNNER_H

#include <check.h>

/* Seeds the random numbers and runs the tests, each for at most `seconds`, between setup and teardown (or NULL).
   Returns the program's exit status. */
int run_suite(const char *program, int seconds, SFun setup, SFun teardown, const TTest *const *tests, int n);

/* The same, the tests being the last arguments. */
#define RUN_SUITE(program, seconds, setup, teardown, ...)                                                            \
    run_suite(program, seconds, setup, teardown, (const TTest *const[]){__VA_ARGS__},                                \
              (int)(sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(const TTest *)))

#endif
