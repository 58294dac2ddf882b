/*
 * Data that a process sends to itself, from one layout to another: the same call natively (`mpi`) and as the program
 * makes it, under Espalier (`espalier`), a plain loop in C that knows both layouts (`hand`), and for matrices the
 * same loop in squares of 16 by 16 (`tiled`). All take turns in one process, on one rank.
 *
 *   onto [--millis MS] [--settle MS] [--call NAME]        under `espalier run`
 *
 * Before anything is measured the program's call is made for --settle MS, at least 64 times, in which planning is
 * earned and done; the others are made as often as warms up. MPI_COMM_SELF is used, but for `worldrecv`, which is
 * `sendrecv` on MPI_COMM_WORLD: start it on two ranks, of which the second waits. ESPALIER_BUDGET_MS=500 grants
 * planning time for all the pairs at once, which programs earn one by one. Prints a line per call and pair of
 * layouts: medians in microseconds, ratios, and the number of rounds. Without an Espalier the columns of MPI's and
 * Espalier's call are the same function.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MPI, ESPALIER, HAND, TILED, WAYS, SAMPLES = 4000, ROUNDS_LEAST = 25, CALLS_LEAST = 64 };
enum { PARTICLES = 20000, FIELDS = 7, BLOCKS = 8000, BLOCK = 3 };

static struct bench_calls calls[2];
static double *from, *onto, *wanted;
static size_t bytes; /* of each buffer */
static int irregular[BLOCKS];

struct pair {
    const char *name;
    MPI_Datatype send, receive;
    int send_count, receive_count, n;
    void (*hand)(int n), (*tiled)(int n); /* tiled: NULL where there is none */
};

static void transposed_by_hand(int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            onto[(size_t)i * (size_t)n + (size_t)k] = from[(size_t)k * (size_t)n + (size_t)i];
}

static void transposed_in_tiles(int n)
{
    enum { SIDE = 16 };
    for (int I = 0; I < n; I += SIDE)
        for (int K = 0; K < n; K += SIDE)
            for (int i = I; i < n && i < I + SIDE; i++)
                for (int k = K; k < n && k < K + SIDE; k++)
                    onto[(size_t)i * (size_t)n + (size_t)k] = from[(size_t)k * (size_t)n + (size_t)i];
}

static void column_by_hand(int n)
{
    for (int i = 0; i < n; i++)
        onto[i] = from[(size_t)i * (size_t)n];
}

static void irregular_by_hand(int n)
{
    for (int i = 0; i < n; i++)
        memcpy(onto + BLOCK * i, from + irregular[i], BLOCK * sizeof *onto);
}

static void particles_by_hand(int n)
{
    for (int i = 0; i < n; i++)
        for (int f = 0; f < FIELDS; f++)
            onto[(size_t)f * (size_t)n + (size_t)i] = from[(size_t)i * (FIELDS + 1) + (size_t)f];
}

static void face_by_hand(int n) /* from the face x = 0 of a cube to one z = 0 of another */
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            onto[(size_t)i * (size_t)n + (size_t)k] = from[((size_t)i * (size_t)n + (size_t)k) * (size_t)n];
}

static MPI_Datatype finished(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype columns(int n)
{
    MPI_Datatype column, one, all;
    MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &one);
    MPI_Type_contiguous(n, one, &all);
    MPI_Type_free(&column);
    MPI_Type_free(&one);
    return finished(all);
}

static struct pair transpose(int n, const char *name)
{
    return (struct pair){name, columns(n), MPI_DOUBLE, 1, n * n, n, transposed_by_hand,
                         transposed_in_tiles};
}

static struct pair column(int n)
{
    struct pair p = {"column to row", MPI_DATATYPE_NULL, MPI_DOUBLE, 1, n, n, column_by_hand,
                     NULL};
    MPI_Type_vector(n, 1, n, MPI_DOUBLE, &p.send);
    finished(p.send);
    return p;
}

static struct pair list(void)
{
    struct pair p = {"irregular to dense", MPI_DATATYPE_NULL, MPI_DOUBLE, 1, BLOCK * BLOCKS, BLOCKS,
                     irregular_by_hand, NULL};
    int at = 0;
    for (int i = 0; i < BLOCKS; i++) {
        irregular[i] = at;
        at += BLOCK + 1 + (int)(((unsigned)i * 2654435761u) >> 30);
    }
    MPI_Type_create_indexed_block(BLOCKS, BLOCK, irregular, MPI_DOUBLE, &p.send);
    finished(p.send);
    return p;
}

static struct pair particles(int n)
{
    struct pair p = {"particles to arrays", MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, n, n, n, particles_by_hand,
                     NULL};
    MPI_Datatype record, fields;
    MPI_Aint places[FIELDS];
    MPI_Type_contiguous(FIELDS, MPI_DOUBLE, &record);
    MPI_Type_create_resized(record, 0, (FIELDS + 1) * sizeof(double), &p.send);
    for (int f = 0; f < FIELDS; f++)
        places[f] = (MPI_Aint)((size_t)f * (size_t)n * sizeof(double));
    MPI_Type_create_hindexed_block(FIELDS, 1, places, MPI_DOUBLE, &fields);
    MPI_Type_create_resized(fields, 0, sizeof(double), &p.receive);
    MPI_Type_free(&record);
    MPI_Type_free(&fields);
    finished(p.send);
    finished(p.receive);
    return p;
}

