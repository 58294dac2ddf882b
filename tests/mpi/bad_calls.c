/*
 * Wrong calls, one row each: what comes back (error class and text), with a type that Espalier would substitute.
 * After each row a correct transfer with that type must still work. An ordinary MPI program; run-bad compares what it
 * prints with and without Espalier.
 *   bad_calls         all rows, errors are returned
 *   bad_calls -r ROW  one row, errors are returned
 *   bad_calls -f ROW  one row, errors are fatal
 *   bad_calls -l      names of the rows
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 24
/* Not a datatype handle. (MPICH 4.0.2 does not survive handles that look like derived types and are none, and takes
 * most freed ones for what they were, so there is no row of that kind.) */
#define GARBAGE ((MPI_Datatype)0x12345678)

static MPI_Datatype t, uncommitted, other;
static int buf[4 * N * N], out[4 * N * N], me, size;
static char bytes[65536];
static MPI_Request r = MPI_REQUEST_NULL;
static MPI_Win win;
static MPI_Comm self;

/* First row and first column of an N x N matrix, element by element. */
static MPI_Datatype row_and_column(void)
{
    MPI_Datatype type;
    int lens[2 * N - 1], at[2 * N - 1];
    for (int i = 0; i < 2 * N - 1; i++) {
        lens[i] = 1;
        at[i] = i < N ? i : (i - N + 1) * N;
    }
    MPI_Type_indexed(2 * N - 1, lens, at, MPI_INT, &type);
    return type;
}

