/*
 * Collective calls of derived types: the library's own functions (`native`) and the same calls as a program makes
 * them, under Espalier (`espalier`). Both take turns in one process.
 *
 *   collectives [--rows TEXT] [--bytes N,N,...] [--n N,N,...] [--millis MS] [--settle MS]
 *       [--quantile Q]                    under `espalier run`
 *
 * A row is CALL/LAYOUT/SIDES: what is sent, received or both has the layout, the other side is doubles. --rows
 * takes the rows in whose name TEXT occurs. Layouts, of blocks of --bytes for each rank:
 *   column     single doubles, each on a line of its own
 *   rows       64 doubles, then a gap of 64
 *   list       3 doubles at irregular places
 * and transpose: a matrix of --n times --n doubles. In alltoall, distributed by rows; each rank sends columns of its
 * part and receives rows. In allgather it is gathered by rows, which become columns; in bcast its columns are sent.
 *
 * A turn is some calls between two barriers, timed on rank 0. Before anything is timed the program's call is made for
 * --settle MS, at least 64 times, in which planning is earned and done. Printed are medians in microseconds a call
 * (another quantile with --quantile, on a machine that others use, too), the ratio, and the number of turns; `same`
 * says whether both deliver the same bytes.
 */
#include "bench/bench.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NATIVE, ESPALIER, WAYS, SAMPLES = 2000, TURNS_LEAST = 7, CALLS_LEAST = 64, MOST = 64 };
enum layout { COLUMN, ROWS, LIST, TRANSPOSE, LAYOUTS };
enum sides { BOTH, SENT, RECEIVED, SIDES };
static const char *const layout_name[LAYOUTS] = {"column", "rows", "list", "transpose"};
static const char *const sides_name[SIDES] = {"both", "sent", "received"};

enum call { BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW,
            NEIGHBOR_ALLGATHER, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLW, IBCAST, IALLGATHER, IALLTOALL, IALLTOALLW,
            CALLS };
static const char *const call_name[CALLS] = {
    "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv",
    "alltoallw", "neighbor_allgather", "neighbor_alltoall", "neighbor_alltoallw", "ibcast", "iallgather", "ialltoall",
    "ialltoallw"};

static struct bench_calls calls[WAYS];
static MPI_Comm ring;
static int rank, ranks;
static double *from, *onto, *wanted;
static size_t bytes;
static double quantile = 0.5;

/* One block for each rank: `count` items of `type`, of which the next block is `step` items further. */
struct half {
    MPI_Datatype type;
    int count, step;
};
struct row {
    struct half send, receive;
    int counts[2][MOST], steps[2][MOST], places[2][MOST];
    MPI_Aint far[2][MOST];
    MPI_Datatype types[2][MOST];
};

static MPI_Datatype finished(MPI_Datatype type, MPI_Aint extent)
{
    MPI_Datatype out;
    MPI_Type_create_resized(type, 0, extent, &out);
    MPI_Type_free(&type);
    MPI_Type_commit(&out);
    return out;
}

static struct half plain(size_t block)
{
    return (struct half){MPI_DOUBLE, (int)(block / sizeof(double)), (int)(block / sizeof(double))};
}

static struct half half_of(enum layout layout, size_t block)
{
    const int doubles = (int)(block / sizeof(double));
    MPI_Datatype type;
    if (layout == COLUMN) {
        MPI_Type_vector(doubles, 1, 8, MPI_DOUBLE, &type);
        return (struct half){finished(type, (MPI_Aint)block * 8), 1, 1};
    }
    if (layout == ROWS) {
        MPI_Type_vector(doubles / 64, 64, 128, MPI_DOUBLE, &type);
        return (struct half){finished(type, (MPI_Aint)block * 2), 1, 1};
    }
    int n = doubles / 3, *at = malloc((size_t)n * sizeof *at), place = 0;
    for (int i = 0; i < n; i++) {
        at[i] = place;
        place += 4 + (int)(((unsigned)i * 2654435761u) >> 30);
    }
    MPI_Type_create_indexed_block(n, 3, at, MPI_DOUBLE, &type);
    free(at);
    return (struct half){finished(type, (MPI_Aint)block * 3), 1, 1};
}

/* This rank's n / ranks rows of a matrix, whose columns are sent, and the rows of the transposed one. */
static void transpose(struct row *r, int n, enum call call)
{
    const int part = n / ranks;
    MPI_Datatype type;
    if (call == BCAST || call == IBCAST || call == ALLGATHER || call == IALLGATHER) {
        const bool all = call == BCAST || call == IBCAST;
        MPI_Type_vector(n, 1, n, MPI_DOUBLE, &type);
        struct half columns = {finished(type, sizeof(double)), all ? n : part, part};
        struct half rows = plain((size_t)(all ? n : part) * (size_t)n * sizeof(double));
        r->send = all ? columns : rows;
        r->receive = all ? rows : columns;
        return;
    }
    MPI_Type_vector(part, 1, n, MPI_DOUBLE, &type);
    r->send = (struct half){finished(type, sizeof(double)), part, part};
    MPI_Type_vector(part, part, n, MPI_DOUBLE, &type);
    r->receive = (struct half){finished(type, (MPI_Aint)sizeof(double) * part), 1, 1};
}

