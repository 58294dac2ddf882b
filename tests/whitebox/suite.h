/* The main program of a test that is linked to MPI and calls parts of src/mpi: one suite of tests in one process. */
#ifndef ESPI_TESTS_WHITEBOX_SUITE_H
#define ESPI_TESTS_WHITEBOX_SUITE_H

#include <check.h>
#include <stdbool.h>

/* Between MPI_Init and MPI_Finalize, with the table of real functions and the statistics started: seeds the random
   numbers and runs the tests. Returns the program's exit status. */
int types_run(int argc, char **argv, const char *program, TCase *tests);

/* The same where MPI is ready already: runs the tests and ends MPI. */
int suite_run(const char *program, TCase *tests);

/* Calls of MPI overlap from now on, and another thread leads (base/overlap.h); false: they do not. */
void suite_another_leads(bool leads);

TCase *types_case(const TTest *const *tests, int n);

/* The same, the tests being the last arguments. */
#define TYPES_RUN(argc, argv, program, ...)                                                                          \
    types_run(argc, argv, program,                                                                                   \
              types_case((const TTest *const[]){__VA_ARGS__},                                                        \
                         (int)(sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(const TTest *))))

#endif
