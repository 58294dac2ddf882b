/*
 * Gathers and scatters of what has no buffer: types of absolute addresses at MPI_BOTTOM, made anew for each call, on
 * either side. Every element is compared with what must be there. Prints `N passed, N failed` on rank 0.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEP = 2 };

static int rank, ranks;
static long passed, failed;

static void check(const char *what, int n, int good)
{
    good ? passed++ : failed++;
    if (!good)
        fprintf(stderr, "rank %d: %s of %d is wrong\n", rank, what, n);
}

static double value(int call, int from, int i)
{
    return call * 1e6 + from * 1e5 + i;
}

/* Every second double from `at` on, by its address; the extent is that of n of them. */
static MPI_Datatype absolute(double *at, int n)
{
    MPI_Aint *places = malloc((size_t)n * sizeof *places);
    MPI_Datatype list, type;

    for (int i = 0; i < n; i++)
        MPI_Get_address(at + (size_t)i * STEP, &places[i]);
    MPI_Type_create_hindexed_block(n, 1, places, MPI_DOUBLE, &list);
    MPI_Type_create_resized(list, places[0], (MPI_Aint)((size_t)n * STEP * sizeof *at), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&list);
    free(places);
    return type;
}

/* `v`: the form with counts. */
static void call_of(int call, int n, int gathers, int v)
{
    const size_t own_room = (size_t)n * STEP, all_room = own_room * (size_t)ranks;
    double *own = calloc(own_room, sizeof *own), *all = calloc(all_room, sizeof *all);
    MPI_Datatype mine = absolute(own, n), roots = absolute(all, n);
    int *ones = malloc(2 * (size_t)ranks * sizeof *ones), *places = ones + ranks, good = 1;

    for (int r = 0; r < ranks; r++) {
        ones[r] = 1;
        places[r] = r;
    }
    for (int i = 0; i < n; i++) {
        for (int r = 0; r < ranks && !gathers; r++)
            all[(size_t)r * own_room + (size_t)i * STEP] = value(call, r, i);
        if (gathers)
            own[(size_t)i * STEP] = value(call, rank, i);
    }
    if (gathers && v)
        MPI_Gatherv(MPI_BOTTOM, 1, mine, MPI_BOTTOM, ones, places, roots, 0, MPI_COMM_WORLD);
    else if (gathers)
        MPI_Gather(MPI_BOTTOM, 1, mine, MPI_BOTTOM, 1, roots, 0, MPI_COMM_WORLD);
    else if (v)
        MPI_Scatterv(MPI_BOTTOM, ones, places, roots, MPI_BOTTOM, 1, mine, 0, MPI_COMM_WORLD);
    else
        MPI_Scatter(MPI_BOTTOM, 1, roots, MPI_BOTTOM, 1, mine, 0, MPI_COMM_WORLD);
    for (size_t i = 0; i < own_room; i++)
        good = good && own[i] == (i % STEP ? 0 : value(call, rank, (int)i / STEP));
    for (size_t i = 0; i < all_room && rank == 0; i++)
        good = good && all[i] == (i % STEP ? 0 : value(call, (int)(i / own_room), (int)(i % own_room) / STEP));
    check(gathers ? "a gather" : "a scatter", n, good);
    MPI_Type_free(&mine);
    MPI_Type_free(&roots);
    free(ones);
    free(own);
    free(all);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {3, 200, 3000};
    long tally[2], sum[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int call = 0; call < 48; call++) {
        MPI_Barrier(MPI_COMM_WORLD);
        call_of(call, sizes[call / 4 % 3], call % 2, call / 2 % 2);
    }
    tally[0] = passed;
    tally[1] = failed;
    MPI_Reduce(tally, sum, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld passed, %ld failed\n", sum[0], sum[1]);
    MPI_Finalize();
    return failed != 0;
}
