/*
 * Sends the first row and the first column of an n x n matrix of int from rank 0 to rank 1 and back, and packs it,
 * with the same 2n - 1 elements described to MPI in three ways. An ordinary MPI program: it knows nothing of
 * Espalier.
 *
 *   mpicc -O2 rowcol.c -o rowcol
 *   mpiexec -n 2 ./rowcol [n]
 *   mpiexec -n 2 espalier run ./rowcol [n]
 *
 * Prints for each description the median time of a message (half a round trip) and of a pack, in microseconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM_ROUNDS = 2000, BLOCKS = 101, ROUNDS = 50 };

static int rank, n = 1000;
static int *from, *to;
static char *packed;
static int capacity;

/* n blocks: the row, then one element of each further row. */
static MPI_Datatype as_indexed(void)
{
    int *lengths = malloc((size_t)n * sizeof(int)), *places = malloc((size_t)n * sizeof(int)), i;
    MPI_Datatype type;

    for (i = 0; i < n; i++) {
        lengths[i] = i == 0 ? n : 1;
        places[i] = i * n;
    }
    MPI_Type_indexed(n, lengths, places, MPI_INT, &type);
    free(lengths);
    free(places);
    return type;
}

/* 2n - 1 blocks of one element. */
static MPI_Datatype as_indexed_block(void)
{
    int *places = malloc((size_t)(2 * n - 1) * sizeof(int)), i;
    MPI_Datatype type;

    for (i = 0; i < n; i++)
        places[i] = i;
    for (i = 1; i < n; i++)
        places[n - 1 + i] = i * n;
    MPI_Type_create_indexed_block(2 * n - 1, 1, places, MPI_INT, &type);
    free(places);
    return type;
}

/* A contiguous row and a vector for the rest of the column. */
static MPI_Datatype as_struct(void)
{
    int lengths[2] = { 1, 1 };
    MPI_Aint places[2] = { 0, (MPI_Aint)n * (MPI_Aint)sizeof(int) };
    MPI_Datatype parts[2], type;

    MPI_Type_contiguous(n, MPI_INT, &parts[0]);
    MPI_Type_vector(n - 1, 1, n, MPI_INT, &parts[1]);
    MPI_Type_create_struct(2, lengths, places, parts, &type);
    MPI_Type_free(&parts[0]);
    MPI_Type_free(&parts[1]);
    return type;
}

static void round_trips(MPI_Datatype type, int rounds)
{
    int i;

    for (i = 0; i < rounds; i++) {
        if (rank == 0) {
            MPI_Send(from, 1, type, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(to, 1, type, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(to, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(to, 1, type, 0, 0, MPI_COMM_WORLD);
        }
    }
}

static void packs(MPI_Datatype type, int rounds)
{
    int i;

    for (i = 0; i < rounds; i++) {
        int at = 0;

        MPI_Pack(from, 1, type, packed, capacity, &at, MPI_COMM_WORLD);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median over blocks of the time of one round, in microseconds. */
static double time_of(void (*run)(MPI_Datatype, int), MPI_Datatype type)
{
    double times[BLOCKS];
    int i;

    run(type, WARM_ROUNDS);
    for (i = 0; i < BLOCKS; i++) {
        double begin = MPI_Wtime();

        run(type, ROUNDS);
        times[i] = 1e6 * (MPI_Wtime() - begin) / ROUNDS;
    }
    qsort(times, BLOCKS, sizeof times[0], ascending);
    return times[BLOCKS / 2];
}

/* Sends once into a cleared matrix; returns how many of its elements are not what they should be. */
static int wrong_elements(MPI_Datatype type)
{
    int wrong = 0, i, j;

    for (i = 0; i < n * n; i++)
        to[i] = -1;
    round_trips(type, 1);
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            wrong += to[i * n + j] != (i == 0 || j == 0 ? i * n + j : -1);
    return wrong;
}

int main(int argc, char **argv)
{
    static MPI_Datatype (*const describe[])(void) = { as_indexed_block, as_indexed, as_struct };
    static const char *const names[] = { "indexed_block", "indexed", "struct" };
    int size, d, i, wrong = 0, all_wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1)
        n = atoi(argv[1]);
    if (size != 2 || n < 2 || n > 10000) {
        if (rank == 0)
            fprintf(stderr, "rowcol: start it with 2 ranks, and n from 2 to 10000\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    from = malloc((size_t)n * (size_t)n * sizeof(int));
    to = malloc((size_t)n * (size_t)n * sizeof(int));
    MPI_Pack_size(2 * n, MPI_INT, MPI_COMM_WORLD, &capacity);
    packed = malloc((size_t)capacity);
    if (from == NULL || to == NULL || packed == NULL) {
        fprintf(stderr, "rowcol: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (i = 0; i < n * n; i++)
        from[i] = i;
    for (d = 0; d < 3; d++) {
        MPI_Datatype type = describe[d]();
        double message, pack = 0;

        MPI_Type_commit(&type);
        wrong += wrong_elements(type);
        message = time_of(round_trips, type) / 2;
        if (rank == 0)
            pack = time_of(packs, type);
        MPI_Barrier(MPI_COMM_WORLD);
        wrong += wrong_elements(type);
        if (rank == 0)
            printf("%-15s message %8.2f us   pack %8.2f us\n", names[d], message, pack);
        MPI_Type_free(&type);
    }
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("elements received wrongly: %d\n", all_wrong);
    free(from);
    free(to);
    free(packed);
    MPI_Finalize();
    return wrong != 0;
}
