/*
 * A rank leaves in the middle of gathers, without MPI_Finalize: the launcher ends the others, natively as well.
 *
 *   harmless_leave HOW [WHO [WHEN [SYNC]]]
 *
 * HOW: exit3, exit0, _exit (with 4), return (from main, with 0), abort, kill (-9), segv, mpi-abort (with 5), thread
 * (exit(6) in another thread), handler (exit(7) in the error handler of a refused gather), finalize (MPI_Finalize,
 * and exit with 0, while the others still make calls that need nothing of it: lives), none. WHO: the rank (1), WHEN:
 * before which call (30), SYNC: an MPI_Barrier after so many calls (0: never).
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harmless.h"

enum { CALLS = 60 };
static MPI_Comm comm;

static void *exits(void *unused)
{
    (void)unused;
    exit(6);
}

static void handler(MPI_Comm *of, int *code, ...)
{
    (void)of;
    (void)code;
    exit(7);
}

static void leave(const char *how)
{
    if (strcmp(how, "exit3") == 0)
        exit(3);
    if (strcmp(how, "exit0") == 0)
        exit(0);
    if (strcmp(how, "_exit") == 0)
        _exit(4);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "segv") == 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (strcmp(how, "mpi-abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, exits, NULL);
        pthread_join(thread, NULL);
    }
    if (strcmp(how, "handler") == 0) {
        MPI_Errhandler own;
        MPI_Comm_create_errhandler(handler, &own);
        MPI_Comm_set_errhandler(comm, own);
        MPI_Gatherv(NULL, -1, MPI_INT, NULL, NULL, NULL, MPI_INT, hl_size, comm);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "none";
    int who = argc > 2 ? atoi(argv[2]) : 1, when = argc > 3 ? atoi(argv[3]) : 30, sync = argc > 4 ? atoi(argv[4]) : 0;
    struct hl_call call = {.root = 0};
    hl_start(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    call.comm = comm;
    call.rank = hl_rank;
    call.size = hl_size;
    for (int k = 0; k < CALLS; k++) {
        int early = strcmp(how, "finalize") == 0 && k >= when;
        hl_at(how, k);
        if (k == when && hl_rank == who && strcmp(how, "return") == 0)
            return 0;
        if (k == when && hl_rank == who)
            leave(how);
        if (early && hl_rank == who)
            break;
        call.op = k % 3 == 2 ? HL_SCATTERV : HL_GATHERV;
        call.salt = hl_seed + (uint64_t)k;
        for (int r = 0; r < hl_size; r++)
            call.counts[r] = early && r == who ? 0 : 20 + 2 * r;
        hl_good_call(&call, how);
        if (sync > 0 && k % sync == sync - 1 && !early)
            MPI_Barrier(comm);
    }
    return hl_end();
}
