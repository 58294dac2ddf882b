/* What the files of types_judge share. */
#ifndef ESPI_TESTS_WHITEBOX_SELECT_H
#define ESPI_TESTS_WHITEBOX_SELECT_H

#include <check.h>

#include "scripted_bench.h"

/* Candidate `i` of the script takes this many nanoseconds. */
static inline void times(int i, uint64_t pack, uint64_t unpack, uint64_t partial)
{
    script.ns[i][ESPI_MEASURE_PACK] = pack;
    script.ns[i][ESPI_MEASURE_UNPACK] = unpack;
    script.ns[i][ESPI_MEASURE_PARTIAL] = partial;
}

/* All take the same; nobody wins. */
static inline void all_alike(void)
{
    for (int i = 0; i < STAND_MOST; i++)
        times(i, 600, 600, 1200);
}

/* 200 doubles as a list: 1600 bytes, so ten fit one part of a message. */
extern MPI_Datatype list;

/* Add their tests. */
void types_judge_kept(TCase *all);
void types_judge_slices(TCase *all);

#endif
