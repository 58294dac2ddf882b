/*
 * Many items of a short type, as (count, type) and as one item of a type for the whole pattern that they close into:
 * MPI_Pack, MPI_Unpack, and a message to oneself on MPI_COMM_WORLD, which MPICH packs and unpacks in pieces on
 * communicators of several ranks: received densely, or with the type on both sides; and the former with the pattern
 * in chunks of 64 blocks.
 *
 *   items [--millis MS]        with --native; start it on two ranks, of which the second waits
 *
 * The ways take turns. Prints a line per layout: the time of (count, type) over that of the whole (or of the chunks),
 * from medians; above 1 the other is faster.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS, WHOLE, CHUNKS, FORMS, SAMPLES = 2000, ROUNDS_LEAST = 9, CHUNK = 64 };
enum { PACK, UNPACK, MESSAGE, BOTH_SIDES };

static struct bench_calls mpi;
static char *from, *onto;
static int bytes;

struct form {
    MPI_Datatype type;
    int count;
};

struct layout {
    char name[80];
    struct form form[FORMS]; /* chunks: count 0 where there is no such form */
};

static MPI_Datatype resized(MPI_Datatype type, int doubles)
{
    MPI_Datatype other;
    MPI_Type_create_resized(type, 0, doubles * (MPI_Aint)sizeof(double), &other);
    MPI_Type_free(&type);
    MPI_Type_commit(&other);
    return other;
}

/* `count` blocks of `block` doubles, one every `step`, as a whole that other items may follow. */
static MPI_Datatype blocks(int count, int block, int step)
{
    MPI_Datatype type;
    MPI_Type_vector(count, block, step, MPI_DOUBLE, &type);
    return resized(type, count * step);
}

/* `count` items of `each` blocks. */
static struct layout pattern(int count, int each, int block, int step)
{
    int all = count * each;
    struct layout l = {.form = {{blocks(each, block, step), count},
                                {blocks(all, block, step), 1},
                                {MPI_DATATYPE_NULL, 0}}};
    if (all % CHUNK == 0)
        l.form[CHUNKS] = (struct form){blocks(CHUNK, block, step), all / CHUNK};
    snprintf(l.name, sizeof l.name, "%d items of %d times %d out of %d doubles", count, each, block, step);
    return l;
}

static struct layout repeated(const char *name, MPI_Datatype item, int count)
{
    struct layout l = {.form = {{item, count}, {MPI_DATATYPE_NULL, 1}, {MPI_DATATYPE_NULL, 0}}};
    MPI_Type_contiguous(count, item, &l.form[WHOLE].type);
    MPI_Type_commit(&l.form[WHOLE].type);
    snprintf(l.name, sizeof l.name, "%d %s", count, name);
    return l;
}

static MPI_Datatype record(void)
{
    static const int lengths[3] = {3, 2, 2}, places[3] = {0, 4, 7};
    MPI_Datatype type;
    MPI_Type_indexed(3, lengths, places, MPI_DOUBLE, &type);
    return resized(type, 10);
}

static MPI_Datatype column(int n)
{
    MPI_Datatype type;
    MPI_Type_vector(n, 1, n, MPI_DOUBLE, &type);
    return resized(type, 1);
}

static void run(const struct form *f, int call)
{
    int at = 0;
    if (call == PACK)
        mpi.pack(from, f->count, f->type, onto, bytes, &at, MPI_COMM_SELF);
    else if (call == UNPACK)
        mpi.unpack(from, bytes, &at, onto, f->count, f->type, MPI_COMM_SELF);
    else
        mpi.sendrecv(from, f->count, f->type, 0, 1, onto, call == MESSAGE ? bytes : f->count,
                     call == MESSAGE ? MPI_BYTE : f->type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void measure(const struct layout *l, int call, double millis, double *medians)
{
    static double sample[FORMS][SAMPLES];
    double end;
    int n = 0;

    for (int f = 0; f < FORMS; f++)
        if (l->form[f].count > 0)
            run(&l->form[f], call);
    end = bench_now() + millis / 1000;
    while (n < SAMPLES && (bench_now() < end || n < ROUNDS_LEAST)) {
        for (int f = 0; f < FORMS; f++) {
            double begun = bench_now();
            if (l->form[f].count > 0)
                run(&l->form[f], call);
            sample[f][n] = bench_now() - begun;
        }
        n++;
    }
    for (int f = 0; f < FORMS; f++)
        medians[f] = bench_quantile(sample[f], (size_t)n, 0.5);
}

static void bench(const struct layout *l, double millis)
{
    double pack[FORMS], unpack[FORMS], message[FORMS], both[FORMS];

    measure(l, PACK, millis, pack);
    measure(l, UNPACK, millis, unpack);
    measure(l, MESSAGE, millis, message);
    measure(l, BOTH_SIDES, millis, both);
    printf("%s\t%.2f\t%.2f\t%.3f\t%.3f\t", l->name, pack[ITEMS] / pack[WHOLE], unpack[ITEMS] / unpack[WHOLE],
           message[ITEMS] / message[WHOLE], both[ITEMS] / both[WHOLE]);
    if (l->form[CHUNKS].count > 0)
        printf("%.2f", message[ITEMS] / message[CHUNKS]);
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    double millis = 200;
    int rank;

    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--millis") == 0)
            millis = atof(argv[i + 1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (bench_native(&mpi) != 0)
        bench_die("the MPI library can not be looked into");
    bytes = 16 << 20;
    from = calloc(1, (size_t)bytes);
    onto = calloc(1, (size_t)bytes);
    if (!from || !onto)
        bench_die("no memory");
    memset(onto, 1, (size_t)bytes);
    memset(from, 1, (size_t)bytes);
    struct layout layouts[] = {pattern(640, 1, 3, 4),
                               pattern(5120, 1, 3, 4),
                               pattern(40960, 1, 3, 4),
                               pattern(5120, 2, 1, 2),
                               pattern(40960, 2, 1, 2),
                               pattern(40960, 2, 3, 4),
                               pattern(40960, 1, 1, 2),
                               pattern(40000, 8, 1, 2),
                               repeated("records of 7 out of 10 doubles", record(), 40000),
                               repeated("columns of a matrix of 300 by 300", column(300), 300)};
    if (rank == 0)
        printf("layout\tpack\tunpack\tmessage\tboth_sides\tmessage_chunks\n");
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts && rank == 0; k++)
        bench(&layouts[k], millis);
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++)
        for (int f = 0; f < FORMS; f++)
            if (layouts[k].form[f].type != MPI_DATATYPE_NULL)
                MPI_Type_free(&layouts[k].form[f].type);
    free(from);
    free(onto);
    MPI_Finalize();
    return 0;
}
