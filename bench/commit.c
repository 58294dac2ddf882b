/*
 * What Espalier adds to making a datatype: MPI_Type_commit, the first use and MPI_Type_free of an index list of n
 * blocks, natively (the MPI library's own functions, past any preload) and as the program's calls, in turns in one
 * process.
 *
 *   commit [--rounds N]
 *
 * "known": the same layout again and again, as a program that builds its types in every time step. "once": another
 * layout every time. Prints medians in nanoseconds, and the median of the paired differences.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NATIVE, SEEN, WAYS, COMMIT = 0, USE, FREE, STEPS };

static int rounds = 2001;
static char from[1 << 16], to[1 << 16];

/* n blocks of 1 or 2 ints; `salt` makes the layout. */
static MPI_Datatype build(int n, int salt, int *len, int *disp)
{
    MPI_Datatype type;
    int i, at = 0;

    for (i = 0; i < n; i++) {
        len[i] = 1 + (i * 7 + salt) % 2;
        disp[i] = at;
        at += 3 + ((unsigned)(i ^ salt) * 2654435761u >> 16) % 3;
    }
    MPI_Type_indexed(n, len, disp, MPI_INT, &type);
    return type;
}

static void once(const struct bench_calls *c, MPI_Datatype type, double t[STEPS])
{
    double a, b, d, e;
    int at = 0;

    a = bench_now();
    c->commit(&type);
    b = bench_now();
    c->pack(from, 1, type, to, sizeof to, &at, MPI_COMM_SELF);
    d = bench_now();
    c->type_free(&type);
    e = bench_now();
    t[COMMIT] = b - a;
    t[USE] = d - b;
    t[FREE] = e - d;
}

static void run(const struct bench_calls *native, int n, int known, int *len, int *disp)
{
    static const char *const steps[STEPS] = {"commit", "first use", "free"};
    size_t many = (size_t)rounds, i;
    double *times[WAYS][STEPS], *added[STEPS], t[STEPS];
    int way, step;

    for (step = 0; step < STEPS; step++) {
        added[step] = malloc(many * sizeof(double));
        for (way = 0; way < WAYS; way++)
            times[way][step] = malloc(many * sizeof(double));
        if (added[step] == NULL || times[NATIVE][step] == NULL || times[SEEN][step] == NULL)
            bench_die("out of memory");
    }
    for (i = 0; i < many; i++) {
        for (way = 0; way < WAYS; way++) {
            int w = i % 2 ? WAYS - 1 - way : way;

            once(w == NATIVE ? native : &bench_seen, build(n, known ? 1 : (int)i + 2, len, disp), t);
            for (step = 0; step < STEPS; step++)
                times[w][step][i] = t[step] * 1e9;
        }
        for (step = 0; step < STEPS; step++)
            added[step][i] = times[SEEN][step][i] - times[NATIVE][step][i];
    }
    for (step = 0; step < STEPS; step++) {
        double before = bench_quantile(times[NATIVE][step], many, 0.5),
               after = bench_quantile(times[SEEN][step], many, 0.5);

        printf("n=%-5d %-6s %-10s native %9.0f ns  seen %9.0f ns  added %8.0f ns  ratio %.2f\n", n,
               known ? "known" : "once", steps[step], before, after, bench_quantile(added[step], many, 0.5),
               after / before);
        free(added[step]);
        free(times[NATIVE][step]);
        free(times[SEEN][step]);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {10, 100, 1000};
    struct bench_calls native;
    int *len = malloc(1000 * sizeof *len), *disp = malloc(1000 * sizeof *disp), known;
    size_t i;

    MPI_Init(&argc, &argv);
    if (argc == 3 && !strcmp(argv[1], "--rounds"))
        rounds = atoi(argv[2]);
    else if (argc != 1)
        bench_die("usage: commit [--rounds N]");
    if (rounds < 3 || len == NULL || disp == NULL || bench_native(&native) != 0)
        bench_die("commit: can not run");
    printf("#@intercepted=%s\n#@rounds=%d\n", bench_intercepted() ? "yes" : "no", rounds);
    for (known = 1; known >= 0; known--)
        for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            run(&native, sizes[i], known, len, disp);
    free(len);
    free(disp);
    MPI_Finalize();
    return 0;
}
