/*
 * A preload library behind Espalier's: MPI_Init of the rank that ESPALIER_TEST_LATE names returns half a second later
 * than MPI's own, so that the other ranks are in the program long before.
 */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

__attribute__((visibility("default"))) int MPI_Init(int *argc, char ***argv)
{
    const char *late = getenv("ESPALIER_TEST_LATE");
    const int result = PMPI_Init(argc, argv);
    int rank;

    if (result == MPI_SUCCESS && late != NULL && PMPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS &&
        rank == atoi(late))
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    return result;
}
