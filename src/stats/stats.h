/*
 * Statistics of one process (pure, no MPI): cheap to bump, merged when they are written.
 *
 * Counters and calls live in one block per thread. Only the owner writes a block, with plain loads and stores of
 * relaxed atomics (no locked instruction); whoever takes a snapshot reads all blocks.
 */
#ifndef ESPI_STATS_STATS_H
#define ESPI_STATS_STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "commtree/model_file.h"

enum espi_counter {
#define ESPI_COUNTER(group, name, unit, help) ESPI_COUNT_##name,
#include "stats/counters.def"
#undef ESPI_COUNTER
    ESPI_COUNTER_COUNT
};

enum espi_counter_group { ESPI_GROUP_WORK, ESPI_GROUP_LEFT, ESPI_GROUP_TIME };

struct espi_counter_info {
    enum espi_counter_group group;
    const char *name, *unit, *help;
};
extern const struct espi_counter_info espi_counter_table[]; /* ESPI_COUNTER_COUNT rows */

/* ---- counting (snapshot.c) ---- */

#define ESPI_STATS_FUNCTIONS 1024 /* functions beyond this many are not counted */

struct espi_stats_thread {
    struct espi_stats_thread *next;
    bool owned;       /* under the lock of snapshot.c */
    size_t functions; /* entries of `calls` */
    _Atomic uint64_t counter[ESPI_COUNTER_COUNT];
    _Atomic uint64_t calls[];
};

/* Once, before any other call: `name` tells the names of the `n` functions that are counted. They live as long as
   the process. */
void espi_stats_start(const char *(*name)(size_t function), size_t n);

/* A block for the calling thread, never NULL: when memory is short all such threads share one block (and may then
   lose counts to each other). Give it back at the thread's end; its counts stay. */
struct espi_stats_thread *espi_stats_thread_begin(void);
void espi_stats_thread_end(struct espi_stats_thread *thread);

