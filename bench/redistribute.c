/*
 * Redistributions of an n x n x n array of double between pencils (rows pencil_01 and pencil_12 of bench/layouts),
 * by MPI_Alltoallw over subarrays, or MPI_Alltoall of dense blocks, natively and as a preload library sees it,
 * against what is possible within a node without the kernel: loops written by hand that pack into memory which all
 * ranks share, a chunk at a time, while the other side unpacks what is there. Each byte is copied twice, through
 * chunks that stay in the caches, and nothing else is done. The ways take turns.
 *
 *   redistribute AXIS N [--millis MS]     AXIS: 01 or 12; the number of ranks divides N
 *   redistribute dense KB [--millis MS]   blocks of so many kB
 *
 * Ranks are of one node.
 *
 * Prints medians of the slowest rank's time for a call, in microseconds, and ratios to native.
 */
#include "bench/bench.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NATIVE, SEEN, SHARED, WAYS, SAMPLES = 1000, ROUNDS_LEAST = 9, RANKS_MOST = 16 };
enum { CHUNK = 32768, SLOTS = 4, LINE = 64 };

/* From one rank to another: chunks that were written, and read, so far. */
struct channel {
    _Alignas(LINE) atomic_long written;
    _Alignas(LINE) atomic_long read;
    _Alignas(LINE) char slot[SLOTS][CHUNK];
};

static int n, ranks, rank, last_axis;
static bool dense;
static size_t part; /* n / ranks */
static size_t each; /* doubles from rank to rank */
static double *from, *to;
static MPI_Datatype types[2][RANKS_MOST];
static struct channel *channels;

/* ---- by MPI ---- */

static void make_types(void)
{
    const int own = n / ranks;

    for (int k = 0; k < ranks; k++) {
        const int sizes[2][2][3] = {{{own, n, n}, {n, own, n}}, {{n, own, n}, {n, n, own}}};
        const int block[2][3] = {{own, own, n}, {n, own, own}};
        const int start[2][2][3] = {{{0, k * own, 0}, {k * own, 0, 0}}, {{0, 0, k * own}, {0, k * own, 0}}};
        for (int side = 0; side < 2; side++) {
            MPI_Type_create_subarray(3, sizes[last_axis][side], block[last_axis], start[last_axis][side], MPI_ORDER_C,
                                     MPI_DOUBLE, &types[side][k]);
            MPI_Type_commit(&types[side][k]);
        }
    }
}

static void by_mpi(const struct bench_calls *mpi)
{
    static const int none[RANKS_MOST];
    static int one[RANKS_MOST];

    if (dense) {
        mpi->alltoall(from, (int)each, MPI_DOUBLE, to, (int)each, MPI_DOUBLE, MPI_COMM_WORLD);
        return;
    }
    for (int k = 0; k < ranks; k++)
        one[k] = 1;
    mpi->alltoallw(from, one, none, types[0], to, one, none, types[1], MPI_COMM_WORLD);
}

/* ---- through shared memory ---- */

/* Rows of the block for, or from, a rank: of so many doubles each, and where the one with this number begins. */
static size_t row_length(int side)
{
    if (dense)
        return each;
    return last_axis == 0 ? part * (size_t)n * (side == 0 ? 1 : part) : side == 0 ? part : part * part;
}

static double *row(int side, int peer, size_t number)
{
    const size_t width = (size_t)n, at = (size_t)peer;

    if (dense)
        return (side == 0 ? from : to) + at * each;
    if (last_axis == 0)
        return side == 0 ? from + number * width * width + at * part * width : to + at * part * part * width;
    return side == 0 ? from + number * width + at * part : to + number * width * part + at * part * part;
}

/* Doubles `first` to `first + count - 1` of a block, to or from `chunk`. */
static void move(int side, int peer, size_t first, size_t count, double *chunk)
{
    const size_t length = row_length(side);

    while (count > 0) {
        const size_t in_row = first % length, here = length - in_row < count ? length - in_row : count;
        double *data = row(side, peer, first / length) + in_row;
        if (side == 0)
            memcpy(chunk, data, here * sizeof *data);
        else
            memcpy(data, chunk, here * sizeof *data);
        chunk += here;
        first += here;
        count -= here;
    }
}

static size_t chunk_doubles(size_t first, size_t all)
{
    return all - first < CHUNK / sizeof(double) ? all - first : CHUNK / sizeof(double);
}

static bool write_one(int peer, long *done, long before, size_t all)
{
    struct channel *c = &channels[rank * ranks + peer];
    const size_t first = (size_t)*done * (CHUNK / sizeof(double));
    const long number = before + *done;

    if (first >= all || number - atomic_load_explicit(&c->read, memory_order_acquire) >= SLOTS)
        return false;
    move(0, peer, first, chunk_doubles(first, all), (double *)c->slot[number % SLOTS]);
    atomic_store_explicit(&c->written, number + 1, memory_order_release);
    ++*done;
    return true;
}

static bool read_one(int peer, long *done, long before, size_t all)
{
    struct channel *c = &channels[peer * ranks + rank];
    const size_t first = (size_t)*done * (CHUNK / sizeof(double));
    const long number = before + *done;

    if (first >= all || atomic_load_explicit(&c->written, memory_order_acquire) <= number)
        return false;
    move(1, peer, first, chunk_doubles(first, all), (double *)c->slot[number % SLOTS]);
    atomic_store_explicit(&c->read, number + 1, memory_order_release);
    ++*done;
    return true;
}

