/*
 * Data layouts of applications, each used in five ways, which take turns in one process:
 *   native      the program's derived types, by the MPI library's own functions, past any preload
 *   hand        loops that pack and unpack, and plain bytes
 *   pack        MPI_Pack and MPI_Unpack (the library's own) on the same types
 *   espalier    the same calls as native, as a program makes them: Espalier sees them when preloaded
 *   contiguous  as many bytes that stand together already: the floor
 * A use is a message there and one back between ranks 0 and 1, or one collective call. Which layouts there are, and
 * from which publications: layouts_rows.c, layouts_joint.c. Wall time on rank 0.
 *
 *   layouts [--rows REGEX] [--sizes small,medium,large] [--k 1,10,40,never] [--millis MS] [--patience S] [--quick]
 *   layouts --check [--rows REGEX] [--sizes ...]      no times: each way delivers the same bytes
 *   layouts --uses N [--rows REGEX] [--sizes ...] [--k ...]   as a program does: `espalier` alone, N uses a line
 *   layouts --list                                    names of rows
 *
 * k: types are made anew every k uses, and making, committing and freeing them counts, in all ways that have types.
 * A turn is some lives of types. Printed are, in nanoseconds per use, median, minimum and mean over the turns, and as
 * `late` the median counted from the third use of each life on.
 *
 * never: types are made once. At first native and Espalier's uses take turns, in 20 pieces or, if these are fewer,
 * uses, for about 0.2 s each, from the types' first use on: `first` is the mean of each piece, joined by commas. What
 * follows is counted only after these uses (#warm says how many). A layout that Espalier has met before is not at its
 * first use: scripts/bench/layouts starts a process for each line of its table.
 *
 * --uses: prints ROW/SIZE/K and the seconds of rank 0, from the making of the first types on, without calls past a
 * preload; in the first line of a process with nothing before it. scripts/bench/bench-pairs short compares such runs,
 * natively and under Espalier.
 *
 * --millis: aimed at for the turns of one line, all ways together (400); --patience: lines of which three rounds
 * would take longer are skipped, and named; --quick: little of both. Bytes are compared before anything is timed,
 * Espalier's afterwards, so that its first use is a timed one; status 1 when any are wrong. With more ranks than
 * two, the rows of collective calls only.
 */
#include "bench/layouts.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 3, KINDS = 4, NEVER = 0, FEWEST = 3, MOST = 1001, LATE_AFTER = 2 };
#define COLD_SECONDS 0.2
#define WARM_SECONDS 0.05
enum { COLD_PIECES = 20, MOST_PIECES = COLD_PIECES + 1 };

static const char *const size_name[SIZES] = { "small", "medium", "large" };
static const char *const k_name[KINDS] = { "1", "10", "40", "never" };
static const int k_value[KINDS] = { 1, 10, 40, NEVER };

static struct {
    const char *rows;
    int sizes[SIZES], k[KINDS], check, uses;
    double millis, patience;
} options = { .rows = "", .sizes = { 1, 1, 1 }, .k = { 1, 1, 1, 1 }, .millis = 400, .patience = 60 };

static struct bench_calls native;
static int rank, ranks;

/* Times of a way, seconds per use: of each turn, from the third use of each life on, of pieces of the first uses. */
struct times {
    double each[MOST], late[MOST], first[MOST_PIECES];
    int pieces;
};
static struct times times[LAYOUT_WAYS];

static void turn(struct layout_run *run, enum layout_way way, int k, int uses, int round)
{
    double begin, late = 0, third = 0;
    int use;

    native.barrier(MPI_COMM_WORLD);
    if (k == NEVER)
        layout_use(run, way); /* fills the caches for this way again */
    begin = bench_now();
    for (use = 0; use < uses; use++) {
        if (k != NEVER && use % k == 0)
            layout_make(run, way);
        if (k > LATE_AFTER && use % k == LATE_AFTER)
            third = bench_now();
        layout_use(run, way);
        if (k != NEVER && use % k == k - 1) {
            if (k > LATE_AFTER)
                late += bench_now() - third;
            layout_free(run, way);
        }
    }
    times[way].each[round] = (bench_now() - begin) / uses;
    if (k > LATE_AFTER)
        times[way].late[round] = late / (uses / k * (k - LATE_AFTER));
}

/* The ways in an order that no way's times can depend on: another one in each round, the same on all ranks. */
static void shuffle(int order[LAYOUT_WAYS])
{
    static unsigned state = 1;
    int i;

    for (i = 0; i < LAYOUT_WAYS; i++)
        order[i] = i;
    for (i = LAYOUT_WAYS - 1; i > 0; i--) {
        int other, x = order[i];

        state = state * 1664525u + 1013904223u;
        other = (int)((state >> 16) % (unsigned)(i + 1));
        order[i] = order[other];
        order[other] = x;
    }
}

