/*
 * Messages of which one side is a derived type and the other lies dense: what is the library's is timed while trials
 * of the others go on that are told, as in this test, and must be as it is natively, errors included. Two ranks.
 */
#include <stdio.h>

#include "bytes.h"

enum { MOST = 5000, ROUNDS = 260, OTHER_TAG = 9 };

static double from[2 * MOST], to[2 * MOST];
static char now[80];
static MPI_Comm comm; /* errors are returned; those of MPI_COMM_WORLD are counted */
static int errors_of_world;

static void count_error(MPI_Comm *world, int *code, ...)
{
    (void)world, (void)code;
    errors_of_world++;
}

static void fill(int n, int round)
{
    for (int i = 0; i < 2 * n; i++) {
        from[i] = 1000. * round + i + 0.5 * prog.me;
        to[i] = -1;
    }
}

/* Every second number is sent, and comes dense; or the other way round. `stride`: of what is received. */
static void check_received(int n, int round, int stride)
{
    for (int i = 0; i < n; i++) {
        const double is = to[stride * i], want = 1000. * round + (3 - stride) * i + 0.5 * (1 - prog.me);
        if (is != want) {
            fail(NULL, now, "number %d of round %d is %g, not %g", i, round, is, want);
            return;
        }
    }
    check_equal(NULL, now, "what lies between", to[stride * n - 1] == -1, stride == 2);
}

static void send(int n, MPI_Datatype type, int round)
{
    const int other = 1 - prog.me;

    if (round % 3 == 0)
        CK(MPI_Ssend(from, n, type, other, round, comm));
    else
        CK(MPI_Send(from, n, type, other, round, comm));
}

static void receive(int n, MPI_Datatype type, int bytes, int round)
{
    const int from_any = round % 4 == 1;
    MPI_Status status;
    MPI_Count count;

    if (round % 5 == 2) {
        CK(MPI_Recv(to, n, type, 1 - prog.me, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
        return;
    }
    CK(MPI_Recv(to, n, type, from_any ? MPI_ANY_SOURCE : 1 - prog.me, round, comm, &status));
    MPI_Get_elements_x(&status, MPI_BYTE, &count);
    check_equal(NULL, now, "bytes", count, bytes);
    check_equal(NULL, now, "source", status.MPI_SOURCE, 1 - prog.me);
    check_equal(NULL, now, "tag", status.MPI_TAG, round);
}

/* Calls that are wrong, or to nobody, in the midst of a trial. */
static void others(int n, MPI_Datatype dense)
{
    MPI_Status status;
    int class;

#define WRONG(what, call)                                                                                            \
    MPI_Error_class(call, &class);                                                                                   \
    check_value(NULL, now, what, class);
    WRONG("count", MPI_Recv(to, -1, MPI_DOUBLE, 1 - prog.me, OTHER_TAG, comm, MPI_STATUS_IGNORE))
    WRONG("rank", MPI_Send(from, n, MPI_DOUBLE, 77, OTHER_TAG, comm))
    WRONG("tag", MPI_Send(from, n, MPI_DOUBLE, 1 - prog.me, -5, comm))
    WRONG("type", MPI_Send(from, n, MPI_DATATYPE_NULL, 1 - prog.me, OTHER_TAG, comm))
    for (int bits = 1; bits < 16; bits++) { /* numbers of types that are there, but no types */
        WRONG("no type", MPI_Send(from, n, (MPI_Datatype)bits, 1 - prog.me, OTHER_TAG, comm))
    }
    WRONG("a communicator", MPI_Send(from, n, (MPI_Datatype)MPI_COMM_WORLD, 1 - prog.me, OTHER_TAG, comm))
    WRONG("communicator", MPI_Recv(to, n, MPI_DOUBLE, 0, OTHER_TAG, MPI_COMM_NULL, MPI_STATUS_IGNORE))
    CK(MPI_Recv(to, n, MPI_DOUBLE, MPI_PROC_NULL, OTHER_TAG, comm, &status));
    CK(MPI_Send(from, 1, dense, MPI_PROC_NULL, OTHER_TAG, comm));
    if (prog.me == 0) { /* more than there is room for */
        CK(MPI_Send(from, n, MPI_DOUBLE, 1, OTHER_TAG, comm));
    } else {
        WRONG("truncated", MPI_Recv(to, n / 2, MPI_DOUBLE, 0, OTHER_TAG, comm, &status))
    }
    CK(MPI_Barrier(comm));
}

static void rounds(int n, int sends_typed)
{
    MPI_Datatype every, dense;

    snprintf(now, sizeof now, "%d numbers, the %s is typed", n, sends_typed ? "sender" : "receiver");
    MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &every);
    MPI_Type_contiguous(n, MPI_DOUBLE, &dense);
    MPI_Type_commit(&every);
    MPI_Type_commit(&dense);
    for (int round = 0; round < ROUNDS; round++) {
        const int by_type = round % 2; /* one of n numbers, or n numbers */
        const int items = by_type ? 1 : n;
        const MPI_Datatype plain = by_type ? dense : MPI_DOUBLE;
        fill(n, round);
        for (int turn = 0; turn < 2; turn++) {
            if ((turn == 0) == (prog.me == 0))
                send(sends_typed ? 1 : items, sends_typed ? every : plain, round);
            else
                receive(sends_typed ? items : 1, sends_typed ? plain : every, n * (int)sizeof(double), round);
        }
        check_received(n, round, sends_typed ? 1 : 2);
        if (round % 4 == 3)
            others(n, dense);
    }
    MPI_Type_free(&every);
    MPI_Type_free(&dense);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {200, 600, 2500, MOST};
    MPI_Errhandler counts;

    prog_start(&argc, &argv, 0);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_create_errhandler(count_error, &counts);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counts);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int sends = 0; sends < 2; sends++)
            rounds(sizes[i], sends);
    check_value(NULL, "all", "errors of MPI_COMM_WORLD", errors_of_world);
    MPI_Errhandler_free(&counts);
    MPI_Comm_free(&comm);
    return prog_end("beside");
}
