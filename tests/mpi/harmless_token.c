/*
 * Ranks that wait for each other outside of gathers and scatters: a rank that has made its call lets the next one
 * make its own. The standard calls that unsafe; natively it lives as far as a rank with a small block need not wait
 * (with UCX between processes of one machine up to 8192 bytes; UCX_RNDV_THRESH moves that).
 *
 *   harmless_token PATTERN [BYTES [CALLS [BY]]]
 *
 * PATTERN: up      MPI_Gatherv; the token goes from rank 1 to 2, 3, ..., and ends at rank 0, the root
 *          down    from the last rank to ..., 1, 0
 *          ring    as up, and from rank 0 back to rank 1, which waits for it before its next call
 *          star    all others let the root go on
 *          gather  MPI_Gather as MPICH needs it: children of a binomial tree first
 *          scatter MPI_Scatterv: from the root upwards     backscatter: from the last rank down, after the root
 *          scatter-tree   MPI_Scatter: from the root upwards
 *          swapped a rank gathers, then waits in MPI_Barrier; the root the other way round; the same with
 *                  MPI_Allreduce, MPI_Bcast (from the root) and with MPI_Barrier of another communicator in turns
 *          roots   two gathers to two roots, which half of the ranks make in the other order
 *          steps   as up; and what comes next are steps of another kind: p gathers, each rank its root in turn
 *          late    the root makes its calls after all the others have made all of theirs (100 at most)
 *          sync    as down, with an MPI_Barrier after every 10 calls; a rank on the way in a tree waits here
 *          barrier as up, after an MPI_Barrier and an MPI_Allreduce at the start
 * BY: message (default), memory (a file that all map; nobody calls MPI while it waits), ssend
 *
 * Prints `N passed, N failed` on rank 0.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harmless.h"

static enum { MESSAGE, MEMORY, SSEND } by;
static _Atomic long *tokens; /* one for each pair: how many were given */
static long taken[HL_MOST];
static MPI_Comm comm, other;
static struct hl_call call;
static long calls_made;

static void give(int to)
{
    char token = 1;
    if (by == MEMORY)
        atomic_fetch_add(&tokens[hl_rank * HL_MOST + to], 1);
    else if (by == SSEND)
        MPI_Ssend(&token, 1, MPI_CHAR, to, 7, MPI_COMM_WORLD);
    else
        MPI_Send(&token, 1, MPI_CHAR, to, 7, MPI_COMM_WORLD);
}

