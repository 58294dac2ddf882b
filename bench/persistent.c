/*
 * What persistent gathers and scatters could gain from trees that MPI itself carries on (doc/gather-calls.md): its
 * own operations whose schedules are trees, MPI_Gather_init for MPI_Gatherv_init with equal blocks, the best case of
 * blocks padded to the longest, and MPI_Bcast_init of all blocks for MPI_Scatterv_init (MPI_Scatter_init of MPICH
 * 4.0.2 fails in its second start on inner ranks: "Invalid communicator"). To be run on virtual hosts, natively:
 *
 *   scripts/testbed/hosts P RATE BUILD/bench/persistent [ROUNDS [BYTES...]]
 *
 * Prints microseconds, medians over rounds of the slowest rank's time from MPI_Start to the end of MPI_Wait; methods
 * in turns. Ends without MPI_Finalize, as bench/trees does with --leave 1.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"

enum { METHODS = 4, ROUNDS_AT_MOST = 10000 };
static const char *const names[METHODS] = {"gatherv", "gather", "scatterv", "bcast"};

static void measure(int bytes, int rounds, int rank, int p)
{
    int root = p / 2, *counts = malloc(2 * (size_t)p * sizeof *counts), *displs = counts + p;
    char *own = calloc((size_t)bytes, 1), *all = calloc((size_t)p, (size_t)bytes);
    double *seconds[METHODS];
    MPI_Request request[METHODS];
    if (!counts || !own || !all)
        bench_die("no memory for blocks of %d bytes", bytes);
    for (int r = 0; r < p; r++)
        counts[r] = bytes, displs[r] = r * bytes;
    MPI_Gatherv_init(own, bytes, MPI_BYTE, all, counts, displs, MPI_BYTE, root, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &request[0]);
    MPI_Gather_init(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request[1]);
    MPI_Scatterv_init(all, counts, displs, MPI_BYTE, own, bytes, MPI_BYTE, root, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &request[2]);
    MPI_Bcast_init(all, p * bytes, MPI_BYTE, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request[3]);
    for (int m = 0; m < METHODS; m++)
        if (!(seconds[m] = malloc((size_t)rounds * sizeof(double))))
            bench_die("no memory for %d times", rounds);
    for (int k = 0; k < rounds; k++)
        for (int i = 0; i < METHODS; i++) {
            int m = (i + k) % METHODS;
            MPI_Barrier(MPI_COMM_WORLD);
            double begun = bench_now(), took;
            MPI_Start(&request[m]);
            MPI_Wait(&request[m], MPI_STATUS_IGNORE);
            took = bench_now() - begun;
            MPI_Allreduce(&took, &seconds[m][k], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        }
    if (rank == 0)
        printf("%d\t%d", p, bytes);
    for (int m = 0; m < METHODS; m++) {
        if (rank == 0)
            printf("\t%.1f", 1e6 * bench_quantile(seconds[m], (size_t)rounds, 0.5));
        MPI_Request_free(&request[m]);
        free(seconds[m]);
    }
    if (rank == 0)
        printf("\n");
    fflush(stdout);
    free(counts);
    free(own);
    free(all);
}

int main(int argc, char **argv)
{
    static const int usual[] = {1, 100, 1000};
    int rank, p, rounds = argc > 1 ? atoi(argv[1]) : 40;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    if (rounds < 1 || rounds > ROUNDS_AT_MOST)
        bench_die("rounds must be 1 to %d", ROUNDS_AT_MOST);
    if (rank == 0) {
        printf("p\tbytes");
        for (int m = 0; m < METHODS; m++)
            printf("\t%s", names[m]);
        printf("\n");
    }
    for (int i = 0; i < (argc > 2 ? argc - 2 : 3); i++) {
        int bytes = argc > 2 ? atoi(argv[2 + i]) : usual[i];
        if (bytes < 1 || bytes > 1 << 20)
            bench_die("bytes must be 1 to %d", 1 << 20);
        measure(bytes, rounds, rank, p);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, 0);
}
