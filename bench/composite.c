/*
 * Composite operations: what becomes of data between the sender's layout and the receiver's in a gather, a scatter, a
 * broadcast or an allgather of derived types with blocks of different sizes. One process compares in turns
 *   native    the library's own call, with the program's types
 *   espalier  the same call as a program makes it, under Espalier
 *   dense     by hand: a loop packs, the library's call moves doubles, a loop unpacks
 *
 *   composite [--rows TEXT] [--bytes N,N,...] [--item N] [--millis MS] [--settle MS]     under `espalier run`
 *
 * A row is CALL/LAYOUT; both sides have the layout, of items of --item doubles each (192, and no more):
 *   column  single doubles, each on a line of its own
 *   list    3 doubles at irregular places
 *   rows    64 doubles, then a gap of 64
 * --bytes are data of a rank in the mean; ranks in turn have 1/2, 1, 1 1/2 and 1 times as much. In bcast they are the
 * data of the message, in allgather those of each rank.
 *
 * All calls stand between two barriers of the program, so that ranks may agree on trees (doc/gather-calls.md);
 * ESPALIER_TREE names one for the column `espalier`. A time is that of a call and the barrier behind it, the longest
 * of all ranks; printed are medians in microseconds, native over espalier, espalier over dense, and the turns.
 */
#include "bench/bench.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NATIVE, ESPALIER, DENSE, WAYS, SAMPLES = 4000, TURNS_LEAST = 15, CALLS_LEAST = 64, MOST = 64 };
enum { ITEM_MOST = 192, GATHERV, SCATTERV, BCAST, ALLGATHER };
static int item = ITEM_MOST; /* doubles */
static const struct {
    const char *name;
    int call;
} calls_of[] = {{"gatherv", GATHERV}, {"scatterv", SCATTERV}, {"bcast", BCAST}, {"allgather", ALLGATHER}};
static const struct {
    const char *name;
    int block;
} layouts[] = {{"column", 1}, {"list", 3}, {"rows", 64}};

static struct bench_calls calls[2];
static int rank, ranks;

/* One layout, and what a row moves: `all` at the root, `own` everywhere, both in the layout; the same dense. */
struct row {
    int call, block, blocks, at[ITEM_MOST], extent; /* of an item, in doubles */
    MPI_Datatype type;
    int items[MOST], starts[MOST], doubles[MOST], dense_starts[MOST], total;
    double *all, *own, *all_dense, *own_dense;
    size_t all_bytes, own_bytes;
};

static void make_type(struct row *r, int block)
{
    MPI_Datatype list;
    int place = 0;
    r->block = block;
    r->blocks = item / block;
    for (int i = 0; i < r->blocks; i++) {
        r->at[i] = place;
        place += block == 1 ? 8 : block == 3 ? 4 + (int)(((unsigned)i * 2654435761u) >> 30) : 2 * block;
    }
    r->extent = place;
    MPI_Type_create_indexed_block(r->blocks, block, r->at, MPI_DOUBLE, &list);
    MPI_Type_create_resized(list, 0, (MPI_Aint)sizeof(double) * place, &r->type);
    MPI_Type_free(&list);
    MPI_Type_commit(&r->type);
}

/* The loops by hand, for each length of a block. */
#define LOOPS(LENGTH)                                                                                                \
    for (int n = 0; n < items; n++, user += r->extent)                                                               \
        for (int b = 0; b < r->blocks; b++, dense += LENGTH)                                                         \
            pack ? memcpy(dense, user + r->at[b], LENGTH * sizeof *dense)                                            \
                 : memcpy(user + r->at[b], dense, LENGTH * sizeof *dense)

static void move(const struct row *r, double *user, double *dense, int items, bool pack)
{
    if (r->block == 1)
        LOOPS(1);
    else if (r->block == 3)
        LOOPS(3);
    else
        LOOPS(64);
}

static void move_all(const struct row *r, bool pack)
{
    for (int i = 0; i < ranks; i++)
        move(r, r->all + (size_t)r->starts[i] * (size_t)r->extent, r->all_dense + r->dense_starts[i], r->items[i],
             pack);
}