static void spread(struct row *r)
{
    for (int side = 0; side < 2; side++) {
        const struct half *h = side ? &r->receive : &r->send;
        MPI_Aint lb, extent;
        MPI_Type_get_extent(h->type, &lb, &extent);
        for (int i = 0; i < ranks; i++) {
            r->counts[side][i] = h->count;
            r->steps[side][i] = i * h->step;
            r->far[side][i] = extent * h->step * i;
            r->places[side][i] = (int)r->far[side][i];
            r->types[side][i] = h->type;
        }
    }
}

#define S from, s->count, s->type
#define R onto, d->count, d->type
#define SV from, r->counts[0], r->steps[0], s->type
#define RV onto, r->counts[1], r->steps[1], d->type

static void run(struct row *r, enum call call, int way)
{
    const struct half *s = &r->send, *d = &r->receive;
    const struct bench_calls *c = &calls[way];
    const MPI_Comm all = MPI_COMM_WORLD;
    const struct half *h = rank == 0 ? s : d;
    MPI_Request request;
    switch (call) {
    case BCAST: c->bcast(rank == 0 ? from : onto, h->count, h->type, 0, all); break;
    case GATHER: c->gather(S, R, 0, all); break;
    case GATHERV: c->gatherv(S, RV, 0, all); break;
    case SCATTER: c->scatter(S, R, 0, all); break;
    case SCATTERV: c->scatterv(SV, R, 0, all); break;
    case ALLGATHER: c->allgather(S, R, all); break;
    case ALLGATHERV: c->allgatherv(S, RV, all); break;
    case ALLTOALL: c->alltoall(S, R, all); break;
    case ALLTOALLV: c->alltoallv(SV, RV, all); break;
    case ALLTOALLW:
        c->alltoallw(from, r->counts[0], r->places[0], r->types[0], onto, r->counts[1], r->places[1], r->types[1],
                     all);
        break;
    case NEIGHBOR_ALLGATHER: c->neighbor_allgather(S, R, ring); break;
    case NEIGHBOR_ALLTOALL: c->neighbor_alltoall(S, R, ring); break;
    case NEIGHBOR_ALLTOALLW:
        c->neighbor_alltoallw(from, r->counts[0], r->far[0], r->types[0], onto, r->counts[1], r->far[1], r->types[1],
                              ring);
        break;
    case IBCAST:
        c->ibcast(rank == 0 ? from : onto, h->count, h->type, 0, all, &request);
        c->wait(&request, MPI_STATUS_IGNORE);
        break;
    case IALLGATHER:
        c->iallgather(S, R, all, &request);
        c->wait(&request, MPI_STATUS_IGNORE);
        break;
    case IALLTOALL:
        c->ialltoall(S, R, all, &request);
        c->wait(&request, MPI_STATUS_IGNORE);
        break;
    default:
        c->ialltoallw(from, r->counts[0], r->places[0], r->types[0], onto, r->counts[1], r->places[1], r->types[1],
                      all, &request);
        c->wait(&request, MPI_STATUS_IGNORE);
    }
}

static double turn(struct row *r, enum call call, int way, int repeat)
{
    double begin;
    calls[NATIVE].barrier(MPI_COMM_WORLD);
    begin = bench_now();
    for (int k = 0; k < repeat; k++)
        run(r, call, way);
    calls[NATIVE].barrier(MPI_COMM_WORLD);
    return (bench_now() - begin) / repeat;
}

/* The same on all ranks. */
static int agreed(int n)
{
    calls[NATIVE].bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return n;
}

static void bench(struct row *r, enum call call, const char *name, size_t size, double millis, double settle)
{
    static double sample[WAYS][SAMPLES];
    double once[WAYS], end;
    int n = 0, repeat, different = 0, any, go_on;

    for (int way = 0; way < WAYS; way++) {
        memset(onto, 0, bytes);
        run(r, call, way);
        end = bench_now() + (way == ESPALIER ? settle / 1000 : 0);
        for (int k = 0; agreed(k < (way == ESPALIER ? CALLS_LEAST : 3) || bench_now() < end); k++)
            for (int i = 0; i < 4; i++)
                run(r, call, way);
        if (way == NATIVE)
            memcpy(wanted, onto, bytes);
        else
            different = memcmp(wanted, onto, bytes) != 0;
        once[way] = turn(r, call, way, 1);
    }
    calls[NATIVE].gather(&different, 1, MPI_INT, r->counts[0], 1, MPI_INT, 0, MPI_COMM_WORLD);
    any = 0;
    for (int i = 0; i < ranks && rank == 0; i++)
        any = any || r->counts[0][i];
    spread(r);
    repeat = agreed((int)(200e-6 / (once[NATIVE] + 1e-9)) + 1);
    end = bench_now() + millis / 1000;
    do {
        for (int w = 0; w < WAYS; w++)
            sample[(w + n) % WAYS][n] = turn(r, call, (w + n) % WAYS, repeat);
        n++;
        go_on = agreed(n < SAMPLES && (bench_now() < end || n < TURNS_LEAST));
    } while (go_on);
    for (int way = 0; way < WAYS; way++)
        once[way] = 1e6 * bench_quantile(sample[way], (size_t)n, quantile);
    if (rank == 0)
        printf("%s\t%zu\t%.2f\t%.2f\t%.2f\t%d\t%s\n", name, size, once[NATIVE], once[ESPALIER],
               once[NATIVE] / once[ESPALIER], n, any ? "DIFFERENT" : "same");
    fflush(stdout);
}

