/*
 * The same data by kinds of calls: blocking messages there and back, MPI_Sendrecv, MPI_Isend and MPI_Irecv,
 * persistent requests that are made before any other use of their type, others that are made, started once or four
 * times, and freed, MPI_Pack and MPI_Unpack; natively and as a
 * preload library sees it, in turns of some calls each. Two ranks, both with the type.
 *
 *   kinds [--millis MS] [--kinds KIND,...] [--row NAME] [--threads multiple]
 *
 * --millis: for each line (100). --kinds: which of them, in this order, so that it can be seen what one leaves to the
 * next, which has types made alike: pingpong, sendrecv, isend, started, once, few, pack, unpack; all unless told.
 * --threads multiple: MPI is started for threads that may call it at the same time, though one alone does. Prints
 * medians of the slower rank's time for a call (there and back: for both ways) in the last two thirds of the turns,
 * microseconds, and the median of the ratios of what is seen to native, turn by turn.
 */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NATIVE, SEEN, WAYS, TURNS = 60, CALLS_MOST = 100, DOUBLES = 25000, STRIDE = 65 };
enum kind { PINGPONG, SENDRECV, ISEND, STARTED, ONCE, FEW, PACK, UNPACK, KINDS };
static const char *const kind_name[KINDS] = { "pingpong", "sendrecv", "isend", "started",
                                                "once",     "few",      "pack",  "unpack" };

static double *from, *to;
static char *packed;
static int rank, room;

/* ---- types of n doubles, about ---- */

static void column(int n, MPI_Datatype *type)
{
    MPI_Type_vector(n, 1, STRIDE, MPI_DOUBLE, type);
}

static void rows(int n, MPI_Datatype *type)
{
    MPI_Type_vector(n / 8 + 1, 8, STRIDE + 7, MPI_DOUBLE, type);
}

static void list(int n, MPI_Datatype *type)
{
    static int places[DOUBLES];
    unsigned random = 12345;
    int at = 0, i;

    for (i = 0; i < n; i++) {
        places[i] = at;
        random = random * 1103515245u + 12345;
        at += 2 + (int)(random >> 16) % 7;
    }
    MPI_Type_create_indexed_block(n, 1, places, MPI_DOUBLE, type);
}

/* A face of an array of three dimensions, across the fastest one. */
static void face(int n, MPI_Datatype *type)
{
    const int side = (int)sqrt((double)n), sizes[3] = { side + 2, 34, side + 2 }, part[3] = { side, 1, side },
              start[3] = { 1, 1, 1 };

    MPI_Type_create_subarray(3, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, type);
}

/* 4 x 4 of each site. */
static void sites(int n, MPI_Datatype *type)
{
    MPI_Datatype row, grid;

    MPI_Type_vector(4, 1, 3, MPI_DOUBLE, &row);
    MPI_Type_create_hvector(4, 1, 160, row, &grid);
    MPI_Type_create_hvector(n / 16 + 1, 1, 800, grid, type);
    MPI_Type_free(&grid);
    MPI_Type_free(&row);
}

/* Two members of each of many structures, which are of one type. */
static void pairs(int n, MPI_Datatype *type)
{
    const int lengths[] = { 1, 1 };
    const MPI_Aint places[] = { 0, 16 };
    const MPI_Datatype members[] = { MPI_DOUBLE, MPI_DOUBLE };
    MPI_Datatype pair, spaced;

    MPI_Type_create_struct(2, lengths, places, members, &pair);
    MPI_Type_create_resized(pair, 0, 32, &spaced);
    MPI_Type_contiguous(n / 2, spaced, type);
    MPI_Type_free(&spaced);
    MPI_Type_free(&pair);
}

static const struct row {
    const char *name;
    void (*make)(int n, MPI_Datatype *type);
} row_of[] = { { "column", column }, { "rows", rows },   { "face", face },
               { "list", list },     { "sites", sites }, { "pairs", pairs } };
enum { ROWS = sizeof row_of / sizeof *row_of };
static const int sizes[] = { 500, 1500, 4000, 8000, 30000, 100000 };

/* ---- calls ---- */

