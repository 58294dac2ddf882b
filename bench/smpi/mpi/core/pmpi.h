/* For programs simulated with SMPI: takes the place of src/mpi/core/pmpi.h, whose table names functions that SMPI
   lacks. Holds what the code of leases and trees calls; the _c forms are not reached with counts that an int
   holds. */
#ifndef ESPI_MPI_CORE_PMPI_H
#define ESPI_MPI_CORE_PMPI_H

#include <mpi.h>

struct espi_pmpi {
#define ESPI_PMPI(name) __typeof__(&PMPI_##name) name;
#include "mpi/core/smpi.def"
#undef ESPI_PMPI
    int (*Get_elements_x)(const MPI_Status *, MPI_Datatype, MPI_Count *);
    int (*Isend_c)(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*Irecv_c)(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*Recv_c)(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    int (*Sendrecv_c)(const void *, MPI_Count, MPI_Datatype, int, int, void *, MPI_Count, MPI_Datatype, int, int,
                      MPI_Comm, MPI_Status *);
    int (*Pack_c)(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Count *, MPI_Comm);
    int (*Unpack_c)(const void *, MPI_Count, MPI_Count *, void *, MPI_Count, MPI_Datatype, MPI_Comm);
};
extern struct espi_pmpi espi_pmpi;

#endif
