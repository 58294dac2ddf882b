/* The same small MPI work in several kinds of hosts (work.c). */
#ifndef ESPI_TESTS_WORK_H
#define ESPI_TESTS_WORK_H

/* Uses MPI (initialized by the caller) with derived types in many calls on MPI_COMM_WORLD, and prints one line with a
   checksum of all that arrived, on rank 0. Returns 0, or 1 when something else arrived than was sent. */
int work(const char *title);

#endif
