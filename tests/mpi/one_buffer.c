/*
 * Halos within one array: MPI_Neighbor_alltoallw, MPI_Alltoallw and their nonblocking forms with the same buffer for
 * both sides, which MPI takes where counts or types differ, and among neighbours. Types are made anew every 40 steps.
 * On a grid that is open, lines have their corners, too: those for neighbours that are not there share them with what
 * is received, and what the program writes there meanwhile stays.
 * `compare` compares what each rank has in the end, and at each step, with a run without Espalier.
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 4, LIFE = 40, RANKS_MOST = 64 };

static int n, rank, ranks;
static int open; /* the grid is a column of ranks and ends at all sides */
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
        const int far = side % 2, across = side < 2, begin = open ? 0 : 1, length = n - 2 * begin;
        const int line = far ? n - 2 : 1, ghosts = far ? n - 1 : 0;
        const int part[2] = {across ? 1 : length, across ? length : 1};
        const int from[2] = {across ? line : begin, across ? begin : line};
        const int onto[2] = {across ? ghosts : begin, across ? begin : ghosts};
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

/* What a program does at the ends of its domain while others' lines are on their way; not to corners, which come with
   them, nor to what is sent. */
static void set_ends(void)
{
    for (int i = 2; i < n - 2; i++) {
        if (rank == 0)
            array[i] = -1;
        if (rank == ranks - 1)
            array[(n - 1) * n + i] = -2;
        array[i * n] = -3;
        array[i * n + n - 1] = -4;
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
        if (open)
            set_ends();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        look();
        if (open)
            return;
        MPI_Ialltoallw(array, to, places, out, array, of, places, in, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Neighbor_alltoallw(array, ones, zeros, sent, array, ones, zeros, received, grid);
        look();
        if (open)
            return;
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
    const int periods[2] = {1, 1}, ends[2] = {0, 0};
    int dims[2] = {0, 0}, column[2] = {0, 1};
    char name[4096];
    MPI_Comm grid, ended;
    FILE *out;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3 || strcmp(argv[1], "-o") != 0 || ranks > RANKS_MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Dims_create(ranks, 2, column);
    MPI_Cart_create(MPI_COMM_WORLD, 2, column, ends, 0, &ended);
    open = 1;
    run(16, 200, ended);
    run(300, 100, ended);
    open = 0;
    run(16, 200, grid);
    run(300, 100, grid);
    run(1200, 12, grid); /* columns of more than 8,255 bytes */
    MPI_Comm_free(&grid);
    MPI_Comm_free(&ended);
    snprintf(name, sizeof name, "%s/digest.%d", argv[2], rank);
    if ((out = fopen(name, "w")) == NULL)
        MPI_Abort(MPI_COMM_WORLD, 2);
    fprintf(out, "%016" PRIx64 "\n", digest);
    fclose(out);
    MPI_Finalize();
    return 0;
}
