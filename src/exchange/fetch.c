#define _GNU_SOURCE
#include "exchange/fetch.h"

#include <sys/types.h>
#include <sys/uio.h>

/* Rows that lie in part among so many bytes, at most. */
enum { PARTS = ESPI_FETCH_MOST / ESPI_FETCH_LEAST_ROW + 2 };

static unsigned long list(struct iovec *part, const struct espi_rows *rows, int64_t first, int64_t bytes)
{
    unsigned long n = 0;

    for (int64_t at = first, end = first + bytes, here; at < end; at += here) {
        const int64_t within = at % rows->row;
        here = rows->row - within < end - at ? rows->row - within : end - at;
        part[n].iov_base = (void *)espi_rows_at(rows, at);
        part[n++].iov_len = (size_t)here;
    }
    return n;
}

static bool is_known(struct espi_process *process)
{
    uint64_t found = 0;
    const struct iovec here = {&found, sizeof found}, there = {(void *)process->at, sizeof found};

    if (process->state == ESPI_PROCESS_UNSEEN)
        process->state = process_vm_readv((pid_t)process->id, &here, 1, &there, 1, 0) == sizeof found &&
                                 found == process->word
                             ? ESPI_PROCESS_KNOWN
                             : ESPI_PROCESS_SHUT;
    return process->state == ESPI_PROCESS_KNOWN;
}

bool espi_fetch(struct espi_process *process, const struct espi_rows *theirs, const struct espi_rows *ours,
                int64_t first, int64_t bytes)
{
    struct iovec here[PARTS], there[PARTS];

    if (!is_known(process))
        return false;
    const unsigned long to = list(here, ours, first, bytes), from = list(there, theirs, first, bytes);
    return process_vm_readv((pid_t)process->id, here, to, there, from, 0) == (ssize_t)bytes;
}
