/* Messages and local copies of a gather or scatter along a tree. */
#include <limits.h>
#include <string.h>

#include "mpi/real.h"
#include "mpi/treeplan.h"

int espi_tree_isend(const void *buf, int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    if (count <= INT_MAX)
        return espi_real.Isend(buf, (int)count, type, peer, tag, comm, request);
    return espi_real.Isend_c(buf, count, type, peer, tag, comm, request);
}

int espi_tree_irecv(void *buf, int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    if (count <= INT_MAX)
        return espi_real.Irecv(buf, (int)count, type, peer, tag, comm, request);
    return espi_real.Irecv_c(buf, count, type, peer, tag, comm, request);
}

int espi_tree_recv(void *buf, int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status *status)
{
    if (count <= INT_MAX)
        return espi_real.Recv(buf, (int)count, type, peer, tag, comm, status);
    return espi_real.Recv_c(buf, count, type, peer, tag, comm, status);
}

int espi_tree_signal(int peer, int tag, MPI_Comm comm)
{
    return espi_real.Send(NULL, 0, MPI_BYTE, peer, tag, comm);
}

int espi_tree_drop(int peer, MPI_Comm comm)
{
    MPI_Status status;
    if (espi_real.Probe(peer, MPI_ANY_TAG, comm, &status) != MPI_SUCCESS)
        return -1;
    int tag = status.MPI_TAG;
    espi_real.Recv(NULL, 0, MPI_BYTE, peer, tag, comm, MPI_STATUS_IGNORE); /* cut off: that is the aim */
    return tag;
}

int64_t espi_tree_probe(int peer, int tag, MPI_Comm comm)
{
    MPI_Status status;
    return espi_real.Probe(peer, tag, comm, &status) == MPI_SUCCESS ? espi_tree_received(&status) : -1;
}

int64_t espi_tree_received(const MPI_Status *status)
{
    MPI_Count bytes = 0;
    return espi_real.Get_elements_x(status, MPI_PACKED, &bytes) == MPI_SUCCESS ? (int64_t)bytes : 0;
}

int espi_tree_pack(const void *buf, int64_t count, MPI_Datatype type, bool dense, void *to, int64_t bytes,
                   MPI_Comm comm)
{
    if (bytes == 0)
        return MPI_SUCCESS;
    if (dense) {
        memcpy(to, buf, (size_t)bytes);
        return MPI_SUCCESS;
    }
    if (count <= INT_MAX && bytes <= INT_MAX) {
        int at = 0;
        return espi_real.Pack(buf, (int)count, type, to, (int)bytes, &at, comm);
    }
    MPI_Count at = 0;
    return espi_real.Pack_c(buf, count, type, to, bytes, &at, comm);
}

int espi_tree_unpack(const void *from, int64_t bytes, void *buf, int64_t count, MPI_Datatype type, bool dense,
                     MPI_Comm comm)
{
    if (bytes == 0)
        return MPI_SUCCESS;
    if (dense) {
        memcpy(buf, from, (size_t)bytes);
        return MPI_SUCCESS;
    }
    if (count <= INT_MAX && bytes <= INT_MAX) {
        int at = 0;
        return espi_real.Unpack(from, (int)bytes, &at, buf, (int)count, type, comm);
    }
    MPI_Count at = 0;
    return espi_real.Unpack_c(from, bytes, &at, buf, count, type, comm);
}

int espi_tree_fill(const void *from, int64_t bytes, void *buf, int64_t count, MPI_Datatype type, bool dense,
                   int64_t room, int rank, MPI_Comm comm)
{
    if (bytes > room)
        return MPI_ERR_TRUNCATE;
    /* MPI_Unpack is promised to work for whole elements only (MPICH's stops where the bytes end, so it would do). */
    if (dense || bytes == room)
        return espi_tree_unpack(from, bytes, buf, count, type, dense, comm);
    return espi_tree_copy(from, bytes, MPI_PACKED, buf, count, type, false, bytes, rank, comm);
}

int espi_tree_copy(const void *from, int64_t from_count, MPI_Datatype from_type, void *to, int64_t to_count,
                   MPI_Datatype to_type, bool dense, int64_t bytes, int rank, MPI_Comm comm)
{
    if (dense) {
        if (bytes > 0)
            memcpy(to, from, (size_t)bytes);
        return MPI_SUCCESS;
    }
    /* Not MPI_Irecv and MPI_Wait: MPI_Wait reports errors through MPI_COMM_WORLD, not through `comm`. */
    return espi_real.Sendrecv_c(from, from_count, from_type, rank, ESPI_TAG_DATA, to, to_count, to_type, rank,
                                ESPI_TAG_DATA, comm, MPI_STATUS_IGNORE);
}
