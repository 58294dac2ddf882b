#include "mpi/self.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "mpi/real.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the making of `own` */
static _Atomic MPI_Comm own = MPI_COMM_NULL;
static atomic_uint ticket;

/* Not MPI_Comm_dup, which would run callbacks of attributes that the program hangs on MPI_COMM_SELF. A failure (MPI
   has no more to give) is no error of the program's, so its handler, which may end it, is set aside. */
static MPI_Comm make(void)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    int begun = 0;
    if (espi_real.Initialized(&begun) != MPI_SUCCESS || !begun)
        return MPI_COMM_NULL;
    bool aside = espi_real.Comm_get_errhandler(MPI_COMM_SELF, &handler) == MPI_SUCCESS &&
                 espi_real.Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS;
    if (espi_real.Comm_group(MPI_COMM_SELF, &group) != MPI_SUCCESS ||
        espi_real.Comm_create(MPI_COMM_SELF, group, &comm) != MPI_SUCCESS)
        comm = MPI_COMM_NULL;
    if (aside)
        espi_real.Comm_set_errhandler(MPI_COMM_SELF, handler);
    if (handler != MPI_ERRHANDLER_NULL)
        espi_real.Errhandler_free(&handler);
    if (group != MPI_GROUP_NULL)
        espi_real.Group_free(&group);
    if (comm != MPI_COMM_NULL)
        espi_real.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

MPI_Comm espi_self_comm(void)
{
    MPI_Comm comm = atomic_load_explicit(&own, memory_order_acquire);
    if (comm != MPI_COMM_NULL)
        return comm;
    pthread_mutex_lock(&lock);
    comm = atomic_load_explicit(&own, memory_order_relaxed);
    if (comm == MPI_COMM_NULL)
        atomic_store_explicit(&own, comm = make(), memory_order_release);
    pthread_mutex_unlock(&lock);
    return comm;
}

void espi_self_stop(void)
{
    MPI_Comm comm = atomic_exchange(&own, MPI_COMM_NULL);
    if (comm != MPI_COMM_NULL)
        espi_real.Comm_free(&comm);
}

int espi_self_copy(const void *from, MPI_Count from_count, MPI_Datatype from_type, void *to, MPI_Count to_count,
                   MPI_Datatype to_type)
{
    /* A tag of its own keeps the messages of concurrent threads apart. Tags go up to 32767 at least. */
    int tag = (int)(atomic_fetch_add(&ticket, 1) & 0x7fff);
    MPI_Comm comm = espi_self_comm();
    if (comm == MPI_COMM_NULL)
        return MPI_ERR_OTHER;
    return espi_real.Sendrecv_c(from, from_count, from_type, 0, tag, to, to_count, to_type, 0, tag, comm,
                                MPI_STATUS_IGNORE);
}