static struct pair face(int n)
{
    struct pair p = {"face to face", MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, 1, 1, n, face_by_hand, NULL};
    int sizes[3] = {n, n, n}, sub[3] = {n, n, 1}, start[3] = {0, 0, 0}, other[3] = {1, n, n};
    MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_C, MPI_DOUBLE, &p.send);
    MPI_Type_create_subarray(3, sizes, other, start, MPI_ORDER_C, MPI_DOUBLE, &p.receive);
    finished(p.send);
    finished(p.receive);
    return p;
}

enum { SENDRECV, ALLTOALLW, GATHER, WORLDRECV, CALLS };
static const char *const call_names[CALLS] = {"sendrecv", "alltoallw", "gather", "worldrecv"};

static void run(const struct pair *p, int call, int way)
{
    int zero = 0;
    if (way == HAND)
        p->hand(p->n);
    else if (way == TILED)
        p->tiled(p->n);
    else if (call == SENDRECV || call == WORLDRECV)
        calls[way].sendrecv(from, p->send_count, p->send, 0, 1, onto, p->receive_count, p->receive, 0, 1,
                            call == SENDRECV ? MPI_COMM_SELF : MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (call == ALLTOALLW)
        calls[way].alltoallw(from, &p->send_count, &zero, &p->send, onto, &p->receive_count, &zero, &p->receive,
                             MPI_COMM_SELF);
    else
        calls[way].gather(from, p->send_count, p->send, onto, p->receive_count, p->receive, 0, MPI_COMM_SELF);
}

static void bench(const struct pair *p, int call, double millis, double settle)
{
    static double sample[WAYS][SAMPLES];
    double once[WAYS], end;
    int n = 0, repeat[WAYS], ways = p->tiled != NULL ? WAYS : TILED;

    for (int way = 0; way < ways; way++) {
        memset(onto, 0, bytes);
        run(p, call, way);
        if (way == 0)
            memcpy(wanted, onto, bytes);
        else if (memcmp(wanted, onto, bytes) != 0)
            bench_die("%s: way %d copies other bytes", p->name, way);
        end = bench_now() + (way == ESPALIER ? settle / 1000 : 0);
        for (int k = 0; k < (way == ESPALIER ? CALLS_LEAST : 3) || bench_now() < end; k++)
            run(p, call, way);
        once[way] = bench_now();
        run(p, call, way);
        once[way] = bench_now() - once[way];
        repeat[way] = (int)(5e-6 / (once[way] + 1e-9)) + 1;
        repeat[way] = repeat[way] < 50 ? repeat[way] : 50;
    }
    end = bench_now() + millis / 1000;
    while (n < SAMPLES && (bench_now() < end || n < ROUNDS_LEAST)) {
        for (int way = 0; way < ways; way++) {
            double begun = bench_now();
            for (int k = 0; k < repeat[way]; k++)
                run(p, call, way);
            sample[way][n] = (bench_now() - begun) / repeat[way];
        }
        n++;
    }
    for (int way = 0; way < ways; way++)
        once[way] = 1e6 * bench_quantile(sample[way], (size_t)n, 0.5);
    printf("%s\t%s\t%.3f\t%.3f\t%.3f\t", call_names[call], p->name, once[MPI], once[ESPALIER], once[HAND]);
    if (ways > TILED)
        printf("%.3f", once[TILED]);
    printf("\t%.2f\t%.2f\t%d\n", once[MPI] / once[ESPALIER], once[HAND] / once[ESPALIER], n);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    double millis = 300, settle = 200;
    const char *only = "";
    int rank, ranks;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--millis") == 0)
            millis = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--settle") == 0)
            settle = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--call") == 0)
            only = argv[i + 1];
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    calls[ESPALIER] = bench_seen;
    if (bench_native(&calls[MPI]) != 0)
        bench_die("the MPI library can not be looked into");
    bytes = 128 * 128 * 128 * sizeof *from;
    from = malloc(bytes);
    onto = malloc(bytes);
    wanted = malloc(bytes);
    if (!from || !onto || !wanted)
        bench_die("no memory");
    for (size_t i = 0; i < bytes / sizeof *from; i++)
        from[i] = (double)i;
    struct pair pairs[] = {transpose(16, "transpose 16"), transpose(128, "transpose 128"),
                           transpose(1000, "transpose 1000"), column(1000), list(), particles(PARTICLES), face(100)};
    if (rank == 0)
        printf("call\tlayouts\tmpi_us\tespalier_us\thand_us\ttiled_us\tmpi/espalier\thand/espalier\trounds\n");
    for (int call = 0; call < CALLS; call++)
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs && rank == 0; k++)
            if (*only != '\0' ? strcmp(only, call_names[call]) == 0 : call != WORLDRECV || ranks > 1)
                bench(&pairs[k], call, millis, settle);
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        MPI_Type_free(&pairs[k].send);
        if (pairs[k].receive != MPI_DOUBLE)
            MPI_Type_free(&pairs[k].receive);
    }
    free(from);
    free(onto);
    free(wanted);
    MPI_Finalize();
    return 0;
}
