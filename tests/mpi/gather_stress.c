/*
 * Random gathers and scatters on random communicators: roots, counts (which change inside of leases), permuted
 * displacements, holes, zero blocks, MPI_IN_PLACE, dense and derived types, other types on the sending side, _c
 * forms, communicators freed and made again. Every element received is compared with what must be there, every other
 * one must be untouched. Arguments: calls, and the largest count of a block. ESPALIER_TEST_SEED sets the seed, the
 * same on all ranks. Prints `N passed, N failed` on rank 0.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COMMS = 4, GAP = -1 };

static uint64_t state = 1;
static int world_rank;
static long passed, failed;

/* The same sequence on all ranks. */
static int below(int n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((state >> 33) % (unsigned)n);
}

struct group {
    MPI_Comm comm;
    int rank, size, *counts, *displs;
    int root, kind; /* the habits of a program: they change now and then */
};

static struct group make(int which)
{
    struct group g = {MPI_COMM_NULL, 0, 0, NULL, NULL, 0, 0};
    int size, from = below(3), step = 1 + below(2);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (which == 0)
        MPI_Comm_dup(MPI_COMM_WORLD, &g.comm);
    else /* some of the ranks, in the opposite order where `which` is odd */
        MPI_Comm_split(MPI_COMM_WORLD, world_rank >= from && (world_rank - from) % step == 0 ? 0 : 1,
                       which % 2 ? -world_rank : world_rank, &g.comm);
    MPI_Comm_rank(g.comm, &g.rank);
    MPI_Comm_size(g.comm, &g.size);
    g.counts = calloc(2 * (size_t)size, sizeof *g.counts);
    g.displs = g.counts + size;
    return g;
}

static void fresh_counts(struct group *g, int most, int world)
{
    int shape = below(4);
    for (int i = 0; i < world; i++) { /* the same draws whatever the size of this group */
        int c = shape == 0   ? below(most)
                : shape == 1 ? most / 2
                : shape == 2 ? (below(5) ? 0 : below(most))
                             : i * most / world;
        if (i < g->size)
            g->counts[i] = c;
    }
}

static int value(int call, int rank, int i)
{
    return call % 1000 * 1000000 + rank * 100000 + i % 100000;
}

/* How the elements of a block are described: ints one behind the other, two of four ints, or one type for all. */
struct way {
    MPI_Datatype type;
    int each, span; /* ints of data and of extent in one copy */
};

static int place(const struct way *w, int i)
{
    return i / w->each * w->span + i % w->each * (w->each == 2 ? 2 : 1);
}

static void check(const char *what, int call, int good)
{
    good ? passed++ : failed++;
    if (!good && failed <= 10)
        fprintf(stderr, "rank %d: call %d (%s) is wrong\n", world_rank, call, what);
}

