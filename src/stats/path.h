/* The file name of the statistics. */
#ifndef ESPI_STATS_PATH_H
#define ESPI_STATS_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Replaces %j by `job`, %p by `pid`, %r by `rank` and %% by %. `/` in the job becomes `_`. ESPI_ERR_SYNTAX: another
   letter after %, or % at the end; ESPI_ERR_LIMIT: the result does not fit. */
espi_status espi_stats_path(const char *pattern, const char *job, long pid, int rank, char *out, size_t size);

/* Whether %r is in it. */
bool espi_stats_path_per_rank(const char *pattern);

/* The job's name from the variables of batch systems (Slurm, PBS, LSF, SGE, Cobalt, Flux), else NULL. */
const char *espi_stats_job(void);

#endif