static inline void espi_bump(_Atomic uint64_t *value, uint64_t n)
{
    atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void espi_count(struct espi_stats_thread *thread, enum espi_counter which, uint64_t n)
{
    espi_bump(&thread->counter[which], n);
}

static inline void espi_count_call(struct espi_stats_thread *thread, size_t function)
{
    if (function < thread->functions)
        espi_bump(&thread->calls[function], 1);
}

/* Once: `add` adds what is counted in other places, to ESPI_COUNTER_COUNT counters and to the calls of all functions.
   Called under a lock, at any time. */
void espi_stats_elsewhere(void (*add)(uint64_t *counter, uint64_t *calls));

/* For code that has no block at hand (delete callbacks, start and end): slower, always exact. */
void espi_count_anywhere(enum espi_counter which, uint64_t n);

/* Monotonic nanoseconds. */
uint64_t espi_stats_now(void);

/* ---- types that were planned ---- */

/* Nanoseconds of one operation on one element of the type; 0 = not measured. */
struct espi_type_times {
    uint64_t pack, unpack, partial;
};

struct espi_type_facts {
    const char *before, *after; /* text forms (espi_print, shortened); `after` may be NULL */
    const char *emission;       /* how `after` is built in MPI: "struct of index lists of 16 blocks"; may be NULL */
    const char *why;            /* one phrase: why it was kept, or why the type was left alone */
    bool improved;              /* a better type is in use */
    bool exact;                 /* cost_after is the least possible */
    int64_t cost_before, cost_after; /* words; -1 = not known */
    int64_t entries;            /* of the type map; -1 = not known */
    int64_t size;               /* bytes of data */
    struct espi_type_times ns_before, ns_after;
    struct espi_type_times ns_measured; /* of pack programs in the program's calls; set by the record */
    struct espi_type_reversal {
        bool is;
        enum espi_stats_slow { ESPI_SLOW_PACKING, ESPI_SLOW_UNPACKING, ESPI_SLOW_CALLS, ESPI_SLOWS } what;
        uint64_t ns_measured, ns_most; /* by a pack program; and at most where it would have been kept */
    } reversal[2]; /* of enum espi_stats_packed; set by the record */
    struct espi_type_times ns_next; /* runner-up: the library's best form, where a pack program is in use */
    uint64_t ns_planning;
};

/* Where packing by a program may turn out to be slower than predicted. */
enum espi_stats_packed { ESPI_PACKED_LOCALLY, ESPI_PACKED_IN_MESSAGES };

/* Where time was saved: a message of several parts is packed on one side while it is unpacked on the other, so of the
   two savings only one is seen (report_order.c). All else passes by itself. */
enum espi_stats_saved { ESPI_SAVED_ALONE, ESPI_SAVED_SENDING, ESPI_SAVED_RECEIVING, ESPI_SAVED_KINDS };

struct espi_stats_type {
    uint64_t key;
    _Atomic uint64_t uses, elements, bytes; /* calls, elements of the type and bytes of data moved; add to them */
    _Atomic uint64_t changed; /* uses that went as a better type, or by a pack program; the same */
    _Atomic uint64_t saved_ps[ESPI_SAVED_KINDS]; /* picoseconds that better types have saved, as measured or by the
                                                    model; add to them */
    _Atomic uint64_t measured_ns[2];        /* packing, unpacking one item; 0: not measured */
    /* Under the lock of snapshot.c: */
    struct espi_type_reversal reversal[2];
    bool described;
    struct espi_type_facts facts;
    char *text[4]; /* what facts points to */
};

#define ESPI_STATS_TYPES 512      /* records per process; later layouts share one record without description */
#define ESPI_STATS_TYPE_TEXT 600  /* longest text of a record; longer ones are cut and end in "..." */

/* The record of the layout with this structural hash, made at the first call; never NULL, lives as long as the
   process. Thread-safe. */
struct espi_stats_type *espi_stats_type(uint64_t key);
/* Copies the facts; a later call replaces an earlier one. */
void espi_stats_type_describe(struct espi_stats_type *record, const struct espi_type_facts *facts);

/* Packing, or unpacking, `count` items by a program was measured to take so long. */
void espi_stats_type_measured(struct espi_stats_type *record, bool unpacks, uint64_t ns, int64_t count);
/* It is left to the library from now on, as packing, or unpacking, one item takes `ns`, or whole calls do (to send
   and to receive a message, if both were tried), and `most` at most where a program is better. */
void espi_stats_type_reversed(struct espi_stats_type *record, enum espi_stats_packed where,
                              enum espi_stats_slow what, uint64_t ns, uint64_t most);

/* ---- gathers and scatters by leases (gather_records.c) ---- */

/* Methods are numbered 0: the library's call, 1 + enum espi_commtree_kind: a tree. */
#define ESPI_STATS_METHODS (1 + ESPI_COMMTREE_KINDS)
/* "library", "linear", ... */
const char *espi_stats_method_name(int method);

enum espi_stats_call { ESPI_CALL_GATHERV, ESPI_CALL_SCATTERV, ESPI_CALL_GATHER, ESPI_CALL_SCATTER, ESPI_CALLS };
/* "MPI_Gatherv", ...; NULL outside the enum. */
const char *espi_stats_call_name(enum espi_stats_call call);

/* What one root knows of one kind of call. The first five members tell records apart, bytes by its order of magnitude
   (powers of four): communicators alike share a record. */
struct espi_collective_facts {
    enum espi_stats_call call;
    int ranks, nodes, root; /* of the communicator; root: rank in it */
    int64_t bytes;          /* of all blocks, as they were last seen */
    int method;             /* that holds now */
    int64_t predicted_ns[ESPI_STATS_METHODS], measured_ns[ESPI_STATS_METHODS]; /* of one call; -1: not known */
    char why[96];           /* why this method */
};

struct espi_stats_collective;
#define ESPI_STATS_COLLECTIVES 256 /* records per process; what comes later shares one without description */

/* The record of such calls, with these facts from now on. Never NULL, lives as long as the process. Thread-safe. */
struct espi_stats_collective *espi_stats_collective(const struct espi_collective_facts *facts);
/* Calls that went by `method`, and leases that began. */
void espi_stats_collective_count(struct espi_stats_collective *record, int method, uint64_t calls, uint64_t leases);

/* The constants of the communication model in use; source: a phrase that lives as long as the process. */
void espi_stats_model(enum espi_level level, const struct espi_commtree_model *model, const char *source);

/* ---- the run and its files (output.c) ---- */

struct espi_settings;
struct espi_report;

struct espi_stats_run {
    const struct espi_settings *settings;
    const char *mpi; /* "MPICH 4.0.2" */
    const char *job; /* what %j stands for; NULL: from the batch system's variables, else the process id */
    int rank, ranks;
    bool all_present; /* every rank has the core */
    bool few_on_node; /* gathers and scatters are left to the library: too few ranks, and all on one node */
};

#define ESPI_STATS_ALONE 64 /* ranks that work alone, for themselves, write so many files at most */

/* Whether rank 0 writes for all ranks: all are present, and the name does not ask for files of single ranks. */
bool espi_stats_merges(const struct espi_stats_run *run);
/* Whether this rank tells of the run: rank 0 where it does so for all; where the name asks for each rank's own file,
   each; else each of ESPI_STATS_ALONE at most, evenly spread from rank 0 on. */
bool espi_stats_is_writer(const struct espi_stats_run *run);

/* After MPI_Init: remembers the run, expands the file name and writes a first .partial, so that a path that cannot be
   written is known (one warning, statistics go on without file). */
void espi_stats_open(const struct espi_stats_run *run);
/* From slow paths: rewrites .partial when enough time has passed. The intervals start at 2 s, double to 60 s, and the
   time this takes stays below 0.1 % of the run's. Cheap when nothing is due. Thread-safe. */
void espi_stats_slow_path(void);
/* Whether a report of this rank is wanted at all, in a file, a summary or one of all ranks. Where rank 0 writes for
   all, all agree, as settings are shared. */
bool espi_stats_wanted(void);
/* At the end, on ranks that are writers: writes `report` (finished, of all ranks where rank 0 writes for all) to
   .partial and renames it; prints the summary if it is wanted. */
void espi_stats_close(const struct espi_report *report);
/* Forgets the run; everything counted so far stays counted. */
void espi_stats_reset_run(void);

#endif
