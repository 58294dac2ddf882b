/*
 * What Espalier adds to a call that it leaves alone: the same local calls and the same 8-byte ping-pong, made
 * natively (the MPI library's own functions, past any preload) and as a program makes them, in turns in one process.
 *
 *   callcost [--calls N] [--blocks N] [--trips N] [--doubles N] [--in-place 1] [--base 1|2] [--delay N]
 *
 * MPI_Pack_size, MPI_Pack and MPI_Unpack of one MPI_INT pass through the stub; MPI_Type_size is not wrapped at all.
 * Prints nanoseconds per call: native median, seen median, median of the paired differences, ratio. With two ranks or
 * more also the ping-pong of ranks 0 and 1, where a trip is a send and a receive on either side: added per call =
 * difference / 2.
 *
 * With just two ranks also rooted calls of a type that is left alone, a column of N doubles (4 unless told, which no
 * pack program makes faster), on either rank by itself: the sender makes some calls, which wait for nobody, then the
 * receiver makes them. The other rank's are native ones. --in-place 1: the root's own block is in place. --base 1: of
 * MPI_DOUBLE instead of the column; 2: what is received is, so that the two sides differ, but in MPI_Reduce.
 * --delay N, without Espalier: the program makes each rooted call after N multiplications, each of which waits for
 * the one before: what so much more before a call costs by itself, in a root that shares memory with the other rank.
 */
#include "bench/bench.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, TYPED_BLOCKS = 2001, WARM = 400 };
static int calls = 200000, blocks = 101, trips = 2000, doubles = 4, in_place, of_base, delay, rank;

/* `n` blocks of calls natively and as the program's, in turns; `share` of a block's difference is that of one call.
   `teller` prints. */
static void compare_blocks(const char *what, double (*block)(const struct bench_calls *),
                           const struct bench_calls *native, size_t n, double share, int teller)
{
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
    if (rank == teller)
        printf("%-24s native %8.2f ns  seen %8.2f ns  added %6.2f ns (quartiles %.2f .. %.2f) per call  ratio %.4f\n",
               what, before, after, bench_quantile(added, n, 0.5) * share, bench_quantile(added, n, 0.25) * share,
               bench_quantile(added, n, 0.75) * share, after / before);
    free(a);
}