static void bench_row(enum call call, enum layout layout, enum sides sides, size_t size, const char *only,
                      double millis, double settle)
{
    char name[80];
    struct row r;
    snprintf(name, sizeof name, "%s/%s/%s", call_name[call], layout_name[layout], sides_name[sides]);
    if (strstr(name, only) == NULL)
        return;
    if (layout == TRANSPOSE) {
        transpose(&r, (int)size, call);
    } else {
        size_t block = size / 1536 * 1536; /* of all layouts */
        block = block > 0 ? block : 1536;
        r.send = sides == RECEIVED ? plain(block) : half_of(layout, block);
        r.receive = sides == SENT ? plain(block) : half_of(layout, block);
    }
    spread(&r);
    bench(&r, call, name, size, millis, settle);
    if (r.send.type != MPI_DOUBLE)
        MPI_Type_free(&r.send.type);
    if (r.receive.type != MPI_DOUBLE)
        MPI_Type_free(&r.receive.type);
}

static bool is_transposed(enum call call)
{
    return call == BCAST || call == IBCAST || call == ALLGATHER || call == IALLGATHER || call == ALLTOALL ||
           call == ALLTOALLV || call == ALLTOALLW || call == IALLTOALL || call == IALLTOALLW;
}

static int numbers(const char *text, size_t *out)
{
    int n = 0;
    for (char *end; n < 16 && *text; text = *end ? end + 1 : end)
        out[n++] = (size_t)strtoull(text, &end, 0);
    return n;
}

int main(int argc, char **argv)
{
    double millis = 200, settle = 100;
    const char *only = "";
    size_t sizes[16], n[16], largest = 0;
    int n_sizes = numbers("1536,6144,24576,98304,786432", sizes), n_n = numbers("1024,2048", n);

    MPI_Init(&argc, &argv);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--millis") == 0)
            millis = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--settle") == 0)
            settle = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--quantile") == 0)
            quantile = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--rows") == 0)
            only = argv[i + 1];
        else if (strcmp(argv[i], "--bytes") == 0)
            n_sizes = numbers(argv[i + 1], sizes);
        else if (strcmp(argv[i], "--n") == 0)
            n_n = numbers(argv[i + 1], n);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    calls[ESPALIER] = bench_seen;
    if (bench_native(&calls[NATIVE]) != 0)
        bench_die("the MPI library can not be looked into");
    if (ranks > MOST)
        bench_die("more than %d ranks", MOST);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, (const int[]){1}, 0, &ring);
    for (int i = 0; i < n_sizes; i++)
        largest = sizes[i] > largest ? sizes[i] : largest;
    bytes = (largest + 1536) * 8 * (size_t)ranks;
    for (int i = 0; i < n_n; i++)
        bytes = bytes < n[i] * n[i] * sizeof(double) ? n[i] * n[i] * sizeof(double) : bytes;
    from = malloc(bytes);
    onto = malloc(bytes);
    wanted = malloc(bytes);
    if (!from || !onto || !wanted)
        bench_die("no memory");
    for (size_t i = 0; i < bytes / sizeof *from; i++)
        from[i] = (double)i + rank * 1e9;
    if (rank == 0)
        printf("row\tbytes\tnative_us\tespalier_us\tratio\tturns\tbytes\n");
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int call = 0; call < CALLS; call++)
            for (int sides = 0; sides < (layout == TRANSPOSE || call == BCAST || call == IBCAST ? 1 : SIDES); sides++)
                for (int i = 0; i < (layout == TRANSPOSE ? n_n : n_sizes); i++)
                    if (layout != TRANSPOSE || is_transposed((enum call)call))
                        bench_row((enum call)call, (enum layout)layout, (enum sides)sides,
                                  layout == TRANSPOSE ? n[i] : sizes[i], only, millis, settle);
    MPI_Comm_free(&ring);
    free(from);
    free(onto);
    free(wanted);
    MPI_Finalize();
    return 0;
}
