/* An ordinary tool: counts some calls, passes them on to PMPI_X, or with PASS_TO_NEXT to the next MPI_X, and reports
   when MPI ends. TOOL is its name. With TYPE_IN_INIT it makes a type before its MPI_Init ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#ifdef PASS_TO_NEXT
#define PASS_ON(name) ((__typeof__(&MPI_##name))dlsym(RTLD_NEXT, "MPI_" #name))
#else
#define PASS_ON(name) PMPI_##name
#endif

#define SEEN __attribute__((visibility("default")))

static int sends, commits, inits;

SEEN int MPI_Init(int *argc, char ***argv)
{
    inits++;
#ifdef TYPE_IN_INIT
    MPI_Datatype type;
    int result = PASS_ON(Init)(argc, argv);
    if (result == MPI_SUCCESS && PMPI_Type_contiguous(4, MPI_INT, &type) == MPI_SUCCESS) {
        PMPI_Type_commit(&type);
        PMPI_Type_free(&type);
    }
    return result;
#else
    return PASS_ON(Init)(argc, argv);
#endif
}

SEEN int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    sends++;
    return PASS_ON(Isend)(buf, count, type, dest, tag, comm, request);
}

SEEN int MPI_Type_commit(MPI_Datatype *type)
{
    commits++;
    return PASS_ON(Type_commit)(type);
}

SEEN int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("tool %s saw %d inits, %d sends, %d commits\n", TOOL, inits, sends, commits);
        fflush(stdout);
    }
    return PMPI_Finalize();
}