static void there_and_back(const struct bench_calls *mpi, MPI_Datatype type)
{
    const int peer = 1 - rank;

    if (rank == 0)
        mpi->send(from, 1, type, peer, 0, MPI_COMM_WORLD);
    mpi->recv(to, 1, type, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        mpi->send(from, 1, type, peer, 0, MPI_COMM_WORLD);
}

static void made_and_started(const struct bench_calls *mpi, MPI_Datatype type, int starts)
{
    MPI_Request request[2];
    MPI_Status status[2];

    mpi->recv_init(to, 1, type, 1 - rank, 0, MPI_COMM_WORLD, &request[0]);
    mpi->send_init(from, 1, type, 1 - rank, 0, MPI_COMM_WORLD, &request[1]);
    for (int i = 0; i < starts; i++) {
        mpi->startall(2, request);
        mpi->waitall(2, request, status);
    }
    mpi->request_free(&request[0]);
    mpi->request_free(&request[1]);
}

static void call_once(const struct bench_calls *mpi, enum kind kind, MPI_Datatype type, MPI_Request *started)
{
    const int peer = 1 - rank;
    MPI_Request request[2];
    MPI_Status status[2];
    int at = 0;

    switch (kind) {
    case PINGPONG:
        there_and_back(mpi, type);
        break;
    case SENDRECV:
        mpi->sendrecv(from, 1, type, peer, 0, to, 1, type, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case ISEND:
        mpi->irecv(to, 1, type, peer, 0, MPI_COMM_WORLD, &request[0]);
        mpi->isend(from, 1, type, peer, 0, MPI_COMM_WORLD, &request[1]);
        mpi->waitall(2, request, status);
        break;
    case STARTED:
        mpi->startall(2, started);
        mpi->waitall(2, started, status);
        break;
    case ONCE:
        made_and_started(mpi, type, 1);
        break;
    case FEW:
        made_and_started(mpi, type, 4);
        break;
    case PACK:
        mpi->pack(from, 1, type, packed, room, &at, MPI_COMM_WORLD);
        break;
    case UNPACK:
        mpi->unpack(packed, room, &at, to, 1, type, MPI_COMM_WORLD);
        break;
    default:
        break;
    }
}

static double turn(const struct bench_calls *mpi, enum kind kind, MPI_Datatype type, MPI_Request *started, int calls)
{
    double begun;
    int i;

    MPI_Barrier(MPI_COMM_WORLD);
    begun = bench_now();
    for (i = 0; i < calls; i++)
        call_once(mpi, kind, type, started);
    return (bench_now() - begun) / calls;
}

static void measure(const struct bench_calls calls[WAYS], enum kind kind, const struct row *row, int bytes,
                    double millis)
{
    static double took[WAYS][TURNS], ratio[TURNS];
    MPI_Request started[WAYS][2];
    MPI_Datatype type;
    int each, way, t, n = 0;

    row->make(bytes / (int)sizeof(double), &type);
    MPI_Type_commit(&type);
    for (way = 0; way < WAYS && kind == STARTED; way++) {
        calls[way].recv_init(to, 1, type, 1 - rank, 0, MPI_COMM_WORLD, &started[way][0]);
        calls[way].send_init(from, 1, type, 1 - rank, 0, MPI_COMM_WORLD, &started[way][1]);
    }
    each = (int)(millis / 1000 / (WAYS * TURNS) / turn(&calls[NATIVE], kind, type, started[NATIVE], 8));
    each = each < 4 ? 4 : each > CALLS_MOST ? CALLS_MOST : each;
    MPI_Bcast(&each, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (t = 0; t < TURNS; t++) {
        double now[WAYS], slower[WAYS];
        for (way = 0; way < WAYS; way++) {
            const int which = (t + way) % WAYS;
            now[which] = turn(&calls[which], kind, type, started[which], each);
        }
        MPI_Allreduce(now, slower, WAYS, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        for (way = 0; way < WAYS && t >= TURNS / 3; way++)
            took[way][n] = slower[way];
        ratio[n] = slower[SEEN] / slower[NATIVE];
        n += t >= TURNS / 3;
    }
    for (way = 0; way < WAYS && kind == STARTED; way++)
        for (t = 0; t < 2; t++)
            MPI_Request_free(&started[way][t]);
    MPI_Type_free(&type);
    if (rank == 0)
        printf("%s\t%s\t%d\t%.3f\t%.3f\t%.3f\n", kind_name[kind], row->name, bytes,
               1e6 * bench_quantile(took[NATIVE], (size_t)n, 0.5), 1e6 * bench_quantile(took[SEEN], (size_t)n, 0.5),
               bench_quantile(ratio, (size_t)n, 0.5));
    fflush(stdout);
}

static enum kind kind_of(const char *name, size_t length)
{
    int kind;

    for (kind = 0; kind < KINDS; kind++)
        if (strlen(kind_name[kind]) == length && strncmp(kind_name[kind], name, length) == 0)
            return (enum kind)kind;
    bench_die("kinds: %.*s is none", (int)length, name);
}

int main(int argc, char **argv)
{
    const char *kinds = "pingpong,sendrecv,isend,started,once,few,pack,unpack", *only = "";
    struct bench_calls calls[WAYS];
    double millis = 100;
    int level = MPI_THREAD_SINGLE, given, ranks, i, row;
    size_t size;

    for (i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--millis") == 0)
            millis = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--kinds") == 0)
            kinds = argv[i + 1];
        else if (strcmp(argv[i], "--row") == 0)
            only = argv[i + 1];
        else if (strcmp(argv[i], "--threads") == 0 && strcmp(argv[i + 1], "multiple") == 0)
            level = MPI_THREAD_MULTIPLE;
        else
            break;
    }
    MPI_Init_thread(&argc, &argv, level, &given);
    if (i < argc || millis <= 0)
        bench_die("usage: kinds [--millis MS] [--kinds KIND,...] [--row NAME] [--threads multiple]");
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (given < level)
        bench_die("the MPI library does not take calls of several threads at the same time");
    if (ranks != 2)
        bench_die("two ranks, please");
    calls[SEEN] = bench_seen;
    if (bench_native(&calls[NATIVE]) != 0)
        bench_die("the MPI library can not be looked into");
    room = DOUBLES * (int)sizeof(double);
    from = calloc((size_t)DOUBLES * (STRIDE + 7), sizeof *from);
    to = calloc((size_t)DOUBLES * (STRIDE + 7), sizeof *to);
    packed = calloc(1, (size_t)room);
    if (from == NULL || to == NULL || packed == NULL)
        bench_die("no memory");
    if (rank == 0)
        printf("#@intercepted=%s\n#kind\trow\tbytes\tnative_us\tseen_us\tseen/native\n",
               bench_intercepted() ? "yes" : "no");
    for (row = 0; row < ROWS; row++)
        for (size = 0; size < sizeof sizes / sizeof *sizes && strncmp(row_of[row].name, only, strlen(only)) == 0;
             size++) {
            const char *kind = kinds;
            while (*kind != '\0') {
                const size_t length = strcspn(kind, ",");
                measure(calls, kind_of(kind, length), &row_of[row], sizes[size], millis);
                kind += length + (kind[length] == ',');
            }
        }
    free(packed);
    free(to);
    free(from);
    MPI_Finalize();
    return 0;
}