/* The first uses of a layout, natively and as Espalier sees them, in pieces; the types live on. Returns how many. */
static int first_uses(struct layout_run *run, double per_use)
{
    static const enum layout_way ways[2] = { LAYOUT_NATIVE, LAYOUT_ESPALIER };
    int each = (int)(COLD_SECONDS / COLD_PIECES / per_use) + 1, total = 0, piece, w, use;
    int pieces = each > 1 ? COLD_PIECES : (int)fmin(MOST_PIECES, COLD_SECONDS / per_use + 1);

    for (piece = 0; piece < pieces; piece++, total += each)
        for (w = 0; w < 2; w++) {
            int now = (piece + w) % 2;
            double begin;

            native.barrier(MPI_COMM_WORLD);
            begin = bench_now();
            if (piece == 0)
                layout_make(run, ways[now]);
            for (use = 0; use < each; use++)
                layout_use(run, ways[now]);
            times[ways[now]].first[piece] = (bench_now() - begin) / each;
        }
    for (w = 0; w < 2; w++)
        times[ways[w]].pieces = pieces;
    return total;
}

static void report(const struct layout_run *run, const char *row, int k, int rounds, int uses)
{
    size_t n = (size_t)rounds, i;
    int way, piece;

    for (way = 0; way < LAYOUT_WAYS; way++) {
        struct times *t = &times[way];
        double sum = 0, median = bench_quantile(t->each, n, 0.5);

        for (i = 0; i < n; i++)
            sum += t->each[i];
        printf("%s\t%zu\t%s\t%s\t%d\t%d\t%.1f\t%.1f\t%.1f", row, run->packed_bytes[LAYOUT_FROM], k_name[k],
               layout_way_name[way], rounds, uses, 1e9 * median, 1e9 * t->each[0], 1e9 * sum / (double)n);
        if (k_value[k] > LATE_AFTER)
            printf("\t%.1f", 1e9 * bench_quantile(t->late, n, 0.5));
        else
            printf("\t-");
        if (k_value[k] == NEVER && (way == LAYOUT_NATIVE || way == LAYOUT_ESPALIER))
            for (piece = 0; piece < t->pieces; piece++)
                printf("%c%.1f", piece == 0 ? '\t' : ',', 1e9 * t->first[piece]);
        else
            printf("\t-");
        printf("\n");
    }
    fflush(stdout);
}

/* Seconds of a native use with types made and freed every k uses; the same answer on all ranks. Taken when it falls
   no more: the library's own first messages touch memory, and where a page fault takes 15 us, as in some virtual
   machines, a hundred of them took ten times as long as later ones. */
