/*
 * The least that an MPI program can be: MPI_Init, N barriers (0 unless told), MPI_Finalize. bench/start starts it
 * again and again.
 *
 *   start_rank [N]
 */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int barriers = argc > 1 ? atoi(argv[1]) : 0;

    MPI_Init(&argc, &argv);
    while (barriers-- > 0)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
