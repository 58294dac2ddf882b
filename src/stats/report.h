/* A snapshot of the statistics of one or more ranks: taken, merged, sent as bytes, written as JSON or text (pure). */
#ifndef ESPI_STATS_REPORT_H
#define ESPI_STATS_REPORT_H

#include "base/settings.h"
#include "base/status.h"
#include "stats/buffer.h"
#include "stats/stats.h"

#define ESPI_SCHEMA_NAME "espalier-statistics"
#define ESPI_SCHEMA_VERSION 1 /* raised when a reader of the old form would misread the new one */

#define ESPI_REPORT_TYPES 64  /* busiest types that are kept when reports merge */
#define ESPI_REPORT_COLLECTIVES 64 /* the same for gathers and scatters */
#define ESPI_REPORT_HOSTS 256 /* host names that are kept */

/* Over the ranks that report. */
struct espi_report_value {
    uint64_t sum, min, max;
};

struct espi_report_type {
    uint64_t key;
    uint64_t uses, elements, bytes; /* over all ranks */
    uint64_t saved_ns;              /* by better types, over all ranks: of each use what the model says it saves */
    uint64_t ranks;                 /* that used it */
    struct espi_type_facts facts;   /* of the rank that used it most */
    char *text[4];                  /* what facts points to: before, after, emission, why */
};

/* No pointers: may be copied. */
struct espi_report_collective {
    struct espi_collective_facts facts; /* of the root with most calls */
    uint64_t calls[ESPI_STATS_METHODS], leases; /* over all roots */
    uint64_t roots; /* processes that were the root of such calls */
};

struct espi_report_model {
    bool have;
    struct espi_commtree_model model;
    char source[16];
};

struct espi_report {
    /* Header: */
    char *mpi, *scope;
    char *command; /* arguments, each with its NUL */
    size_t command_len;
    int64_t started;     /* seconds since 1970 */
    uint64_t elapsed_ns; /* since the start of the core; the longest of all ranks */
    uint64_t ranks;      /* of MPI_COMM_WORLD */
    uint64_t reporting;  /* ranks in this report */
    bool complete;       /* false in a .partial of a run that goes on */
    char **host;
    size_t hosts;
    struct espi_settings settings;
    /* Body: */
    struct espi_report_value counter[ESPI_COUNTER_COUNT];
    size_t functions;
    const char *(*function_name)(size_t function); /* its result lives as long as the process */
    struct espi_report_value *calls;  /* `functions` entries */
    size_t types;
    struct espi_report_type *type; /* busiest first */
    uint64_t other_types, other_uses, other_bytes; /* not listed above */
    struct espi_report_model model[ESPI_LEVELS];
    size_t collectives;
    struct espi_report_collective *collective; /* those that took longest first */
    uint64_t other_collectives, other_calls; /* not listed above */
};

#define ESPI_REPORT_INIT ((struct espi_report){0})

/* What this process counted so far (snapshot.c). On an error the report is empty. */
espi_status espi_report_take(struct espi_report *report, const struct espi_stats_run *run);
/* Adds the ranks of `other` to `report`; `other` stays as it is. On an error `report` is unchanged. */
espi_status espi_report_merge(struct espi_report *report, const struct espi_report *other);
void espi_report_release(struct espi_report *report);

/* Calls of all methods; nanoseconds that they took, from what was measured or else predicted. */
uint64_t espi_report_collective_calls(const struct espi_report_collective *collective);
uint64_t espi_report_collective_time(const struct espi_report_collective *collective);

/* As bytes for another rank of the same version (wire.c). Reading checks everything: ESPI_ERR_SYNTAX for bytes that
   are cut, changed or of another version. */
espi_status espi_report_pack(const struct espi_report *report, struct espi_buffer *out);
espi_status espi_report_unpack(struct espi_report *report, const void *data, size_t len);

/* doc/statistics.md describes the form (report_json.c). */
espi_status espi_report_json(const struct espi_report *report, struct espi_buffer *out);
/* A dozen lines for a person (summary.c). */
espi_status espi_report_summary(const struct espi_report *report, struct espi_buffer *out);

/* ---- for src/stats alone ---- */

/* Replaces the texts that type->facts points to by copies that the record owns. On ESPI_ERR_MEMORY it owns none. */
espi_status espi_report_type_own(struct espi_report_type *type);
/* Sorts types, gathers and scatters, and drops those beyond the most that are kept into the counts of the rest. */
void espi_report_keep(struct espi_report *report);
/* Of this, the gathers and scatters (gather_records.c). */
void espi_report_collectives_keep(struct espi_report *report);
/* `list` has room for those of both; takes those of `other` to the `n` that it holds. Returns how many it holds
   then (gather_records.c). */
size_t espi_report_collectives_join(struct espi_report_collective *list, size_t n, const struct espi_report *other);

#endif
