/*
 * Jumps out of error handlers. A rank gives an MPI function a wrong argument; its error handler leaves the function
 * by longjmp, or goes over to another stack and never comes back, or comes back much later. Then all ranks gather,
 * scatter and synchronize, from shallower and from deeper stacks than the one that was left, many times over. All of
 * it lives natively where MPI is not asked for threads that call it at once (MPICH holds its lock while it calls a
 * handler).
 *
 *   harmless_jump [FROM [STEP [MOST]]] [thread]     the scenarios FROM, FROM + STEP, ..., MOST of them; `thread`: the
 *                                                   jumps, or the calls, happen in other threads, one at a time
 *   harmless_jump list                              how many there are
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "harmless.h"

enum { ROUNDS = 6, CALLS = 8, STACK = 1 << 18, DEEPEST = 40 };

enum how { SEND, RECV_SHORT, GATHERV, GATHER_SHORT, ALLREDUCE, BARRIER, REDUCE_TYPE, COMMIT, DUP, WAIT, HOWS };
static const char *const how_name[HOWS] = {
    "MPI_Send", "a truncated MPI_Recv", "a refused gather or scatter", "a truncated MPI_Gatherv",
    "a refused MPI_Allreduce", "a refused MPI_Barrier", "a refused MPI_Reduce_local", "MPI_Type_commit",
    "MPI_Comm_dup", "MPI_Wait for what was truncated"};
enum means { JUMP, LEFT, COMES_BACK, MEANS };
static const char *const means_name[MEANS] = {"longjmp", "another stack", "another stack, and back"};
enum who { FIRST, LAST, EVERY, WHO };
static const char *const who_name[WHO] = {"rank 0", "the last rank", "every rank"};

struct scenario {
    long number;
    enum how how;
    enum means means;
    enum who who;
    int root, on_world;
    uint64_t state;
    MPI_Comm comm;
    char name[160];
};

static struct scenario now;
static struct hl_call call;
static jmp_buf back;
static ucontext_t here, inside;
static char *volatile other_stack;
static enum { CALM, JUMPS, SWITCHES } volatile armed;
static volatile int handled;
static int in_threads;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
    if (armed == JUMPS) {
        armed = CALM;
        longjmp(back, 1);
    } else if (armed == SWITCHES) {
        armed = CALM;
        swapcontext(&inside, &here);
    }
}

/* Calls f with so many frames between. */
static __attribute__((noinline)) void below(int depth, void (*f)(void))
{
    volatile char frame[400];
    frame[0] = frame[399] = (char)depth;
    if (depth > 0)
        below(depth - 1, f);
    else
        f();
    frame[1] = frame[0];
}

/* ---- what is refused ---- */

static void provoke(void)
{
    static int data[HL_MOST * 4], counts[HL_MOST], displs[HL_MOST];
    MPI_Comm comm = now.comm, made;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Request request;
    int me = hl_rank;
    switch (now.how) {
    case SEND:
        MPI_Send(data, 1, MPI_INT, hl_size + 5, 3, comm);
        break;
    case RECV_SHORT: /* of what it sends to itself */
        MPI_Isend(data, 4, MPI_INT, me, 3, comm, &request);
        MPI_Request_free(&request);
        MPI_Recv(data + 4, 1, MPI_INT, me, 3, comm, MPI_STATUS_IGNORE);
        break;
    case GATHERV:
        hl_prepare(&call);
        call.own = call.own_room;
        call.own_count = -1;
        hl_issue(&call);
        break;
    case GATHER_SHORT: /* on a communicator of this rank alone: nobody else is concerned */
        counts[0] = 1;
        displs[0] = 0;
        MPI_Gatherv(data, 4, MPI_INT, data + 8, counts, displs, MPI_INT, 0, MPI_COMM_SELF);
        break;
    case ALLREDUCE:
        MPI_Allreduce(data, data + 1, 1, MPI_INT, MPI_OP_NULL, comm);
        break;
    case BARRIER:
        MPI_Barrier(MPI_COMM_NULL);
        break;
    case REDUCE_TYPE:
        MPI_Reduce_local(data, data + 1, 1, MPI_INT, MPI_OP_NULL);
        break;
    case COMMIT:
        MPI_Type_commit(&type);
        break;
    case DUP:
        MPI_Comm_dup(MPI_COMM_NULL, &made);
        break;
    default:
        MPI_Irecv(data + 4, 1, MPI_INT, me, 3, comm, &request);
        MPI_Send(data, 4, MPI_INT, me, 3, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    }
}

static int depth_there;

static void on_other_stack(void)
{
    below(depth_there, provoke);
    swapcontext(&inside, &here);
}

static void leave(int depth)
{
    handled = 0;
    if (now.means == JUMP) {
        armed = JUMPS;
        if (setjmp(back) == 0) {
            below(depth, provoke);
            hl_check(0, "%s: the handler was not called", now.name);
        }
    } else {
        /* What it leaves for good is not used again. */
        if (now.means == LEFT || !other_stack)
            other_stack = malloc(STACK);
        getcontext(&inside);
        inside.uc_stack.ss_sp = other_stack;
        inside.uc_stack.ss_size = STACK;
        inside.uc_link = NULL;
        makecontext(&inside, on_other_stack, 0);
        depth_there = depth;
        armed = SWITCHES;
        swapcontext(&here, &inside);
    }
    hl_check(handled == 1 && armed == CALM, "%s: the handler was called %d times", now.name, handled);
}

/* ---- what everybody calls ---- */

static void one_call(void)
{
    hl_good_call(&call, now.name);
}

static void draw_call(int k)
{
    call.op = (enum hl_op)hl_random(&now.state, HL_OPS);
    call.derived = hl_random(&now.state, 4) == 0;
    call.in_place = hl_random(&now.state, 4) == 0;
    call.salt = now.state + (uint64_t)k;
    for (int r = 0; r < hl_size; r++)
        call.counts[r] = call.op == HL_GATHERV || call.op == HL_SCATTERV ? 2 * (int)hl_random(&now.state, 60) : 16;
}

static void calls(int n)
{
    for (int k = 0; k < n; k++) {
        int sum = -1, sync = (int)hl_random(&now.state, 6);
        hl_at(now.name, k);
        draw_call(k);
        below((int)hl_random(&now.state, DEEPEST), one_call);
        if (sync == 0)
            MPI_Barrier(now.comm);
        if (sync == 1) {
            MPI_Allreduce(&k, &sum, 1, MPI_INT, MPI_SUM, now.comm);
            hl_check(sum == k * hl_size, "%s: a sum", now.name);
        }
    }
}

static void *in_thread(void *of)
{
    leave(*(int *)of);
    return NULL;
}

static void *calls_in_thread(void *of)
{
    calls(*(int *)of);
    return NULL;
}

/* Never two at a time. */
static void by_thread(void *(*f)(void *), int number)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, f, &number) || pthread_join(thread, NULL))
        hl_check(0, "no thread");
}

