/*
 * Some messages of a derived type, too few for a trial to come to its end; with an argument a session begins after
 * them, and ends after MPI_Finalize. What they save is in the report either way. Then blocks of types for which
 * Espalier makes better ones, so that MPI says at its end if some are left. Two ranks.
 */
#include <mpi.h>

enum { BLOCKS = 20000, ROUNDS = 40 };

static double from[3 * BLOCKS], to[3 * BLOCKS];

/* Dense blocks that are received as columns of many lengths. */
static void columns(void)
{
    enum { LIVES = 2000, MOST = 3000 };
    static int sent[2 * MOST], got[4 * MOST];
    for (int life = 0; life < LIVES; life++) {
        const int items = 100 + 7 * life % (MOST - 100);
        const int counts[2] = {items, items}, ones[2] = {1, 1}, at[2] = {0, 4 * items}, to_at[2] = {0, 8 * items};
        const MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
        MPI_Datatype column[2];
        MPI_Type_vector(items, 1, 2, MPI_INT, &column[0]);
        MPI_Type_commit(&column[0]);
        column[1] = column[0];
        MPI_Alltoallw(sent, counts, at, ints, got, ones, to_at, column, MPI_COMM_WORLD);
        MPI_Type_free(&column[0]);
    }
}

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
    columns();
    if (argc > 1)
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Finalize();
    if (argc > 1)
        MPI_Session_finalize(&session);
    return 0;
}
