/*
 * Exact sparse reconstruction: cost and time as n grows, per kind of layout, against the dense exact method where
 * that is affordable. No MPI, one core. Usage: sparse [LARGEST_N [KIND]]; default 1000000 and all kinds.
 * sparse worst [FILE]: the slowest maps of 2000 entries found by searches, largest last (worst.c).
 * The sets are basic, MPI and extended (with strided buckets). Columns: kind, set, n, cost (words), ms (best of up to
 * five), ns per entry, dense ms (n <= 2000) and its ratio.
 * Times are processor time of this one thread, so other load on the machine blurs them less.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/worst.h"
#include "reconstruct/parts.h"
#include "reconstruct/reconstruct.h"

static uint64_t state;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int64_t uniform(int64_t lo, int64_t hi)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return lo + (int64_t)(state % (uint64_t)(hi - lo + 1));
}

static void add(struct espi_typemap *map, int64_t disp)
{
    static espi_base base = ESPI_BASE_NONE;
    if (base == ESPI_BASE_NONE)
        base = espi_base_find("MPI_DOUBLE", 10);
    if (espi_typemap_append(map, base, disp))
        exit(1);
}

static void irregular(struct espi_typemap *map, size_t n)
{
    for (int64_t at = 0; map->n < n; at += 8 * uniform(1, 1000000))
        add(map, at);
}

static void irregular_near(struct espi_typemap *map, size_t n) /* few different distances: chance repeats */
{
    for (int64_t at = 0; map->n < n; at += 8 * uniform(1, 10))
        add(map, at);
}

static void unordered(struct espi_typemap *map, size_t n)
{
    while (map->n < n)
        add(map, 8 * uniform(0, 4 * (int64_t)n));
}

static void blocks(struct espi_typemap *map, size_t n) /* 3 doubles each */
{
    for (int64_t at = 0; map->n + 3 <= n; at += 8 * uniform(4, 1000000))
        for (int k = 0; k < 3; k++)
            add(map, at + 8 * k);
}

static void blocks_near(struct espi_typemap *map, size_t n)
{
    for (int64_t at = 0; map->n + 3 <= n; at += 8 * uniform(4, 10))
        for (int k = 0; k < 3; k++)
            add(map, at + 8 * k);
}

static void records(struct espi_typemap *map, size_t n) /* 4 entries of uneven distances, irregular starts */
{
    for (int64_t at = 0; map->n + 4 <= n; at += 8 * uniform(30, 1000000)) {
        add(map, at);
        add(map, at + 8);
        add(map, at + 40);
        add(map, at + 128);
    }
}

static void runs(struct espi_typemap *map, size_t n) /* one stride, random lengths and gaps */
{
    for (int64_t at = 0; map->n < n; at += 8 * uniform(2, 1000))
        for (int64_t k = uniform(1, 200); k > 0 && map->n < n; k--, at += 8)
            add(map, at);
}

static void short_runs(struct espi_typemap *map, size_t n)
{
    for (int64_t at = 0; map->n < n; at += 8 * uniform(2, 9))
        for (int64_t k = uniform(1, 8); k > 0 && map->n < n; k--, at += 8)
            add(map, at);
}

static void one_run(struct espi_typemap *map, size_t n)
{
    for (size_t k = 0; k < n; k++)
        add(map, 24 * (int64_t)k);
}

static void row_column(struct espi_typemap *map, size_t n) /* of a square matrix */
{
    int64_t m = (int64_t)(n / 2);
    for (int64_t k = 0; k < m; k++)
        add(map, 8 * k);
    for (int64_t k = 1; k <= m; k++)
        add(map, 8 * k * m);
}

static void matrix(struct espi_typemap *map, size_t n) /* part of one, two dimensions */
{
    int64_t side = 1;
    while ((side + 1) * (side + 1) <= (int64_t)n)
        side++;
    for (int64_t i = 0; i < side; i++)
        for (int64_t j = 0; j < side; j++)
            add(map, 8 * (i * 3 * side + j));
}

static void box(struct espi_typemap *map, size_t n) /* three dimensions */
{
    int64_t side = 1;
    while ((side + 1) * (side + 1) * (side + 1) <= (int64_t)n)
        side++;
    for (int64_t i = 0; i < side; i++)
        for (int64_t j = 0; j < side; j++)
            for (int64_t k = 0; k < side; k++)
                add(map, 8 * ((i * 3 * side + j) * 2 * side + k));
}

static void periodic(struct espi_typemap *map, size_t n) /* an array of records */
{
    for (int64_t at = 0; map->n + 4 <= n; at += 200) {
        add(map, at);
        add(map, at + 8);
        add(map, at + 40);
        add(map, at + 128);
    }
}

