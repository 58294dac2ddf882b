/*
 * Why a packed message leaves as one item of a type that MPI takes for one with gaps (src/mpi/packed/stream_type.h):
 * the same dense bytes between ranks 0 and 1, there and back, by MPI's own functions, sent and received as
 * contiguous bytes (`bytes`), sent with such a type in its two forms, two blocks whose second is one byte, one place
 * further (`split`), and one block in a row with the next (`sent`), received with the latter (`recv`), or sent and
 * received so (`both`). All take turns in one process, each in blocks of rounds.
 *
 *   streams [--sizes BYTES,..] [--blocks N] [--millis MS] [--call sendrecv]
 *
 * Prints a line per size: medians in microseconds of one message, half of there and back, or with `--call sendrecv`
 * of one MPI_Sendrecv, both ways at once, where each rank fills cells and empties others; and their ratios to that of
 * contiguous bytes. With MPICH over UCX, on one node, it is enough that one side names such a type; on cores far from
 * each other cells may be the slower way, and over other devices all may be alike. The bytes received are compared
 * once in each way.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES, SPLIT, SENT, RECEIVED, BOTH, WAYS };
enum { ROOM = 64, WARM = 20, ROUNDS_MOST = 1000, SIZES_MOST = 64 };

static struct {
    const char *sizes;
    int blocks; /* timed blocks per way */
    int millis; /* aimed at for one size, all ways together */
    const char *call;
} options = {
    .sizes = "1024,4096,8192,8255,8256,12288,16384,32768,65536,131072,262144,524288,1048576,2097152,4194304",
    .blocks = 101,
    .millis = 1000,
    .call = "send",
};
static struct bench_calls native;
static int rank, exchanges;
static char *from, *onto;

/* A block of bytes with room behind it, and without: MPI has it for one with gaps. */
static MPI_Datatype with_gaps(int bytes)
{
    MPI_Datatype block, gap, type;

    MPI_Type_contiguous(bytes, MPI_PACKED, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)bytes + ROOM, &gap);
    MPI_Type_create_resized(gap, 0, bytes, &type);
    MPI_Type_free(&block);
    MPI_Type_free(&gap);
    native.commit(&type);
    return type;
}

/* All but the last byte, and that one place further. */
static MPI_Datatype with_last_apart(int bytes)
{
    const int lengths[] = {bytes - 1, 1};
    const MPI_Aint places[] = {0, bytes};
    MPI_Datatype type;

    MPI_Type_create_hindexed(2, lengths, places, MPI_PACKED, &type);
    native.commit(&type);
    return type;
}

struct item {
    int count;
    MPI_Datatype type;
};
static struct item sends[WAYS], receives[WAYS];

static void make_items(int bytes)
{
    const struct item dense = {bytes, MPI_PACKED}, in_row = {1, with_gaps(bytes)};

    for (int way = 0; way < WAYS; way++) {
        sends[way] = way == SENT || way == BOTH ? in_row : dense;
        receives[way] = way == RECEIVED || way == BOTH ? in_row : dense;
    }
    sends[SPLIT] = (struct item){1, with_last_apart(bytes)};
}

static void free_items(void)
{
    native.type_free(&sends[SPLIT].type);
    native.type_free(&sends[SENT].type);
}

