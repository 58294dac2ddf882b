/*
 * Requests of reductions on derived types with gaps, seen from all sides: MPI_Request_get_status until it says so;
 * completion under MPI_THREAD_MULTIPLE, also while another thread must communicate first; completion calls that fail
 * for another request; and a call that one rank makes with a base type, which is erroneous and must not hang.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 100 };
static int rank, size;
static long passed, failed;
static double in[2 * N], out[2 * N];

static void check(const char *what, int good)
{
    if (good)
        passed++;
    else
        printf("rank %d: %s\n", rank, what);
    failed += !good;
}

static void fill(void)
{
    for (int i = 0; i < 2 * N; i++)
        in[i] = rank + i, out[i] = -1;
}

static int is_sum(void)
{
    for (int i = 0; i < 2 * N - 1; i++)
        if (out[i] != (i % 2 ? -1 : size * i + size * (size - 1) / 2.0))
            return 0;
    return 1;
}

static void get_status(MPI_Datatype type)
{
    MPI_Request request;
    MPI_Datatype own;
    int flag = 0;
    fill();
    MPI_Type_dup(type, &own);
    MPI_Iallreduce(in, out, 1, own, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Type_free(&own);
    for (double end = MPI_Wtime() + 20; !flag && MPI_Wtime() < end;)
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    check("MPI_Request_get_status never says that a reduction is complete", flag);
    check("wrong result before MPI_Wait", is_sum());
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check("wrong result after MPI_Wait", is_sum() && request == MPI_REQUEST_NULL);
}

/* A reduction can not be cancelled: the error is the one that MPI has for the same reduction of a base type, and the
   operation goes on. (MPICH 4.0.2 ends the program where a persistent one is active.) */
static void cancelled(MPI_Datatype type, int persistent)
{
    MPI_Request request;
    double one = 1, sum = 0;
    int class[2] = {-1, -1}, cancelled = 0;
    for (int typed = 0; typed < 2; typed++) {
        void *from = typed ? (void *)in : &one, *onto = typed ? (void *)out : &sum;
        fill();
        if (persistent)
            MPI_Allreduce_init(from, onto, 1, typed ? type : MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                               &request);
        else
            MPI_Iallreduce(from, onto, 1, typed ? type : MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Error_class(MPI_Cancel(&request), &class[typed]);
        check("a refused MPI_Cancel takes the request", request != MPI_REQUEST_NULL);
        if (persistent)
            MPI_Start(&request);
        MPI_Status status;
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        check("a reduction is said to be cancelled", !cancelled);
        check("wrong result after MPI_Cancel", typed ? is_sum() : sum == size);
        if (persistent)
            MPI_Request_free(&request);
    }
    check("MPI_Cancel of a reduction succeeds", class[0] != MPI_SUCCESS);
    check("MPI_Cancel with another error than MPI's", class[0] == class[1]);
}

/* The reduction on rank 1 begins after an exchange with another thread of rank 0. */
static void *answer(void *unused)
{
    int x = 0;
    (void)unused;
    MPI_Recv(&x, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&x, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
    return NULL;
}

static void while_another_thread_works(MPI_Datatype type, MPI_Comm comm)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    pthread_t thread;
    int x = 1, index;
    fill();
    if (rank == 1) {
        for (double end = MPI_Wtime() + 0.05; MPI_Wtime() < end;)
            ;
        MPI_Send(&x, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        MPI_Recv(&x, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Iallreduce(in, out, 1, type, MPI_SUM, comm, &requests[1]);
    if (rank == 0 && size > 1)
        pthread_create(&thread, NULL, answer, NULL);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    check("wrong result with threads", index == 1 && is_sum());
    if (rank == 0 && size > 1)
        pthread_join(thread, NULL);
    fill();
    MPI_Iallreduce(in, out, 1, type, MPI_SUM, comm, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    check("wrong result of MPI_Wait", is_sum());
}

/* A message that is too long makes MPI_Waitall and MPI_Waitsome fail; the reduction beside it is complete. */
static void beside_a_failure(MPI_Datatype type, int some)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int small, big[4] = {0}, done = 0, n, indices[2], rc;
    fill();
    MPI_Allreduce_init(in, out, 1, type, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Irecv(&small, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Start(&requests[0]);
    MPI_Send(big, 4, MPI_INT, rank, 3, MPI_COMM_WORLD);
    if (some) {
        while (done < 2) {
            rc = MPI_Waitsome(2, requests, &n, indices, statuses);
            check("MPI_Waitsome returns nothing", n > 0);
            done = n > 0 ? done + n : 2;
        }
    } else {
        rc = MPI_Waitall(2, requests, statuses);
        check("MPI_Waitall does not report the failure", rc == MPI_ERR_IN_STATUS);
    }
    check("a reduction completed beside a failure has no result", is_sum());
    MPI_Request_free(&requests[0]);
}

/* At the root of an intercommunicator the buffer that is sent is not read. */
static void to_another_group(MPI_Datatype type)
{
    MPI_Comm local, inter;
    int remote, first = rank == 0;
    MPI_Comm_split(MPI_COMM_WORLD, first, rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first ? 1 : 0, 9, &inter);
    MPI_Comm_remote_size(inter, &remote);
    for (int i = 0; i < 2 * N; i++)
        in[i] = i, out[i] = -1;
    check("MPI_Reduce to another group fails",
          MPI_Reduce(in, out, 1, type, MPI_SUM, first ? MPI_ROOT : 0, inter) == MPI_SUCCESS);
    for (int i = 0; first && i < 2 * N - 1; i++)
        check("MPI_Reduce to another group", out[i] == (i % 2 ? -1 : remote * i));
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Datatype type, bytes;
    MPI_Comm comm;
    MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    get_status(type);
    cancelled(type, 0);
    cancelled(type, 1);
    if (argc > 1)
        while_another_thread_works(type, comm);
    beside_a_failure(type, 0);
    beside_a_failure(type, 1);
    if (size > 1)
        to_another_group(type);

    MPI_Type_contiguous(4, MPI_BYTE, &bytes);
    MPI_Type_commit(&bytes);
    enum { MANY = 1 << 18 }; /* more than ESPALIER_REDUCE_PIECE_KB=16 */
    char *a = calloc(MANY, 1), *b = calloc(MANY, 1);
    int class = MPI_SUCCESS, rc = rank == 0 ? MPI_Allreduce(a, b, MANY, MPI_BYTE, MPI_SUM, MPI_COMM_WORLD)
                                            : MPI_Allreduce(a, b, MANY / 4, bytes, MPI_SUM, MPI_COMM_WORLD);
    MPI_Error_class(rc, &class);
    check("MPI_SUM of MPI_BYTE", class == MPI_ERR_OP);
    free(a);
    free(b);
    MPI_Type_free(&bytes);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
    long counts[2] = {passed, failed}, sum[2];
    MPI_Reduce(counts, sum, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld passed, %ld failed\n", sum[0], sum[1]);
    MPI_Finalize();
    return failed != 0;
}
