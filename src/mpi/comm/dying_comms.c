#include "mpi/comm/dying_comms.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MOST = 16 }; /* at a time, of all threads */

/* Where an error handler leaves MPI's call by a jump, the handle stays here: of a communicator that lives on. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `dying` */
static MPI_Comm dying[MOST];
static atomic_int n_dying; /* changed under the lock */

void espi_comm_free_begins(MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    const int n = atomic_load(&n_dying);
    if (n < MOST) {
        dying[n] = comm;
        atomic_store(&n_dying, n + 1);
    }
    pthread_mutex_unlock(&lock);
}

void espi_comm_free_ends(MPI_Comm comm)
{
    int left = 0;
    pthread_mutex_lock(&lock);
    const int n = atomic_load(&n_dying);
    for (int i = 0; i < n; i++)
        if (dying[i] != comm)
            dying[left++] = dying[i];
    atomic_store(&n_dying, left);
    pthread_mutex_unlock(&lock);
}

bool espi_comm_is_dying(MPI_Comm comm)
{
    bool found = false;
    if (atomic_load(&n_dying) == 0)
        return false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < atomic_load(&n_dying) && !found; i++)
        found = dying[i] == comm;
    pthread_mutex_unlock(&lock);
    return found;
}