static void take(int from)
{
    char token = 0;
    if (by == MEMORY) {
        taken[from]++;
        while (atomic_load(&tokens[from * HL_MOST + hl_rank]) < taken[from])
            sched_yield();
    } else {
        MPI_Recv(&token, 1, MPI_CHAR, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void memory(void)
{
    char name[] = "/tmp/harmless-token-XXXXXX";
    int file = hl_rank == 0 ? mkstemp(name) : -1;
    size_t bytes = HL_MOST * HL_MOST * sizeof *tokens;
    int to[HL_MOST] = {0}, from[HL_MOST];
    if (hl_rank == 0 && (file < 0 || ftruncate(file, (off_t)bytes)))
        MPI_Abort(MPI_COMM_WORLD, 98);
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (hl_rank > 0)
        file = open(name, O_RDWR);
    tokens = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || tokens == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 98);
    close(file);
    /* Where nobody calls MPI while it waits, all must have met before: a first message takes both sides. */
    MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
    if (hl_rank == 0)
        unlink(name);
}

static void gather(enum hl_op op, int root, const char *what)
{
    hl_at(what, calls_made);
    call.op = op;
    call.root = root;
    call.salt = hl_seed + (uint64_t)calls_made * 16 + (uint64_t)root;
    hl_good_call(&call, what);
}

/* In the order order[0], order[1], ...: each lets the next one go on. `ring`: the last one the first. */
static void chain(const int *order, int n, int ring, enum hl_op op, const char *what)
{
    int me = 0;
    while (order[me] != hl_rank)
        me++;
    if (me > 0 || (ring && calls_made > 0))
        take(order[(me + n - 1) % n]);
    gather(op, 0, what);
    if (me < n - 1 || ring)
        give(order[(me + 1) % n]);
}

static void star(const char *what)
{
    if (hl_rank == 0)
        for (int r = 1; r < hl_size; r++)
            take(r);
    gather(HL_GATHERV, 0, what);
    if (hl_rank > 0)
        give(0);
}

static void swapped(const char *what)
{
    int one = 1, sum = 0, kind = (int)(calls_made % 4), word = hl_rank == 0 ? 5 : 0;
    for (int step = 0; step < 2; step++) {
        if ((step == 0) == (hl_rank > 0)) {
            gather(HL_GATHERV, 0, what);
            continue;
        }
        hl_at("the synchronizing call of `swapped`", calls_made);
        if (kind == 0)
            MPI_Barrier(comm);
        else if (kind == 1)
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        else if (kind == 2)
            MPI_Bcast(&word, 1, MPI_INT, 0, comm);
        else
            MPI_Barrier(other);
        hl_check((kind != 1 || sum == hl_size) && (kind != 2 || word == 5), "%s: the other call", what);
    }
}

static void roots(const char *what)
{
    int first = hl_rank % 2 ? 0 : hl_size - 1;
    gather(HL_GATHERV, first, what);
    gather(HL_GATHERV, hl_size - 1 - first, what);
}

int main(int argc, char **argv)
{
    const char *pattern = argc > 1 ? argv[1] : "up";
    int bytes = argc > 2 ? atoi(argv[2]) : 64, up[HL_MOST], down[HL_MOST], ascending[HL_MOST], after_root[HL_MOST];
    long calls = argc > 3 ? atol(argv[3]) : 60;
    hl_start(&argc, &argv, MPI_THREAD_SINGLE);
    const char *means = argc > 4 ? argv[4] : "message";
    by = strcmp(means, "memory") == 0 ? MEMORY : strcmp(means, "ssend") == 0 ? SSEND : MESSAGE;
    if (by == MEMORY)
        memory();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    call.comm = comm;
    call.rank = hl_rank;
    call.size = hl_size;
    for (int r = 0; r < hl_size; r++) {
        call.counts[r] = bytes / (int)sizeof(int);
        up[r] = (r + 1) % hl_size;
        down[r] = hl_size - 1 - r;
        ascending[r] = r;
        after_root[r] = (hl_size - r) % hl_size;
    }
    if (strcmp(pattern, "barrier") == 0) {
        int one = 1, sum = 0;
        MPI_Barrier(comm);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Barrier(MPI_COMM_WORLD);
        hl_check(sum == hl_size, "the sum before");
    }
    if (strcmp(pattern, "late") == 0) {
        /* As many as the library takes before anybody receives them. */
        calls = calls > 100 ? 100 : calls;
        for (int r = 1; hl_rank == 0 && r < hl_size; r++)
            take(r);
    }
    for (; calls_made < calls; calls_made++) {
        if (strcmp(pattern, "up") == 0 || strcmp(pattern, "barrier") == 0) {
            chain(up, hl_size, 0, HL_GATHERV, pattern);
        } else if (strcmp(pattern, "ring") == 0) {
            chain(up, hl_size, 1, HL_GATHERV, pattern);
        } else if (strcmp(pattern, "down") == 0) {
            chain(down, hl_size, 0, HL_GATHERV, pattern);
        } else if (strcmp(pattern, "gather") == 0) {
            chain(down, hl_size, 1, HL_GATHER, pattern);
        } else if (strcmp(pattern, "scatter") == 0) {
            chain(ascending, hl_size, 0, HL_SCATTERV, pattern);
        } else if (strcmp(pattern, "backscatter") == 0) {
            chain(after_root, hl_size, 1, HL_SCATTERV, pattern);
        } else if (strcmp(pattern, "scatter-tree") == 0) {
            chain(ascending, hl_size, 1, HL_SCATTER, pattern);
        } else if (strcmp(pattern, "star") == 0) {
            star(pattern);
        } else if (strcmp(pattern, "swapped") == 0) {
            swapped(pattern);
        } else if (strcmp(pattern, "roots") == 0) {
            roots(pattern);
        } else if (strcmp(pattern, "late") == 0) {
            gather(HL_GATHERV, 0, pattern);
        } else if (strcmp(pattern, "sync") == 0) {
            chain(down, hl_size, 1, HL_GATHERV, pattern);
            if (calls_made % 10 == 9)
                MPI_Barrier(comm);
        } else if (strcmp(pattern, "steps") == 0) {
            chain(up, hl_size, 1, HL_GATHERV, pattern);
            for (int root = 0; root < hl_size; root++)
                gather(HL_GATHERV, root, pattern);
        } else if (hl_rank == 0) {
            printf("no pattern %s\n", pattern);
            MPI_Abort(MPI_COMM_WORLD, 97);
        }
    }
    if (strcmp(pattern, "late") == 0 && hl_rank > 0)
        give(0);
    hl_release(&call);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
    return hl_end();
}
