/*
 * What Espalier adds to a call that it leaves alone: the same local calls and the same 8-byte ping-pong, made
 * natively (the MPI library's own functions, past any preload) and as a program makes them, in turns in one process.
 *
 *   callcost [--calls N] [--blocks N] [--trips N]
 *
 * MPI_Pack_size of MPI_INT passes through stub and core; MPI_Type_size is not wrapped at all. Prints nanoseconds per
 * call: native median, seen median, median of the paired differences, ratio. With two ranks or more also the
 * ping-pong of ranks 0 and 1, where a trip is a send and a receive on either side: added per call = difference / 2.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls = 200000, blocks = 101, trips = 2000, rank;

/* Blocks of calls natively and as the program's, in turns; `share` of a block's difference is that of one call. */
static void compare(const char *what, double (*block)(const struct bench_calls *), const struct bench_calls *native,
                    double share)
{
    size_t n = (size_t)blocks;
    double *a = calloc(3 * n, sizeof *a), *b = a + n, *added = b + n;

    if (!a)
        bench_die("no memory");
    for (size_t i = 0; i < n; i++) {
        if (i % 2)
            b[i] = block(&bench_seen);
        a[i] = block(native);
        if (i % 2 == 0)
            b[i] = block(&bench_seen);
        added[i] = b[i] - a[i];
    }
    double before = bench_quantile(a, n, 0.5), after = bench_quantile(b, n, 0.5);
    if (rank == 0)
        printf("%-24s native %8.2f ns  seen %8.2f ns  added %6.2f ns (quartiles %.2f .. %.2f) per call  ratio %.4f\n",
               what, before, after, bench_quantile(added, n, 0.5) * share, bench_quantile(added, n, 0.25) * share,
               bench_quantile(added, n, 0.75) * share, after / before);
    free(a);
}

/* Nanoseconds per call of one block. */
static double pack_size_block(const struct bench_calls *use)
{
    double begun = bench_now();
    int size, sum = 0;

    for (int i = 0; i < calls; i++) {
        use->pack_size(1, MPI_INT, MPI_COMM_SELF, &size);
        sum += size;
    }
    if (sum == 0)
        bench_die("MPI_Pack_size gave 0");
    return (bench_now() - begun) * 1e9 / calls;
}

static double type_size_block(const struct bench_calls *use)
{
    double begun = bench_now();
    int size, sum = 0;

    for (int i = 0; i < calls; i++) {
        use->type_size(MPI_INT, &size);
        sum += size;
    }
    if (sum == 0)
        bench_die("MPI_Type_size gave 0");
    return (bench_now() - begun) * 1e9 / calls;
}

/* Nanoseconds per half round trip of one block. */
static double trip_block(const struct bench_calls *use)
{
    double word = 0, begun;

    PMPI_Barrier(MPI_COMM_WORLD);
    begun = bench_now();
    for (int i = 0; i < trips && rank < 2; i++) {
        if (rank == 0)
            use->send(&word, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        use->recv(&word, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            use->send(&word, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
    return (bench_now() - begun) * 1e9 / trips / 2;
}

static int number(int argc, char **argv, int i)
{
    int value = i + 1 < argc ? atoi(argv[i + 1]) : 0;

    if (value < 1)
        bench_die("%s wants a number above 0", argv[i]);
    return value;
}

int main(int argc, char **argv)
{
    struct bench_calls native;
    int ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--calls") == 0)
            calls = number(argc, argv, i);
        else if (strcmp(argv[i], "--blocks") == 0)
            blocks = number(argc, argv, i);
        else if (strcmp(argv[i], "--trips") == 0)
            trips = number(argc, argv, i);
        else
            bench_die("unknown option %s (--calls, --blocks, --trips)", argv[i]);
    }
    if (bench_native(&native) != 0)
        bench_die("the MPI library can not be looked into");

    if (rank == 0) {
        printf("# espalier %s; blocks %d, calls per block %d\n", bench_intercepted() ? "preloaded" : "NOT preloaded",
               blocks, calls);
        compare("MPI_Pack_size(MPI_INT)", pack_size_block, &native, 1);
        compare("MPI_Type_size(MPI_INT)", type_size_block, &native, 1);
    }
    if (ranks >= 2)
        compare("8-byte ping-pong", trip_block, &native, 0.5);
    MPI_Finalize();
    return 0;
}
