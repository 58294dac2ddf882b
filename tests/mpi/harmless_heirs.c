/*
 * What communicators inherit: one that is made while MPI_COMM_WORLD has no error handler of its own follows the one
 * that it gets later, in MPICH, and so an error on it comes back. Argument `multiple`: at MPI_THREAD_MULTIPLE. Prints
 * `N passed, N failed` on rank 0.
 */
#include <string.h>

#include "harmless.h"

int main(int argc, char **argv)
{
    int sent[HL_MOST] = {0}, got[HL_MOST], columns[64] = {0}, others[64];
    MPI_Comm first, heirs[3];
    MPI_Datatype column;

    hl_start(&argc, &argv,
             argc > 1 && strcmp(argv[1], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    MPI_Type_vector(32, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, first);
    for (int k = 0; k < 20; k++)
        MPI_Sendrecv(columns, 1, column, (hl_rank + 1) % hl_size, 0, others, 1, column,
                     (hl_rank + hl_size - 1) % hl_size, 0, first, MPI_STATUS_IGNORE);
    MPI_Gather(columns, 1, column, others, 1, column, 0, MPI_COMM_SELF);
    MPI_Comm_dup(MPI_COMM_WORLD, &heirs[0]);
    MPI_Comm_dup(first, &heirs[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -hl_rank, &heirs[2]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; i++) {
        hl_at("an error on an heir", i);
        hl_check(hl_class(MPI_Send(sent, 1, MPI_INT, 99, 0, heirs[i])) == MPI_ERR_RANK, "heir %d", i);
        MPI_Comm_free(&heirs[i]);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&first);
    MPI_Type_free(&column);
    return hl_end();
}
