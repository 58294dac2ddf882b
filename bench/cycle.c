/*
 * One rank's calls again and again, all to itself: a program in which instructions can be counted.
 *
 *   cycle LOOP [COUNT [WARM]]
 *
 * LOOP    plain      MPI_Irecv, MPI_Send and MPI_Wait of 100 doubles
 *         type       MPI_Type_vector, MPI_Type_commit, MPI_Type_free
 *         pack       the same with one item packed before the type is freed
 *         send       the same with one item sent instead, received as doubles (MPI_Irecv, MPI_Send, MPI_Wait)
 *         kept       one item of a type that stays, sent like that
 *         sendrecv   MPI_Sendrecv of one item of that type
 *         allreduce  MPI_Allreduce of 4 doubles
 *         scatter    MPI_Reduce_scatter of 4 doubles
 *         packed     an irregular list of 200 doubles, sent and received as such: what a pack program does
 *         anew       MPI_Type_create_indexed_block, MPI_Type_commit, ten times such a message, MPI_Type_free
 *         bcast      MPI_Bcast of one item of the type that stays
 *         comm       MPI_Comm_dup, MPI_Comm_free
 *
 * First WARM iterations (10,000), then COUNT (5,000) in the function cycle_counted, and nothing else in it:
 * `scripts/bench/bench-instructions` has callgrind collect there. A vector has 3 to 7 blocks of two doubles.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOUBLES = 100, FEW = 4, STRIDE = 20, MOST = 7, LISTED = 200 };

static double from[STRIDE * MOST], to[STRIDE * MOST];
static double listed[2][3 * LISTED];
static MPI_Datatype stays, list;

static MPI_Datatype fresh(int i)
{
    MPI_Datatype type;

    MPI_Type_vector(MOST - 4 + i % 5, 2, STRIDE, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype irregular(void)
{
    static int at[LISTED];
    MPI_Datatype type;

    for (int i = 1; i < LISTED; i++)
        at[i] = at[i - 1] + 2 + i * i % 7 / 4;
    MPI_Type_create_indexed_block(LISTED, 1, at, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void message(int count, MPI_Datatype type)
{
    MPI_Request request;

    MPI_Irecv(to, DOUBLES, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &request);
    MPI_Send(from, count, type, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void plain(int i)
{
    (void)i;
    message(DOUBLES, MPI_DOUBLE);
}

static void type(int i)
{
    MPI_Datatype made = fresh(i);

    MPI_Type_free(&made);
}

static void pack(int i)
{
    MPI_Datatype made = fresh(i);
    int at = 0;

    MPI_Pack(from, 1, made, to, sizeof to, &at, MPI_COMM_SELF);
    MPI_Type_free(&made);
}

static void send(int i)
{
    MPI_Datatype made = fresh(i);

    message(1, made);
    MPI_Type_free(&made);
}

static void kept(int i)
{
    (void)i;
    message(1, stays);
}

static void sendrecv(int i)
{
    (void)i;
    MPI_Sendrecv(from, 1, stays, 0, 1, to, 1, stays, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void exchange(MPI_Datatype type)
{
    MPI_Request request;

    MPI_Irecv(listed[1], 1, type, 0, 1, MPI_COMM_SELF, &request);
    MPI_Send(listed[0], 1, type, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void packed(int i)
{
    (void)i;
    exchange(list);
}

static void anew(int i)
{
    MPI_Datatype made = irregular();

    (void)i;
    for (int k = 0; k < 10; k++)
        exchange(made);
    MPI_Type_free(&made);
}

static void allreduce(int i)
{
    (void)i;
    MPI_Allreduce(from, to, FEW, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void scatter(int i)
{
    const int few = FEW;

    (void)i;
    MPI_Reduce_scatter(from, to, &few, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void bcast(int i)
{
    (void)i;
    MPI_Bcast(from, 1, stays, 0, MPI_COMM_WORLD);
}

static void comm(int i)
{
    MPI_Comm other;

    (void)i;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_free(&other);
}

static const struct {
    const char *name;
    void (*step)(int);
} loops[] = {{"plain", plain}, {"type", type},         {"pack", pack},           {"send", send},
             {"kept", kept},   {"sendrecv", sendrecv}, {"allreduce", allreduce}, {"bcast", bcast},
             {"comm", comm},   {"packed", packed},       {"anew", anew},           {"scatter", scatter}};

/* Under this name for callgrind. */
void cycle_counted(void (*step)(int), int count);

__attribute__((noinline)) void cycle_counted(void (*step)(int), int count)
{
    int i;

    for (i = 0; i < count; i++)
        step(i);
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[2]) : 5000, warm = argc > 3 ? atoi(argv[3]) : 10000, size, i;
    void (*step)(int) = NULL;
    size_t k;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (k = 0; k < sizeof loops / sizeof loops[0]; k++) {
        if (argc == 1)
            puts(loops[k].name);
        else if (strcmp(argv[1], loops[k].name) == 0)
            step = loops[k].step;
    }
    if (argc > 1) {
        if (argc > 4 || step == NULL || count < 1 || warm < 0 || size != 1)
            bench_die("usage, with 1 rank: cycle LOOP [COUNT [WARM]]");
        stays = fresh(MOST);
        list = irregular();
        for (i = 0; i < warm; i++)
            step(i);
        cycle_counted(step, count);
        MPI_Type_free(&stays);
        MPI_Type_free(&list);
    }
    MPI_Finalize();
    return 0;
}
