/*
 * Some messages of a derived type, too few for a trial to come to its end; with an argument a session begins after
 * them, and ends after MPI_Finalize. What they save is in the report either way. Two ranks.
 */
#include <mpi.h>

enum { BLOCKS = 20000, ROUNDS = 40 };

static double from[3 * BLOCKS], to[3 * BLOCKS];

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Datatype type;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(BLOCKS, 1, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 2 * ROUNDS; i++)
        if (i % 2 == rank)
            MPI_Send(from, 1, type, 1 - rank, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(to, 1, type, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    if (argc > 1)
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Finalize();
    if (argc > 1)
        MPI_Session_finalize(&session);
    return 0;
}
