#include "stats/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

espi_status espi_stats_path(const char *pattern, const char *job, long pid, int rank, char *out, size_t size)
{
    char number[32], rank_number[16];
    size_t used = 0;

    snprintf(number, sizeof number, "%ld", pid);
    snprintf(rank_number, sizeof rank_number, "%d", rank);
    for (const char *p = pattern; *p != '\0'; p++) {
        char one[2] = {*p, '\0'};
        const char *piece = one;
        size_t start = used;
        if (*p == '%') {
            p++;
            if (*p != 'j' && *p != 'p' && *p != 'r' && *p != '%')
                return ESPI_ERR_SYNTAX;
            piece = *p == 'j' ? job : *p == 'p' ? number : *p == 'r' ? rank_number : "%";
        }
        size_t len = strlen(piece);
        if (used + len >= size)
            return ESPI_ERR_LIMIT;
        memcpy(out + used, piece, len);
        used += len;
        if (piece == job)
            for (size_t i = start; i < used; i++)
                if (out[i] == '/')
                    out[i] = '_';
    }
    out[used] = '\0';
    return ESPI_OK;
}

bool espi_stats_path_per_rank(const char *pattern)
{
    for (const char *p = pattern; *p != '\0'; p++)
        if (*p == '%' && *++p != '%')
            if (*p == 'r' || *p == '\0')
                return *p == 'r';
    return false;
}

const char *espi_stats_job(void)
{
    static const char *const variable[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "COBALT_JOBID",
                                           "FLUX_JOB_ID"};
    for (size_t i = 0; i < sizeof variable / sizeof variable[0]; i++) {
        const char *value = getenv(variable[i]);
        if (value != NULL && *value != '\0')
            return value;
    }
    return NULL;
}
