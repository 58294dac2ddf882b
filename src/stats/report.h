/*
 * A snapshot of the statistics of one or more ranks: taken, merged, sent as bytes, written as JSON or text (pure).
 *
 * Merged in any order, reports of the same ranks come out alike, and as bytes none is longer than ESPI_REPORT_BYTES,
 * however many ranks are in it. Sums, extremes and names come out so by themselves (each is a sum, or the first by a
 * total order). Of types, gathers and scatters those are kept that weigh most over all ranks by one sketch (sketch.h)
 * that all ranks have: a record that is among them in the end is among them in every report on its way, so its counts
 * are exact.
 */
#ifndef ESPI_STATS_REPORT_H
#define ESPI_STATS_REPORT_H

#include "base/settings.h"
#include "base/status.h"
#include "stats/buffer.h"
#include "stats/sketch.h"
#include "stats/stats.h"

#define ESPI_SCHEMA_NAME "espalier-statistics"
#define ESPI_SCHEMA_VERSION 1 /* raised when a reader of the old form would misread the new one */

#define ESPI_REPORT_TYPES 64       /* busiest types that are kept */
#define ESPI_REPORT_COLLECTIVES 64 /* the same for gathers and scatters */
#define ESPI_REPORT_HOSTS 256      /* host names that are kept, the first in the order of strcmp */
#define ESPI_REPORT_BYTES ((size_t)512 << 10) /* no packed report is longer */

/* Over the ranks that report. */
struct espi_report_value {
    uint64_t sum, min, max;
    uint32_t min_rank, max_rank; /* the lowest ranks with these values */
};

/* What a record weighs over all ranks, most important first. */
struct espi_report_weight {
    uint64_t part[3];
};

struct espi_report_type {
    uint64_t key;
    uint64_t uses, elements, bytes, changed; /* over all ranks */
    /* By better types, over all ranks: of each use what the model says it saves; at the end all in the first. */
    uint64_t saved_ns[ESPI_SAVED_KINDS];
    uint64_t ranks;                 /* that planned it */
    uint64_t most_uses;             /* on one rank, */
    uint32_t most_rank;             /* on this one, the lowest of its kind */
    struct espi_report_weight weight;
    struct espi_type_facts facts;   /* of that rank */
    char *text[4];                  /* what facts points to: before, after, emission, why */
};

/* No pointers: may be copied. */
struct espi_report_collective {
    struct espi_collective_facts facts; /* of the root with most calls */
    uint64_t calls[ESPI_STATS_METHODS], leases; /* over all roots */
    uint64_t roots;      /* processes that were the root of such calls */
    uint64_t most_calls; /* of one root, */
    uint32_t most_rank;  /* of this one, the lowest of its kind */
    struct espi_report_weight weight;
};

struct espi_report_model {
    bool have;
    uint32_t rank; /* whose it is: the lowest that has one */
    struct espi_commtree_model model;
    char source[16];
};

struct espi_report_host {
    char *name;
    uint64_t ranks; /* on it */
};

struct espi_report {
    /* Header, of the lowest rank in this report: */
    uint32_t rank;
    char *mpi, *scope;
    char *command; /* arguments, each with its NUL */
    size_t command_len;
    int64_t started;     /* seconds since 1970 */
    uint64_t elapsed_ns; /* since the start of the core; the longest of all ranks */
    uint64_t ranks;      /* of MPI_COMM_WORLD */
    uint64_t reporting;  /* ranks in this report */
    uint64_t missing;    /* ranks whose part of it was lost; set at the end */
    bool complete;       /* false in a .partial of a run that goes on */
    struct espi_report_host *host; /* in the order of their names */
    size_t hosts;
    struct espi_settings settings;
    /* Body: */
    struct espi_report_value counter[ESPI_COUNTER_COUNT];
    size_t functions;
    const char *(*function_name)(size_t function); /* its result lives as long as the process */
    struct espi_report_value *calls;  /* `functions` entries */
    size_t types;
    struct espi_report_type *type; /* those that weigh most first; at the end, busiest first */
    uint64_t other_types, other_uses, other_bytes; /* not listed above; a type counts once for each rank */
    uint64_t other_saved_ns[ESPI_SAVED_KINDS];
    struct espi_report_model model[ESPI_LEVELS];
    size_t collectives;
    struct espi_report_collective *collective; /* the same; at the end, those that took longest first */
    uint64_t other_collectives, other_calls; /* not listed above; once for each root */
};

