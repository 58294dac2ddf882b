#include "mpi/gather/agreement.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/core/api_table.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/core/pmpi.h"
#include "mpi/reduce/reduce.h"
#include "mpi/comm/world.h"
#include "stats/stats.h"
#include "words.h"

enum {
    MIXED_RANKS = 128, /* a tree that mixes levels takes a millisecond then, and 20 times as long for 512 */
    POLL_MOST = 256,      /* synchronizations from one poll to the next */
    STRIDE_MOST = 1 << 16
};

bool espi_is_refusal(int rc)
{
    int class = MPI_ERR_OTHER;
    if (rc == MPI_SUCCESS || espi_pmpi.Error_class(rc, &class) != MPI_SUCCESS)
        return false;
    switch (class) {
    case MPI_ERR_BUFFER:
    case MPI_ERR_COUNT:
    case MPI_ERR_TYPE:
    case MPI_ERR_COMM:
    case MPI_ERR_ROOT:
    case MPI_ERR_OP:
    case MPI_ERR_ARG:
        return true;
    default:
        return false;
    }
}

/* ---- the model ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `known` */
/* Each level of the model is asked for once, on the first communicator that uses it: a program may make thousands,
   and measured times have the last word on each of them anyway. Rank 0's memory decides for all. */
static struct espi_model known;

static void find_model(struct espi_gather_comm *state, MPI_Comm own, int root)
{
    pthread_mutex_lock(&lock);
    state->model = known;
    pthread_mutex_unlock(&lock);
    espi_model_complete(own, root, &state->places, &espi_settings, &state->model);
    state->flat = espi_model_flat(&state->model, &state->places);
    pthread_mutex_lock(&lock);
    for (int l = 0; l < ESPI_LEVELS; l++)
        if (state->model.levels.have[l]) {
            known.levels.have[l] = true;
            known.levels.level[l] = state->model.levels.level[l];
            known.source[l] = state->model.source[l];
            espi_stats_model((enum espi_level)l, &known.levels.level[l], espi_model_source_text(known.source[l]));
        }
    pthread_mutex_unlock(&lock);
}

/* All ranks: who shares nodes, told to a root that does not know it yet, and the model. */
static void find_places(struct espi_gather_comm *state, MPI_Comm own, int root)
{
    if (!state->placed || state->places_root != root)
        espi_topology_of(own, espi_world.node, root, state->lists, &state->places);
    state->places_root = root;
    if (!state->placed)
        find_model(state, own, root);
    state->placed = true;
    if (state->rank == root)
        state->levels = (struct espi_commtree_levels){.node = state->places.node,
                                                      .within = state->model.levels.level[ESPI_LEVEL_NODE],
                                                      .across = state->model.levels.level[ESPI_LEVEL_NET]};
}

/* What is known, or a network that trees like: whoever promises nothing there does so nowhere. */
static struct espi_commtree_model hoped_for(const struct espi_gather_comm *state)
{
    static const struct espi_commtree_model slow_start = {5e-5, 1e-10, 1e-11, 5e-5, true};
    struct espi_commtree_model model = slow_start;
    if (state->placed)
        return state->flat;
    pthread_mutex_lock(&lock);
    if (known.levels.have[ESPI_LEVEL_NET])
        model = known.levels.level[ESPI_LEVEL_NET];
    pthread_mutex_unlock(&lock);
    return model;
}

/* ---- one lease ---- */

static void set_comm(struct espi_gather_lease *entry, struct espi_gather_comm *state)
{
    const struct espi_topology *places = &state->places;
    entry->comm.one_node = places->nodes == 1;
    bool both = state->model.levels.have[ESPI_LEVEL_NODE] && state->model.levels.have[ESPI_LEVEL_NET];
    if (state->rank == entry->key.root && places->nodes > 1 && places->nodes < state->size && both) {
        entry->comm.levels = &state->levels;
        entry->comm.mixed = espi_model_two_level(places) && state->size <= MIXED_RANKS;
    }
}

/* At the root: synchronizations from one of its calls to the next, since it last asked. */
static int64_t synchronizations_of_a_call(struct espi_gather_comm *state, struct espi_gather_lease *entry)
{
    int64_t syncs = state->syncs - entry->first, calls = entry->lease.calls - entry->first_calls;
    int64_t each = calls > 0 ? (syncs + calls - 1) / calls : syncs;
    entry->first = state->syncs;
    entry->first_calls = entry->lease.calls;
    return each < 1 ? 1 : each < STRIDE_MOST ? each : STRIDE_MOST;
}

