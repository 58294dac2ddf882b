/* The table of bench/smpi/mpi/core/pmpi.h, and what the code of trees asks of the rest of the core. */
#include "mpi/core/pmpi.h"

#include <stddef.h>

#include "mpi/core/runtime.h"
#include "mpi/packed/packed_call.h"

struct espi_settings espi_settings; /* nothing is checked */

void espi_packed_check(bool received, void *data, int64_t count, MPI_Datatype type, void *stream, int64_t bytes)
{
    (void)received, (void)data, (void)count, (void)type, (void)stream, (void)bytes;
}

static int received(const MPI_Status *status, MPI_Datatype type, MPI_Count *count)
{
    MPI_Status copy = *status;
    int bytes = 0, rc = PMPI_Get_count(&copy, MPI_BYTE, &bytes);
    (void)type;
    *count = bytes;
    return rc;
}

static int isend(const void *buf, MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 MPI_Request *request)
{
    (void)buf, (void)count, (void)type, (void)peer, (void)tag, (void)comm, (void)request;
    return MPI_ERR_COUNT;
}

static int irecv(void *buf, MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 MPI_Request *request)
{
    return isend(buf, count, type, peer, tag, comm, request);
}

static int recv_large(void *buf, MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                      MPI_Status *status)
{
    (void)status;
    return isend(buf, count, type, peer, tag, comm, NULL);
}

static int sendrecv(const void *from, MPI_Count n, MPI_Datatype type, int to, int tag, void *buf, MPI_Count count,
                    MPI_Datatype other, int peer, int other_tag, MPI_Comm comm, MPI_Status *status)
{
    (void)buf, (void)count, (void)other, (void)peer, (void)other_tag, (void)status;
    return isend(from, n, type, to, tag, comm, NULL);
}

static int pack(const void *buf, MPI_Count count, MPI_Datatype type, void *to, MPI_Count bytes, MPI_Count *at,
                MPI_Comm comm)
{
    (void)buf, (void)count, (void)type, (void)to, (void)bytes, (void)at, (void)comm;
    return MPI_ERR_COUNT;
}

static int unpack(const void *from, MPI_Count bytes, MPI_Count *at, void *buf, MPI_Count count, MPI_Datatype type,
                  MPI_Comm comm)
{
    return pack(from, count, type, buf, bytes, at, comm);
}

struct espi_pmpi espi_pmpi = {
#define ESPI_PMPI(name) .name = PMPI_##name,
#include "mpi/core/smpi.def"
#undef ESPI_PMPI
    .Get_elements_x = received,
    .Isend_c = isend,
    .Irecv_c = irecv,
    .Recv_c = recv_large,
    .Sendrecv_c = sendrecv,
    .Pack_c = pack,
    .Unpack_c = unpack,
};