/* An array of records of mixed types, one of whose fields is an array of smaller records: some 60 words each. */
static void mixed_records(struct espi_typemap *map, size_t n)
{
    const espi_base number = espi_base_find("MPI_INT", 7), real = espi_base_find("MPI_FLOAT", 9);
    static const int64_t odd[] = {0, 8, 24, 56, 64, 120};
    for (int64_t at = 0; map->n + 26 <= n; at += 512) {
        for (int k = 0; k < 6; k++)
            add(map, at + odd[k]);
        for (int k = 0; k < 5; k++) {
            if (espi_typemap_append(map, number, at + 160 + 24 * k) ||
                espi_typemap_append(map, real, at + 172 + 24 * k))
                exit(1);
            add(map, at + 176 + 24 * k);
        }
        for (int k = 0; k < 5; k++)
            if (espi_typemap_append(map, real, at + 400 + 4 * k * k))
                exit(1);
    }
}

static void halo(struct espi_typemap *map, size_t n) /* the six faces of a box, two deep */
{
    int64_t side = 4;
    while (12 * (side + 1) * (side + 1) <= (int64_t)n)
        side++;
    for (int face = 0; face < 6; face++)
        for (int64_t i = face == 1 ? side - 2 : 0; i < (face == 0 ? 2 : side); i++)
            for (int64_t j = face == 3 ? side - 2 : 0; j < (face == 2 ? 2 : side); j++)
                for (int64_t k = face == 5 ? side - 2 : 0; k < (face == 4 ? 2 : side); k++)
                    add(map, 8 * ((i * side + j) * side + k));
}

static void block_cyclic(struct espi_typemap *map, size_t n) /* of a matrix on 3 x 2 processes, blocks of 32 x 32 */
{
    int64_t side = 32;
    while ((side + 32) * (side + 32) / 6 <= (int64_t)n)
        side += 32;
    side += 19; /* the last blocks are not full */
    for (int64_t j = 0; j < side; j++)
        for (int64_t i = 0; i < side; i++)
            if (j / 32 % 2 == 1 && i / 32 % 3 == 1 && map->n < n)
                add(map, 8 * (j * side + i));
}

/* Rows of one pitch of 12, whose first 2 to 9 places are filled; every fifth row is full. For blocks of q doubles. */
static void ragged_of(struct espi_typemap *map, size_t n, int64_t q)
{
    for (int64_t row = 0; map->n + 12 * (size_t)q <= n; row += 12)
        for (int64_t k = 0, filled = row % 60 == 36 ? 12 : uniform(2, 9); k < filled; k++)
            for (int64_t j = 0; j < q; j++)
                add(map, 8 * ((row + k) * (q * q + 1) + j * j));
}

static void ragged(struct espi_typemap *map, size_t n)
{
    ragged_of(map, n, 1);
}

static void ragged_records(struct espi_typemap *map, size_t n)
{
    ragged_of(map, n, 4);
}

static void ragged_near(struct espi_typemap *map, size_t n) /* short rows: of 4 places, 1 to 4 filled */
{
    for (int64_t row = 0; map->n + 4 <= n; row += 4)
        for (int64_t k = 0, filled = uniform(1, 4); k < filled; k++)
            add(map, 8 * (row + k));
}

static void profiles(struct espi_typemap *map, size_t n) /* ragged matrices apart from each other: many buckets */
{
    for (int64_t at = 0; map->n + 400 <= n; at += 8 * uniform(1000, 1000000))
        for (int64_t row = 0; row < 20; row++)
            for (int64_t k = 0, filled = uniform(1, 19); k < filled; k++)
                add(map, at + 8 * (24 * row + k));
}

static void long_rows(struct espi_typemap *map, size_t n) /* rows of a pitch with many divisors, most of them full */
{
    for (int64_t row = 0; map->n + 5040 <= n || map->n == 0; row += 5040)
        for (int64_t k = 0, filled = 5040 / uniform(1, 8); k < filled && map->n < n; k++)
            add(map, 8 * (row + k));
}

static void triangle(struct espi_typemap *map, size_t n)
{
    int64_t side = 1;
    while ((side + 1) * (side + 2) / 2 <= (int64_t)n)
        side++;
    for (int64_t i = 0; i < side; i++)
        for (int64_t j = 0; j <= i; j++)
            add(map, 8 * (i * side + j));
}

static void two_distances(struct espi_typemap *map, size_t n) /* a random word of two letters */
{
    for (int64_t at = 0; map->n < n; at += 8 * uniform(1, 2))
        add(map, at);
}

