#include "bench/trees.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "mpi/core/pmpi.h"

/* Ranks under one kernel have one clock, whatever their network: then a call begins on all ranks at an agreed moment,
   and ends when it has ended on the last. Without that it begins when a rank has left a barrier, which with several
   ranks per processor is spread over more time than the call takes: the longest time of a rank is then mostly how
   long it waited for others that had not begun, and has several modes. */
static bool shared;
static bool late;     /* this rank came after the agreed moment */
static double begins; /* the agreed moment of the next call */
static double pause_s, least_pause;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool trees_clock_start(MPI_Comm comm, double pause)
{
    char id[2][37] = {"", ""};
    int same, all;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f) {
        if (fscanf(f, "%36s", id[0]) != 1)
            id[0][0] = 0;
        fclose(f);
    }
    memcpy(id[1], id[0], sizeof id[0]);
    espi_pmpi.Bcast(id[1], sizeof id[1], MPI_CHAR, 0, comm);
    same = id[0][0] && !strcmp(id[0], id[1]);
    espi_pmpi.Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, comm);
    shared = all;
    pause_s = least_pause = pause;
    return shared;
}

double trees_clock_begin(MPI_Comm comm)
{
    if (!shared) {
        espi_pmpi.Barrier(comm);
        return now();
    }
    late = now() > begins;
    while (now() < begins)
        sched_yield();
    return begins;
}

double trees_clock_took(MPI_Comm comm, double begin)
{
    double end = now(), own[2] = {shared ? end : end - begin, late}, most[2];
    espi_pmpi.Allreduce(own, most, 2, MPI_DOUBLE, MPI_MAX, comm);
    if (!shared)
        return most[0];
    /* Long enough for nearly all ranks to hear of it in time; what one rank began late does not count. */
    pause_s = most[1] > 0 ? pause_s * 1.1 : pause_s * 0.995;
    if (pause_s < least_pause)
        pause_s = least_pause;
    if (pause_s > 0.1)
        pause_s = 0.1;
    begins = most[0] + pause_s;
    return most[1] > 0 ? -1 : most[0] - begin;
}
