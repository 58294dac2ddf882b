#include "mpi/exchange/saving.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/core/pmpi.h"
#include "mpi/exchange/ends.h"
#include "stats/stats.h"

enum { LENGTHS = 5, ROUNDS = 15, WARM = 150, WARM_BYTES = 4096 };
/* All ranks together send at most so much at a time; and no more lengths are begun after so long. */
enum { BYTES_MOST = 8 << 20, LONG_NS = 5000000 };
static const int length[LENGTHS] = {16, 1024, 8192, 32768, 131072}; /* bytes of a block */
static double saved_ns[LENGTHS]; /* for each other rank, by a call */
static int measured; /* lengths */

/* The least time of each way. */
static double difference(int rank, int size, int bytes, char *from, char *to)
{
    uint64_t least[2] = {UINT64_MAX, UINT64_MAX};

    for (int round = 0; round < 2 * ROUNDS; round++) {
        const int shared = round % 2;
        espi_pmpi.Barrier(MPI_COMM_WORLD);
        const uint64_t begun = espi_stats_now();
        if (shared)
            espi_exchange_bytes(rank, size, from, to, bytes);
        else
            espi_pmpi.Alltoall(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD);
        const uint64_t took = espi_stats_now() - begun;
        least[shared] = took < least[shared] ? took : least[shared];
    }
    return least[0] > least[1] ? (double)(least[0] - least[1]) : 0;
}

static bool is_too_much(int size, int bytes)
{
    return size * size > BYTES_MOST / bytes;
}

/* Whether one of the ranks has taken too long since then. */
static bool is_late(uint64_t begun)
{
    int late = espi_stats_now() - begun > LONG_NS, one = 1;

    return espi_pmpi.Allreduce(&late, &one, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS || one;
}

void espi_exchange_measure(int rank, int size)
{
    const size_t room = (size_t)size * (size_t)length[LENGTHS - 1];
    const uint64_t begun = espi_stats_now();
    char *from = calloc(2, room);
    int good = from != NULL, all = 0;

    if (espi_pmpi.Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && all) {
        memset(from, 1, 2 * room);
        for (int i = 0; i < WARM / size; i++) /* the library's cells: their pages are touched for the first time */
            espi_pmpi.Alltoall(from, WARM_BYTES, MPI_BYTE, from + room, WARM_BYTES, MPI_BYTE, MPI_COMM_WORLD);
        for (int i = 0; i < LENGTHS && !is_too_much(size, length[i]) && !is_late(begun); i++) {
            saved_ns[i] = difference(rank, size, length[i], from, from + room) / (size - 1);
            measured = i + 1;
        }
    }
    free(from);
}

uint64_t espi_exchange_saves(int64_t bytes, int peers)
{
    const double each = peers > 0 ? (double)bytes / peers : 0;
    int i = 1;

    if (measured == 0 || each <= 0)
        return 0;
    if (each <= length[0] || measured == 1)
        return (uint64_t)(saved_ns[0] * peers);
    while (i < measured - 1 && each > length[i])
        i++;
    if (each > length[i]) /* by bytes, as what is longer goes in as many pieces */
        return (uint64_t)(saved_ns[i] * each / length[i] * peers);
    const double part = (each - length[i - 1]) / (length[i] - length[i - 1]);
    return (uint64_t)((saved_ns[i - 1] + part * (saved_ns[i] - saved_ns[i - 1])) * peers);
}
