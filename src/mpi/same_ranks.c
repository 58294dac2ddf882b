#include "mpi/same_ranks.h"

#include <stdbool.h>

#include "mpi/real.h"

/* Not MPI_Comm_dup: that would run the program's attribute callbacks. A failure is no error of the program's, so its
   handler, which may end it, is set aside. */
MPI_Comm espi_same_ranks(MPI_Comm comm)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm own = MPI_COMM_NULL;
    if (espi_real.Comm_group(comm, &group) != MPI_SUCCESS)
        return MPI_COMM_NULL;
    bool aside = espi_real.Comm_get_errhandler(comm, &handler) == MPI_SUCCESS &&
                 espi_real.Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS;
    if (espi_real.Comm_create(comm, group, &own) != MPI_SUCCESS)
        own = MPI_COMM_NULL;
    if (aside)
        espi_real.Comm_set_errhandler(comm, handler);
    if (handler != MPI_ERRHANDLER_NULL)
        espi_real.Errhandler_free(&handler);
    espi_real.Group_free(&group);
    if (own != MPI_COMM_NULL)
        espi_real.Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    return own;
}
