/* An ordinary PMPI tool: counts some calls, calls PMPI_X, and reports when MPI ends. TOOL is its name. */
#include <mpi.h>
#include <stdio.h>

#define SEEN __attribute__((visibility("default")))

static int sends, commits, inits;

SEEN int MPI_Init(int *argc, char ***argv)
{
    inits++;
    return PMPI_Init(argc, argv);
}

SEEN int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    sends++;
    return PMPI_Isend(buf, count, type, dest, tag, comm, request);
}

SEEN int MPI_Type_commit(MPI_Datatype *type)
{
    commits++;
    return PMPI_Type_commit(type);
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
