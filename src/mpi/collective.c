#include "mpi/collective.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/apart.h"
#include "base/hash.h"
#include "mpi/comms.h"
#include "mpi/dispatch.h"
#include "mpi/init.h"
#include "mpi/mine.h"
#include "mpi/onto.h"
#include "mpi/real.h"
#include "mpi/reduce.h"
#include "mpi/tree_report.h"
#include "mpi/types.h"
#include "mpi/world.h"

enum { COMPOSED_RANKS = 128 }; /* a tree over nodes takes a millisecond then, and 20 times as long for 512 */

struct lease_entry {
    struct {
        int family, root;
    } key;
    struct espi_lease lease;
    struct espi_lease_report report;
    UT_hash_handle hh;
};

/* Hangs on the program's communicator. A communicator is used by one thread at a time for collective calls, so only
   the list of all of them needs a lock. */
struct comm_state {
    struct comm_state *next, *prev;
    struct espi_lease_comm comm;
    struct espi_model model;
    struct espi_places places;
    struct espi_commtree_model flat; /* one level for all, see espi_model_flat */
    struct espi_commtree_levels levels; /* of places and model; used where ranks share nodes and there are several */
    enum { UNKNOWN, USED, UNUSED } use;
    struct lease_entry *leases;
    int64_t *sizes; /* comm.size sizes of the present call */
    int *node;      /* of places */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `all` and `keyval` */
static struct comm_state *all;
static int keyval = MPI_KEYVAL_INVALID;

/* Changes whenever a lease ends, so that no thread uses one that it remembers. */
static atomic_uint epoch;

static void state_free(struct comm_state *state)
{
    atomic_fetch_add_explicit(&epoch, 1, memory_order_release);
    struct lease_entry *entry, *other;
    HASH_ITER(hh, state->leases, entry, other) {
        HASH_DEL(state->leases, entry);
        espi_lease_report_end(&entry->report, &entry->lease);
        espi_lease_release(&entry->lease);
        free(entry);
    }
    if (espi_world_private_free(&state->comm.own))
        espi_count_anywhere(ESPI_COUNT_tree_comms_freed, 1);
    free(state->comm.tree);
    free(state->sizes);
    free(state->node);
    free(state);
}

/* Deletion is as collective as the freeing of the program's communicator. */
static int comm_ends(MPI_Comm comm, int key, void *value, void *extra)
{
    struct comm_state *state = value;
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

ESPI_EVERY_RUN void espi_collectives_start(void)
{
    pthread_mutex_lock(&lock);
    if (espi_real.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_ends, &keyval, NULL) != MPI_SUCCESS)
        keyval = MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&lock);
}

ESPI_EVERY_RUN void espi_collectives_stop(void)
{
    /* Communicators that live on keep an attribute that is never looked at again; what it points to stays. Freeing
       the private ones is left to MPI's end with them: ranks need not hold the same communicators in the same
       order. */
    struct lease_entry *entry, *other;
    pthread_mutex_lock(&lock);
    if (keyval != MPI_KEYVAL_INVALID)
        espi_real.Comm_free_keyval(&keyval);
    keyval = MPI_KEYVAL_INVALID;
    atomic_fetch_add_explicit(&epoch, 1, memory_order_release);
    for (struct comm_state *state = all; state; state = state->next)
        HASH_ITER(hh, state->leases, entry, other)
            espi_lease_report_end(&entry->report, &entry->lease);
    pthread_mutex_unlock(&lock);
}

