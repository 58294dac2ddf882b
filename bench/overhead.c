/*
 * What Espalier adds to calls that it leaves alone or only looks at, the library's own functions and the program's
 * calls in turns in one process (2 ranks):
 *   - local calls on a predefined type (MPI_Type_size and MPI_Pack_size of MPI_INT), and an 8-byte ping-pong of
 *     MPI_INT:
 *     nanoseconds;
 *   - the commit of a layout known already (an irregular list of n blocks, made, committed and freed again and
 *     again), and the whole life of such a type that is packed once: microseconds.
 *
 *   overhead [--blocks N]
 *
 * Prints medians, their difference, and the quartiles of the difference over paired blocks.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NATIVE, SEEN, WAYS };

static struct bench_calls native;
static int rank, blocks = 301;

/* One way to spend `rounds` rounds; returns the seconds of one. */
typedef double (*work)(const struct bench_calls *c, int rounds, void *data);

static void compare(const char *name, double scale, const char *unit, work run, int rounds, void *data)
{
    double *times[WAYS], *more, med[WAYS];
    int i, way;

    for (way = 0; way < WAYS; way++) {
        times[way] = malloc((size_t)blocks * sizeof(double));
        if (times[way] == NULL)
            bench_die("out of memory");
    }
    more = malloc((size_t)blocks * sizeof(double));
    if (more == NULL)
        bench_die("out of memory");
    for (i = 0; i < 10; i++)
        run(&bench_seen, rounds, data);
    for (i = 0; i < blocks; i++) {
        int first = i % 2;

        times[first][i] = run(first == SEEN ? &bench_seen : &native, rounds, data);
        times[!first][i] = run(first == SEEN ? &native : &bench_seen, rounds, data);
        more[i] = times[SEEN][i] - times[NATIVE][i];
    }
    for (way = 0; way < WAYS; way++)
        med[way] = scale * bench_quantile(times[way], (size_t)blocks, 0.5);
    if (rank == 0)
        printf("%-34s %10.2f %10.2f %10.2f   %7.2f to %-7.2f %s\n", name, med[NATIVE], med[SEEN],
               med[SEEN] - med[NATIVE], scale * bench_quantile(more, (size_t)blocks, 0.25),
               scale * bench_quantile(more, (size_t)blocks, 0.75), unit);
    fflush(stdout);
    free(times[NATIVE]);
    free(times[SEEN]);
    free(more);
}

static double local_call(const struct bench_calls *c, int rounds, void *data)
{
    double begin = bench_now();
    int i, size;

    (void)data;
    for (i = 0; i < rounds; i++)
        c->type_size(MPI_INT, &size);
    return (bench_now() - begin) / rounds;
}

static double packed_size(const struct bench_calls *c, int rounds, void *data)
{
    double begin = bench_now();
    int i, size;

    (void)data;
    for (i = 0; i < rounds; i++)
        c->pack_size(2, MPI_INT, MPI_COMM_WORLD, &size);
    return (bench_now() - begin) / rounds;
}

static double small_messages(const struct bench_calls *c, int rounds, void *data)
{
    double begin = bench_now();
    int i, pair[2] = { 1, 2 };

    (void)data;
    for (i = 0; i < rounds; i++) {
        if (rank == 0) {
            c->send(pair, 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
            c->recv(pair, 2, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            c->recv(pair, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            c->send(pair, 2, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
    }
    return (bench_now() - begin) / rounds / 2;
}

struct list {
    int n, *places;
    char *from, *to;
    int capacity;
};

static void make_list(struct list *l, int n)
{
    int i, at = 0;

    l->n = n;
    l->places = malloc((size_t)n * sizeof(int));
    if (l->places == NULL)
        bench_die("out of memory");
    for (i = 0; i < n; i++) {
        l->places[i] = at;
        at += 2 + (int)((unsigned)i * 2654435761u >> 29);
    }
    l->from = calloc((size_t)at + 2, sizeof(int));
    l->capacity = n * (int)sizeof(int) + 64;
    l->to = malloc((size_t)l->capacity);
    if (l->from == NULL || l->to == NULL)
        bench_die("out of memory");
}

/* The commit alone. */
static double commits(const struct bench_calls *c, int rounds, void *data)
{
    struct list *l = data;
    double spent = 0;
    int i;

    for (i = 0; i < rounds; i++) {
        MPI_Datatype type;
        double begin;

        MPI_Type_create_indexed_block(l->n, 1, l->places, MPI_INT, &type);
        begin = bench_now();
        c->commit(&type);
        spent += bench_now() - begin;
        c->type_free(&type);
    }
    return spent / rounds;
}

/* Made, committed, packed once, freed. */
static double lives(const struct bench_calls *c, int rounds, void *data)
{
    struct list *l = data;
    double begin = bench_now();
    int i;

    for (i = 0; i < rounds; i++) {
        MPI_Datatype type;
        int at = 0;

        MPI_Type_create_indexed_block(l->n, 1, l->places, MPI_INT, &type);
        c->commit(&type);
        c->pack(l->from, 1, type, l->to, l->capacity, &at, MPI_COMM_WORLD);
        c->type_free(&type);
    }
    return (bench_now() - begin) / rounds;
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 10, 100, 1000 };
    int size;
    size_t i;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 3 && !strcmp(argv[1], "--blocks"))
        blocks = atoi(argv[2]);
    else if (argc != 1)
        bench_die("overhead: unknown arguments; see the file's head");
    if (size != 2 || blocks < 3)
        bench_die("overhead: needs 2 ranks, and 3 blocks or more");
    if (bench_native(&native) != 0)
        bench_die("overhead: no way to the functions of %s", ESPALIER_MPI_SONAME);
    if (rank == 0) {
        printf("#@intercepted=%s\n", bench_intercepted() ? "yes" : "no");
        printf("%-34s %10s %10s %10s   %s\n", "#what", "native", "seen", "more", "quartiles of more");
    }
    compare("8-byte message, MPI_INT", 1e9, "ns", small_messages, 400, NULL);
    if (rank == 0) {
        compare("MPI_Type_size(MPI_INT)", 1e9, "ns", local_call, 5000, NULL);
        compare("MPI_Pack_size(MPI_INT)", 1e9, "ns", packed_size, 5000, NULL);
        for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct list l;
            char name[64];

            make_list(&l, sizes[i]);
            snprintf(name, sizeof name, "commit, known layout, n = %d", l.n);
            compare(name, 1e6, "us", commits, 50, &l);
            snprintf(name, sizeof name, "made, packed once, freed, n = %d", l.n);
            compare(name, 1e6, "us", lives, 50, &l);
            free(l.places);
            free(l.from);
            free(l.to);
        }
    }
    native.barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
