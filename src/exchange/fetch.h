/*
 * Reading the memory of another process of the node as it lies (process_vm_readv): one copy of each byte, by the
 * kernel, where a channel (channel.h) takes two. Systems may forbid it, and some memory cannot be read so: then the
 * bytes go through the channel.
 */
#ifndef ESPI_EXCHANGE_FETCH_H
#define ESPI_EXCHANGE_FETCH_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes in the memory of a process: rows of `row` bytes, `step` apart, or one row. */
struct espi_rows {
    uintptr_t first;
    int64_t row, step;
};

/* Where byte i of them is. */
static inline uintptr_t espi_rows_at(const struct espi_rows *rows, int64_t i)
{
    return rows->first + (uintptr_t)(i / rows->row * rows->step + i % rows->row);
}

/* Another process, as it has told the others, and what was found when its memory was to be read. */
struct espi_process {
    int64_t id;
    uintptr_t at;  /* in its memory there stands */
    uint64_t word; /* this, by which it is known: numbers of processes differ between containers */
    enum { ESPI_PROCESS_UNSEEN, ESPI_PROCESS_KNOWN, ESPI_PROCESS_SHUT } state;
};

enum { ESPI_FETCH_LEAST_ROW = 1024, ESPI_FETCH_MOST = 256 << 10 };

/* Bytes first .. first + bytes - 1, `bytes` <= ESPI_FETCH_MOST, of `theirs` to the same ones of `ours`. Rows have at
   least ESPI_FETCH_LEAST_ROW bytes, unless there is only one. False: not all could be read; what stands in `ours` is
   not known. */
bool espi_fetch(struct espi_process *process, const struct espi_rows *theirs, const struct espi_rows *ours,
                int64_t first, int64_t bytes);

#endif
