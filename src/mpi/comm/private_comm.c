#include "mpi/comm/private_comm.h"

#include <stdbool.h>

#include "mpi/core/pmpi.h"

static void only_return(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

/* Not MPI_Comm_dup: that would run the program's attribute callbacks. A failure is no error of the program's, so its
   handler, which may end it, is set aside; another thread may set one meanwhile, which then stays. */
MPI_Comm espi_private_comm(MPI_Comm comm, bool early)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Errhandler before = MPI_ERRHANDLER_NULL, aside = MPI_ERRHANDLER_NULL, now = MPI_ERRHANDLER_NULL;
    MPI_Comm own = MPI_COMM_NULL;
    if (espi_pmpi.Comm_group(comm, &group) != MPI_SUCCESS)
        return MPI_COMM_NULL;
    bool set = espi_pmpi.Comm_create_errhandler(only_return, &aside) == MPI_SUCCESS &&
               espi_pmpi.Comm_get_errhandler(comm, &before) == MPI_SUCCESS &&
               !(early && before == MPI_ERRORS_ARE_FATAL) &&
               espi_pmpi.Comm_set_errhandler(comm, aside) == MPI_SUCCESS;
    if (espi_pmpi.Comm_create(comm, group, &own) != MPI_SUCCESS)
        own = MPI_COMM_NULL;
    if (set && espi_pmpi.Comm_get_errhandler(comm, &now) == MPI_SUCCESS && now == aside)
        espi_pmpi.Comm_set_errhandler(comm, before);
    MPI_Errhandler *const held[] = {&before, &aside, &now};
    for (int i = 0; i < 3; i++)
        if (*held[i] != MPI_ERRHANDLER_NULL)
            espi_pmpi.Errhandler_free(held[i]);
    espi_pmpi.Group_free(&group);
    if (own != MPI_COMM_NULL)
        espi_pmpi.Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    return own;
}