#define ROWS(X)                                                                                                      \
    X("Send, garbage handle", MPI_Send(buf, 1, GARBAGE, 0, 0, self))                                                 \
    X("Send, MPI_DATATYPE_NULL", MPI_Send(buf, 1, MPI_DATATYPE_NULL, 0, 0, self))                                    \
    X("Send, type not committed", MPI_Send(buf, 1, uncommitted, 0, 0, self))                                         \
    X("Send, count -1", MPI_Send(buf, -1, t, 0, 0, self))                                                            \
    X("Send_c, count -1", MPI_Send_c(buf, -1, t, 0, 0, self))                                                        \
    X("Send, rank too large", MPI_Send(buf, 1, t, 99, 0, self))                                                      \
    X("Send, rank -7", MPI_Send(buf, 1, t, -7, 0, self))                                                             \
    X("Send, tag -3", MPI_Send(buf, 1, t, 0, -3, self))                                                              \
    X("Send, tag too large", MPI_Send(buf, 1, t, 0, 0x7fffffff, self))                                               \
    X("Send, MPI_COMM_NULL", MPI_Send(buf, 1, t, 0, 0, MPI_COMM_NULL))                                               \
    X("Send, garbage communicator", MPI_Send(buf, 1, t, 0, 0, (MPI_Comm)0x12345678))                                 \
    X("Send, null buffer", MPI_Send(NULL, 1, t, 0, 0, self))                                                         \
    X("Send to MPI_PROC_NULL", MPI_Send(buf, 1, t, MPI_PROC_NULL, 0, self))                                          \
    X("Send to MPI_PROC_NULL, count -1", MPI_Send(buf, -1, t, MPI_PROC_NULL, 0, self))                               \
    X("Send, two wrong arguments", MPI_Send(NULL, -1, t, 99, -3, self))                                              \
    X("Ssend, rank too large", MPI_Ssend(buf, 1, t, 99, 0, self))                                                    \
    X("Bsend, no buffer attached", MPI_Bsend(buf, 1, t, 0, 0, self))                                                 \
    X("Recv, rank too large", MPI_Recv(out, 1, t, 99, 0, self, MPI_STATUS_IGNORE))                                   \
    X("Recv, tag -5", MPI_Recv(out, 1, t, 0, -5, self, MPI_STATUS_IGNORE))                                           \
    X("Recv, count -1", MPI_Recv(out, -1, t, 0, 0, self, MPI_STATUS_IGNORE))                                         \
    X("Recv, type not committed", MPI_Recv(out, 1, uncommitted, 0, 0, self, MPI_STATUS_IGNORE))                      \
    X("Recv, null buffer", MPI_Recv(NULL, 1, t, 0, 0, self, MPI_STATUS_IGNORE))                                      \
    X("Recv, message too long", truncated())                                                                         \
    X("Irecv, message too long", truncated_later())                                                                  \
    X("Sendrecv, message too long",                                                                                  \
      MPI_Sendrecv(buf, 2, t, 0, 3, out, 1, t, 0, 3, self, MPI_STATUS_IGNORE))                                       \
    X("Sendrecv, receive type null",                                                                                 \
      MPI_Sendrecv(buf, 1, t, 0, 3, out, 1, MPI_DATATYPE_NULL, 0, 3, self, MPI_STATUS_IGNORE))                       \
    X("Sendrecv from MPI_PROC_NULL, tag -5",                                                                         \
      MPI_Sendrecv(buf, 1, t, 0, 3, out, 1, t, MPI_PROC_NULL, -5, self, MPI_STATUS_IGNORE))                          \
    X("Sendrecv from MPI_PROC_NULL, count -1",                                                                       \
      MPI_Sendrecv(buf, 1, t, 0, 3, out, -1, t, MPI_PROC_NULL, 3, self, MPI_STATUS_IGNORE))                          \
    X("Sendrecv from MPI_PROC_NULL, receive type null",                                                              \
      MPI_Sendrecv(buf, 1, t, 0, 3, out, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 3, self, MPI_STATUS_IGNORE))           \
    X("Sendrecv_replace, rank too large",                                                                            \
      MPI_Sendrecv_replace(buf, 1, t, 99, 3, 0, 3, self, MPI_STATUS_IGNORE))                                         \
    X("Isend, rank too large", MPI_Isend(buf, 1, t, 99, 0, self, &r))                                                \
    X("Isend, null request", MPI_Isend(buf, 1, t, 0, 0, self, NULL))                                                 \
    X("Mrecv, MPI_MESSAGE_NULL", MPI_Mrecv(out, 1, t, &(MPI_Message){MPI_MESSAGE_NULL}, MPI_STATUS_IGNORE))          \
    X("Send_init, count -1", MPI_Send_init(buf, -1, t, 0, 0, self, &r))                                              \
    X("Recv_init, tag -5", MPI_Recv_init(out, 1, t, 0, -5, self, &r))                                                \
    X("Bcast, root too large", MPI_Bcast(buf, 1, t, 99, self))                                                       \
    X("Bcast, count -1", MPI_Bcast(buf, -1, t, 0, self))                                                             \
    X("Bcast, type not committed", MPI_Bcast(buf, 1, uncommitted, 0, self))                                          \
    X("Gather, same buffer twice", MPI_Gather(buf, 1, t, buf, 1, t, 0, self))                                        \
    X("Gather, message too long", MPI_Gather(buf, 2, t, out, 1, t, 0, self))                                         \
    X("Gatherv, null counts", MPI_Gatherv(buf, 1, t, out, (int[]){-1}, (int[]){0}, t, 0, self))                      \
    X("Scatter, root -1", MPI_Scatter(buf, 1, t, out, 1, t, -1, self))                                               \
    X("Allgather, receive type null", MPI_Allgather(buf, 1, t, out, 1, MPI_DATATYPE_NULL, self))                     \
    X("Alltoall, count -1", MPI_Alltoall(buf, -1, t, out, 1, t, self))                                               \
    X("Alltoallw, null type in the array",                                                                           \
      MPI_Alltoallw(buf, (int[]){1}, (int[]){0}, (MPI_Datatype[]){MPI_DATATYPE_NULL}, out, (int[]){1}, (int[]){0},   \
                    (MPI_Datatype[]){t}, self))                                                                      \
    X("Ibcast, root too large", MPI_Ibcast(buf, 1, t, 99, self, &r))                                                 \
    X("Reduce, MPI_SUM on a derived type", MPI_Reduce(buf, out, 1, t, MPI_SUM, 0, self))                             \
    X("Allreduce, MPI_SUM on a derived type", MPI_Allreduce(buf, out, 1, t, MPI_SUM, self))                          \
    X("Allreduce, MPI_OP_NULL", MPI_Allreduce(buf, out, 1, t, MPI_OP_NULL, self))                                    \
    X("Pack, buffer too small", MPI_Pack(buf, 1, t, bytes, 3, &(int){0}, self))                                      \
    X("Pack, count -1", MPI_Pack(buf, -1, t, bytes, sizeof bytes, &(int){0}, self))                                  \
    X("Pack, type not committed", MPI_Pack(buf, 1, uncommitted, bytes, sizeof bytes, &(int){0}, self))               \
    X("Pack, null buffer", MPI_Pack(NULL, 1, t, bytes, sizeof bytes, &(int){0}, self))                               \
    X("Pack_size, count -1", MPI_Pack_size(-1, t, self, &(int){0}))                                                  \
    X("Pack_size, type null", MPI_Pack_size(1, MPI_DATATYPE_NULL, self, &(int){0}))                                  \
    X("Unpack, count -1", MPI_Unpack(bytes, sizeof bytes, &(int){0}, out, -1, t, self))                              \
    X("Put, target rank too large", MPI_Put(buf, 1, t, 99, 0, 1, t, win))                                            \
    X("Put, target count -1", MPI_Put(buf, 1, t, 0, 0, -1, t, win))                                                  \
    X("Put, target type null", MPI_Put(buf, 1, t, 0, 0, 1, MPI_DATATYPE_NULL, win))                                  \
    X("Put, target type not committed", MPI_Put(buf, 1, t, 0, 0, 1, uncommitted, win))                               \
    X("Put, MPI_WIN_NULL", MPI_Put(buf, 1, t, 0, 0, 1, t, MPI_WIN_NULL))                                             \
    X("Accumulate, MPI_OP_NULL", MPI_Accumulate(buf, 1, t, 0, 0, 1, t, MPI_OP_NULL, win))                            \
    X("Type_commit, MPI_DATATYPE_NULL", MPI_Type_commit(&(MPI_Datatype){MPI_DATATYPE_NULL}))                         \
    X("Type_commit, garbage", MPI_Type_commit(&(MPI_Datatype){GARBAGE}))                                         \
    X("Type_commit, twice", MPI_Type_commit(&t))                                                                     \
    X("Type_free, MPI_DATATYPE_NULL", MPI_Type_free(&(MPI_Datatype){MPI_DATATYPE_NULL}))                             \
    X("Type_free, MPI_INT", MPI_Type_free(&(MPI_Datatype){MPI_INT}))                                                 \
    X("Type_free, garbage", MPI_Type_free(&(MPI_Datatype){GARBAGE}))                                             \
    X("Type_dup, garbage", MPI_Type_dup(GARBAGE, &other))                                                        \
    X("Type_contiguous, count -1", MPI_Type_contiguous(-1, t, &other))                                               \
    X("Type_vector, length -1", MPI_Type_vector(2, -1, 3, t, &other))                                                \
    X("Type_contiguous of MPI_DATATYPE_NULL", MPI_Type_contiguous(2, MPI_DATATYPE_NULL, &other))                     \
    X("Type_size, garbage", MPI_Type_size(GARBAGE, &(int){0}))                                                   \
    X("Get_count, type null", MPI_Get_count(&(MPI_Status){0}, MPI_DATATYPE_NULL, &(int){0}))                         \
    X("Get_elements, garbage", MPI_Get_elements(&(MPI_Status){0}, GARBAGE, &(int){0}))                           \
    X("Psend_init, count -1", MPI_Psend_init(buf, 2, -1, t, 0, 0, self, MPI_INFO_NULL, &r))