#define ESPI_REPORT_INIT ((struct espi_report){0})

/* What this process counted so far, all of it (snapshot.c). On an error the report is empty. */
espi_status espi_report_take(struct espi_report *report, const struct espi_stats_run *run);

/* ---- what is kept, and in which order (report_order.c) ---- */

/* Adds what the records of a report weigh to a sketch. */
void espi_report_weigh(const struct espi_report *report, struct espi_sketch *sketch);
/* Puts those records first that weigh most by the sketch (by the report alone where it is NULL) and drops those
   beyond the most that are kept into the counts of the rest. */
void espi_report_order(struct espi_report *report, const struct espi_sketch *sketch);
/* The order of two records by weight, then by what tells them apart: 0 for two records of the same thing. */
int espi_report_type_order(const struct espi_report_type *a, const struct espi_report_type *b);
int espi_report_collective_order(const struct espi_report_collective *a, const struct espi_report_collective *b);
/* Drops records from the end. */
void espi_report_cut(struct espi_report *report);
/* For readers: those that gained most, or took longest, first. Not to be merged any more. */
void espi_report_finish(struct espi_report *report);

/* ---- merging (report_merge.c, report_tree.c) ---- */

/* Adds the ranks of `other`, which is empty afterwards; both have been ordered by the same sketch. ESPI_ERR_MEMORY,
   or ESPI_ERR_ARGUMENT when they count different functions: both stay as they were. */
espi_status espi_report_merge(struct espi_report *report, struct espi_report *other);
void espi_report_release(struct espi_report *report);

/* What became of a type, of a report that is finished; and in words. */
enum espi_type_state {
    ESPI_TYPE_LEFT_ALONE, /* no better form was found */
    ESPI_TYPE_PLANNED,    /* one was, but it is not known to have saved anything */
    ESPI_TYPE_USED,       /* the same, and most uses went by it: one-sided ones, or sums that MPI alone refuses */
    ESPI_TYPE_TRIED,      /* the same, and few uses went by it, in trials */
    ESPI_TYPE_IMPROVED    /* it saved time, or most uses went by it and its pack programs were timed */
};
enum espi_type_state espi_report_type_state(const struct espi_report_type *type);
const char *espi_type_state_text(enum espi_type_state state);
/* What all types saved, listed or not; of a report that is finished. */
uint64_t espi_report_types_saved(const struct espi_report *report);

/* Calls of all methods; nanoseconds that they took, from what was measured or else predicted. */
uint64_t espi_report_collective_calls(const struct espi_report_collective *collective);
uint64_t espi_report_collective_time(const struct espi_report_collective *collective);

/* How reports travel; waits until a message is on its way, or has come. Messages between two ranks stay in order. */
struct espi_report_link {
    void *with;
    /* `last`: this rank sends no more. */
    void (*send)(void *with, int to, bool last, const void *data, size_t len);
    /* How many bytes came, of at most `size`; 0 for none, and for a message that is lost. */
    size_t (*receive)(void *with, int from, bool *last, void *data, size_t size);
};

/* Called on every rank of `size`, one call at a time in a process: their reports, each ordered by the same sketch,
   come together on rank 0 along a binomial tree. Returns whether `report` is one then; `have`: whether it is before.
   A rank without memory passes on what it cannot merge, so its own part alone is lost; rank 0 has to drop that.
   Whatever goes wrong on a rank, the others get each message that they wait for. */
bool espi_report_tree(struct espi_report *report, bool have, int rank, int size, const struct espi_sketch *sketch,
                      const struct espi_report_link *link);

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
/* Frees them. */
void espi_report_type_release(struct espi_report_type *type);
/* What tells gathers and scatters apart, as a number that may be shared by a few (gather_records.c). */
uint64_t espi_report_collective_key(const struct espi_report_collective *collective);
/* The order of what tells them apart: 0 for records that are alike (gather_records.c). */
int espi_report_collective_compare(const struct espi_report_collective *a, const struct espi_report_collective *b);

#endif
