#include "mpi/core/thread_state.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static pthread_key_t key;
static bool key_made;

static void thread_ends(void *data)
{
    struct espi_thread *thread = data;
    struct espi_thread_state *mine = thread->core;
    /* A destructor of another library may still call MPI in this thread: it then gets a new one. */
    thread->core = NULL;
    thread->calls = NULL;
    if (mine) {
        espi_stats_thread_end(mine->stats);
        free(mine);
    }
}

static void make_key(void)
{
    key_made = pthread_key_create(&key, thread_ends) == 0;
}

struct espi_thread_state *espi_thread_state_make(struct espi_thread *thread)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    struct espi_thread_state *mine = calloc(1, sizeof *mine);
    if (!mine)
        return NULL;
    mine->comm.comm = MPI_COMM_NULL;
    mine->stats = espi_stats_thread_begin();
    thread->core = mine;
    thread->calls = mine->stats->calls;
    if (key_made)
        pthread_setspecific(key, thread);
    return mine;
}
