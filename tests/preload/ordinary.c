/* An ordinary MPI program for odd surroundings: derived types in messages, gathers and scatters of unequal blocks, a
   sum. Prints checksums that depend on nothing but the number of ranks; ends with 1 when an element was wrong.

   Argument: how often everything is done (default 12). */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

static int rank, size, wrong;
static uint64_t sum = UINT64_C(14695981039346656037);

static void take(const int *data, int n)
{
    for (int i = 0; i < n; i++)
        sum = (sum ^ (uint32_t)data[i]) * UINT64_C(1099511628211);
}

/* Blocks of 3 + 5 * rank elements to `root` and back again, one more each. */
static void blocks(MPI_Comm comm, int root, int round)
{
    int me, all, total = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &all);
    int *counts = malloc((size_t)all * 2 * sizeof *counts), *displs = counts + all;
    for (int i = 0; i < all; i++) {
        counts[i] = 3 + 5 * i;
        displs[i] = total;
        total += counts[i];
    }
    int *mine = malloc((size_t)counts[me] * sizeof *mine), *both = malloc((size_t)total * sizeof *both);
    for (int i = 0; i < counts[me]; i++)
        mine[i] = me * 1000 + i + round;
    memset(both, 0, (size_t)total * sizeof *both);
    MPI_Gatherv(mine, counts[me], MPI_INT, both, counts, displs, MPI_INT, root, comm);
    for (int r = 0; me == root && r < all; r++)
        for (int i = 0; i < counts[r]; i++)
            wrong += both[displs[r] + i]++ != r * 1000 + i + round;
    MPI_Scatterv(both, counts, displs, MPI_INT, mine, counts[me], MPI_INT, root, comm);
    for (int i = 0; i < counts[me]; i++)
        wrong += mine[i] != me * 1000 + i + round + 1;
    take(mine, counts[me]);
    MPI_Gather(&round, 1, MPI_INT, both, 1, MPI_INT, root, comm);
    for (int r = 0; me == root && r < all; r++)
        wrong += both[r] != round;
    free(mine);
    free(both);
    free(counts);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 12;
    MPI_Comm turned;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wrong = work("ordinary");
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
    for (int round = 0; round < rounds; round++) {
        blocks(MPI_COMM_WORLD, round % 2 ? size - 1 : 0, round);
        blocks(turned, size / 2, round);
    }
    MPI_Comm_free(&turned);
    unsigned long long mine[2] = {(unsigned long long)sum, (unsigned long long)wrong}, total[2] = {0, 0};
    MPI_Reduce(mine, total, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("ordinary: %d ranks, sum %016llx, wrong %llu\n", size, total[0], total[1]);
    MPI_Finalize();
    return wrong != 0;
}
