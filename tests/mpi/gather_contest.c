/* Gathers and scatters with counts that mostly stay, so that library and trees take turns: bytes must be right
     throughout. gather_contest [CALLS]   of each of the two operations on each of two communicators */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64, LARGEST = 300 };

static long passed, failed;

static unsigned char byte_of(int call, int rank, int at)
{
    return (unsigned char)(call * 7 + rank * 31 + at + 1);
}

/* The same on all ranks: as ever, a little different, or another problem. */
static int count_of(int call, int rank)
{
    int count = 1 + (rank * 53) % 40;
    if (call % 37 == 36)
        count += call % 3;
    if (call % 97 == 96)
        count = (rank * call) % LARGEST;
    return count;
}

static void check(const unsigned char *data, int call, int rank, int count)
{
    for (int i = 0; i < count; i++)
        if (data[i] != byte_of(call, rank, i)) {
            failed++;
            return;
        }
    passed++;
}

static void one(MPI_Comm comm, int call, int scatter)
{
    static unsigned char all[MOST * LARGEST], own[LARGEST];
    int rank, size, counts[MOST], displs[MOST], at = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int root = size / 2;
    for (int i = 0; i < size; i++) {
        counts[i] = count_of(call, i);
        displs[i] = at;
        at += counts[i];
    }
    memset(all, 0, sizeof all);
    memset(own, 0, sizeof own);
    if (scatter) {
        for (int i = 0; i < size && rank == root; i++)
            for (int k = 0; k < counts[i]; k++)
                all[displs[i] + k] = byte_of(call, i, k);
        MPI_Scatterv(all, counts, displs, MPI_BYTE, own, counts[rank], MPI_BYTE, root, comm);
        check(own, call, rank, counts[rank]);
    } else {
        for (int k = 0; k < counts[rank]; k++)
            own[k] = byte_of(call, rank, k);
        MPI_Gatherv(own, counts[rank], MPI_BYTE, all, counts, displs, MPI_BYTE, root, comm);
        for (int i = 0; i < size && rank == root; i++)
            check(all + displs[i], call, i, counts[i]);
    }
    MPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    MPI_Comm other;
    long tally[2], total[2];
    int rank, size, calls = argc > 1 ? atoi(argv[1]) : 300;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (argc > 2 && chdir(argv[2]) != 0)
        failed++;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
    for (int call = 0; call < calls; call++)
        for (int scatter = 0; scatter < 2; scatter++) {
            one(MPI_COMM_WORLD, call, scatter);
            one(other, call, scatter);
        }
    MPI_Comm_free(&other);
    tally[0] = passed;
    tally[1] = failed;
    MPI_Reduce(tally, total, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld passed, %ld failed\n", total[0], total[1]);
    MPI_Finalize();
    return 0;
}
