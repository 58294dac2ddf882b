/*
 * MPI_THREAD_MULTIPLE: several threads gather, scatter and synchronize at once, each on communicators of its own;
 * some make and free communicators meanwhile, one sends and receives on a communicator that another one gathers on,
 * one has refused calls. Arguments: rounds (3), threads (4). Prints `N passed, N failed` on rank 0.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "harmless.h"

enum { MOST = 12, CALLS = 40 };

struct worker {
    int number;
    MPI_Comm comm;
    uint64_t state; /* the same on all ranks */
    struct hl_call call;
};

static void one(struct worker *w, MPI_Comm comm, int k)
{
    MPI_Comm_rank(comm, &w->call.rank);
    MPI_Comm_size(comm, &w->call.size);
    w->call.comm = comm;
    w->call.op = (enum hl_op)hl_random(&w->state, HL_OPS);
    w->call.root = k / 8 % w->call.size;
    w->call.salt = w->state;
    for (int r = 0; r < w->call.size; r++)
        w->call.counts[r] = w->call.op < HL_GATHER ? 2 * (int)hl_random(&w->state, 50) : 24;
    hl_good_call(&w->call, "a thread");
}

static void synchronize(struct worker *w, int k)
{
    int sum = -1;
    switch (hl_random(&w->state, 6)) {
    case 0:
        MPI_Barrier(w->comm);
        break;
    case 1:
        MPI_Allreduce(&k, &sum, 1, MPI_INT, MPI_SUM, w->comm);
        hl_check(sum == k * hl_size, "a sum of a thread");
        break;
    default:
        break;
    }
}

/* By the worker's number: gathers alone; with communicators made and freed; with messages of a neighbour on the same
   communicator; with refused calls. */
static void *work(void *of)
{
    struct worker *w = of;
    MPI_Comm made;
    int kind = w->number % 4, right = (hl_rank + 1) % hl_size, left = (hl_rank + hl_size - 1) % hl_size, got;
    for (int k = 0; k < CALLS; k++) {
        hl_at("a thread's call", w->number * 1000 + k);
        if (kind == 3 && hl_rank == k % hl_size) {
            int rc = MPI_Gatherv(NULL, -1, MPI_INT, NULL, NULL, NULL, MPI_INT, hl_size, w->comm);
            hl_check(rc != MPI_SUCCESS, "a wrong call of a thread");
        }
        if (kind == 2) {
            MPI_Sendrecv(&k, 1, MPI_INT, right, k, &got, 1, MPI_INT, left, k, w->comm, MPI_STATUS_IGNORE);
            hl_check(got == k, "a message of a thread");
        }
        if (kind == 1 && k % 4 == 0) {
            if (k % 8)
                MPI_Comm_dup(w->comm, &made);
            else
                MPI_Comm_split(w->comm, 0, -hl_rank, &made);
            for (int n = 0; n < 4; n++)
                one(w, made, n);
            MPI_Comm_free(&made);
        }
        one(w, w->comm, k);
        synchronize(w, k);
    }
    return NULL;
}

/* Receives at any time what the worker beside it need not know of, on the same communicator. */
static void *talk(void *of)
{
    MPI_Comm comm = *(MPI_Comm *)of;
    int right = (hl_rank + 1) % hl_size, left = (hl_rank + hl_size - 1) % hl_size, got = -1;
    for (int k = 0; k < CALLS; k++) {
        MPI_Sendrecv(&k, 1, MPI_INT, right, 1000 + k, &got, 1, MPI_INT, left, 1000 + k, comm, MPI_STATUS_IGNORE);
        hl_check(got == k, "a message beside gathers");
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 3, threads = argc > 2 ? atoi(argv[2]) : 4;
    static struct worker worker[MOST];
    pthread_t thread[MOST], talker;
    threads = threads > MOST ? MOST : threads;
    hl_start(&argc, &argv, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < threads; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &worker[i].comm);
        MPI_Comm_set_errhandler(worker[i].comm, MPI_ERRORS_RETURN);
        worker[i].number = i;
        worker[i].state = hl_hash(hl_seed + (uint64_t)i);
        worker[i].call.derived = 0; /* its type is made once, by one thread */
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < threads; i++)
            if (pthread_create(&thread[i], NULL, work, &worker[i]))
                MPI_Abort(MPI_COMM_WORLD, 3);
        if (pthread_create(&talker, NULL, talk, &worker[0].comm))
            MPI_Abort(MPI_COMM_WORLD, 3);
        for (int i = 0; i < threads; i++)
            pthread_join(thread[i], NULL);
        pthread_join(talker, NULL);
        /* The communicators go from thread to thread. */
        MPI_Comm first = worker[0].comm;
        for (int i = 0; i + 1 < threads; i++)
            worker[i].comm = worker[i + 1].comm;
        worker[threads - 1].comm = first;
    }
    for (int i = 0; i < threads; i++) {
        MPI_Comm_free(&worker[i].comm);
        hl_release(&worker[i].call);
    }
    return hl_end();
}