static double estimate(struct layout_run *run, int k)
{
    enum { WARM_TURNS = 3, WARM_USES = 40 };
    const int uses = k == NEVER ? 1 : k;
    double before, least = HUGE_VAL, now, spent = 0;
    int i;

    do {
        before = least;
        for (i = 0; (i < WARM_TURNS || i * uses < WARM_USES) && spent < WARM_SECONDS; i++) {
            turn(run, LAYOUT_NATIVE, k, uses, 0);
            now = times[LAYOUT_NATIVE].each[0];
            native.bcast(&now, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            spent += now * uses;
            least = fmin(least, now);
        }
    } while (least < 0.8 * before && spent < WARM_SECONDS);
    return least;
}

static void measure(struct layout_run *run, const char *row, int kind)
{
    int k = k_value[kind], uses, rounds, round, order[LAYOUT_WAYS], way, i, warm;
    double per_use, per_round;

    if (k == NEVER)
        layout_make(run, LAYOUT_NATIVE);
    per_use = estimate(run, k);
    if (k == NEVER) {
        layout_free(run, LAYOUT_NATIVE);
        uses = (int)fmax(1, fmin(200, 1e-3 / per_use));
    } else {
        uses = k * (per_use * 40 > 0.05 || k > 40 ? 1 : 40 / k);
    }
    per_round = per_use * (uses + (k == NEVER)) * LAYOUT_WAYS;
    rounds = (int)fmax(FEWEST, fmin(MOST, options.millis / 1000 / per_round));
    if (rounds * per_round > options.patience && rounds == FEWEST) {
        if (rank == 0)
            printf("#skipped\t%s\t%s\twould take %.0f s\n", row, k_name[kind], rounds * per_round);
        return;
    }
    if (k == NEVER) {
        warm = first_uses(run, per_use);
        layout_make(run, LAYOUT_PACK);
        if (rank == 0)
            printf("#warm\t%s\t%s\t%d\n", row, k_name[kind], warm);
    }
    for (round = 0; round < rounds; round++) {
        shuffle(order);
        for (i = 0; i < LAYOUT_WAYS; i++)
            turn(run, order[i], k, uses, round);
    }
    for (way = 0; k == NEVER && way < LAYOUT_WAYS; way++)
        layout_free(run, way);
    if (rank == 0)
        report(run, row, kind, rounds, uses);
}

static void check(struct layout_run *run)
{
    int life, way;

    for (way = 0; way < LAYOUT_WAYS; way++)
        if (way != LAYOUT_CONTIGUOUS)
            for (life = 0; life < (way == LAYOUT_ESPALIER ? 4 : 1); life++)
                layout_check(run, way, way == LAYOUT_ESPALIER ? 20 : 1);
}

/* As a program that knows nothing of ways. */
static void run_alone(struct layout_run *run, const char *row, const char *size, int kind)
{
    const int k = k_value[kind] == NEVER ? options.uses : k_value[kind];
    double begin;
    int use;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = bench_now();
    for (use = 0; use < options.uses; use++) {
        if (use % k == 0)
            layout_make(run, LAYOUT_ESPALIER);
        layout_use(run, LAYOUT_ESPALIER);
        if (use % k == k - 1 || use == options.uses - 1)
            layout_free(run, LAYOUT_ESPALIER);
    }
    if (rank == 0)
        printf("%s/%s/%s seconds=%.6f\n", row, size, k_name[kind], bench_now() - begin);
    fflush(stdout);
}

static void run_row(const struct layout_row *row, int size)
{
    struct layout_run run;
    char name[64];
    int k;

    if (row->use == LAYOUT_MESSAGE ? ranks != 2 : ranks > LAYOUT_PIECES || row->lengths[size][0] % ranks != 0)
        return;
    layout_open(&run, row, size);
    snprintf(name, sizeof name, "%s\t%s", row->name, size_name[size]);
    if (options.check) {
        check(&run);
        if (rank == 0)
            printf("%s\t%zu\tsame bytes\n", name, run.packed_bytes[LAYOUT_FROM]);
        fflush(stdout);
    } else if (options.uses > 0) {
        for (k = 0; k < KINDS; k++)
            if (options.k[k])
                run_alone(&run, row->name, size_name[size], k);
    } else {
        layout_check(&run, LAYOUT_NATIVE, 1);
        layout_check(&run, LAYOUT_PACK, 1);
        for (k = 0; k < KINDS; k++)
            if (options.k[k])
                measure(&run, name, k);
        layout_check(&run, LAYOUT_ESPALIER, 3);
    }
    layout_close(&run);
}

/* Marks the names of a list separated by commas. */
static void choose(const char *list, const char *const *names, int n, int *chosen)
{
    char *copy = malloc(strlen(list) + 1), *name, *rest = NULL;
    int i;

    if (copy == NULL)
        bench_die("layouts: out of memory");
    strcpy(copy, list);
    for (i = 0; i < n; i++)
        chosen[i] = 0;
    for (name = strtok_r(copy, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        for (i = 0; i < n && strcmp(names[i], name) != 0; i++)
            ;
        if (i == n)
            bench_die("layouts: %s is not known here", name);
        chosen[i] = 1;
    }
    free(copy);
}

static void read_options(int argc, char **argv)
{
    int i, r;

    for (i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--check") == 0) {
            options.check = 1;
        } else if (strcmp(argv[i], "--quick") == 0) {
            options.millis = 60;
            options.patience = 2;
        } else if (strcmp(argv[i], "--list") == 0) {
            for (r = 0; r < layout_row_count && rank == 0; r++)
                printf("%s\n", layout_rows[r].name);
            options.rows = NULL;
        } else if (value == NULL) {
            bench_die("layouts: %s is unknown, or needs a value; see the file's head", argv[i]);
        } else if (strcmp(argv[i], "--rows") == 0) {
            options.rows = argv[++i];
        } else if (strcmp(argv[i], "--sizes") == 0) {
            choose(argv[++i], size_name, SIZES, options.sizes);
        } else if (strcmp(argv[i], "--k") == 0) {
            choose(argv[++i], k_name, KINDS, options.k);
        } else if (strcmp(argv[i], "--uses") == 0 && atof(value) >= 1 && atof(value) < 1e9) {
            options.uses = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--millis") == 0 && atof(value) > 0) {
            options.millis = atof(argv[++i]);
        } else if (strcmp(argv[i], "--patience") == 0 && atof(value) > 0) {
            options.patience = atof(argv[++i]);
        } else {
            bench_die("layouts: %s %s is wrong; see the file's head", argv[i], value);
        }
    }
}

int main(int argc, char **argv)
{
    regex_t wanted;
    int r, size, some = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    read_options(argc, argv);
    if (options.rows != NULL) {
        if (ranks < 2)
            bench_die("layouts: needs 2 ranks or more");
        if (bench_native(&native) != 0)
            bench_die("layouts: no way to the functions of %s", ESPALIER_MPI_SONAME);
        layout_find_calls();
        if (regcomp(&wanted, options.rows, REG_EXTENDED | REG_NOSUB) != 0)
            bench_die("layouts: %s is no regular expression", options.rows);
        if (rank == 0 && !options.check && options.uses == 0)
            printf("#@intercepted=%s\n#row\tsize\tbytes\tk\tway\tturns\tuses\tmedian\tmin\tmean\tlate\tfirst\n",
                   bench_intercepted() ? "yes" : "no");
        for (r = 0; r < layout_row_count; r++)
            for (size = 0; size < SIZES; size++)
                if (options.sizes[size] && regexec(&wanted, layout_rows[r].name, 0, NULL, 0) == 0) {
                    run_row(&layout_rows[r], size);
                    some = 1;
                }
        regfree(&wanted);
        if (!some)
            bench_die("layouts: no row has such a name (see --list)");
    }
    /* Over TCP, MPICH's UCX may wait for ever in MPI_Finalize for a rank that has sent long data last. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
