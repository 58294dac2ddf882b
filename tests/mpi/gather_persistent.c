/*
 * Why persistent and nonblocking gathers and scatters stay with the library. Between MPI_Start and MPI_Wait a rank
 * may wait in any other call, here in a receive from a rank that itself waits for the gather or scatter. The
 * library's operation goes on meanwhile, so this must end. A rank that has to pass data on would need progress of its
 * own inside of that receive, and MPICH 4.0.2 offers none: the poll function of a generalized request, the only code
 * of ours that it would call, is called in MPI_Wait and MPI_Test of that very request and nowhere else, which the
 * first lines show (0 calls; printed, not a condition). Prints `N passed, N failed` on rank 0.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size, polls;
static long passed, failed;

static void check(const char *what, int good)
{
    if (good)
        passed++;
    else
        printf("rank %d: %s\n", rank, what);
    failed += !good;
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static int poll(void *state, MPI_Status *status)
{
    (void)state;
    (void)status;
    polls++;
    return MPI_SUCCESS;
}

static int wait_for(int count, void **states, double timeout, MPI_Status *status)
{
    (void)count;
    (void)states;
    (void)timeout;
    (void)status;
    return MPI_SUCCESS;
}

static void count_polls(void)
{
    MPI_Request request;
    int token = 0;
    MPIX_Grequest_start(query, release, cancel, poll, wait_for, NULL, &request);
    if (rank == 0) { /* they wait for each other, each in another function */
        for (double end = MPI_Wtime() + 0.05; MPI_Wtime() < end;)
            ;
        MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        printf("calls of a poll function in a receive of 50 ms and a barrier: %d\n", polls);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Every rank but `last` waits after its start for a word from `last`, which sends it when its own part is
   complete. */
static void complete(MPI_Request *request, int last)
{
    int token = 0;
    if (rank != last)
        MPI_Recv(&token, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    for (int r = 0; rank == last && r < size; r++)
        if (r != last)
            MPI_Send(&token, 1, MPI_INT, r, 1, MPI_COMM_WORLD);
}

static void rounds(int each)
{
    int *own = calloc((size_t)each, sizeof *own), *all = calloc((size_t)(each * size), sizeof *all), good;
    int *counts = malloc(2 * (size_t)size * sizeof *counts), *displs = counts + size;
    MPI_Request gather, scatter, later;
    for (int r = 0; r < size; r++)
        counts[r] = each, displs[r] = r * each;
    MPI_Gatherv_init(own, each, MPI_INT, all, counts, displs, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &gather);
    MPI_Scatterv_init(all, counts, displs, MPI_INT, own, each, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &scatter);
    for (int k = 0; k < 12; k++) {
        for (int i = 0; i < each; i++)
            own[i] = 1000 * k + 10 * rank + i % 10;
        if (k % 2) {
            MPI_Start(&gather);
            complete(&gather, 0);
        } else {
            MPI_Igatherv(own, each, MPI_INT, all, counts, displs, MPI_INT, 0, MPI_COMM_WORLD, &later);
            complete(&later, 0);
        }
        good = 1;
        for (int i = 0; rank == 0 && i < each * size; i++)
            good = good && all[i] == 1000 * k + 10 * (i / each) + i % each % 10;
        check("gather", good);
        for (int i = 0; i < each; i++)
            own[i] = -1;
        MPI_Start(&scatter);
        complete(&scatter, size - 1);
        for (int i = 0; i < each; i++)
            good = good && own[i] == 1000 * k + 10 * rank + i % 10;
        check("scatter", good);
    }
    MPI_Request_free(&gather);
    MPI_Request_free(&scatter);
    free(own);
    free(all);
    free(counts);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    count_polls();
    rounds(4);
    rounds(3000);
    long sums[2], tally[2] = {passed, failed};
    MPI_Reduce(tally, sums, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld passed, %ld failed\n", sums[0], sums[1]);
    MPI_Finalize();
    return failed != 0;
}
