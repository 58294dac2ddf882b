/*
 * Halos within one array: MPI_Neighbor_alltoallw, MPI_Alltoallw and their nonblocking forms with the same buffer for
 * both sides, which MPI takes where counts or types differ, and among neighbours. Types are made anew every 40 steps.
 * `compare` compares what each rank has in the end, and at each step, with a run without Espalier.
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 4, LIFE = 40, RANKS_MOST = 64 };

static int n, rank, ranks;
static double *array;
static uint64_t digest = 14695981039346656037u;
static MPI_Datatype sent[SIDES], received[SIDES]; /* top, bottom, left, right */

static void look(void)
{
    const unsigned char *bytes = (const unsigned char *)array;

    for (size_t i = 0; i < (size_t)n * (size_t)n * sizeof *array; i++)
        digest = (digest ^ bytes[i]) * 1099511628211u;
}

static void make_types(void)
{
    const int sizes[2] = {n, n};

    for (int side = 0; side < SIDES; side++) {
        const int far = side % 2, across = side < 2;
        const int part[2] = {across ? 1 : n - 2, across ? n - 2 : 1};
        const int from[2] = {across && far ? n - 2 : 1, !across && far ? n - 2 : 1};
        const int onto[2] = {across ? far * (n - 1) : 1, across ? 1 : far * (n - 1)};
        MPI_Type_create_subarray(2, sizes, part, from, MPI_ORDER_C, MPI_DOUBLE, &sent[side]);
        MPI_Type_create_subarray(2, sizes, part, onto, MPI_ORDER_C, MPI_DOUBLE, &received[side]);
        MPI_Type_commit(&sent[side]);
        MPI_Type_commit(&received[side]);
    }
}

static void free_types(void)
{
    for (int side = 0; side < SIDES; side++) {
        MPI_Type_free(&sent[side]);
        MPI_Type_free(&received[side]);
    }
}

static void exchange(MPI_Comm grid, int nonblocking)
{
    static const int ones[SIDES] = {1, 1, 1, 1};
    static const MPI_Aint zeros[SIDES];
    int to[RANKS_MOST] = {0}, of[RANKS_MOST] = {0}, places[RANKS_MOST] = {0};
    MPI_Datatype out[RANKS_MOST], in[RANKS_MOST];
    MPI_Request request;

    for (int r = 0; r < ranks; r++) {
        to[r] = r == (rank + 1) % ranks || r == rank;
        of[r] = r == (rank + ranks - 1) % ranks || r == rank;
        out[r] = sent[r == rank ? 2 : 0]; /* a column for itself, a row for the next one */
        in[r] = received[r == rank ? 3 : 0];
    }
    if (nonblocking) {
        MPI_Ineighbor_alltoallw(array, ones, zeros, sent, array, ones, zeros, received, grid, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        look();
        MPI_Ialltoallw(array, to, places, out, array, of, places, in, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Neighbor_alltoallw(array, ones, zeros, sent, array, ones, zeros, received, grid);
        look();
        MPI_Alltoallw(array, to, places, out, array, of, places, in, MPI_COMM_WORLD);
    }
    look();
}

static void run(int size, int steps, MPI_Comm grid)
{
    n = size;
    array = malloc((size_t)n * (size_t)n * sizeof *array);
    for (int step = 0; step < steps; step++) {
        if (step % LIFE == 0) {
            if (step > 0)
                free_types();
            make_types();
        }
        for (int i = 0; i < n * n; i++)
            array[i] = (double)((i * 31 + step * 7 + rank * 1000) % 1009);
        exchange(grid, step % 3 == 2);
    }
    free_types();
    free(array);
}

int main(int argc, char **argv)
{
    const int periods[2] = {1, 1};
    int dims[2] = {0, 0};
    char name[4096];
    MPI_Comm grid;
    FILE *out;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3 || strcmp(argv[1], "-o") != 0 || ranks > RANKS_MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    run(16, 200, grid);
    run(300, 100, grid);
    run(1200, 12, grid); /* columns of more than 8,255 bytes */
    MPI_Comm_free(&grid);
    snprintf(name, sizeof name, "%s/digest.%d", argv[2], rank);
    if ((out = fopen(name, "w")) == NULL)
        MPI_Abort(MPI_COMM_WORLD, 2);
    fprintf(out, "%016" PRIx64 "\n", digest);
    fclose(out);
    MPI_Finalize();
    return 0;
}
