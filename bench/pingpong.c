/*
 * Ping-pong between ranks 0 and 1, and pack and unpack on rank 0, of noncontiguous types: natively (the MPI library's
 * own functions, past any preload), as the program's own calls (which Espalier sees when preloaded), packed by hand,
 * and as contiguous bytes. All four take turns in one process on the same types, so the ratios do not depend on the
 * day.
 *
 *   pingpong [--case NAME,..] [--n N] [--blocks N] [--millis MS] [--warm MS] [--seed S]
 *
 * Prints one line per case and operation: medians in microseconds (half a round trip for pingpong), native/seen as
 * `speedup` with its quartiles over paired blocks, and the bytes of one message. The data received are compared with
 * what was sent.
 */
#include "bench/bench.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NATIVE, SEEN, HAND, CONTIGUOUS, WAYS };

struct options {
    const char *cases;
    int n;        /* rows and columns of the matrix */
    int blocks;   /* timed blocks per way */
    int millis;   /* aimed at for one case and operation, all ways together */
    int warm;     /* milliseconds of calls that Espalier sees before anything is timed */
    unsigned long seed;
};

/* A layout in elements of `width` bytes, for packing by hand: blocks of lengths[i] elements at displacements[i]. */
struct layout {
    const char *name;
    MPI_Datatype type;
    size_t width, span; /* span: bytes that a buffer of one item needs */
    int blocks, bytes;
    int *lengths, *displacements;
};

static struct options options = {
    .cases = "indexed_block,indexed,struct,irregular2000,irregular8000",
    .n = 1000,
    .blocks = 201,
    .millis = 2000,
    .warm = 400,
    .seed = 1,
};
static struct bench_calls native;
static int rank;

static int *ints(int n)
{
    int *p = malloc((size_t)n * sizeof *p);

    if (p == NULL)
        bench_die("out of memory");
    return p;
}

/* First row and first column of an n x n matrix of int. */
static void rowcol(struct layout *l, int how)
{
    int n = options.n, i;

    l->width = sizeof(int);
    l->span = (size_t)n * (size_t)n * sizeof(int);
    l->blocks = n;
    l->lengths = ints(n);
    l->displacements = ints(n);
    for (i = 0; i < n; i++) {
        l->lengths[i] = i == 0 ? n : 1;
        l->displacements[i] = i * n;
    }
    if (how == 0) {
        int *each = ints(2 * n - 1);

        for (i = 0; i < n; i++)
            each[i] = i;
        for (i = 1; i < n; i++)
            each[n - 1 + i] = i * n;
        MPI_Type_create_indexed_block(2 * n - 1, 1, each, MPI_INT, &l->type);
        free(each);
    } else if (how == 1) {
        MPI_Type_indexed(n, l->lengths, l->displacements, MPI_INT, &l->type);
    } else {
        MPI_Datatype parts[2];
        int ones[2] = { 1, 1 };
        MPI_Aint at[2] = { 0, (MPI_Aint)n * (MPI_Aint)sizeof(int) };

        MPI_Type_contiguous(n, MPI_INT, &parts[0]);
        MPI_Type_vector(n - 1, 1, n, MPI_INT, &parts[1]);
        MPI_Type_create_struct(2, ones, at, parts, &l->type);
        MPI_Type_free(&parts[0]);
        MPI_Type_free(&parts[1]);
    }
}

/* Blocks of three doubles at irregular, increasing places. */
static void irregular(struct layout *l, int blocks)
{
    uint64_t state = options.seed * 2862933555777941757ull + 3037000493ull;
    int i, at = 0;

    l->width = sizeof(double);
    l->blocks = blocks;
    l->lengths = ints(blocks);
    l->displacements = ints(blocks);
    for (i = 0; i < blocks; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        l->lengths[i] = 3;
        l->displacements[i] = at;
        at += 4 + (int)((state >> 33) % 5);
    }
    l->span = (size_t)at * sizeof(double);
    MPI_Type_create_indexed_block(blocks, 3, l->displacements, MPI_DOUBLE, &l->type);
}

/* Copies a packed item into its places (out = 1) or out of them, as a person would write it for layouts like these:
 * the first block, then blocks of one constant length. */
static inline void copy_rest(const struct layout *l, char *places, char *packed, int out, size_t bytes)
{
    int i;

    for (i = 1; i < l->blocks; i++, packed += bytes) {
        char *p = places + (size_t)l->displacements[i] * l->width;

        memcpy(out ? p : packed, out ? packed : p, bytes);
    }
}

static inline void copy_by_hand(const struct layout *l, char *places, char *packed, int out)
{
    size_t first = (size_t)l->lengths[0] * l->width;
    char *p = places + (size_t)l->displacements[0] * l->width;

    memcpy(out ? p : packed, out ? packed : p, first);
    /* Constants, so that the compiler writes the copies out. */
    if (l->width == sizeof(int))
        copy_rest(l, places, packed + first, out, sizeof(int));
    else
        copy_rest(l, places, packed + first, out, 3 * sizeof(double));
}

