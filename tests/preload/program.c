/* An ordinary MPI program: work, with a choice of how MPI begins. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

static int children(char *self)
{
    MPI_Comm parent, inter;
    int sum = 0, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        char *args[] = {"spawn", NULL};
        MPI_Comm_spawn(self, args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        MPI_Reduce(NULL, &sum, 1, MPI_INT, MPI_SUM, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
        if (rank == 0)
            printf("children's sum %d\n", sum);
        MPI_Comm_disconnect(&inter);
    } else {
        rank += 5;
        MPI_Reduce(&rank, NULL, 1, MPI_INT, MPI_SUM, 0, parent);
        MPI_Comm_disconnect(&parent);
    }
    return work(parent == MPI_COMM_NULL ? "parents" : "children");
}

/* Sessions only: no MPI_COMM_WORLD. */
static int session(void)
{
    MPI_Session handle;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Datatype type;
    int data[20], rank, size;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &handle);
    MPI_Group_from_session_pset(handle, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "espalier-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < 20; i++)
        data[i] = rank * 100 + i;
    MPI_Type_vector(10, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 20; i++)
        MPI_Bcast(data, 1, type, 0, comm);
    int wrong = data[18] != 18 || data[19] != rank * 100 + 19;
    MPI_Type_free(&type);
    if (rank == 0)
        printf("session: %d ranks, wrong %d\n", size, wrong);
    MPI_Group_free(&group);
    MPI_Comm_disconnect(&comm);
    MPI_Session_finalize(&handle);
    return wrong;
}

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

/* The handles that the program is given: MPICH has few of each kind ready, and makes a thousand more when these are
   used up. */
static int handles(void)
{
    for (int i = 0; i < 8; i++) {
        MPI_Comm comm;
        MPI_Group group;
        MPI_Op op;
        MPI_Errhandler handler;
        MPI_Datatype type;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_group(comm, &group);
        MPI_Op_create(add, 1, &op);
        MPI_Comm_create_errhandler(on_error, &handler);
        MPI_Type_contiguous(2 + i, MPI_INT, &type);
        MPI_Type_commit(&type);
        printf("handles %x %x %x %x %x\n", (unsigned)comm, (unsigned)group, (unsigned)op, (unsigned)handler,
               (unsigned)type);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "init";
    int provided, code = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(how, "session") == 0)
        return session();
    if (strcmp(how, "early") == 0) { /* a wrapped call before MPI_Init */
        MPI_Datatype type = MPI_INT;
        MPI_Type_commit(&type);
    }
    if (strcmp(how, "null") == 0)
        MPI_Init(NULL, NULL);
    else if (strcmp(how, "thread") == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(&argc, &argv);
    if (strcmp(how, "twice") == 0)
        MPI_Init(&argc, &argv);
    code = strcmp(how, "spawn") == 0     ? children(argv[0])
           : strcmp(how, "handles") == 0 ? handles()
                                         : work("world");
    if (strcmp(how, "sessiontoo") == 0) {
        MPI_Session handle;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &handle);
        MPI_Finalize();
        MPI_Session_finalize(&handle);
        return code;
    }
    MPI_Finalize();
    if (strcmp(how, "late") == 0) { /* and one after the end */
        MPI_Datatype type = MPI_INT;
        MPI_Type_commit(&type);
    }
    return code;
}