static void renew_lease(struct espi_gather_comm *state, struct espi_gather_lease *entry)
{
    bool at_root = state->rank == entry->key.root;
    int64_t expected = at_root ? synchronizations_of_a_call(state, entry) : 1;
    espi_lease_renew(&entry->lease, &entry->comm, &state->flat, &espi_settings, entry->sizes, state->syncs, expected);
    espi_count_anywhere(ESPI_COUNT_tree_leases, 1);
    if (at_root)
        espi_lease_report(&entry->report, &entry->lease, &state->places, &espi_settings, entry->sizes);
}

static void list_held(struct espi_gather_comm *state, struct espi_gather_lease *entry)
{
    struct espi_gather_lease **end = &state->held;
    while (*end)
        end = &(*end)->next;
    *end = entry;
    entry->next = NULL;
}

/* All ranks: a lease that `root` has asked for, from nothing. `entry` is NULL where memory was short. Whatever fails
   on one rank, all leave the calls to the library. */
static void open_lease(struct espi_gather_comm *state, struct espi_gather_lease *entry, int root)
{
    if (state->rank == root && !state->lists)
        state->lists = malloc(espi_topology_bytes(state->size));
    MPI_Comm own = espi_world_private(state->comm, entry && (state->rank != root || state->lists));
    if (own == MPI_COMM_NULL) {
        if (entry)
            entry->lease.state = ESPI_LEASE_ENDED;
        return;
    }
    espi_count_anywhere(ESPI_COUNT_tree_comms, 1);
    entry->comm.own = own;
    entry->looked_at = false;
    find_places(state, own, root);
    set_comm(entry, state);
    free(entry->lease.planned); /* what was guessed of them was guessed without a model */
    entry->lease.planned = NULL;
    entry->lease.calls_before = entry->lease.calls;
    entry->lease.irregular = false;
    entry->lease.unmeasured = true;
    renew_lease(state, entry);
    if (entry->lease.state == ESPI_LEASE_HOLDS)
        list_held(state, entry);
    else
        espi_gather_lease_close(entry);
}

static void renew_held(struct espi_gather_comm *state)
{
    for (struct espi_gather_lease **at = &state->held, *entry; (entry = *at) != NULL;) {
        if (espi_lease_end(&entry->lease) <= state->syncs)
            renew_lease(state, entry);
        if (entry->lease.state == ESPI_LEASE_HOLDS) {
            at = &entry->next;
            continue;
        }
        *at = entry->next;
        /* Where the ranks have not made the same calls, messages may be left in it. */
        if (entry->lease.state == ESPI_LEASE_WAITS)
            espi_gather_lease_close(entry);
        entry->lease.now = ESPI_METHOD_LIBRARY;
    }
}

/* ---- all of a communicator ---- */

/* At a root: the kind of call that it asks a lease for; negative: none. */
static int wished_lease(struct espi_gather_comm *state)
{
    struct espi_commtree_model model = hoped_for(state);
    for (int family = ESPI_LEASE_GATHERV; family < ESPI_LEASE_FAMILIES; family++) {
        struct espi_gather_lease *entry = espi_gather_lease_find(state, (enum espi_lease_family)family, state->rank);
        if (!entry || entry->lease.state != ESPI_LEASE_WAITS || !entry->looked_at ||
            state->syncs < state->put_off[family])
            continue;
        if (espi_lease_asks(&entry->lease, &entry->comm, &model, &espi_settings, entry->sizes))
            return family;
        entry->looked_at = false;
        espi_lease_report(&entry->report, &entry->lease, &state->places, &espi_settings, entry->sizes);
    }
    return -1;
}

/* All ranks: the lease that some root asks for, as rank and kind in one number; negative: none does. */
static int poll_roots(struct espi_gather_comm *state)
{
    int family = wished_lease(state), any = -1;
    int asked = family < 0 ? -1 : state->rank * ESPI_LEASE_FAMILIES + family;
    /* On the program's communicator, where all its ranks have just been and will be: nothing else is there yet. */
    return espi_pmpi.Allreduce(&asked, &any, 1, MPI_INT, MPI_MAX, state->comm) == MPI_SUCCESS ? any : -1;
}

