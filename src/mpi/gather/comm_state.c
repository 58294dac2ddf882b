#include "mpi/gather/comm_state.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "mpi/core/runtime.h"
#include "mpi/core/pmpi.h"
#include "mpi/comm/world.h"
#include "stats/stats.h"

/* A communicator is used by one thread at a time for collective calls, so only the list of all needs a lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `all`, `keyval` and `reserve` */
static struct espi_gather_comm *all;
static int keyval = MPI_KEYVAL_INVALID;

enum { RESERVE = 8 };
static struct espi_gather_comm reserve[RESERVE] ESPI_TABLE;
static bool reserved[RESERVE];

atomic_uint espi_gather_epoch;

static struct espi_gather_comm *state_make(void)
{
    struct espi_gather_comm *state = calloc(1, sizeof *state);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < RESERVE && !state; i++)
        if (!reserved[i]) {
            reserved[i] = true;
            state = &reserve[i];
            memset(state, 0, sizeof *state);
        }
    pthread_mutex_unlock(&lock);
    return state;
}

static void state_give_back(struct espi_gather_comm *state)
{
    if (state < reserve || state >= reserve + RESERVE) {
        free(state);
        return;
    }
    pthread_mutex_lock(&lock);
    reserved[state - reserve] = false;
    pthread_mutex_unlock(&lock);
}

void espi_gather_lease_close(struct espi_gather_lease *entry)
{
    if (!entry->lease.irregular && espi_world_private_free(&entry->comm.own))
        espi_count_anywhere(ESPI_COUNT_tree_comms_freed, 1);
    entry->comm.own = MPI_COMM_NULL;
}

static struct espi_gather_lease *lease_give_up(struct espi_gather_lease *entry)
{
    free(entry->sizes);
    free(entry->was_empty);
    free(entry);
    return NULL;
}

static void state_free(struct espi_gather_comm *state)
{
    espi_gather_epoch_next();
    struct espi_gather_lease *entry, *other;
    HASH_ITER(hh, state->leases, entry, other) {
        HASH_DEL(state->leases, entry);
        espi_lease_report_end(&entry->report, &entry->lease, &state->places, &espi_settings, entry->sizes);
        espi_gather_lease_close(entry);
        espi_lease_release(&entry->lease);
        lease_give_up(entry);
    }
    free(state->lists);
    state_give_back(state);
}

/* Deletion is as collective as the freeing of the program's communicator. */
static int comm_ends(MPI_Comm comm, int key, void *value, void *extra)
{
    struct espi_gather_comm *state = value;
    (void)comm;
    (void)key;
    (void)extra;
    pthread_mutex_lock(&lock);
    if (state->prev)
        state->prev->next = state->next;
    else
        all = state->next;
    if (state->next)
        state->next->prev = state->prev;
    pthread_mutex_unlock(&lock);
    state_free(state);
    return MPI_SUCCESS;
}

void espi_gather_comms_start(void)
{
    pthread_mutex_lock(&lock);
    if (espi_pmpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_ends, &keyval, NULL) != MPI_SUCCESS)
        keyval = MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&lock);
}

void espi_gather_comms_stop(void)
{
    /* Communicators that live on keep an attribute that is never looked at again; what it points to stays. Freeing
       the private ones is left to MPI's end with them: ranks need not hold the same communicators in the same
       order. */
    struct espi_gather_lease *entry, *other;
    pthread_mutex_lock(&lock);
    if (keyval != MPI_KEYVAL_INVALID)
        espi_pmpi.Comm_free_keyval(&keyval);
    keyval = MPI_KEYVAL_INVALID;
    espi_gather_epoch_next();
    for (struct espi_gather_comm *state = all; state; state = state->next)
        HASH_ITER(hh, state->leases, entry, other)
            espi_lease_report_end(&entry->report, &entry->lease, &state->places, &espi_settings, entry->sizes);
    pthread_mutex_unlock(&lock);
}

/* When roots may ask for the first time: at once where trees are wanted in any case; else when the communicator has
   been there for some time. */
static int64_t first_poll(void)
{
    return espi_settings.collectives == ESPI_MODE_ALWAYS || espi_settings.tree != 0 ? 1 : 8;
}

static struct espi_gather_comm *state_of_comm(const struct espi_comm_facts *facts)
{
    struct espi_gather_comm *state = NULL;
    int found = 0;
    if (keyval == MPI_KEYVAL_INVALID || espi_pmpi.Comm_get_attr(facts->comm, keyval, &state, &found) != MPI_SUCCESS)
        return NULL;
    if (found)
        return state;
    state = state_make();
    if (!state)
        return NULL;
    state->comm = facts->comm;
    state->rank = facts->rank;
    state->size = state->places.size = facts->peers;
    state->poll = state->due = first_poll();
    if (espi_pmpi.Comm_set_attr(facts->comm, keyval, state) != MPI_SUCCESS) {
        state_give_back(state);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    state->next = all;
    if (all)
        all->prev = state;
    all = state;
    pthread_mutex_unlock(&lock);
    return state;
}

struct espi_gather_comm *espi_gather_comm_of_thread(struct espi_thread_state *thread_state)
{
    struct espi_last_gather_comm *last = &thread_state->gather_comm;
    unsigned now = atomic_load_explicit(&espi_gather_epoch, memory_order_acquire);
    if (last->comm != thread_state->comm.comm || last->epoch != now || !last->state) {
        const struct espi_comm_facts facts = thread_state->comm;
        *last = (struct espi_last_gather_comm){state_of_comm(&facts), facts.comm, now};
    }
    return last->state;
}

void espi_gather_comm_ends(const struct espi_comm_facts *facts)
{
    void *state;
    int found = 0;
    if (keyval != MPI_KEYVAL_INVALID &&
        espi_pmpi.Comm_get_attr(facts->comm, keyval, &state, &found) == MPI_SUCCESS && found)
        espi_pmpi.Comm_delete_attr(facts->comm, keyval);
}

struct espi_gather_lease *espi_gather_lease_find(struct espi_gather_comm *state, enum espi_lease_family family,
                                                 int root)
{
    struct espi_gather_lease *entry, probe;
    memset(&probe, 0, sizeof probe);
    probe.key.family = (int)family;
    probe.key.root = root;
    HASH_FIND(hh, state->leases, &probe.key, sizeof probe.key, entry);
    return entry;
}

struct espi_gather_lease *espi_gather_lease_of(struct espi_gather_comm *state, enum espi_lease_family family,
                                               int root)
{
    struct espi_gather_lease *entry = espi_gather_lease_find(state, family, root);
    if (entry)
        return entry;
    entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    if (root == state->rank) {
        entry->sizes = calloc((size_t)state->size, sizeof *entry->sizes);
        entry->was_empty = calloc((size_t)state->size, sizeof *entry->was_empty);
        if (!entry->sizes || !entry->was_empty)
            return lease_give_up(entry);
    }
    entry->key.family = (int)family;
    entry->key.root = root;
    entry->lease.family = family;
    entry->lease.root = root;
    entry->lease.method = entry->lease.now = ESPI_METHOD_LIBRARY;
    entry->lease.planned_for = ESPI_METHOD_LIBRARY;
    entry->comm = (struct espi_lease_comm){.own = MPI_COMM_NULL, .rank = state->rank, .size = state->size};
    entry->first = state->syncs;
    HASH_ADD(hh, state->leases, key, sizeof entry->key, entry);
    return entry->hh.tbl ? entry : lease_give_up(entry);
}