static void pack_by_hand(const struct layout *l, char *places, char *packed)
{
    copy_by_hand(l, places, packed, 0);
}

static void unpack_by_hand(const struct layout *l, char *packed, char *places)
{
    copy_by_hand(l, places, packed, 1);
}

struct buffers {
    char *from, *to, *packed;
    int capacity;
};

static void round_trips(const struct layout *l, const struct buffers *b, int way, int rounds)
{
    const struct bench_calls *c = way == SEEN ? &bench_seen : &native;
    int typed = way == NATIVE || way == SEEN, turn, i;

    for (i = 0; i < rounds; i++) {
        for (turn = 0; turn < 2; turn++) {
            if (turn == rank) {
                if (way == HAND)
                    pack_by_hand(l, b->from, b->packed);
                if (typed)
                    c->send(b->from, 1, l->type, 1 - rank, 0, MPI_COMM_WORLD);
                else
                    c->send(b->packed, l->bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
            } else {
                if (typed)
                    c->recv(b->to, 1, l->type, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                else
                    c->recv(b->packed, l->bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (way == HAND)
                    unpack_by_hand(l, b->packed, b->to);
            }
        }
    }
}

static void packs(const struct layout *l, const struct buffers *b, int way, int rounds)
{
    const struct bench_calls *c = way == SEEN ? &bench_seen : &native;
    int i;

    for (i = 0; i < rounds; i++) {
        int at = 0;

        if (way == HAND)
            pack_by_hand(l, b->from, b->packed);
        else if (way == CONTIGUOUS)
            memcpy(b->packed, b->from, (size_t)l->bytes);
        else
            c->pack(b->from, 1, l->type, b->packed, b->capacity, &at, MPI_COMM_WORLD);
    }
}

static void unpacks(const struct layout *l, const struct buffers *b, int way, int rounds)
{
    const struct bench_calls *c = way == SEEN ? &bench_seen : &native;
    int i;

    for (i = 0; i < rounds; i++) {
        int at = 0;

        if (way == HAND)
            unpack_by_hand(l, b->packed, b->to);
        else if (way == CONTIGUOUS)
            memcpy(b->to, b->packed, (size_t)l->bytes);
        else
            c->unpack(b->packed, b->capacity, &at, b->to, 1, l->type, MPI_COMM_WORLD);
    }
}

typedef void (*operation)(const struct layout *, const struct buffers *, int way, int rounds);

/* Runs calls that Espalier sees until the warm-up time has passed on rank 0; returns seconds per round. */
static double warm_up(const struct layout *l, const struct buffers *b, operation run, int together)
{
    double begin = bench_now(), last;
    int more = 1;

    do {
        double t = bench_now();

        run(l, b, SEEN, 50);
        last = (bench_now() - t) / 50;
        more = bench_now() - begin < options.warm / 1000.0;
        if (together)
            native.bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    } while (more);
    return last;
}

static void report(const struct layout *l, const char *what, double *times[WAYS], double divisor)
{
    size_t n = (size_t)options.blocks, i;
    double *ratios = malloc(n * sizeof *ratios), med[WAYS];
    int way;

    if (ratios == NULL)
        bench_die("out of memory");
    for (i = 0; i < n; i++)
        ratios[i] = times[NATIVE][i] / times[SEEN][i];
    for (way = 0; way < WAYS; way++)
        med[way] = 1e6 * bench_quantile(times[way], n, 0.5) / divisor;
    printf("%-15s %-9s %8d %10.3f %10.3f %8.2f %6.2f-%-6.2f %10.3f %10.3f\n", l->name, what, l->bytes, med[NATIVE],
           med[SEEN], med[NATIVE] / med[SEEN], bench_quantile(ratios, n, 0.25), bench_quantile(ratios, n, 0.75),
           med[HAND], med[CONTIGUOUS]);
    fflush(stdout);
    free(ratios);
}

/* together: both ranks take part; otherwise only rank 0 does. */
static void measure(const struct layout *l, const struct buffers *b, const char *what, operation run, int together)
{
    double *times[WAYS], per_round;
    int way, block, rounds;

    per_round = warm_up(l, b, run, together);
    rounds = (int)(options.millis / 1000.0 / (WAYS * options.blocks) / per_round);
    if (rounds < 1)
        rounds = 1;
    if (together)
        native.bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (way = 0; way < WAYS; way++) {
        times[way] = malloc((size_t)options.blocks * sizeof(double));
        if (times[way] == NULL)
            bench_die("out of memory");
        run(l, b, way, rounds);
    }
    for (block = 0; block < options.blocks; block++) {
        for (way = 0; way < WAYS; way++) {
            int w = block % 2 ? WAYS - 1 - way : way;
            double t;

            run(l, b, w, 1); /* fills the caches for this way again */
            t = bench_now();
            run(l, b, w, rounds);
            times[w][block] = (bench_now() - t) / rounds;
        }
    }
    if (rank == 0)
        report(l, what, times, together ? 2 : 1);
    for (way = 0; way < WAYS; way++)
        free(times[way]);
}

/* One message each way with the given calls, every byte of the receiver's buffer looked at. */
static void verify(const struct layout *l, const struct buffers *b, int way)
{
    char *expected = malloc(l->span);
    size_t i;

    if (expected == NULL)
        bench_die("out of memory");
    memset(b->to, 0x5a, l->span);
    memset(expected, 0x5a, l->span);
    pack_by_hand(l, b->from, b->packed);
    unpack_by_hand(l, b->packed, expected);
    round_trips(l, b, way, 1);
    for (i = 0; i < l->span; i++)
        if (expected[i] != b->to[i])
            bench_die("pingpong: %s: byte %zu of the data received %s is wrong", l->name, i,
                      way == SEEN ? "through the program's calls" : "natively");
    free(expected);
}

static void run_case(const char *name)
{
    struct layout l = { .name = name };
    struct buffers b;
    size_t i;
    int size;

    if (!strcmp(name, "indexed_block"))
        rowcol(&l, 0);
    else if (!strcmp(name, "indexed"))
        rowcol(&l, 1);
    else if (!strcmp(name, "struct"))
        rowcol(&l, 2);
    else if (!strncmp(name, "irregular", 9) && atoi(name + 9) > 0)
        irregular(&l, atoi(name + 9));
    else
        bench_die("pingpong: unknown case '%s' (known: indexed_block, indexed, struct, irregularN)", name);
    MPI_Type_commit(&l.type);
    MPI_Type_size(l.type, &l.bytes);
    MPI_Pack_size(1, l.type, MPI_COMM_WORLD, &b.capacity);
    size = b.capacity > l.bytes ? b.capacity : l.bytes;
    b.from = malloc(l.span);
    b.to = malloc(l.span);
    b.packed = malloc((size_t)size);
    if (b.from == NULL || b.to == NULL || b.packed == NULL)
        bench_die("out of memory");
    memset(b.packed, 0, (size_t)size);
    for (i = 0; i < l.span; i++)
        b.from[i] = (char)(i * 2654435761u >> 11);
    verify(&l, &b, NATIVE);
    verify(&l, &b, SEEN);
    measure(&l, &b, "pingpong", round_trips, 1);
    if (rank == 0) {
        measure(&l, &b, "pack", packs, 0);
        measure(&l, &b, "unpack", unpacks, 0);
    }
    native.barrier(MPI_COMM_WORLD);
    verify(&l, &b, SEEN); /* by now with whatever plan was made */
    MPI_Type_free(&l.type);
    free(b.from);
    free(b.to);
    free(b.packed);
    free(l.lengths);
    free(l.displacements);
}

static void read_options(int argc, char **argv)
{
    int i;

    for (i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (value == NULL)
            bench_die("pingpong: %s needs a value", argv[i]);
        else if (!strcmp(argv[i], "--case"))
            options.cases = value;
        else if (!strcmp(argv[i], "--n"))
            options.n = atoi(value);
        else if (!strcmp(argv[i], "--blocks"))
            options.blocks = atoi(value);
        else if (!strcmp(argv[i], "--millis"))
            options.millis = atoi(value);
        else if (!strcmp(argv[i], "--warm"))
            options.warm = atoi(value);
        else if (!strcmp(argv[i], "--seed"))
            options.seed = strtoul(value, NULL, 10);
        else
            bench_die("pingpong: unknown option %s", argv[i]);
    }
    if (options.n < 2 || options.n > 20000 || options.blocks < 3 || options.millis < 1 || options.warm < 0)
        bench_die("pingpong: an option is out of range");
}

int main(int argc, char **argv)
{
    char *cases, *name, *rest = NULL;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    read_options(argc, argv);
    if (size != 2)
        bench_die("pingpong: needs 2 ranks, has %d", size);
    if (bench_native(&native) != 0)
        bench_die("pingpong: no way to the functions of %s", ESPALIER_MPI_SONAME);
    if (rank == 0) {
        printf("#@intercepted=%s\n", bench_intercepted() ? "yes" : "no");
        printf("#@n=%d\n#@seed=%lu\n#@blocks=%d\n", options.n, options.seed, options.blocks);
        printf("%-15s %-9s %8s %10s %10s %8s %-13s %10s %10s\n", "#case", "operation", "bytes", "native_us",
               "seen_us", "speedup", "   quartiles", "by_hand_us", "contig_us");
    }
    cases = malloc(strlen(options.cases) + 1);
    if (cases == NULL)
        bench_die("out of memory");
    strcpy(cases, options.cases);
    for (name = strtok_r(cases, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
        run_case(name);
    free(cases);
    MPI_Finalize();
    return 0;
}