static int truncated(void)
{
    MPI_Request q;
    int rc;
    MPI_Isend(buf, 3, t, 0, 8, self, &q);
    rc = MPI_Recv(out, 1, t, 0, 8, self, MPI_STATUS_IGNORE);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    return rc;
}

static int truncated_later(void)
{
    MPI_Request q;
    int rc;
    MPI_Irecv(out, 1, t, 0, 8, self, &q);
    MPI_Send(buf, 3, t, 0, 8, self);
    rc = MPI_Wait(&q, MPI_STATUS_IGNORE);
    return rc;
}

/* Carries out row n; NULL as its name: there is none. Rank -1 wants the name only. */
static int row(int n, const char **name)
{
    int k = 0;
#define X(text, call)                                                                                                \
    if (k++ == n) {                                                                                                  \
        *name = text;                                                                                                \
        return me < 0 ? 0 : (call);                                                                                  \
    }
    ROWS(X)
#undef X
    *name = NULL;
    return 0;
}

/* The type still moves the right bytes. */
static int intact(void)
{
    int sum = 0, want = 0, tag = 77;
    for (int i = 0; i < 4 * N * N; i++) {
        buf[i] = i * 7 + 1;
        out[i] = -1;
    }
    MPI_Sendrecv(buf, 1, t, 0, tag, out, 1, t, 0, tag, self, MPI_STATUS_IGNORE);
    for (int i = 0; i < N * N; i++) {
        int in = i < N || i % N == 0;
        want += in ? i * 7 + 1 : -1;
        sum += out[i];
    }
    return sum == want;
}

int main(int argc, char **argv)
{
    const char *name;
    int fatal = -1, only = -1, bad = 0;
    if (argc > 1 && strcmp(argv[1], "-l") == 0) {
        me = -1;
        for (int i = 0; row(i, &name), name; i++)
            printf("%s\n", name);
        return 0;
    }
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "-f") == 0)
            fatal = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "-r") == 0)
            only = atoi(argv[i + 1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    t = row_and_column();
    MPI_Type_commit(&t);
    uncommitted = row_and_column();
    for (int i = 0; i < 50; i++) /* used often enough to be worth something better */
        bad += !intact();
    MPI_Win_create(out, sizeof out, 1, MPI_INFO_NULL, self, &win);
    MPI_Win_fence(0, win);
    if (fatal >= 0) {
        if (me == 0 || fatal % 2 == 0)
            row(fatal, &name);
        printf("row %d returned\n", fatal);
    } else {
        MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        for (int i = only < 0 ? 0 : only; only < 0 || i == only; i++) {
            char text[MPI_MAX_ERROR_STRING + 1] = ""; /* MPICH looks for the end of what it has cut behind it */
            int class = 0, len;
            int rc = row(i, &name);
            if (!name)
                break;
            MPI_Error_class(rc, &class);
            MPI_Error_string(rc, text, &len);
            if (me == 0)
                printf("%s | class %d | %s | %s\n", name, class, text,
                       r == MPI_REQUEST_NULL ? "no request" : "request");
            if (r != MPI_REQUEST_NULL)
                MPI_Request_free(&r);
            if (!intact()) {
                printf("%s: afterwards the type moved other bytes\n", name);
                bad++;
            }
        }
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Type_free(&t);
    MPI_Type_free(&uncommitted);
    fflush(stdout);
    MPI_Comm_free(&self);
    MPI_Finalize();
    return bad ? 1 : 0;
}