static void one_call(struct group *g, int call, const struct way *root_way, const struct way *own_way, int gather,
                     int v, int large, int in_place, int order)
{
    int total = 0, p = g->size, n = v ? g->counts[g->rank] : g->counts[0];
    int copies_own = n * root_way->each / own_way->each; /* each of the own way divides each of the root's */
    MPI_Count *counts = malloc((size_t)p * sizeof *counts);
    MPI_Aint *displs = malloc((size_t)p * sizeof *displs);
    for (int k = 0; k < p; k++) { /* forwards, backwards, or with holes */
        int i = order == 1 ? p - 1 - k : k;
        g->displs[i] = total;
        total += (v ? g->counts[i] : g->counts[0]) + (order == 2 && v ? 2 : 0);
        if (v && g->counts[i] == 0 && order == 2)
            g->displs[i] = -1000000; /* of no meaning */
    }
    for (int i = 0; i < p; i++) {
        counts[i] = g->counts[i];
        displs[i] = v ? g->displs[i] : i * g->counts[0];
    }
    size_t root_room = (size_t)(total + 2) * (size_t)root_way->span,
           own_room = (size_t)(copies_own + 2) * (size_t)own_way->span;
    int *big = malloc(root_room * sizeof *big), *own = malloc(own_room * sizeof *own);
    for (size_t i = 0; i < root_room; i++)
        big[i] = GAP;
    for (size_t i = 0; i < own_room; i++)
        own[i] = GAP;
    int place_it = in_place && g->rank == g->root, elements = n * root_way->each;
    if (gather || g->rank == g->root) {
        for (int r = 0; r < p; r++) /* what each rank gives, where this rank has it */
            for (int i = 0; i < (v ? g->counts[r] : g->counts[0]) * root_way->each; i++)
                if (!gather || (place_it && r == g->rank))
                    big[displs[r] * root_way->span + place(root_way, i)] = value(call, r, i);
        for (int i = 0; gather && i < elements; i++)
            own[place(own_way, i)] = value(call, g->rank, i);
    }
    void *own_arg = place_it ? MPI_IN_PLACE : own;
    if (gather && v && large)
        MPI_Gatherv_c(own_arg, copies_own, own_way->type, big, counts, displs, root_way->type, g->root, g->comm);
    else if (gather && v)
        MPI_Gatherv(own_arg, copies_own, own_way->type, big, g->counts, g->displs, root_way->type, g->root, g->comm);
    else if (gather && large)
        MPI_Gather_c(own_arg, copies_own, own_way->type, big, n, root_way->type, g->root, g->comm);
    else if (gather)
        MPI_Gather(own_arg, copies_own, own_way->type, big, n, root_way->type, g->root, g->comm);
    else if (v && large)
        MPI_Scatterv_c(big, counts, displs, root_way->type, own_arg, copies_own, own_way->type, g->root, g->comm);
    else if (v)
        MPI_Scatterv(big, g->counts, g->displs, root_way->type, own_arg, copies_own, own_way->type, g->root, g->comm);
    else if (large)
        MPI_Scatter_c(big, n, root_way->type, own_arg, copies_own, own_way->type, g->root, g->comm);
    else
        MPI_Scatter(big, n, root_way->type, own_arg, copies_own, own_way->type, g->root, g->comm);
    int good = 1;
    if (gather && g->rank == g->root) {
        int *want = malloc(root_room * sizeof *want);
        for (size_t i = 0; i < root_room; i++)
            want[i] = GAP;
        for (int r = 0; r < p; r++)
            for (int i = 0; i < (v ? g->counts[r] : g->counts[0]) * root_way->each; i++)
                want[displs[r] * root_way->span + place(root_way, i)] = value(call, r, i);
        for (size_t i = 0; i < root_room; i++)
            good = good && big[i] == want[i];
        free(want);
    }
    if (!gather && !place_it) {
        int *want = malloc(own_room * sizeof *want);
        for (size_t i = 0; i < own_room; i++)
            want[i] = GAP;
        for (int i = 0; i < elements; i++)
            want[place(own_way, i)] = value(call, g->rank, i);
        for (size_t i = 0; i < own_room; i++)
            good = good && own[i] == want[i];
        free(want);
    }
    check(gather ? "gather" : "scatter", call, good);
    free(big);
    free(own);
    free(counts);
    free(displs);
}

int main(int argc, char **argv)
{
    const char *seed = getenv("ESPALIER_TEST_SEED");
    int calls = argc > 1 ? atoi(argv[1]) : 500, most = argc > 2 ? atoi(argv[2]) : 40, size;
    struct group groups[COMMS];
    MPI_Datatype two, spread;
    state = seed ? strtoull(seed, NULL, 0) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (world_rank == 0)
        printf("seed %llu\n", (unsigned long long)state);
    MPI_Type_vector(2, 1, 2, MPI_INT, &two);
    MPI_Type_create_resized(two, 0, 4 * (MPI_Aint)sizeof(int), &spread);
    MPI_Type_commit(&spread);
    MPI_Type_free(&two);
    const struct way ints = {MPI_INT, 1, 1}, pairs = {spread, 2, 4};
    for (int c = 0; c < COMMS; c++) {
        groups[c] = make(c);
        fresh_counts(&groups[c], most, size);
    }
    for (int call = 0; call < calls; call++) {
        int c = below(COMMS);
        if (below(200) == 0) { /* freed and made again */
            MPI_Comm_free(&groups[c].comm);
            free(groups[c].counts);
            groups[c] = make(c);
            fresh_counts(&groups[c], most, size);
        }
        if (below(15) == 0)
            fresh_counts(&groups[c], most, size);
        int change = below(40), root = below(size), kind = below(4); /* drawn alike on all ranks */
        if (change == 0) {
            groups[c].root = root % groups[c].size;
            groups[c].kind = kind;
        }
        int kind_now = below(10) == 0 ? kind : groups[c].kind, large = below(2), in_place = below(4) == 0,
            order = below(3);
        int derived = below(3), mixed = below(2);
        one_call(&groups[c], call, derived ? &pairs : &ints, derived && !mixed ? &pairs : &ints, kind_now % 2 == 0,
                 kind_now < 2 || below(3), large, in_place, order);
        int sync = below(6), one = 1, sum;
        if (sync < 2)
            MPI_Barrier(groups[c].comm);
        else if (sync == 2)
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, groups[c].comm);
    }
    for (int c = 0; c < COMMS; c++) {
        MPI_Comm_free(&groups[c].comm);
        free(groups[c].counts);
    }
    MPI_Type_free(&spread);
    long tally[2] = {passed, failed}, sum[2];
    MPI_Reduce(tally, sum, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("%ld passed, %ld failed\n", sum[0], sum[1]);
    MPI_Finalize();
    return failed != 0;
}
