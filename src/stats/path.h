/* The file name of the statistics. */
#ifndef ESPI_STATS_PATH_H
#define ESPI_STATS_PATH_H

#include <stddef.h>

#include "base/status.h"

/* Replaces %j by `job`, %p by `pid` and %% by %. `/` in the job becomes `_`. ESPI_ERR_SYNTAX: another letter after %,
   or % at the end; ESPI_ERR_LIMIT: the result does not fit. */
espi_status espi_stats_path(const char *pattern, const char *job, long pid, char *out, size_t size);

/* The job's name from the variables of batch systems (Slurm, PBS, LSF, SGE, Cobalt, Flux), else NULL. */
const char *espi_stats_job(void);

#endif
