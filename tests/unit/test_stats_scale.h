/* What the parts of test_stats_scale share. */
#ifndef ESPI_TESTS_STATS_SCALE_H
#define ESPI_TESTS_STATS_SCALE_H

#include <check.h>

#include "stats/report.h"

extern uint64_t state; /* of the random numbers that are not a rank's own */
uint64_t next_random(uint64_t *from);
uint64_t below(uint64_t *from, uint64_t limit);

/* Of the memory that the program's own objects ask for, those of Check among them where it is no shared library. */
extern unsigned refuse;   /* one request of so many, at random; 0: none */
extern size_t live, peak; /* bytes */
/* Neither counted nor refused. */
void *__real_malloc(size_t bytes);
void __real_free(void *memory);

struct job {
    uint64_t seed;
    int ranks;
    int common, own; /* layouts and gathers that ranks share, and that a rank has for itself */
    int on_node;     /* ranks on a host */
};

/* The report of a rank alone: the same one each time. */
void make_report(struct espi_report *report, const struct job *job, int rank);
/* What those of all ranks weigh. */
void weigh_job(const struct job *job, struct espi_sketch *sketch);
/* That of all ranks, added up the plain way, from rank 0 on; nothing is dropped before the end. */
void plain_report(struct espi_report *sum, const struct job *job, const struct espi_sketch *sketch);

#endif
