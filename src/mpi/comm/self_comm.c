#include "mpi/comm/self_comm.h"

#include <pthread.h>
#include <stdatomic.h>

#include "mpi/core/pmpi.h"
#include "mpi/comm/private_comm.h"
#include "mpi/comm/world.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the making of `own` */
static _Atomic MPI_Comm own = MPI_COMM_NULL;
static atomic_uint ticket;

static MPI_Comm make(bool early)
{
    MPI_Comm comm;
    pthread_mutex_lock(&lock);
    comm = atomic_load_explicit(&own, memory_order_relaxed);
    if (comm == MPI_COMM_NULL && espi_world_is_there())
        atomic_store_explicit(&own, comm = espi_private_comm(MPI_COMM_SELF, early), memory_order_release);
    pthread_mutex_unlock(&lock);
    return comm;
}

MPI_Comm espi_self_comm(void)
{
    MPI_Comm comm = atomic_load_explicit(&own, memory_order_acquire);
    return comm != MPI_COMM_NULL ? comm : make(false);
}

MPI_Comm espi_self_for_packing(void)
{
    MPI_Comm comm = atomic_load_explicit(&own, memory_order_acquire);
    return comm == MPI_COMM_NULL && espi_world_is_there() ? MPI_COMM_WORLD : comm;
}

void espi_self_start(void)
{
    make(true);
}

void espi_self_stop(void)
{
    MPI_Comm comm = atomic_exchange(&own, MPI_COMM_NULL);
    if (comm != MPI_COMM_NULL)
        espi_pmpi.Comm_free(&comm);
}

bool espi_self_refuses_alias(void)
{
    static pthread_mutex_t calling = PTHREAD_MUTEX_INITIALIZER; /* one collective call on it at a time */
    MPI_Comm comm = espi_self_comm();
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int data[3] = {0}, rc;
    if (comm == MPI_COMM_NULL || espi_pmpi.Type_vector(2, 1, 2, MPI_INT, &type) != MPI_SUCCESS)
        return true;
    rc = espi_pmpi.Type_commit(&type);
    if (!rc) {
        pthread_mutex_lock(&calling);
        rc = espi_pmpi.Gather(data, 1, type, data, 1, type, 0, comm);
        pthread_mutex_unlock(&calling);
    }
    espi_pmpi.Type_free(&type);
    return rc != MPI_SUCCESS;
}

int espi_self_copy(const void *from, MPI_Count from_count, MPI_Datatype from_type, void *to, MPI_Count to_count,
                   MPI_Datatype to_type)
{
    /* A tag of its own keeps the messages of concurrent threads apart. Tags go up to 32767 at least. */
    int tag = (int)(atomic_fetch_add(&ticket, 1) & 0x7fff);
    MPI_Comm comm = espi_self_comm();
    if (comm == MPI_COMM_NULL)
        return MPI_ERR_OTHER;
    return espi_pmpi.Sendrecv_c(from, from_count, from_type, 0, tag, to, to_count, to_type, 0, tag, comm,
                                MPI_STATUS_IGNORE);
}
