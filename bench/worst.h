/* A mode of bench/sparse. */
#ifndef ESPI_BENCH_WORST_H
#define ESPI_BENCH_WORST_H

/* Runs the cases of the file; returns the program's exit status. */
int bench_worst(const char *path);

#endif