static struct comm_state *state_of(MPI_Comm comm, const struct espi_comm_facts *facts)
{
    struct comm_state *state = NULL;
    int found = 0;
    if (keyval == MPI_KEYVAL_INVALID || espi_real.Comm_get_attr(comm, keyval, &state, &found) != MPI_SUCCESS)
        return NULL;
    if (found)
        return state;
    state = calloc(1, sizeof *state);
    if (!state)
        return NULL;
    state->comm = (struct espi_lease_comm){.own = MPI_COMM_NULL, .rank = facts->rank, .size = facts->peers};
    if (espi_real.Comm_set_attr(comm, keyval, state) != MPI_SUCCESS) {
        free(state);
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

void espi_collective_comm_ends(struct espi_thread *thread, MPI_Comm comm)
{
    struct espi_mine *mine = espi_mine(thread);
    void *state;
    int found = 0;
    if (keyval == MPI_KEYVAL_INVALID || !mine || !espi_comm_look(&mine->comm, comm))
        return;
    if (espi_real.Comm_get_attr(comm, keyval, &state, &found) == MPI_SUCCESS && found)
        espi_real.Comm_delete_attr(comm, keyval);
}

static struct lease_entry *lease_of(struct comm_state *state, enum espi_lease_family family, int root)
{
    struct lease_entry *entry, probe;
    memset(&probe, 0, sizeof probe);
    probe.key.family = (int)family;
    probe.key.root = root;
    HASH_FIND(hh, state->leases, &probe.key, sizeof probe.key, entry);
    if (entry)
        return entry;
    entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->key = probe.key;
    entry->lease.family = family;
    entry->lease.root = root;
    HASH_ADD(hh, state->leases, key, sizeof entry->key, entry);
    if (!entry->hh.tbl) {
        free(entry);
        return NULL;
    }
    return entry;
}

/* Each level of the model is asked for once, on the first communicator that uses it: a program may make thousands,
   and measured times have the last word on each of them anyway. Rank 0's memory decides for all. */
static void find_model(struct comm_state *state)
{
    static struct espi_model known; /* under the lock */
    pthread_mutex_lock(&lock);
    state->model = known;
    pthread_mutex_unlock(&lock);
    espi_places_of(state->comm.own, espi_world.node, state->node, &state->places);
    espi_model_complete(state->comm.own, &state->places, &espi_settings, &state->model);
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

/* Once per communicator, by all of its ranks in the same call. */
static void open_private(struct comm_state *state, MPI_Comm comm)
{
    int bad = 1, any = 1;
    state->use = UNUSED;
    state->comm.own = espi_world_private(comm);
    if (state->comm.own == MPI_COMM_NULL)
        return;
    espi_count_anywhere(ESPI_COUNT_tree_comms, 1);
    state->comm.tree = malloc(espi_lease_tree_bytes(state->comm.size));
    state->sizes = malloc((size_t)state->comm.size * sizeof *state->sizes);
    state->node = malloc((size_t)state->comm.size * sizeof *state->node);
    bad = !state->comm.tree || !state->sizes || !state->node;
    if (espi_real.Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, state->comm.own) != MPI_SUCCESS || any)
        return;
    find_model(state);
    state->comm.one_node = state->places.nodes == 1;
    if (state->places.nodes > 1 && state->places.nodes < state->comm.size &&
        state->model.levels.have[ESPI_LEVEL_NODE] && state->model.levels.have[ESPI_LEVEL_NET]) {
        state->levels = (struct espi_commtree_levels){.node = state->node,
                                                      .within = state->model.levels.level[ESPI_LEVEL_NODE],
                                                      .across = state->model.levels.level[ESPI_LEVEL_NET]};
        state->comm.levels = &state->levels;
        state->comm.composed = espi_model_two_level(&state->places) && state->comm.size <= COMPOSED_RANKS;
    }
    state->use = USED;
}

/* ---- one call ---- */

struct call {
    const struct espi_row *row;
    const espi_word *args;
    enum espi_lease_family family;
    MPI_Comm comm;
    int root, rank, size;
    int64_t total; /* bytes of all blocks; at the root */
    struct espi_block own;
    struct espi_blocks blocks;
};

static bool look_at_type(MPI_Datatype type, int64_t *size, int64_t *extent, bool *dense)
{
    MPI_Count bytes, lb, span;
    const struct espi_elements *view;
    if (espi_real.Type_size_c(type, &bytes) != MPI_SUCCESS ||
        espi_real.Type_get_extent_c(type, &lb, &span) != MPI_SUCCESS)
        return false;
    *size = bytes;
    *extent = span;
    if (espi_type_is_predefined(type)) {
        *dense = bytes == span;
    } else {
        view = espi_elements_of(type);
        *dense = view && view->dense && view->start == 0 && !view->padded;
    }
    return true;
}

/* MPI refuses MPI_BOTTOM where data would begin at address 0. */
static bool null_buffer(const void *buf, int64_t bytes, bool dense)
{
    return !buf && bytes > 0 && dense;
}

static bool read_block(struct espi_block *block, void *buf, int64_t count, MPI_Datatype type)
{
    int64_t size, extent;
    if (count < 0 || type == MPI_DATATYPE_NULL || !look_at_type(type, &size, &extent, &block->dense) ||
        __builtin_mul_overflow(count, size, &block->bytes) || null_buffer(buf, block->bytes, block->dense))
        return false;
    block->buf = buf;
    block->count = count;
    block->type = type;
    return true;
}

static bool read_blocks(struct call *c, int buf, int count, int displs, int type)
{
    struct espi_blocks *b = &c->blocks;
    MPI_Datatype given = (MPI_Datatype)c->args[type];
    int64_t total = 0;
    *b = (struct espi_blocks){.buf = (char *)c->args[buf], .type = given, .large = c->row->large};
    if (given == MPI_DATATYPE_NULL || !look_at_type(given, &b->size, &b->extent, &b->dense))
        return false;
    if (displs >= 0) {
        b->counts = (const void *)c->args[count];
        b->displs = (const void *)c->args[displs];
        if (!b->counts || !b->displs)
            return false;
    } else {
        b->each = c->row->large ? (int64_t)c->args[count] : (int64_t)(int)c->args[count];
    }
    for (int i = 0; i < c->size; i++) {
        int64_t n = espi_blocks_count(b, i), bytes;
        if (n < 0 || __builtin_mul_overflow(n, b->size, &bytes) || __builtin_add_overflow(total, bytes, &total) ||
            (n > 0 && (void *)b->buf == MPI_IN_PLACE))
            return false;
    }
    c->total = total;
    return !null_buffer(b->buf, total, b->dense);
}

/* Better datatypes for a call that goes along a tree; the library's call looks for its own. */
static void improve(struct espi_thread *thread, struct call *c)
{
    if (!c->own.in_place && c->own.bytes > 0 && !espi_type_is_predefined(c->own.type))
        c->own.type = espi_types_better(thread, c->own.type, c->own.count, false);
    if (c->rank == c->root && c->total > 0 && !espi_type_is_predefined(c->blocks.type))
        c->blocks.type = espi_types_better(thread, c->blocks.type, c->total / c->blocks.size, false);
}

static int64_t count_arg(const struct call *c, int position)
{
    return c->row->large ? (int64_t)c->args[position] : (int64_t)(int)c->args[position];
}

/* MPICH refuses a root's own block that is given twice, in place of MPI_IN_PLACE. It looks for the second in steps of
   the type's size, not of its extent. */
static bool given_twice(const struct call *c)
{
    int64_t count = espi_blocks_count(&c->blocks, c->root), from = c->blocks.each * c->root;
    if (!c->own.buf || c->own.type != c->blocks.type || c->own.count == 0 || count == 0)
        return false;
    if (!c->blocks.counts && c->own.count != count)
        return false;
    if (c->blocks.displs)
        from = c->row->large ? (int64_t)((const MPI_Aint *)c->blocks.displs)[c->root]
                             : ((const int *)c->blocks.displs)[c->root];
    return (uintptr_t)c->own.buf == (uintptr_t)c->blocks.buf + (uintptr_t)from * (uintptr_t)c->blocks.size;
}

/* False: an argument that MPI refuses. All four functions have the sending side first, then the receiving side, root
   and communicator. */
static bool read_call(struct call *c)
{
    bool gather = c->family == ESPI_LEASE_GATHERV || c->family == ESPI_LEASE_GATHER;
    bool v = c->family == ESPI_LEASE_GATHERV || c->family == ESPI_LEASE_SCATTERV;
    int own = gather ? 0 : v ? 4 : 3; /* first argument of the own block */
    bool at_root = c->rank == c->root;
    if (at_root && !(gather ? read_blocks(c, 3, 4, v ? 5 : -1, v ? 6 : 5)
                            : read_blocks(c, 0, 1, v ? 2 : -1, v ? 3 : 2)))
        return false;
    c->own.in_place = at_root && (void *)c->args[own] == MPI_IN_PLACE;
    if (c->own.in_place)
        return true;
    return read_block(&c->own, (void *)c->args[own], count_arg(c, own + 1), (MPI_Datatype)c->args[own + 2]) &&
           !(at_root && given_twice(c));
}

static enum espi_lease_family family_of(enum espi_fn fn)
{
    switch (fn) {
    case ESPI_FN_Gatherv:
    case ESPI_FN_Gatherv_c:
        return ESPI_LEASE_GATHERV;
    case ESPI_FN_Scatterv:
    case ESPI_FN_Scatterv_c:
        return ESPI_LEASE_SCATTERV;
    case ESPI_FN_Gather:
    case ESPI_FN_Gather_c:
        return ESPI_LEASE_GATHER;
    default:
        return ESPI_LEASE_SCATTER;
    }
}

/* The root's own block apart from the tree, from layout to layout; false: the tree's business. */
static bool own_apart(struct espi_thread *thread, struct call *c, struct espi_onto_block *block)
{
    bool gather = c->family == ESPI_LEASE_GATHERV || c->family == ESPI_LEASE_GATHER;
    struct espi_onto_side own = {c->own.type, c->own.count}, of_all;
    if (espi_settings.datatypes == ESPI_MODE_OFF || c->rank != c->root || c->own.in_place || c->own.bytes == 0)
        return false;
    of_all = (struct espi_onto_side){c->blocks.type, espi_blocks_count(&c->blocks, c->root)};
    char *place = espi_blocks_at(&c->blocks, c->root);
    *block = gather ? (struct espi_onto_block){.from = c->own.buf, .onto = place, .send = own, .receive = of_all}
                    : (struct espi_onto_block){.from = place, .onto = c->own.buf, .send = of_all, .receive = own};
    return espi_onto_look(thread, block);
}

static int run_tree(const struct call *c, const struct espi_lease *lease, const struct comm_state *state)
{
    bool gather = c->family == ESPI_LEASE_GATHERV || c->family == ESPI_LEASE_GATHER;
    return gather ? espi_tree_gather(&lease->plan, state->comm.own, &c->own, &c->blocks)
                  : espi_tree_scatter(&lease->plan, state->comm.own, &c->own, &c->blocks);
}

/* A call of a lease that is not simply passed on. */
static __attribute__((noinline)) espi_word leased_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args,
                                                       espi_next next, struct comm_state *state,
                                                       struct lease_entry *entry)
{
    struct espi_mine *mine = espi_mine(thread);
    struct espi_lease *lease = &entry->lease;
    espi_handler library = espi_generic_handler(fn);
    struct call c = {.row = &espi_rows[fn], .args = args, .family = lease->family, .root = lease->root,
                     .rank = mine->comm.rank, .size = mine->comm.peers};
    c.comm = (MPI_Comm)args[(int)c.row->comm];
    /* A rank whose arguments MPI refuses has made the call as well: were it not counted, the ranks would disagree
       from then on. It takes part in the lease, and in a tree as one that has no data; then the library reports the
       error. */
    bool refused = !read_call(&c);
    if (refused) {
        c.own = (struct espi_block){.buf = &refused, .type = MPI_BYTE, .dense = true, .in_place = c.rank == c.root};
        c.blocks = (struct espi_blocks){.buf = (char *)&refused, .type = MPI_BYTE, .extent = 1, .size = 1,
                                        .dense = true};
    }
    if (state->use == UNKNOWN && lease->calls >= 1)
        open_private(state, c.comm);
    if (state->use == UNUSED)
        return library(thread, fn, args, next);
    if (c.rank == c.root && state->sizes)
        for (int i = 0; i < c.size; i++)
            /* A refused call says nothing of the sizes: planned for none, the others' data would never be taken. */
            state->sizes[i] = refused && lease->planned ? lease->planned[i] : espi_blocks_bytes(&c.blocks, i);
    bool renewed = lease->calls > 0 && lease->remaining == 0;
    if (renewed)
        espi_count(mine->stats, ESPI_COUNT_tree_leases, 1);
    int method = espi_lease_begin(lease, &state->comm, &state->flat, &espi_settings, state->sizes);
    if (renewed && c.rank == c.root)
        espi_lease_report(&entry->report, lease, &state->places, &espi_settings, state->sizes);
    uint64_t begun = espi_stats_now();
    espi_word rc;
    if (refused) {
        if (method != ESPI_METHOD_LIBRARY)
            run_tree(&c, lease, state);
        return library(thread, fn, args, next);
    }
    if (method == ESPI_METHOD_LIBRARY) {
        espi_count(mine->stats, ESPI_COUNT_tree_library, 1);
        rc = library(thread, fn, args, next);
    } else {
        espi_count_call(mine->stats, fn);
        espi_count(mine->stats, ESPI_COUNT_tree_calls, 1);
        struct espi_onto_block own = {0};
        c.own.in_place = own_apart(thread, &c, &own) || c.own.in_place;
        if (own.plan) /* whatever becomes of the others' blocks */
            espi_onto_carry_out(thread, &own);
        improve(thread, &c);
        rc = run_tree(&c, lease, state);
        if (rc != MPI_SUCCESS) {
            espi_real.Comm_call_errhandler(c.comm, (int)rc);
            return rc;
        }
    }
    espi_lease_end(lease, (double)(espi_stats_now() - begun) * 1e-9);
    return rc;
}

espi_word espi_collective_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    const struct espi_row *row = &espi_rows[fn];
    espi_handler library = espi_generic_handler(fn);
    struct espi_mine *mine = thread->core;
    MPI_Comm comm = (MPI_Comm)args[(int)row->comm];
    int root = (int)args[(int)row->root];
    struct espi_last_lease *last = mine ? &mine->lease : NULL;
    if (last && last->lease && last->comm == comm && last->fn == (int)fn && last->root == root &&
        last->epoch == atomic_load_explicit(&epoch, memory_order_acquire) && espi_lease_pass(last->lease)) {
        espi_count(mine->stats, ESPI_COUNT_tree_library, 1);
        return library(thread, fn, args, next);
    }
    if ((!atomic_load_explicit(&espi_running, memory_order_acquire) && !espi_start_late()) || !espi_world.trees ||
        !(mine = espi_mine(thread)))
        return library(thread, fn, args, next);
    if (!espi_comm_look(&mine->comm, comm) || mine->comm.inter || root < 0 || root >= mine->comm.peers ||
        mine->comm.peers < 3)
        return library(thread, fn, args, next);
    struct comm_state *state = state_of(comm, &mine->comm);
    struct lease_entry *entry = state && state->use != UNUSED ? lease_of(state, family_of(fn), root) : NULL;
    if (!entry)
        return library(thread, fn, args, next);
    mine->lease = (struct espi_last_lease){&entry->lease, comm, (int)fn, root,
                                           atomic_load_explicit(&epoch, memory_order_acquire)};
    if (espi_lease_pass(&entry->lease)) {
        espi_count(mine->stats, ESPI_COUNT_tree_library, 1);
        return library(thread, fn, args, next);
    }
    return leased_call(thread, fn, args, next, state, entry);
}
