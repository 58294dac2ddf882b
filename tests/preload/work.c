#include "work.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ROWS 40
#define MAX_RANKS 64

static uint64_t sum;

static void take(const void *data, size_t length)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(1099511628211);
}

/* First row and first column of a ROWS x ROWS matrix, as a list of blocks. */
static MPI_Datatype row_and_column(void)
{
    int lengths[ROWS], displacements[ROWS];
    MPI_Datatype type;
    for (int i = 0; i < ROWS; i++) {
        lengths[i] = i == 0 ? ROWS : 1;
        displacements[i] = i * ROWS;
    }
    MPI_Type_indexed(ROWS, lengths, displacements, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void fill(int *matrix, int seed)
{
    for (int i = 0; i < ROWS * ROWS; i++)
        matrix[i] = seed * 10007 + i;
}

int work(const char *title)
{
    static int from[ROWS * ROWS], to[ROWS * ROWS], many[ROWS * ROWS * 8];
    static char packed[sizeof from];
    int rank, size, wrong = 0, position = 0;
    MPI_Datatype type = row_and_column(), copy;
    MPI_Request requests[2];
    MPI_Status statuses[2];

    sum = UINT64_C(14695981039346656037);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_dup(type, &copy);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    for (int round = 0; round < 50; round++) {
        fill(from, rank + round);
        memset(to, 0, sizeof to);
        MPI_Sendrecv(from, 1, round % 2 ? type : copy, right, 1, to, 1, type, left, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int i = 0; i < ROWS; i++)
            wrong += to[i] != (left + round) * 10007 + i || to[i * ROWS] != (left + round) * 10007 + i * ROWS;
        wrong += to[ROWS + 1] != 0;
        take(to, sizeof to);
        memset(to, 0, sizeof to);
        MPI_Irecv(to, 1, type, left, 2, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(from, 1, type, right, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        take(to, sizeof to);
    }
    MPI_Bcast(to, 1, copy, 0, MPI_COMM_WORLD);
    take(to, sizeof to);
    MPI_Pack(from, 1, type, packed, (int)sizeof packed, &position, MPI_COMM_WORLD);
    take(packed, (size_t)position);

    MPI_Datatype types[MAX_RANKS];
    int counts[MAX_RANKS], places[MAX_RANKS];
    for (int i = 0; i < size && i < MAX_RANKS; i++) {
        types[i] = i % 2 ? type : copy;
        counts[i] = size <= 8;
        places[i] = i * (int)sizeof from;
    }
    if (size <= MAX_RANKS) {
        for (int i = 0; i < ROWS * ROWS * 8; i++)
            many[i] = i + rank;
        static int there[ROWS * ROWS * 8];
        MPI_Alltoallw(many, counts, places, types, there, counts, places, types, MPI_COMM_WORLD);
        take(there, sizeof there);
        MPI_Ialltoallw(many, counts, places, types, there, counts, places, types, MPI_COMM_WORLD, requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
        take(there, sizeof there);
    }
    MPI_Type_free(&type);
    MPI_Type_free(&copy);

    unsigned long long all[2] = {(unsigned long long)sum, (unsigned long long)wrong}, total[2] = {0, 0};
    MPI_Reduce(all, total, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s: %d ranks, sum %016llx, wrong %llu\n", title, size, total[0], total[1]);
    fflush(stdout);
    return wrong != 0;
}
