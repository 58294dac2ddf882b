#include "mpi/comm/dying_comms.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/overlap.h"

enum { MOST = 16 }; /* at a time, of all threads */

/* Where an error handler leaves MPI's call by a jump, the handle stays here: of a communicator that lives on. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `dying` */
static struct dying {
    MPI_Comm comm;
    pthread_t thread; /* that frees it: another one may have the next of this handle already */
} dying[MOST];
static atomic_int n_dying; /* changed under the lock */

static bool is_own(const struct dying *d, MPI_Comm comm)
{
    return d->comm == comm && pthread_equal(d->thread, pthread_self());
}

void espi_comm_free_begins(MPI_Comm comm)
{
    espi_lock(&lock);
    const int n = atomic_load(&n_dying);
    if (n < MOST) {
        dying[n] = (struct dying){comm, pthread_self()};
        atomic_store(&n_dying, n + 1);
    }
    espi_unlock(&lock);
}

void espi_comm_free_ends(MPI_Comm comm)
{
    int left = 0;
    espi_lock(&lock);
    const int n = atomic_load(&n_dying);
    for (int i = 0; i < n; i++)
        if (!is_own(&dying[i], comm))
            dying[left++] = dying[i];
    atomic_store(&n_dying, left);
    espi_unlock(&lock);
}

bool espi_comm_is_dying(MPI_Comm comm)
{
    bool found = false;
    if (atomic_load(&n_dying) == 0)
        return false;
    espi_lock(&lock);
    for (int i = 0; i < atomic_load(&n_dying) && !found; i++)
        found = is_own(&dying[i], comm);
    espi_unlock(&lock);
    return found;
}