static void fibonacci(struct espi_typemap *map, size_t n) /* a word as full of repeats as can be */
{
    int64_t at = 0, a = 0;
    for (int64_t i = 1; map->n < n; i++) {
        int64_t b = (int64_t)((double)i * 0.6180339887498949);
        add(map, at);
        at += b > a ? 8 : 16;
        a = b;
    }
}

/* The slowest kinds found for n = 2000 by a search over Sturmian words, morphisms, nested repeats and random ones. */
static void silver(struct espi_typemap *map, size_t n)
{
    int64_t at = 0;
    for (int64_t i = 1; map->n < n; i++) {
        add(map, at);
        at += 8 * (1 + (int64_t)((double)(i + 1) * 0.41421356237309515) - (int64_t)((double)i * 0.41421356237309515));
    }
}

static void sturmian_runs(struct espi_typemap *map, size_t n) /* four or five at one stride, then a longer one */
{
    int64_t at = 0;
    for (int64_t i = 1; map->n < n; i++)
        for (int64_t k = (int64_t)((double)(i + 1) * 0.762) - (int64_t)((double)i * 0.762) ? 5 : 4; k >= 0; k--) {
            if (map->n < n)
                add(map, at);
            at += k ? 8 : 16;
        }
}

static const struct kind {
    const char *name;
    void (*make)(struct espi_typemap *map, size_t n);
} kinds[] = {
    {"irregular", irregular}, {"irregular-near", irregular_near}, {"unordered", unordered},
    {"blocks-of-3", blocks},  {"blocks-near", blocks_near},       {"records", records},
    {"one-run", one_run},     {"runs", runs},                     {"short-runs", short_runs},
    {"row+column", row_column}, {"matrix", matrix},               {"box", box},
    {"periodic", periodic},   {"mixed-records", mixed_records},
    {"halo", halo},           {"block-cyclic", block_cyclic},     {"triangle", triangle},
    {"ragged", ragged},       {"ragged-records", ragged_records}, {"ragged-near", ragged_near},
    {"profiles", profiles},   {"long-rows", long_rows},           {"two-distances", two_distances},
    {"fibonacci", fibonacci}, {"silver", silver},                 {"sturmian-runs", sturmian_runs},
};

static const char *const sets[] = {"basic", "mpi", "ext"};

static void measure(const struct kind *kind, enum espi_set set, size_t n)
{
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    struct espi_reconstruct_options options;
    struct espi_reconstruction r = {NULL, 0, 0, false, 0};
    espi_reconstruct_defaults(&options);
    options.set = set;
    state = 88172645463325252u; /* the same layout for every set */
    kind->make(&map, n);
    uint64_t best = UINT64_MAX, spent = 0;
    espi_status status = ESPI_OK;
    for (int i = 0; i < 5 && spent < 1000000000u && !status; i++) {
        struct espi_arena arena = ESPI_ARENA_INIT;
        uint64_t began = now();
        status = espi_reconstruct_sparse(&arena, &map, &options, 0, &r);
        if (!status) {
            uint64_t time = now() - began;
            best = time < best ? time : best;
            spent += time;
        }
        espi_arena_release(&arena);
    }
    printf("%-15s %-5s %8zu ", kind->name, sets[set], map.n);
    if (status) {
        printf("refused: %s\n", espi_status_text(status));
    } else {
        printf("%9" PRId64 " %10.3f %8.1f", r.cost, (double)best / 1e6, (double)best / (double)map.n);
        if (n <= 2000) {
            struct espi_arena arena = ESPI_ARENA_INIT;
            int64_t cost = r.cost;
            uint64_t began = now();
            status = espi_reconstruct_dense(&arena, &map, &options, &r);
            uint64_t time = now() - began;
            if (!status)
                printf(" %9.1f %7.1fx%s", (double)time / 1e6, (double)time / (double)best,
                       r.cost == cost ? "" : "  DIFFERENT COST");
            espi_arena_release(&arena);
        }
        printf("\n");
    }
    fflush(stdout);
    espi_typemap_release(&map);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worst") == 0)
        return bench_worst(argc > 2 ? argv[2] : ESPI_BENCH_DATA "/worst.txt");
    size_t largest = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    printf("%-15s %-5s %8s %9s %10s %8s %9s\n", "#kind", "set", "n", "cost", "ms", "ns/entry", "dense ms");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (argc > 2 && strcmp(argv[2], kinds[k].name) != 0)
            continue;
        for (int set = ESPI_SET_BASIC; set <= ESPI_SET_EXTENDED; set++)
            for (size_t n = 2000; n <= largest; n *= n == 2000 ? 5 : 10)
                measure(&kinds[k], set, n);
    }
    return 0;
}
