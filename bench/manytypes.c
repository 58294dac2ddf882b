/*
 * A program with very many datatypes: irregular layouts of 1,000 entries, no two alike, made and used as programs do.
 *
 *   manytypes [--types N] [--entries N] [--rounds N] CASE KIND
 *
 * CASE   commit  made, committed, freed, never used
 *        once    made, committed, packed once, freed
 *        few     made, committed, packed, unpacked and exchanged with a neighbour (to itself with 1 rank), freed
 *        live    all of them made first, then packed and exchanged in turns, --rounds times (20), then freed
 *        kept    like live with 2 rounds, and not freed before MPI_Finalize
 *        steps   a tenth of the types, made, packed, exchanged and freed anew in each of 10 time steps
 * KIND   block (MPI_Type_create_indexed_block), indexed (MPI_Type_indexed, lengths 1 and 2), struct (two base types)
 *
 * Layout t is a window, from position t on, of one long irregular list, so that nothing but MPI's work is timed. With
 * 1 rank nothing waits. Prints one line: case/kind, seconds (wall) and processor seconds of the part with the types,
 * processor seconds of the process before it (MPI_Init above all), and the most memory that was resident, in KiB.
 *
 * `scripts/bench/bench-pairs manytypes` runs every case natively and under Espalier in turns, and prints ratios.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum kind { BLOCK, INDEXED, STRUCT, KINDS };
enum { STEPS = 10 };

static const char *const kind_name[KINDS] = {"block", "indexed", "struct"};

static struct {
    int types, entries, rounds, rank, size;
    enum kind kind;
    int *disp, *len;
    MPI_Aint *bytes;
    MPI_Datatype *base, *made;
    char *from, *to, *packed;
    int packed_size;
} b = {.types = 10000, .entries = 1000, .rounds = 20};

static double processor_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *memory(size_t n, size_t each)
{
    void *p = calloc(n, each);

    if (p == NULL)
        bench_die("manytypes: out of memory");
    return p;
}

/* The long list: places in doubles, and in bytes for structs of doubles and ints. */
static void prepare(void)
{
    size_t n = (size_t)b.types + (size_t)b.entries, i, span;
    int at = 0;

    b.disp = memory(n, sizeof *b.disp);
    b.len = memory(n, sizeof *b.len);
    b.bytes = memory(n, sizeof *b.bytes);
    b.base = memory(n, sizeof *b.base);
    b.made = memory((size_t)b.types, sizeof *b.made);
    for (i = 0; i < n; i++) {
        unsigned h = (unsigned)i * 2654435761u;

        h = (h ^ h >> 15) * 2246822519u;
        b.len[i] = 1 + (int)(h >> 13 & 1);
        b.disp[i] = at;
        b.bytes[i] = (MPI_Aint)at * 8;
        b.base[i] = h >> 17 & 1 ? MPI_DOUBLE : MPI_INT;
        at += 3 + (int)(h >> 20) % 4;
    }
    span = ((size_t)at + 8) * 8;
    b.packed_size = b.entries * 2 * 8;
    b.from = memory(span, 1);
    b.to = memory(span, 1);
    b.packed = memory((size_t)b.packed_size, 1);
    for (i = 0; i < span; i++)
        b.from[i] = (char)(i * 31 >> 3);
}

static MPI_Datatype make(int t)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    switch (b.kind) {
    case BLOCK:
        MPI_Type_create_indexed_block(b.entries, 1, b.disp + t, MPI_DOUBLE, &type);
        break;
    case INDEXED:
        MPI_Type_indexed(b.entries, b.len + t, b.disp + t, MPI_DOUBLE, &type);
        break;
    default:
        MPI_Type_create_struct(b.entries, b.len + t, b.bytes + t, b.base + t, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

static void pack(MPI_Datatype type)
{
    int at = 0;

    MPI_Pack(b.from, 1, type, b.packed, b.packed_size, &at, MPI_COMM_WORLD);
}

static void unpack(MPI_Datatype type)
{
    int at = 0;

    MPI_Unpack(b.packed, b.packed_size, &at, b.to, 1, type, MPI_COMM_WORLD);
}

static void exchange(MPI_Datatype type)
{
    int right = (b.rank + 1) % b.size, left = (b.rank + b.size - 1) % b.size;

    MPI_Sendrecv(b.from, 1, type, right, 0, b.to, 1, type, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- the cases ---- */

static void each(int uses)
{
    int t;

    for (t = 0; t < b.types; t++) {
        MPI_Datatype type = make(t);

        if (uses > 0)
            pack(type);
        if (uses > 1) {
            unpack(type);
            exchange(type);
        }
        MPI_Type_free(&type);
    }
}

static void run_commit(void)
{
    each(0);
}

static void run_once(void)
{
    each(1);
}

static void run_few(void)
{
    each(2);
}

static void in_turns(int rounds)
{
    int t, round;

    for (t = 0; t < b.types; t++)
        b.made[t] = make(t);
    for (round = 0; round < rounds; round++)
        for (t = 0; t < b.types; t++) {
            pack(b.made[t]);
            exchange(b.made[t]);
        }
}

static void run_live(void)
{
    int t;

    in_turns(b.rounds);
    for (t = 0; t < b.types; t++)
        MPI_Type_free(&b.made[t]);
}

static void run_kept(void)
{
    in_turns(2);
}

static void run_steps(void)
{
    int t, step;

    for (step = 0; step < STEPS; step++)
        for (t = 0; t < b.types / STEPS; t++) {
            MPI_Datatype type = make(t);

            pack(type);
            exchange(type);
            MPI_Type_free(&type);
        }
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"commit", run_commit}, {"once", run_once}, {"few", run_few},
             {"live", run_live},     {"kept", run_kept}, {"steps", run_steps}};

static void (*read_arguments(int argc, char **argv))(void)
{
    size_t i;
    int k = 1;

    for (; k + 1 < argc && strncmp(argv[k], "--", 2) == 0; k += 2) {
        int value = atoi(argv[k + 1]);

        if (strcmp(argv[k], "--types") == 0 && value >= STEPS)
            b.types = value;
        else if (strcmp(argv[k], "--entries") == 0 && value > 0)
            b.entries = value;
        else if (strcmp(argv[k], "--rounds") == 0 && value > 0)
            b.rounds = value;
        else
            return NULL;
    }
    if (argc - k != 2)
        return NULL;
    while (b.kind < KINDS && strcmp(argv[k + 1], kind_name[b.kind]) != 0)
        b.kind++;
    if (b.kind == KINDS)
        return NULL;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[k], cases[i].name) == 0)
            return cases[i].run;
    return NULL;
}

int main(int argc, char **argv)
{
    void (*run)(void);
    double wall, cpu, before;
    struct rusage usage;

    MPI_Init(&argc, &argv);
    before = processor_time();
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.size);
    run = read_arguments(argc, argv);
    if (run == NULL)
        bench_die("usage: manytypes [--types N] [--entries N] [--rounds N] CASE KIND; see the file's head");
    prepare();
    MPI_Barrier(MPI_COMM_WORLD);
    wall = bench_now();
    cpu = processor_time();
    run();
    cpu = processor_time() - cpu;
    wall = bench_now() - wall;
    getrusage(RUSAGE_SELF, &usage);
    if (b.rank == 0)
        printf("%s/%s wall=%.6f cpu=%.6f before=%.6f kib=%ld\n", argv[argc - 2], argv[argc - 1], wall, cpu, before,
               usage.ru_maxrss);
    MPI_Finalize();
    return 0;
}
