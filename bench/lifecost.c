/*
 * What Espalier adds to the life of a datatype that is used once, as programs make them in every time step: an index
 * list of n blocks is made, committed, sent (to oneself, received as ints) and freed, natively (the MPI library's own
 * functions, past any preload) and as the program's calls, in turns in one process.
 *
 *   lifecost [--rounds N]
 *
 * "known": the same layout again and again; "once": another layout every time. Prints medians in nanoseconds of the
 * three steps and of a whole life that is timed from outside, and the median of the paired differences.
 *
 * The same of vectors, as the BLACS make them: one at a time, of some layouts in turns, which are made, committed and
 * freed; also with other data brought into the caches before each of them (`cold`), as by a program that does other
 * things in between.
 */
#include "bench/bench.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NATIVE, SEEN, WAYS, COMMIT = 0, SEND, FREE, LIFE, TIMES, BLOCKS_MOST = 1000, SPAN = 5 * BLOCKS_MOST };

static int rounds = 2001;
static int from[SPAN], to[2 * BLOCKS_MOST], len[BLOCKS_MOST], disp[BLOCKS_MOST];

/* n blocks of 1 or 2 ints; `salt` makes the layout. */
static void lay_out(int n, int salt)
{
    int at = 0;

    for (int i = 0; i < n; i++) {
        len[i] = 1 + (i * 7 + salt) % 2;
        disp[i] = at;
        at += 3 + ((unsigned)(i ^ salt) * 2654435761u >> 16) % 3;
    }
}

static void send_once(const struct bench_calls *c, MPI_Datatype type)
{
    MPI_Request request;

    c->irecv(to, 2 * BLOCKS_MOST, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    c->send(from, 1, type, 0, 0, MPI_COMM_SELF);
    c->wait(&request, MPI_STATUS_IGNORE);
}

/* Two types of the layout: one timed step by step, one as a whole. */
static void live(const struct bench_calls *c, int n, double t[TIMES])
{
    MPI_Datatype type;
    double at[4];

    c->indexed(n, len, disp, MPI_INT, &type);
    at[0] = bench_now();
    c->commit(&type);
    at[1] = bench_now();
    send_once(c, type);
    at[2] = bench_now();
    c->type_free(&type);
    at[3] = bench_now();
    for (int step = COMMIT; step <= FREE; step++)
        t[step] = at[step + 1] - at[step];

    at[0] = bench_now();
    c->indexed(n, len, disp, MPI_INT, &type);
    c->commit(&type);
    send_once(c, type);
    c->type_free(&type);
    t[LIFE] = bench_now() - at[0];
}

static void run(const struct bench_calls *native, int n, bool known)
{
    static const char *const names[TIMES] = {"commit", "send", "free", "whole life"};
    size_t many = (size_t)rounds;
    double *times[WAYS][TIMES], *added[TIMES], t[TIMES];

    for (int x = 0; x < TIMES; x++) {
        added[x] = malloc(many * sizeof(double));
        for (int way = 0; way < WAYS; way++)
            times[way][x] = malloc(many * sizeof(double));
        if (added[x] == NULL || times[NATIVE][x] == NULL || times[SEEN][x] == NULL)
            bench_die("out of memory");
    }
    for (size_t i = 0; i < many; i++) {
        for (int turn = 0; turn < WAYS; turn++) {
            int way = i % 2 ? WAYS - 1 - turn : turn;

            lay_out(n, known ? 1 : (int)(2 * i) + turn + 2);
            live(way == NATIVE ? native : &bench_seen, n, t);
            for (int x = 0; x < TIMES; x++)
                times[way][x][i] = t[x] * 1e9;
        }
        for (int x = 0; x < TIMES; x++)
            added[x][i] = times[SEEN][x][i] - times[NATIVE][x][i];
    }
    for (int x = 0; x < TIMES; x++) {
        double before = bench_quantile(times[NATIVE][x], many, 0.5);
        double after = bench_quantile(times[SEEN][x], many, 0.5), more = bench_quantile(added[x], many, 0.5);

        printf("n=%-5d %-6s %-10s native %9.0f ns  seen %9.0f ns  added %8.0f ns  ratio %.3f\n", n,
               known ? "known" : "once", names[x], before, after, more, after / before);
        free(added[x]);
        free(times[NATIVE][x]);
        free(times[SEEN][x]);
    }
}

/* ---- vectors ---- */

enum { EACH = 300, COLD = 256 << 10 };

/* Seconds a life; what happens in between is not timed. */
static double vectors(const struct bench_calls *c, int layouts, bool cold)
{
    static volatile char other[COLD];
    double start = bench_now(), all = 0;

    for (int life = 0; life < EACH; life++) {
        MPI_Datatype type;
        if (cold) {
            for (int i = 0; i < COLD; i += 64)
                other[i]++;
            start = bench_now();
        }
        c->vector(2 + life % layouts, 1, 3, MPI_INT, &type);
        c->commit(&type);
        c->type_free(&type);
        if (cold)
            all += bench_now() - start;
    }
    return (cold ? all : bench_now() - start) / EACH;
}

static void run_vectors(const struct bench_calls *native, int layouts, bool cold)
{
    const int blocks = 1 + rounds / 20;
    const size_t n = (size_t)blocks;
    double *times[WAYS], *ratio = malloc(n * sizeof *ratio);

    for (int way = 0; way < WAYS; way++)
        if ((times[way] = malloc(n * sizeof **times)) == NULL || ratio == NULL)
            bench_die("out of memory");
    for (int i = 0; i < blocks; i++) {
        for (int turn = 0; turn < WAYS; turn++) {
            const int way = i % 2 ? WAYS - 1 - turn : turn;
            times[way][i] = vectors(way == NATIVE ? native : &bench_seen, layouts, cold) * 1e9;
        }
        ratio[i] = times[SEEN][i] / times[NATIVE][i];
    }
    const double before = bench_quantile(times[NATIVE], n, 0.5), after = bench_quantile(times[SEEN], n, 0.5);
    printf("vectors, %-3d in turns  %-5s     native %9.0f ns  seen %9.0f ns  ratio of pairs %.3f\n", layouts,
           cold ? "cold" : "warm", before, after, bench_quantile(ratio, n, 0.5));
    for (int way = 0; way < WAYS; way++)
        free(times[way]);
    free(ratio);
}

int main(int argc, char **argv)
{
    static const int turns[] = {1, 10, 90, 300};
    static const int sizes[] = {10, 100, BLOCKS_MOST};
    struct bench_calls native;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 3 && !strcmp(argv[1], "--rounds"))
        rounds = atoi(argv[2]);
    else if (argc != 1)
        bench_die("usage: lifecost [--rounds N]");
    if (rounds < 3 || bench_native(&native) != 0)
        bench_die("lifecost: can not run");
    if (rank == 0) {
        printf("#@intercepted=%s\n#@rounds=%d\n", bench_intercepted() ? "yes" : "no", rounds);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            run(&native, sizes[i], true);
        for (int cold = 0; cold < 2; cold++)
            for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++)
                run_vectors(&native, turns[i], cold);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) /* last, as types may pass unseen afterwards */
            run(&native, sizes[i], false);
    }
    MPI_Finalize();
    return 0;
}
