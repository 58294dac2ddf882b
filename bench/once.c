/*
 * Lists that are made anew for each call, each time others (of particles near a border, say): making, committing, one
 * call, freeing, natively and as a preload library sees it, in turns. Two ranks.
 *
 *   once [--millis MS]     for each line (300)
 *
 * Calls: MPI_Alltoallw with a block for the other rank, or for the rank itself, and MPI_Sendrecv with the other one.
 * Lists of `blocks` blocks of bytes or of doubles. Prints medians and means of the slower rank's time for all of it,
 * in microseconds, and the ratios of what is seen to native.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NATIVE, SEEN, WAYS, LEAST = 50, MOST = 20000, BLOCKS_MOST = 8192 };
enum call { OTHER, OWN, MESSAGE, CALLS };
static const char *const call_name[CALLS] = { "alltoallw", "alltoallw-own", "sendrecv" };

static const struct size {
    int bytes, blocks;
} sizes[] = { { 2048, 32 }, { 8192, 128 }, { 32768, 64 }, { 65536, 512 }, { 131072, 8192 }, { 262144, 64 },
              { 262144, 1024 }, { 1048576, 64 } };

static char *from, *to;
static int rank;

/* Blocks of `each`, with gaps of up to twice as many between them. */
static MPI_Datatype make(const struct bench_calls *mpi, const struct size *size, int each, MPI_Datatype base)
{
    static unsigned random = 12345;
    static int places[BLOCKS_MOST];
    MPI_Datatype type;
    int i;

    for (i = 0; i < size->blocks; i++) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        places[i] = i * 3 * each + (int)((random >> 3) % (unsigned)each);
    }
    mpi->indexed_block(size->blocks, each, places, base, &type);
    mpi->commit(&type);
    return type;
}

static double once(const struct bench_calls *mpi, enum call call, const struct size *size, int each,
                   MPI_Datatype base)
{
    const int peer = call == OWN ? rank : 1 - rank;
    static const int places[2];
    int counts[2] = { 0, 0 };
    MPI_Datatype types[2][2] = { { MPI_BYTE, MPI_BYTE }, { MPI_BYTE, MPI_BYTE } };
    double begun;
    int side;

    mpi->barrier(MPI_COMM_WORLD);
    begun = bench_now();
    counts[peer] = 1;
    for (side = 0; side < 2; side++)
        types[side][peer] = make(mpi, size, each, base);
    if (call == MESSAGE)
        mpi->sendrecv(from, 1, types[0][peer], peer, 0, to, 1, types[1][peer], peer, 0, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE);
    else
        mpi->alltoallw(from, counts, places, types[0], to, counts, places, types[1], MPI_COMM_WORLD);
    for (side = 0; side < 2; side++)
        mpi->type_free(&types[side][peer]);
    return bench_now() - begun;
}

static void measure(const struct bench_calls calls[WAYS], enum call call, const struct size *size, MPI_Datatype base,
                    double millis)
{
    static double took[WAYS][MOST];
    const int each = size->bytes / size->blocks / (base == MPI_DOUBLE ? (int)sizeof(double) : 1);
    double median[WAYS], mean[WAYS] = { 0, 0 }, all = 0;
    int rounds, go_on = 1, way, i;

    if (each < 1)
        return;
    for (rounds = 0; rounds < MOST && go_on; rounds++) {
        for (way = 0; way < WAYS; way++) {
            const int now = (rounds + way) % WAYS;
            all += took[now][rounds] = once(&calls[now], call, size, each, base);
        }
        go_on = rounds < LEAST || all < millis / 1000;
        calls[NATIVE].bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    for (way = 0; way < WAYS; way++) {
        double *slower = malloc((size_t)rounds * sizeof *slower);

        if (slower == NULL)
            bench_die("no memory");
        calls[NATIVE].reduce(took[way], slower, rounds, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        for (i = 0; rank == 0 && i < rounds; i++)
            mean[way] += slower[i] / rounds;
        median[way] = rank == 0 ? bench_quantile(slower, (size_t)rounds, 0.5) : 0;
        free(slower);
    }
    if (rank == 0)
        printf("%s\t%d\t%d\t%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.3f\t%.3f\n", call_name[call], size->bytes, size->blocks,
               base == MPI_DOUBLE ? "double" : "byte", rounds, 1e6 * median[NATIVE], 1e6 * median[SEEN],
               1e6 * mean[NATIVE], 1e6 * mean[SEEN], median[SEEN] / median[NATIVE], mean[SEEN] / mean[NATIVE]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const size_t room = 4 * (size_t)sizes[sizeof sizes / sizeof *sizes - 1].bytes;
    struct bench_calls calls[WAYS];
    double millis = 300;
    int ranks, call, base;
    size_t i;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 3 && strcmp(argv[1], "--millis") == 0)
        millis = atof(argv[2]);
    else if (argc != 1)
        bench_die("usage: once [--millis MS]");
    if (ranks != 2)
        bench_die("two ranks, please");
    calls[SEEN] = bench_seen;
    if (bench_native(&calls[NATIVE]) != 0)
        bench_die("the MPI library can not be looked into");
    from = calloc(1, room);
    to = calloc(1, room);
    if (from == NULL || to == NULL)
        bench_die("no memory");
    if (rank == 0)
        printf("#@intercepted=%s\n#call\tbytes\tblocks\tof\trounds\tnative_us\tseen_us\tnative_mean_us\t"
               "seen_mean_us\tseen/native\tby_means\n", bench_intercepted() ? "yes" : "no");
    for (call = 0; call < CALLS; call++)
        for (base = 0; base < 2; base++)
            for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
                measure(calls, (enum call)call, &sizes[i], base ? MPI_DOUBLE : MPI_BYTE, millis);
    free(from);
    free(to);
    MPI_Finalize();
    return 0;
}
