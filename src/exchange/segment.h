/*
 * The memory that the processes of a job on one node share: one channel (channel.h) from each to each other, made by
 * one of them without a name in any file system, and opened by the others through its process. A page that was never
 * written takes no memory.
 */
#ifndef ESPI_EXCHANGE_SEGMENT_H
#define ESPI_EXCHANGE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "exchange/channel.h"
#include "exchange/fetch.h"

enum { ESPI_SEGMENT_PROCESSES = 64 };

/* By which others find it. */
struct espi_segment_key {
    uint64_t word; /* that stands at its beginning; 0: there is none */
    int64_t process;
    int64_t file;  /* a descriptor of that process */
};

struct espi_segment {
    void *memory; /* NULL: not open, as when all is zero */
    int processes;
    int64_t room; /* of each slot of its channels */
    int file;     /* in the process that made it, until espi_segment_shared; else -1 */
};

/* Makes one for 2 .. ESPI_SEGMENT_PROCESSES processes. False: the system has none to give, and nothing was done. */
bool espi_segment_make(struct espi_segment *segment, int processes, struct espi_segment_key *key);
/* Opens the one that another process has made. False: it can not be reached. */
bool espi_segment_open(struct espi_segment *segment, int processes, const struct espi_segment_key *key);
/* All have opened it that will. */
void espi_segment_shared(struct espi_segment *segment);
/* The others may go on with it. */
void espi_segment_close(struct espi_segment *segment);

/* Numbers that each process has for itself, and others read; zero at first. */
enum { ESPI_SEGMENT_MARKS = 32 };
atomic_uchar *espi_segment_marks(const struct espi_segment *segment, int process);

/* The same, of 64 bits. */
enum { ESPI_SEGMENT_NOTES = 16 };
_Atomic uint64_t *espi_segment_notes(const struct espi_segment *segment, int process);

/* One that all have together; zero at first. */
_Atomic uint64_t *espi_segment_round(const struct espi_segment *segment);

/* What a process says of itself. Each says HERE when it has opened the memory, and one of the others later. */
enum espi_segment_word { ESPI_SEGMENT_NOTHING, ESPI_SEGMENT_HERE, ESPI_SEGMENT_STAYS_OUT, ESPI_SEGMENT_TAKES_PART };
/* HERE tells the others who this process is, which has such a number. */
void espi_segment_say(const struct espi_segment *segment, int process, enum espi_segment_word word);
enum espi_segment_word espi_segment_said(const struct espi_segment *segment, int process);
/* Of one that has said something. */
struct espi_process espi_segment_process(const struct espi_segment *segment, int process);

/* The channel from one process, by its number, to another one. */
struct espi_channel_end espi_segment_channel(const struct espi_segment *segment, int from, int to);

#endif
