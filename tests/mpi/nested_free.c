/*
 * Types that are freed, and made again under the same handle, inside a callback of another MPI call: the handle then
 * is another layout's, whatever was known of it before. Each message to oneself and each packed buffer is compared
 * with a plain copy.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 64, CELLS = 4096, ROUNDS = 8, USES = 40 };

static MPI_Datatype type;
static int from[CELLS], to[CELLS], packed[BLOCKS], passed, failed, again, stride, key;

static void make(int step)
{
    int displacements[BLOCKS];

    stride = step;
    for (int i = 0; i < BLOCKS; i++)
        displacements[i] = step * i;
    MPI_Type_create_indexed_block(BLOCKS, 1, displacements, MPI_INT, &type);
    MPI_Type_commit(&type);
}

static int renew(MPI_Comm comm, int keyval, void *value, void *extra)
{
    MPI_Datatype old = type;

    (void)comm;
    (void)keyval;
    (void)extra;
    MPI_Type_free(&type);
    make(*(int *)value);
    again += type == old;
    return MPI_SUCCESS;
}

static void refused(MPI_Comm *comm, int *code, ...)
{
    static int step = 40;

    (void)code;
    renew(*comm, 0, &step, NULL);
}

static void check(void)
{
    int at = 0, right = 1;

    memset(to, 0xff, sizeof to);
    MPI_Sendrecv(from, 1, type, 0, 1, to, 1, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Pack(from, 1, type, packed, sizeof packed, &at, MPI_COMM_SELF);
    for (int i = 0; i < CELLS; i++)
        right = right && to[i] == (i % stride == 0 && i / stride < BLOCKS ? from[i] : -1);
    for (int i = 0; i < BLOCKS; i++)
        right = right && packed[i] == from[i * stride];
    passed += right;
    failed += !right;
}

int main(int argc, char **argv)
{
    int provided, steps[ROUNDS], nothing = 0;

    MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    for (int i = 0; i < CELLS; i++)
        from[i] = 7 * i + 1;
    make(3);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, renew, &key, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm;
        MPI_Errhandler handler;

        for (int use = 0; use < USES; use++)
            check();
        steps[round] = 4 + round;
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        MPI_Comm_set_attr(comm, key, &steps[round]);
        MPI_Comm_free(&comm); /* deletes the attribute */
        for (int use = 0; use < USES; use++)
            check();
        if (provided == MPI_THREAD_MULTIPLE)
            continue; /* MPICH 4.0.2 holds its lock while an error handler runs, and ends the program */
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        MPI_Comm_create_errhandler(refused, &handler);
        MPI_Comm_set_errhandler(comm, handler);
        MPI_Send(&nothing, 1, MPI_INT, 99, 0, comm); /* no such rank */
        check();
        MPI_Errhandler_free(&handler);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_free_keyval(&key);
    MPI_Type_free(&type);
    if (again == 0) {
        printf("no handle came again: nothing was tested\n");
        failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    MPI_Finalize();
    return failed != 0;
}