static void dense(struct row *r)
{
    const struct bench_calls *c = &calls[NATIVE];
    const int n = r->doubles[rank];
    bool root = rank == 0;
    if (r->call == GATHERV) {
        move(r, r->own, r->own_dense, r->items[rank], true);
        c->gatherv(r->own_dense, n, MPI_DOUBLE, r->all_dense, r->doubles, r->dense_starts, MPI_DOUBLE, 0,
                   MPI_COMM_WORLD);
        if (root)
            move_all(r, false);
    } else if (r->call == SCATTERV) {
        if (root)
            move_all(r, true);
        c->scatterv(r->all_dense, r->doubles, r->dense_starts, MPI_DOUBLE, r->own_dense, n, MPI_DOUBLE, 0,
                    MPI_COMM_WORLD);
        move(r, r->own, r->own_dense, r->items[rank], false);
    } else if (r->call == ALLGATHER) {
        move(r, r->own, r->own_dense, r->items[rank], true);
        c->allgather(r->own_dense, n, MPI_DOUBLE, r->all_dense, n, MPI_DOUBLE, MPI_COMM_WORLD);
        move_all(r, false);
    } else {
        if (root)
            move(r, r->own, r->own_dense, r->items[0], true);
        c->bcast(r->own_dense, r->doubles[0], MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (!root)
            move(r, r->own, r->own_dense, r->items[0], false);
    }
}

static void run(struct row *r, int way)
{
    const struct bench_calls *c = &calls[way == NATIVE ? NATIVE : ESPALIER];
    if (way == DENSE)
        dense(r);
    else if (r->call == GATHERV)
        c->gatherv(r->own, r->items[rank], r->type, r->all, r->items, r->starts, r->type, 0, MPI_COMM_WORLD);
    else if (r->call == SCATTERV)
        c->scatterv(r->all, r->items, r->starts, r->type, r->own, r->items[rank], r->type, 0, MPI_COMM_WORLD);
    else if (r->call == ALLGATHER)
        c->allgather(r->own, r->items[rank], r->type, r->all, r->items[rank], r->type, MPI_COMM_WORLD);
    else
        c->bcast(r->own, r->items[0], r->type, 0, MPI_COMM_WORLD);
}

static double longest(double seconds)
{
    double each[MOST];
    calls[NATIVE].gather(&seconds, 1, MPI_DOUBLE, each, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 1; i < ranks && rank == 0; i++)
        each[0] = each[i] > each[0] ? each[i] : each[0];
    calls[NATIVE].bcast(each, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return each[0];
}

static double turn(struct row *r, int way)
{
    calls[way == ESPALIER].barrier(MPI_COMM_WORLD);
    calls[NATIVE].barrier(MPI_COMM_WORLD); /* what was agreed on in the first is not a part of the call */
    double begin = bench_now();
    run(r, way);
    calls[NATIVE].barrier(MPI_COMM_WORLD);
    return longest(bench_now() - begin);
}

/* What is sent is numbers, what is received is spoilt. */
static void fill(struct row *r)
{
    bool sends = r->call == GATHERV || r->call == ALLGATHER || rank == 0;
    for (size_t i = 0; i < r->own_bytes / sizeof(double); i++)
        r->own[i] = sends && r->call != SCATTERV ? (double)i + rank * 1e7 : -1;
    for (size_t i = 0; i < r->all_bytes / sizeof(double); i++)
        r->all[i] = r->call == SCATTERV ? (double)i : -1;
}

static unsigned sum_of(const struct row *r)
{
    unsigned sum = 1;
    for (size_t i = 0; i < r->own_bytes; i++)
        sum = sum * 31 + ((unsigned char *)r->own)[i];
    for (size_t i = 0; i < r->all_bytes; i++)
        sum = sum * 31 + ((unsigned char *)r->all)[i];
    return sum;
}

static void bench(struct row *r, const char *name, size_t bytes, double millis, double settle)
{
    static double sample[WAYS][SAMPLES];
    double median[WAYS], end;
    unsigned sum[WAYS];
    int n = 0;
    for (int way = 0; way < WAYS; way++) {
        fill(r);
        turn(r, way);
        sum[way] = sum_of(r);
        end = bench_now() + (way == ESPALIER ? settle / 1000 : 0);
        for (int k = 0; longest(k < (way == ESPALIER ? CALLS_LEAST : 3) || bench_now() < end) > 0; k++)
            turn(r, way);
    }
    end = bench_now() + millis / 1000;
    do {
        for (int w = 0; w < WAYS; w++)
            sample[(w + n) % WAYS][n] = turn(r, (w + n) % WAYS);
        n++;
    } while (longest(n < SAMPLES && (bench_now() < end || n < TURNS_LEAST)) > 0);
    fill(r);
    turn(r, ESPALIER);
    bool differ = longest(sum[ESPALIER] != sum[NATIVE] || sum[DENSE] != sum[NATIVE] || sum_of(r) != sum[NATIVE]) > 0;
    for (int way = 0; way < WAYS; way++)
        median[way] = 1e6 * bench_quantile(sample[way], (size_t)n, 0.5);
    if (rank == 0)
        printf("%s\t%zu\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%d\t%s\n", name, bytes, median[NATIVE], median[ESPALIER],
               median[DENSE], median[NATIVE] / median[ESPALIER], median[ESPALIER] / median[DENSE], n,
               differ ? "DIFFERENT" : "same");
    fflush(stdout);
}

static void bench_row(int call, int block, const char *name, size_t bytes, double millis, double settle)
{
    static const int halves[4] = {1, 2, 3, 2};
    struct row r = {.call = call};
    int mean = (int)(bytes / ((size_t)item * sizeof(double)));
    make_type(&r, block);
    for (int i = 0; i < ranks; i++) {
        int items = call == BCAST || call == ALLGATHER ? mean : mean * halves[i % 4] / 2;
        r.items[i] = items > 0 ? items : 1;
        r.doubles[i] = r.items[i] * item;
        r.starts[i] = r.total; /* and a gap of an item behind each block, where the call has places for it */
        r.total += r.items[i] + (call != ALLGATHER);
        r.dense_starts[i] = i > 0 ? r.dense_starts[i - 1] + r.doubles[i - 1] : 0;
    }
    r.own_bytes = (size_t)r.items[rank] * (size_t)r.extent * sizeof(double);
    const bool has_all = (rank == 0 && call != BCAST) || call == ALLGATHER;
    r.all_bytes = has_all ? (size_t)r.total * (size_t)r.extent * sizeof(double) : 0;
    r.own = malloc(r.own_bytes);
    r.own_dense = malloc((size_t)r.doubles[rank] * sizeof(double));
    r.all = malloc(r.all_bytes + 1);
    r.all_dense = malloc((size_t)r.total * (size_t)item * sizeof(double));
    if (!r.own || !r.own_dense || !r.all || !r.all_dense)
        bench_die("no memory");
    bench(&r, name, bytes, millis, settle);
    free(r.own);
    free(r.own_dense);
    free(r.all);
    free(r.all_dense);
    MPI_Type_free(&r.type);
}

int main(int argc, char **argv)
{
    double millis = 300, settle = 300;
    const char *only = "";
    size_t sizes[16] = {1536, 6144, 24576, 98304, 393216};
    int n_sizes = 5;

    MPI_Init(&argc, &argv);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--millis") == 0)
            millis = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--settle") == 0)
            settle = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--item") == 0)
            item = atoi(argv[i + 1]) / 3 * 3;
        else if (strcmp(argv[i], "--rows") == 0)
            only = argv[i + 1];
        else if (strcmp(argv[i], "--bytes") == 0) {
            n_sizes = 0;
            for (char *at = argv[i + 1]; n_sizes < 16 && *at; at += *at == ',')
                sizes[n_sizes++] = (size_t)strtoull(at, &at, 10);
        }
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    calls[ESPALIER] = bench_seen;
    if (bench_native(&calls[NATIVE]) != 0)
        bench_die("the MPI library can not be looked into");
    if (ranks > MOST || item < 3 || item > ITEM_MOST)
        bench_die("more than %d ranks, or items that are not of 3 to %d doubles", MOST, ITEM_MOST);
    if (rank == 0)
        printf("row\tbytes\tnative_us\tespalier_us\tdense_us\tnative/espalier\tespalier/dense\tturns\tbytes\n");
    for (size_t c = 0; c < sizeof calls_of / sizeof *calls_of; c++)
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
            for (int i = 0; i < n_sizes; i++) {
                char name[80];
                snprintf(name, sizeof name, "%s/%s", calls_of[c].name, layouts[l].name);
                if (strstr(name, only) != NULL && item >= layouts[l].block)
                    bench_row(calls_of[c].call, layouts[l].block, name, sizes[i], millis, settle);
            }
    MPI_Finalize();
    return 0;
}
