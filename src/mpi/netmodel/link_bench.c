#include "mpi/netmodel/link_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commtree/model_fit.h"
#include "mpi/core/pmpi.h"

enum { TAG_CONTROL = 1, TAG_DATA, ROUNDS = 256, BURST_SHORT = 8, BURST_LONG = 40 };

static double now(void)
{
    return espi_pmpi.Wtime();
}

void espi_wait_quietly(MPI_Request *request)
{
    struct timespec nap = {0, 20000};
    int done = 0;
    for (int tries = 0; espi_pmpi.Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done; tries++)
        if (tries > 3)
            nanosleep(&nap, NULL);
}

/* ---- one time ---- */

struct clock {
    const struct espi_link_effort *effort;
    double sample[ROUNDS], begin, settled_at; /* settled_at: the quartile when it was last looked at */
    int rounds, look;
};

static void clock_start(struct clock *clock, const struct espi_link_effort *effort)
{
    clock->effort = effort;
    clock->begin = now();
    clock->rounds = 0;
    clock->look = effort->least;
    clock->settled_at = 0;
}

static double clock_time(struct clock *clock)
{
    double sorted[ROUNDS];
    memcpy(sorted, clock->sample, (size_t)clock->rounds * sizeof *sorted);
    return espi_lower_quartile(sorted, clock->rounds);
}

/* Whether another round is needed. */
static bool clock_goes_on(struct clock *clock)
{
    const struct espi_link_effort *e = clock->effort;
    if (clock->rounds < e->least)
        return true;
    if (clock->rounds >= e->most || clock->rounds >= ROUNDS || now() - clock->begin > e->seconds)
        return false;
    if (clock->rounds < clock->look)
        return true;
    double time = clock_time(clock);
    if (fabs(time - clock->settled_at) <= e->settled * time)
        return false;
    clock->settled_at = time;
    clock->look += clock->look / 2 + 1;
    return true;
}

/* Rank a tells rank b before each round whether there is one. The tiny message is no part of the round: b answers
   it. */