static void run(void)
{
    MPI_Errhandler own;
    now.comm = MPI_COMM_WORLD;
    if (!now.on_world)
        MPI_Comm_dup(MPI_COMM_WORLD, &now.comm);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(now.comm, own);
    /* Where errors without a communicator go. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, own);
    call.comm = now.comm;
    call.rank = hl_rank;
    call.size = hl_size;
    call.root = now.root;
    for (int round = 0; round < ROUNDS; round++) {
        int depth = (int)hl_random(&now.state, DEEPEST), same = round % 2 == 0;
        int jumps = now.who == EVERY || hl_rank == (now.who == FIRST ? 0 : hl_size - 1);
        hl_at(now.name, -1 - round);
        draw_call(round);
        if (jumps && in_threads && same)
            by_thread(in_thread, depth);
        else if (jumps)
            leave(depth);
        if (in_threads && !same)
            by_thread(calls_in_thread, CALLS);
        else
            calls(CALLS);
        /* What was left by another stack goes on now and ends, in the middle of the calls of all. */
        if (jumps && now.means == COMES_BACK && !(in_threads && same)) {
            swapcontext(&here, &inside);
            calls(2);
        } else if (now.means == COMES_BACK && !(in_threads && same)) {
            calls(2);
        }
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&own);
    if (!now.on_world)
        MPI_Comm_free(&now.comm);
}

int main(int argc, char **argv)
{
    long number[3] = {0, 1, -1}, all = HOWS * MEANS * WHO;
    if (argc > 1 && strcmp(argv[1], "list") == 0) {
        printf("%ld\n", all);
        return 0;
    }
    in_threads = argc > 1 && strcmp(argv[argc - 1], "thread") == 0;
    hl_start(&argc, &argv, in_threads ? MPI_THREAD_SERIALIZED : MPI_THREAD_SINGLE);
    for (int i = 1; i < argc - in_threads && i <= 3; i++)
        number[i - 1] = atol(argv[i]);
    for (long n = number[0], done = 0; n < all && (number[2] < 0 || done < number[2]); n += number[1], done++) {
        now = (struct scenario){.number = n, .how = (enum how)(n % HOWS), .means = (enum means)(n / HOWS % MEANS),
                                .who = (enum who)(n / HOWS / MEANS)};
        now.state = hl_hash(hl_seed + (uint64_t)n * 104729);
        now.root = (int)hl_random(&now.state, (unsigned)hl_size);
        now.on_world = hl_random(&now.state, 3) == 0;
        snprintf(now.name, sizeof now.name, "%ld: %s leaves %s by %s; root %d%s", n, who_name[now.who],
                 how_name[now.how], means_name[now.means], now.root, now.on_world ? ", MPI_COMM_WORLD" : "");
        run();
    }
    hl_release(&call);
    return hl_end();
}