static void compare(const char *what, double (*block)(const struct bench_calls *), const struct bench_calls *native,
                    double share)
{
    compare_blocks(what, block, native, (size_t)blocks, share, 0);
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

static double pack_block(const struct bench_calls *use)
{
    double begun = bench_now();
    char onto[64];
    int from = 1;

    for (int i = 0; i < calls; i++) {
        int at = 0;
        use->pack(&from, 1, MPI_INT, onto, sizeof onto, &at, MPI_COMM_WORLD);
        from += at > 64;
    }
    return (bench_now() - begun) * 1e9 / calls;
}

static double unpack_block(const struct bench_calls *use)
{
    double begun = bench_now();
    char from[64] = {0};
    int onto = 0;

    for (int i = 0; i < calls; i++) {
        int at = 0;
        use->unpack(from, sizeof from, &at, &onto, 1, MPI_INT, MPI_COMM_WORLD);
    }
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

/* ---- rooted calls of a type ---- */

enum typed { GATHER, GATHERV, SCATTER, SCATTERV, REDUCE, TYPED };
static const char *const typed_name[TYPED] = {"MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv",
                                              "MPI_Reduce"};
static struct {
    struct bench_calls native;
    enum typed call;
    int timed; /* the rank whose calls are */
    MPI_Datatype type, onto_type; /* sent, one item; and received, */
    int onto_items;               /* so many */
    MPI_Op op;
    char *from, *onto;
} row;

/* An operation of the program, whose types are left alone. */
static void first_of_two(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

static void rooted_call(const struct bench_calls *use)
{
    static const int one[2] = {1, 1}, places[2] = {0, 1};
    const int items = row.onto_items, each[2] = {items, items}, at[2] = {0, items};
    const bool is_in_place = in_place && rank == 0;
    void *own = is_in_place ? MPI_IN_PLACE : row.from, *onto = is_in_place ? MPI_IN_PLACE : row.onto;
    switch (row.call) {
    case GATHER:
        use->gather(own, 1, row.type, row.onto, items, row.onto_type, 0, MPI_COMM_WORLD);
        break;
    case GATHERV:
        use->gatherv(own, 1, row.type, row.onto, each, at, row.onto_type, 0, MPI_COMM_WORLD);
        break;
    case SCATTER:
        use->scatter(row.from, 1, row.type, onto, items, row.onto_type, 0, MPI_COMM_WORLD);
        break;
    case SCATTERV:
        use->scatterv(row.from, one, places, row.type, onto, items, row.onto_type, 0, MPI_COMM_WORLD);
        break;
    default:
        use->reduce(row.from, row.onto, 1, row.type, row.op, 0, MPI_COMM_WORLD);
    }
}

static inline void multiply(int n)
{
    unsigned long x = 3;

    for (int i = 0; i < n; i++) {
        x *= x;
        __asm__ volatile("" : "+r"(x)); /* the compiler does not know it */
    }
}

static void tell_delay(void)
{
    const double begun = bench_now();

    for (int i = 0; i < calls; i++)
        multiply(delay);
    printf("%d multiplications %25.2f ns\n", delay, (bench_now() - begun) * 1e9 / calls);
}

/* The sender's calls, then the receiver's. */
static double rooted_block(const struct bench_calls *use)
{
    const int sender = row.call == SCATTER || row.call == SCATTERV ? 0 : 1;
    const struct bench_calls *mine = rank == row.timed ? use : &row.native;
    double begun, took = 0;

    for (int phase = 0; phase < 2; phase++) {
        PMPI_Barrier(MPI_COMM_WORLD);
        if ((rank == sender) != (phase == 0))
            continue;
        begun = bench_now();
        for (int i = 0; i < BATCH; i++) {
            if (mine != &row.native)
                multiply(delay);
            rooted_call(mine);
        }
        took = (bench_now() - begun) * 1e9 / BATCH;
    }
    return took;
}

static void compare_rooted(void)
{
    const size_t block = (size_t)doubles * 8 * sizeof(double);
    MPI_Datatype column;
    char what[40];

    MPI_Type_vector(doubles, 1, 8, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, (MPI_Aint)block, &row.type);
    MPI_Type_commit(&row.type);
    const MPI_Datatype made = row.type;
    if (of_base == 1)
        row.type = MPI_DOUBLE;
    row.onto_type = of_base ? MPI_DOUBLE : row.type;
    row.onto_items = of_base == 2 ? doubles : 1;
    MPI_Op_create(first_of_two, 1, &row.op);
    row.from = calloc(2, block);
    row.onto = calloc(2, block);
    if (!row.from || !row.onto)
        bench_die("no memory");
    for (int call = 0; call < TYPED; call++)
        for (row.timed = 0; row.timed < 2; row.timed++) {
            row.call = (enum typed)call;
            for (int i = 0; i < WARM; i++)
                rooted_block(&bench_seen);
            snprintf(what, sizeof what, "%s, %s", typed_name[call], row.timed == 0 ? "root" : "other");
            compare_blocks(what, rooted_block, &row.native, TYPED_BLOCKS, 1, row.timed);
            fflush(stdout);
            PMPI_Barrier(MPI_COMM_WORLD);
        }
    MPI_Op_free(&row.op);
    row.type = made;
    MPI_Type_free(&row.type);
    MPI_Type_free(&column);
    free(row.from);
    free(row.onto);
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
        else if (strcmp(argv[i], "--doubles") == 0)
            doubles = number(argc, argv, i);
        else if (strcmp(argv[i], "--in-place") == 0)
            in_place = number(argc, argv, i);
        else if (strcmp(argv[i], "--base") == 0 && number(argc, argv, i) <= 2)
            of_base = number(argc, argv, i);
        else if (strcmp(argv[i], "--delay") == 0)
            delay = number(argc, argv, i);
        else
            bench_die("unknown option %s (--calls, --blocks, --trips, --doubles, --in-place, --base, --delay)",
                      argv[i]);
    }
    if (bench_native(&native) != 0)
        bench_die("the MPI library can not be looked into");

    if (rank == 0) {
        printf("# espalier %s; blocks %d, calls per block %d\n", bench_intercepted() ? "preloaded" : "NOT preloaded",
               blocks, calls);
        compare("MPI_Pack_size(MPI_INT)", pack_size_block, &native, 1);
        compare("MPI_Type_size(MPI_INT)", type_size_block, &native, 1);
        compare("MPI_Pack(1 MPI_INT)", pack_block, &native, 1);
        compare("MPI_Unpack(1 MPI_INT)", unpack_block, &native, 1);
        if (delay > 0)
            tell_delay();
    }
    if (ranks >= 2)
        compare("8-byte ping-pong", trip_block, &native, 0.5);
    row.native = native;
    if (ranks == 2)
        compare_rooted();
    MPI_Finalize();
    return 0;
}