static void agree_on_leases(struct espi_gather_comm *state)
{
    enum { FAMILIES = ESPI_LEASE_FAMILIES, TIMES_AS_LATE = 4 };
    bool polls = state->syncs >= state->poll;
    espi_gather_epoch_next();
    int any = polls ? poll_roots(state) : -1;
    renew_held(state);
    bool opens = any >= 0 && espi_is_in_step(state->made[any % FAMILIES], state->comm);
    if (opens)
        open_lease(state, espi_gather_lease_of(state, (enum espi_lease_family)(any % FAMILIES), any / FAMILIES),
                   any / FAMILIES);
    else if (any >= 0) /* whoever the root is: others may ask for calls of another kind meanwhile */
        state->put_off[any % FAMILIES] = TIMES_AS_LATE * state->syncs;
    if (polls)
        state->poll = opens ? state->syncs + 1
                            : state->syncs + (state->syncs < POLL_MOST ? state->syncs : POLL_MOST);
    state->due = state->poll;
    for (const struct espi_gather_lease *entry = state->held; entry; entry = entry->next)
        if (espi_lease_end(&entry->lease) < state->due)
            state->due = espi_lease_end(&entry->lease);
}

static void ranks_have_synchronized(struct espi_thread *thread, MPI_Comm comm)
{
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    if (!thread_state || !espi_comm_look_taken(&thread_state->comm,
                                               comm) || thread_state->comm.inter || thread_state->comm.peers < 3)
        return;
    struct espi_gather_comm *state = espi_gather_comm_of_thread(thread_state);
    if (!state)
        return;
    state->syncs++;
    for (struct espi_gather_lease *entry = state->held; entry; entry = entry->next)
        espi_lease_turn(&entry->lease, &entry->comm, state->syncs);
    if (state->syncs == state->due)
        agree_on_leases(state);
}

/* Before this rank waits for others that may wait for it. */
static void catch_up(const struct espi_thread_state *thread_state, MPI_Comm comm)
{
    struct espi_gather_comm *state = thread_state->gather_comm.state;
    if (thread_state->gather_comm.comm != comm || !state ||
        thread_state->gather_comm.epoch != atomic_load_explicit(&espi_gather_epoch, memory_order_acquire))
        return;
    for (struct espi_gather_lease *entry = state->held; entry; entry = entry->next)
        if (espi_family_gathers(entry->lease.family))
            espi_tree_gather_spare(&entry->lease.plan, entry->comm.own);
        else
            espi_tree_scatter_spare(&entry->lease.plan, entry->comm.own);
}

static bool is_on(void)
{
    return atomic_load_explicit(&espi_running, memory_order_acquire) && espi_world.trees;
}

espi_word espi_agreement_barrier(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    if (thread_state)
        espi_count_call(thread_state->stats, fn);
    MPI_Comm comm = (MPI_Comm)args[0];
    if (thread_state && is_on())
        catch_up(thread_state, comm);
    espi_word rc = ESPI_CALL(next, 1, args);
    if (is_on() && !espi_is_refusal((int)rc))
        ranks_have_synchronized(thread, comm);
    return rc;
}

espi_word espi_agreement_allreduce(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    enum { COUNT = 2, TYPE = 3, COMM = 5 };
    const bool large = espi_api_rows[fn].large;
    int64_t count = large ? (int64_t)args[COUNT] : (int64_t)(int)args[COUNT];
    MPI_Datatype type = (MPI_Datatype)args[TYPE];
    MPI_Comm comm = (MPI_Comm)args[COMM];
    MPI_Count size = 0;
    struct espi_thread_state *thread_state = is_on() ? espi_thread_state(thread) : NULL;
    if (thread_state)
        catch_up(thread_state, comm);
    enum espi_reduced done;
    espi_word rc = espi_reduce_told(thread, fn, args, next, &done);
    if (done == ESPI_REDUCED_AS_RETURNED && !espi_is_refusal((int)rc))
        done = ESPI_REDUCED;
    /* Where no byte is reduced nobody waits. */
    if (is_on() && count > 0 && done == ESPI_REDUCED && espi_pmpi.Type_size_x(type, &size) == MPI_SUCCESS && size > 0)
        ranks_have_synchronized(thread, comm);
    return rc;
}
