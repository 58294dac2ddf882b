#include "mpi/core/thread_state.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/overlap.h"

static pthread_key_t key;
static bool key_made;

static void thread_ends(void *data)
{
    struct espi_thread *thread = data;
    struct espi_thread_state *state = thread->core;
    /* A destructor of another library may still call MPI in this thread: it then gets a new one. */
    thread->core = NULL;
    thread->calls = NULL;
    espi_leads_no_more();
    if (state) {
        espi_stats_thread_end(state->stats);
        espi_selfcopy_forget(&state->pairs);
        free(state);
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
    struct espi_thread_state *state = calloc(1, sizeof *state);
    if (!state)
        return NULL;
    state->comm.comm = MPI_COMM_NULL;
    state->stats = espi_stats_thread_begin();
    thread->core = state;
    thread->calls = state->stats->calls;
    if (key_made)
        pthread_setspecific(key, thread);
    return state;
}
