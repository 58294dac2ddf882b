/* Which predefined operations there are for a base type. */
#ifndef ESPI_MPI_DATATYPE_OPS_H
#define ESPI_MPI_DATATYPE_OPS_H

#include <mpi.h>

/* A bit per predefined operation that the standard defines for a base type, by MPI's name of it. */
unsigned espi_reduce_ops_of(const char *base_name);
/* The bit of a predefined operation; 0 for every other handle. */
unsigned espi_reduce_op_bit(MPI_Op op);

#endif
