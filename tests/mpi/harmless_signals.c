/*
 * Gathers while a signal comes every millisecond (or as told), to a handler with or without SA_RESTART. Says how long
 * the calls took. Arguments: calls (2000), microseconds between signals (1000; 0: none), `restart` or `no-restart`,
 * ints of a block (1000). Prints `N passed, N failed` on rank 0.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "harmless.h"

static volatile sig_atomic_t came;

static void count(int signal)
{
    (void)signal;
    came++;
}

int main(int argc, char **argv)
{
    long calls = argc > 1 ? atol(argv[1]) : 2000;
    int each = argc > 2 ? atoi(argv[2]) : 1000, ints = argc > 4 ? atoi(argv[4]) : 1000;
    struct sigaction action = {.sa_flags = argc > 3 && strcmp(argv[3], "no-restart") == 0 ? 0 : SA_RESTART};
    struct itimerval times = {{each / 1000000, each % 1000000}, {each / 1000000, each % 1000000}}, none;
    struct hl_call call = {.op = HL_GATHERV};
    double start, longest = 0, took;
    hl_start(&argc, &argv, MPI_THREAD_SINGLE);
    action.sa_handler = count;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &times, NULL);
    call.comm = MPI_COMM_WORLD;
    call.rank = hl_rank;
    call.size = hl_size;
    start = MPI_Wtime();
    for (long k = 0; k < calls; k++) {
        double from = MPI_Wtime();
        hl_at("gathers with signals", k);
        call.op = k % 4 == 3 ? HL_SCATTERV : HL_GATHERV;
        call.salt = hl_seed + (uint64_t)k;
        for (int r = 0; r < hl_size; r++)
            call.counts[r] = (ints + r) / 2 * 2;
        hl_good_call(&call, "with signals");
        if (k % 10 == 9)
            MPI_Barrier(MPI_COMM_WORLD);
        took = MPI_Wtime() - from;
        longest = took > longest ? took : longest;
    }
    took = MPI_Wtime() - start;
    memset(&none, 0, sizeof none);
    setitimer(ITIMER_REAL, &none, NULL);
    if (hl_rank == 0)
        printf("%d ranks, %ld calls: %.3f s, the longest %.6f s; %ld signals\n", hl_size, calls, took, longest,
               (long)came);
    hl_release(&call);
    return hl_end();
}