static void round_trips(int way, int rounds)
{
    const struct item s = sends[way], r = receives[way];

    for (int i = 0; i < rounds && exchanges; i++)
        native.sendrecv(from, s.count, s.type, 1 - rank, 0, onto, r.count, r.type, 1 - rank, 0, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE);
    for (int i = 0; i < rounds && !exchanges; i++)
        for (int turn = 0; turn < 2; turn++)
            if (turn == rank)
                native.send(from, s.count, s.type, 1 - rank, 0, MPI_COMM_WORLD);
            else
                native.recv(onto, r.count, r.type, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static char byte_of(int sender, int way, int bytes, size_t i)
{
    return (char)(i * 31 + i / 256 + (size_t)(sender * 101 + way * 17 + bytes));
}

static void verify(int way, int bytes)
{
    for (size_t i = 0; i < (size_t)bytes; i++) {
        from[i] = byte_of(rank, way, bytes, i);
        onto[i] = (char)~byte_of(1 - rank, way, bytes, i);
    }
    from[bytes] = from[bytes - 1];
    round_trips(way, 1);
    for (size_t i = 0; i < (size_t)bytes; i++)
        if (onto[i] != byte_of(1 - rank, way, bytes, i))
            bench_die("streams: byte %zu of %d received is wrong in way %d", i, bytes, way);
}

/* As many rounds as all blocks of all ways have time for. */
static int rounds_of(void)
{
    const double begin = bench_now();
    int rounds;

    for (int way = 0; way < WAYS; way++)
        round_trips(way, WARM);
    rounds = (int)(options.millis * 1e-3 / options.blocks / ((bench_now() - begin) / WARM));
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds;
    native.bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return rounds;
}

static void measure(int bytes)
{
    const size_t n = (size_t)options.blocks;
    double *times = malloc(WAYS * n * sizeof *times), median[WAYS];

    if (times == NULL)
        bench_die("out of memory");
    make_items(bytes);
    for (int way = 0; way < WAYS; way++)
        verify(way, bytes);
    const int rounds = rounds_of();
    for (int block = 0; block < options.blocks; block++)
        for (int i = 0; i < WAYS; i++) {
            const int way = (block + i) % WAYS;
            round_trips(way, 1);
            const double begin = bench_now();
            round_trips(way, rounds);
            times[(size_t)way * n + (size_t)block] = (bench_now() - begin) / rounds / (exchanges ? 1 : 2);
        }
    for (int way = 0; way < WAYS; way++)
        median[way] = 1e6 * bench_quantile(times + (size_t)way * n, n, 0.5);
    if (rank == 0) {
        printf("%8d", bytes);
        for (int way = 0; way < WAYS; way++)
            printf(" %9.3f", median[way]);
        for (int way = BYTES + 1; way < WAYS; way++)
            printf(" %8.2f", median[way] / median[BYTES]);
        printf("\n");
        fflush(stdout);
    }
    free_items();
    free(times);
}

static int read_sizes(int *sizes)
{
    const char *at = options.sizes;
    int n = 0;

    for (char *end; *at != '\0'; at = *end == ',' ? end + 1 : end) {
        const long bytes = strtol(at, &end, 10);
        if (n == SIZES_MOST || end == at || (*end != ',' && *end != '\0') || bytes < 1 || bytes > 1 << 30)
            bench_die("streams: --sizes takes up to %d numbers of bytes, up to 1 GiB", SIZES_MOST);
        sizes[n++] = (int)bytes;
    }
    return n;
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value == NULL)
            bench_die("streams: %s needs a value", argv[i]);
        else if (!strcmp(argv[i], "--sizes"))
            options.sizes = value;
        else if (!strcmp(argv[i], "--blocks"))
            options.blocks = atoi(value);
        else if (!strcmp(argv[i], "--millis"))
            options.millis = atoi(value);
        else if (!strcmp(argv[i], "--call"))
            options.call = value;
        else
            bench_die("streams: unknown option %s", argv[i]);
    }
    exchanges = !strcmp(options.call, "sendrecv");
    if (options.blocks < 3 || options.millis < 1 || (!exchanges && strcmp(options.call, "send")))
        bench_die("streams: an option is out of range");
}

int main(int argc, char **argv)
{
    int size, sizes[SIZES_MOST], most = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    read_options(argc, argv);
    if (size != 2)
        bench_die("streams: needs 2 ranks, has %d", size);
    if (bench_native(&native) != 0)
        bench_die("streams: no way to the functions of %s", ESPALIER_MPI_SONAME);
    const int n = read_sizes(sizes);
    for (int i = 0; i < n; i++)
        most = sizes[i] > most ? sizes[i] : most;
    from = malloc((size_t)most + 1);
    onto = malloc((size_t)most);
    if (from == NULL || onto == NULL)
        bench_die("out of memory");
    if (rank == 0) {
        printf("#@call=%s\n#@blocks=%d\n#@millis=%d\n", options.call, options.blocks, options.millis);
        printf("%8s %9s %9s %9s %9s %9s %8s %8s %8s %8s\n", "#bytes", "bytes_us", "split_us", "sent_us", "recv_us",
               "both_us", "split", "sent", "recv", "both");
    }
    for (int i = 0; i < n; i++)
        measure(sizes[i]);
    free(from);
    free(onto);
    MPI_Finalize();
    return 0;
}