static bool agree_on_more(MPI_Comm comm, bool first, int peer, bool more)
{
    char word = more;
    if (first) {
        espi_pmpi.Send(&word, 1, MPI_BYTE, peer, TAG_CONTROL, comm);
        espi_pmpi.Recv(&word, 1, MPI_BYTE, peer, TAG_CONTROL, comm, MPI_STATUS_IGNORE);
        return more;
    }
    if (espi_pmpi.Recv(&word, 1, MPI_BYTE, peer, TAG_CONTROL, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return false;
    espi_pmpi.Send(&word, 1, MPI_BYTE, peer, TAG_CONTROL, comm);
    return word != 0;
}

static void ping_pong(MPI_Comm comm, bool first, int peer, char *memory, int64_t bytes)
{
    if (first)
        espi_pmpi.Send(memory, (int)bytes, MPI_BYTE, peer, TAG_DATA, comm);
    espi_pmpi.Recv(memory, (int)bytes, MPI_BYTE, peer, TAG_DATA, comm, MPI_STATUS_IGNORE);
    if (!first)
        espi_pmpi.Send(memory, (int)bytes, MPI_BYTE, peer, TAG_DATA, comm);
}

/* `n` messages of a byte from a to b, then one back. */
static void burst(MPI_Comm comm, bool first, int peer, char *memory, int n)
{
    MPI_Request request[BURST_LONG];
    for (int k = 0; k < n; k++)
        if (first)
            espi_pmpi.Isend(memory, 1, MPI_BYTE, peer, TAG_DATA, comm, &request[k]);
        else
            espi_pmpi.Irecv(memory + k, 1, MPI_BYTE, peer, TAG_DATA, comm, &request[k]);
    for (int k = 0; k < n; k++)
        espi_pmpi.Wait(&request[k], MPI_STATUS_IGNORE);
    if (first)
        espi_pmpi.Recv(memory, 1, MPI_BYTE, peer, TAG_DATA, comm, MPI_STATUS_IGNORE);
    else
        espi_pmpi.Send(memory, 1, MPI_BYTE, peer, TAG_DATA, comm);
}

/* bytes >= 0: round trips; else bursts of -bytes messages. The first round is not counted. */
static double rounds_of(MPI_Comm comm, bool first, int peer, const struct espi_link_effort *effort, char *memory,
                        int64_t bytes)
{
    struct clock clock;
    bool warm = false;
    clock_start(&clock, effort);
    while (agree_on_more(comm, first, peer, !warm || clock_goes_on(&clock))) {
        double begin = now();
        if (bytes >= 0)
            ping_pong(comm, first, peer, memory, bytes);
        else
            burst(comm, first, peer, memory, (int)-bytes);
        if (!first)
            continue;
        if (warm)
            clock.sample[clock.rounds++] = now() - begin;
        else
            clock_start(&clock, effort);
        warm = true;
    }
    return first && clock.rounds > 0 ? clock_time(&clock) : 0;
}

static double least(double a, double b)
{
    return b < a ? b : a;
}

/* Bursts, until they make sense: what disturbs them only makes them longer. */
static void measure_gap(MPI_Comm comm, bool first, int peer, const struct espi_link_effort *effort, char *memory,
                        struct espi_link_times *times)
{
    double few = rounds_of(comm, first, peer, effort, memory, -BURST_SHORT);
    double many = rounds_of(comm, first, peer, effort, memory, -BURST_LONG);
    times->gap = espi_fit_gap(BURST_SHORT, few, BURST_LONG, many);
    for (int k = 0; k < effort->again; k++) {
        if (!agree_on_more(comm, first, peer, espi_fit_gap_is_odd(times->gap, times->one_way)))
            return;
        few = least(few, rounds_of(comm, first, peer, effort, memory, -BURST_SHORT));
        many = least(many, rounds_of(comm, first, peer, effort, memory, -BURST_LONG));
        times->gap = espi_fit_gap(BURST_SHORT, few, BURST_LONG, many);
    }
}

/* From the largest size down, those once more that took longer than the next larger. */
static void measure_again(MPI_Comm comm, bool first, int peer, const struct espi_link_effort *effort, char *memory,
                          double begin, struct espi_link_times *times)
{
    for (int i = times->sizes - 2; i >= -1; i--) {
        double *time = i < 0 ? &times->one_way : &times->time[i];
        for (int k = 0; k < effort->again; k++) {
            bool odd = espi_fit_time_is_odd(*time, times->time[i + 1]);
            if (!agree_on_more(comm, first, peer, odd && now() - begin < effort->all_seconds))
                break;
            *time = least(*time, rounds_of(comm, first, peer, effort, memory, i < 0 ? 1 : effort->size[i]) / 2);
        }
    }
}

void espi_link_measure(MPI_Comm comm, int rank, int a, int b, const struct espi_link_effort *effort, char *memory,
                       struct espi_link_times *times)
{
    bool first = rank == a;
    int peer = first ? b : a;
    double begin = now();
    memset(times, 0, sizeof *times);
    times->one_way = rounds_of(comm, first, peer, effort, memory, 1) / 2;
    measure_gap(comm, first, peer, effort, memory, times);
    for (int i = 0; i < effort->sizes; i++) {
        if (!agree_on_more(comm, first, peer, i < 2 || now() - begin < effort->all_seconds))
            break;
        times->time[i] = rounds_of(comm, first, peer, effort, memory, effort->size[i]) / 2;
        times->sizes = i + 1;
    }
    measure_again(comm, first, peer, effort, memory, begin, times);
}

double espi_copy_measure(char *memory, int64_t bytes, int rounds)
{
    double best = 1;
    size_t half = (size_t)bytes / 2;
    for (int i = 0; i <= rounds; i++) {
        double begin = now();
        memcpy(memory + (i % 2 ? half : 0), memory + (i % 2 ? 0 : half), half);
        __asm__ volatile("" : : "r"(memory) : "memory"); /* the copy is wanted */
        double time = now() - begin;
        if (i > 0 && time < best)
            best = time;
    }
    return half > 0 ? best / (double)half : 0;
}

/* ---- pairs ---- */

static bool is_used(int n, int (*pair)[2], int rank)
{
    for (int k = 0; k < n; k++)
        if (pair[k][0] == rank || pair[k][1] == rank)
            return true;
    return false;
}

/* Whether there is a free one, so that nobody looks for it at length in vain. */
static bool has_partner(const struct espi_topology *places, enum espi_level level, int n, int (*pair)[2], int rank)
{
    int used_here = 0;
    for (int k = 0; k < 2 * n; k++)
        used_here += places->node[pair[k / 2][k % 2]] == places->node[rank];
    return level == ESPI_LEVEL_NODE ? places->mates[rank] - 1 > used_here
                                    : places->size - places->mates[rank] > 2 * n - used_here;
}

/* A free partner of `rank`: on its node one that is far from it in the numbering, on another node one half way
   round. */
static int partner(const struct espi_topology *places, enum espi_level level, int n, int (*pair)[2], int rank)
{
    int p = places->size, start = level == ESPI_LEVEL_NODE ? p - 1 : p / 2;
    for (int k = 0; k < p; k++) {
        int other = level == ESPI_LEVEL_NODE ? (rank + start - k + p) % p : (rank + start + k) % p;
        bool same = places->node[other] == places->node[rank];
        if (other != rank && same == (level == ESPI_LEVEL_NODE) && !is_used(n, pair, other))
            return other;
    }
    return -1;
}

int espi_link_pairs(const struct espi_topology *places, enum espi_level level, int most, int (*pair)[2])
{
    int n = 0, p = places->size;
    for (int q = 0; q < most; q++)
        for (int k = 0; k < p; k++) {
            int rank = (int)(((int64_t)q * p / most + k) % p);
            int other = is_used(n, pair, rank) || !has_partner(places, level, n, pair, rank)
                            ? -1
                            : partner(places, level, n, pair, rank);
            if (other >= 0) {
                pair[n][0] = rank;
                pair[n++][1] = other;
                break;
            }
        }
    return n;
}