static void by_shared_memory(void)
{
    static double own[CHUNK / sizeof(double)];
    static long before;
    const size_t all = each;
    const long chunks = (long)((all * sizeof(double) + CHUNK - 1) / CHUNK);
    long written[RANKS_MOST] = {0}, read[RANKS_MOST] = {0}, left = 2 * (ranks - 1) * chunks;

    for (size_t first = 0, count; first < all; first += count) {
        count = chunk_doubles(first, all);
        move(0, rank, first, count, own);
        move(1, rank, first, count, own);
    }
    while (left > 0) {
        int moved = 0;
        for (int k = 1; k < ranks; k++) {
            moved += write_one((rank + k) % ranks, &written[(rank + k) % ranks], before, all);
            moved += read_one((rank + ranks - k) % ranks, &read[(rank + ranks - k) % ranks], before, all);
        }
        left -= moved;
        if (moved == 0)
            sched_yield();
    }
    before += chunks;
}

/* ---- turns ---- */

static void use(int way, const struct bench_calls *native)
{
    if (way == SHARED)
        by_shared_memory();
    else
        by_mpi(way == NATIVE ? native : &bench_seen);
}

static void check(const struct bench_calls *native)
{
    const size_t all = each * (size_t)ranks;
    double *wanted = malloc(all * sizeof *wanted);

    if (wanted == NULL)
        bench_die("redistribute: no memory");
    for (size_t i = 0; i < all; i++)
        from[i] = (double)rank * 1e9 + (double)i;
    use(NATIVE, native);
    memcpy(wanted, to, all * sizeof *to);
    for (int way = SEEN; way < WAYS; way++) {
        memset(to, 0, all * sizeof *to);
        use(way, native);
        if (memcmp(wanted, to, all * sizeof *to) != 0)
            bench_die("redistribute: way %d moves other bytes", way);
    }
    free(wanted);
}

static double once(int way, const struct bench_calls *native)
{
    double took;

    native->barrier(MPI_COMM_WORLD);
    took = bench_now();
    use(way, native);
    took = bench_now() - took;
    PMPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return took;
}

/* The same on all ranks. */
static bool goes_on(double end)
{
    int more = bench_now() < end;

    PMPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return more;
}

static void bench(double millis, const struct bench_calls *native)
{
    static double sample[WAYS][SAMPLES];
    const double end = bench_now() + millis / 1000;
    double us[WAYS];
    size_t rounds = 0;

    while (rounds < SAMPLES && (goes_on(end) || rounds < ROUNDS_LEAST)) {
        for (int way = 0; way < WAYS; way++) {
            once(way, native); /* the one before has left its own data in the caches */
            sample[way][rounds] = once(way, native);
        }
        rounds++;
    }
    for (int way = 0; way < WAYS; way++)
        us[way] = 1e6 * bench_quantile(sample[way], rounds, 0.5);
    if (rank == 0)
        printf("axes\tn\tranks\tnative_us\tseen_us\tshared_us\tseen/native\tshared/native\n"
               "%s\t%d\t%d\t%.1f\t%.1f\t%.1f\t%.3f\t%.3f\n",
               dense ? "dense" : last_axis == 0 ? "01" : "12", n, ranks, us[NATIVE], us[SEEN], us[SHARED],
               us[SEEN] / us[NATIVE], us[SHARED] / us[NATIVE]);
}

int main(int argc, char **argv)
{
    struct bench_calls native;
    double millis = 1000;
    MPI_Win window;
    MPI_Aint bytes;
    int unit;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    dense = argc > 1 && strcmp(argv[1], "dense") == 0;
    if (argc < 3 || ranks < 2 || ranks > RANKS_MOST || (n = atoi(argv[2])) <= 0 || (!dense && n % ranks != 0))
        bench_die("usage: redistribute 01|12|dense N [--millis MS], 2 to %d ranks, which divide N", RANKS_MOST);
    last_axis = strcmp(argv[1], "12") == 0;
    if (argc > 4 && strcmp(argv[3], "--millis") == 0)
        millis = atof(argv[4]);
    if (bench_native(&native) != 0)
        bench_die("redistribute: MPI can not be looked into");
    part = (size_t)(n / ranks);
    each = dense ? (size_t)n * 1024 / sizeof *from : part * part * (size_t)n;
    from = malloc(each * (size_t)ranks * sizeof *from);
    to = calloc(each * (size_t)ranks, sizeof *to);
    if (from == NULL || to == NULL)
        bench_die("redistribute: no memory");
    if (!dense)
        make_types();
    PMPI_Win_allocate_shared(rank == 0 ? (MPI_Aint)((size_t)(ranks * ranks) * sizeof *channels + LINE) : 0, 1,
                             MPI_INFO_NULL, MPI_COMM_WORLD, &channels, &window);
    PMPI_Win_shared_query(window, 0, &bytes, &unit, &channels);
    channels = (struct channel *)(((size_t)channels + LINE - 1) / LINE * LINE);
    if (rank == 0)
        memset(channels, 0, (size_t)(ranks * ranks) * sizeof *channels);
    PMPI_Barrier(MPI_COMM_WORLD);
    check(&native);
    bench(millis, &native);
    for (int k = 0; k < ranks && !dense; k++)
        for (int side = 0; side < 2; side++)
            MPI_Type_free(&types[side][k]);
    free(from);
    free(to);
    PMPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
