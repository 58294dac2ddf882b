/* What the parts of test_stats share. */
#ifndef ESPI_TESTS_STATS_H
#define ESPI_TESTS_STATS_H

#include <check.h>
#include <jansson.h>

#include "stats/json.h"
#include "stats/report.h"

extern unsigned long long stats_seed;
extern struct espi_settings stats_settings;

const char *stats_name(size_t function); /* of 3 */
uint64_t next_random(uint64_t *state);
struct espi_stats_run run_of(int rank, int ranks, bool whole);
/* A report as another rank would send it. */
void fake(struct espi_report *report, int rank, uint64_t uses);
/* All into the first, which is finished then; the rest are empty. */
void merge(struct espi_report *const *report, int n);
struct espi_collective_facts facts_of(int root, int64_t bytes, int method, const char *why);

/* JSON read back; what is missing fails the test. */
json_t *parse(const struct espi_buffer *bytes);
json_t *at(json_t *root, const char *a, const char *b);

void add_json(TCase *all);
void add_collectives(TCase *all);
/* Files stand in a folder that end_files removes. False: there is no room for one. */
bool add_files(TCase *all);
void end_files(void);

#endif
