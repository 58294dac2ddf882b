#include "mpi/comm/statistics.h"

#include <sched.h>

#include "base/log.h"
#include "base/table.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/yielding_wait.h"
#include "stats/report.h"

/* What is longer goes in parts. Where no process may read another one's memory, as in containers, MPICH 4.0.2 over
   UCX sends messages of 20 kB over TCP, and with three ranks may hang in MPI_Finalize after one; natively, too. */
enum { TAG_LAST, TAG_MORE, TAG_PART, PART = 4000 };

static void send_bytes(void *with, int to, bool last, const void *data, size_t len)
{
    for (; len > PART; len -= PART, data = (const char *)data + PART)
        espi_pmpi.Send(data, PART, MPI_BYTE, to, TAG_PART, *(MPI_Comm *)with);
    espi_pmpi.Send(data, (int)len, MPI_BYTE, to, last ? TAG_LAST : TAG_MORE, *(MPI_Comm *)with);
}

/* Until there is a message: MPI_Recv would poll while the sender may wait for this processor. */
static void await(int from, MPI_Comm comm)
{
    int there = 0;

    while (espi_pmpi.Iprobe(from, MPI_ANY_TAG, comm, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS && !there)
        sched_yield();
}

static size_t receive_bytes(void *with, int from, bool *last, void *data, size_t size)
{
    MPI_Status status = {.MPI_TAG = TAG_PART};
    size_t got = 0;

    *last = true;
    while (status.MPI_TAG == TAG_PART) {
        int len = 0;
        await(from, *(MPI_Comm *)with);
        if (espi_pmpi.Recv((char *)data + got, (int)(size - got), MPI_BYTE, from, MPI_ANY_TAG, *(MPI_Comm *)with,
                           &status) != MPI_SUCCESS ||
            espi_pmpi.Get_count(&status, MPI_BYTE, &len) != MPI_SUCCESS || len < 0)
            return 0;
        got += (size_t)len;
    }
    *last = status.MPI_TAG == TAG_LAST;
    return got;
}

/* Where it fails, which records are kept is of less use; nothing else comes of it. */
static void sum_over_ranks(struct espi_sketch *sketch, MPI_Comm comm)
{
    uint64_t *const cells = (uint64_t *)sketch;
    const size_t some = PART / sizeof *cells;

    for (size_t at = 0; at < ESPI_SKETCH_CELLS; at += some) {
        const size_t n = ESPI_SKETCH_CELLS - at < some ? ESPI_SKETCH_CELLS - at : some;
        MPI_Request request;
        espi_wait_yielding(espi_pmpi.Iallreduce(MPI_IN_PLACE, cells + at, (int)n, MPI_UINT64_T, MPI_SUM, comm,
                                                &request), &request);
    }
}

/* Reports of all ranks come together on rank 0. Returns whether this rank has one then. */
static bool merge_over_ranks(struct espi_report *report, bool have, const struct espi_stats_run *run, MPI_Comm comm)
{
    static struct espi_sketch sketch ESPI_TABLE; /* too large for any stack; used once */
    const struct espi_report_link link = {&comm, send_bytes, receive_bytes};
    sketch = (struct espi_sketch){0};
    if (have)
        espi_report_weigh(report, &sketch);
    espi_sketch_bound(&sketch, (uint64_t)run->ranks);
    sum_over_ranks(&sketch, comm);
    if (have)
        espi_report_order(report, &sketch);
    return espi_report_tree(report, have, run->rank, run->ranks, &sketch, &link);
}

void espi_statistics_write(const struct espi_stats_run *run, MPI_Comm comm)
{
    struct espi_report report = ESPI_REPORT_INIT;
    bool have = espi_report_take(&report, run) == ESPI_OK;
    if (espi_stats_merges(run) && comm != MPI_COMM_NULL)
        have = merge_over_ranks(&report, have, run, comm);
    if (!have) {
        if (espi_stats_is_writer(run))
            espi_log(ESPI_LOG_WARN, "no memory is left for statistics: rank %d writes none", run->rank);
        return;
    }
    if (espi_stats_is_writer(run)) {
        if (espi_stats_merges(run))
            report.missing = report.ranks - report.reporting;
        espi_report_finish(&report);
        espi_stats_close(&report);
    }
    espi_report_release(&report);
}
