/*
 * One call of MPI_Gather, MPI_Gatherv, MPI_Scatter or MPI_Scatterv. By which method it goes was agreed before
 * (agreement.h) and is the same on all ranks; nothing here changes that, also not a call that MPI refuses or that an
 * error handler leaves by a jump.
 */
#include "mpi/gather/call.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/gather/agreement.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/api_table.h"
#include "mpi/calls/generic.h"
#include "mpi/gather/comm_state.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/core/pmpi.h"
#include "mpi/datatype/element_view.h"
#include "mpi/comm/self_comm.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/comm/world.h"

struct call {
    const struct espi_api_row *row;
    const espi_word *args;
    enum espi_lease_family family;
    MPI_Comm comm, own_comm; /* the lease's, whose errors are returned; MPI_COMM_NULL without one */
    int root, rank, size;
    int64_t total; /* bytes of all blocks; at the root */
    struct espi_block own;
    struct espi_blocks blocks;
    struct espi_plan *plans[2]; /* of the two types, where a pack program is used */
};

/* `dense`: whether its elements lie one behind the other, where that is asked (not NULL), as a type is read back for
   it. */
static bool look_at_type(MPI_Datatype type, int64_t *size, int64_t *extent, bool *dense)
{
    MPI_Count bytes, lb, span;
    const struct espi_elements *view;
    if (espi_pmpi.Type_size_c(type, &bytes) != MPI_SUCCESS ||
        espi_pmpi.Type_get_extent_c(type, &lb, &span) != MPI_SUCCESS)
        return false;
    *size = bytes;
    *extent = span;
    if (dense == NULL)
        return true;
    if (espi_type_is_predefined(type)) {
        *dense = bytes == span;
    } else {
        view = espi_elements_of(type);
        *dense = view && view->dense && view->start == 0 && !view->padded;
    }
    return true;
}

/* The library has carried the call out, and nothing but sizes is asked. */
static bool is_done(const struct call *c)
{
    return c->own_comm == MPI_COMM_NULL;
}

/* Asks MPI itself whether it would refuse this: to be sent to nobody, so that nothing happens. Where there is nothing
   to be sent MPI does not look at the type, but in a collective call it does. */
static bool is_refused(const struct call *c, const void *buf, int64_t count, MPI_Datatype type)
{
    if (is_done(c))
        return false;
    if (espi_pmpi.Send(c, 1, type, MPI_PROC_NULL, 0, c->own_comm) != MPI_SUCCESS)
        return true;
    if (count <= INT_MAX)
        return espi_pmpi.Send(buf, (int)count, type, MPI_PROC_NULL, 0, c->own_comm) != MPI_SUCCESS;
    return espi_pmpi.Send_c(buf, count, type, MPI_PROC_NULL, 0, c->own_comm) != MPI_SUCCESS;
}

static bool read_block(struct call *c, void *buf, int64_t count, MPI_Datatype type)
{
    struct espi_block *block = &c->own;
    int64_t size, extent;
    bool *dense = is_done(c) ? NULL : &block->type.dense;
    if (is_refused(c, buf, count, type) || !look_at_type(type, &size, &extent, dense) ||
        __builtin_mul_overflow(count, size, &block->bytes))
        return false;
    block->buf = buf;
    block->count = count;
    block->type.handle = type;
    return true;
}

/* Counts, displacements and buffer at the root, as MPICH looks at them: where a block begins at address 0, but for
   its displacement, there is no buffer. */
static bool read_counts(struct call *c)
{
    struct espi_blocks *b = &c->blocks;
    int64_t total = 0;
    for (int i = 0; i < c->size; i++) {
        int64_t n = espi_blocks_count(b, i), bytes;
        bool first = !b->displs || espi_blocks_displ(b, i) == 0;
        if (n < 0 || __builtin_mul_overflow(n, b->size, &bytes) || __builtin_add_overflow(total, bytes, &total) ||
            (n > 0 && (void *)b->buf == MPI_IN_PLACE) ||
            (n > 0 && !b->buf && first && is_refused(c, NULL, n, b->type.handle)))
            return false;
    }
    c->total = total;
    return true;
}

static bool read_blocks(struct call *c, int buf, int count, int displs, int type)
{
    struct espi_blocks *b = &c->blocks;
    MPI_Datatype given = (MPI_Datatype)c->args[type];
    *b = (struct espi_blocks){.buf = (char *)c->args[buf], .type = {.handle = given}, .large = c->row->large};
    bool *dense = is_done(c) ? NULL : &b->type.dense;
    if (is_refused(c, NULL, 0, given) || !look_at_type(given, &b->size, &b->extent, dense))
        return false;
    if (displs >= 0) {
        b->counts = (const void *)c->args[count];
        b->displs = (const void *)c->args[displs];
        if (!b->counts || !b->displs)
            return false;
    } else {
        b->each = c->row->large ? (int64_t)c->args[count] : (int64_t)(int)c->args[count];
    }
    return read_counts(c);
}

/* Which blocks of a rank are messages by themselves, and not parts of a piece. */
enum alone { NONE_ALONE, SOME_ALONE, ALL_ALONE };

/* The better type for `count` items in a call that goes along a tree, and the pack program; its plan is ours until
   the end of the call. The library's call looks for its own. `each`: items in a block. A block that is a message by
   itself is packed where such messages between two ranks are. */
static struct espi_plan *improve_type(struct espi_thread *thread, struct espi_tree_type *type, int64_t count,
                                      int64_t each, enum alone alone)
{
    const MPI_Datatype own = type->handle;
    const struct espi_way way =
        espi_types_counted_way(thread, espi_thread_state(thread)->stats, own, count, false,
                               alone == ALL_ALONE ? ESPI_PACK_MESSAGE : ESPI_PACK_LOCAL);
    type->handle = way.type;
    type->staged = way.packed &&
                   (alone == ALL_ALONE || (alone == SOME_ALONE && espi_message_plan_packs(own, each)));
    if (way.packed)
        type->pack = way.packed->pack;
    return way.packed;
}

static enum alone alone_of_children(const struct espi_subtree_plan *plan)
{
    int alone = 0;
    for (int k = 0; k < plan->children; k++)
        alone += plan->child[k].n == 1;
    return alone == 0 ? NONE_ALONE : alone == plan->children ? ALL_ALONE : SOME_ALONE;
}

static void improve_types(struct espi_thread *thread, struct call *c, const struct espi_subtree_plan *plan)
{
    const bool root = c->rank == c->root;
    if (!c->own.in_place && c->own.bytes > 0 && !espi_type_is_predefined(c->own.type.handle))
        c->plans[0] = improve_type(thread, &c->own.type, c->own.count, c->own.count,
                                   root || plan->children > 0 ? NONE_ALONE : ALL_ALONE);
    if (root && c->total > 0 && !espi_type_is_predefined(c->blocks.type.handle)) {
        const int64_t items = c->total / c->blocks.size;
        c->plans[1] = improve_type(thread, &c->blocks.type, items, items / plan->n + (items < plan->n),
                                   alone_of_children(plan));
    }
}

static int64_t count_arg(const struct call *c, int position)
{
    return c->row->large ? (int64_t)c->args[position] : (int64_t)(int)c->args[position];
}

/* MPICH refuses a root's own block that is given twice, in place of MPI_IN_PLACE, unless it is told not to. It looks
   for the second in steps of the type's size, not of its extent. */
static bool given_twice(const struct call *c)
{
    int64_t count = espi_blocks_count(&c->blocks, c->root), from = c->blocks.each * c->root;
    if (!c->own.buf)
        return false;
    if (c->own.type.handle != c->blocks.type.handle || c->own.count == 0 || count == 0)
        return false;
    if (!c->blocks.counts && c->own.count != count)
        return false;
    if (c->blocks.displs)
        from = espi_blocks_displ(&c->blocks, c->root);
    return (uintptr_t)c->own.buf == (uintptr_t)c->blocks.buf + (uintptr_t)from * (uintptr_t)c->blocks.size &&
           espi_self_refuses_alias();
}

static bool has_lists(const struct call *c)
{
    return c->family == ESPI_LEASE_GATHERV || c->family == ESPI_LEASE_SCATTERV;
}

/* At the root. All four functions have the sending side first, then the receiving side, root and communicator. */
static bool read_sizes(struct call *c)
{
    bool v = has_lists(c);
    return espi_family_gathers(c->family) ? read_blocks(c, 3, 4, v ? 5 : -1, v ? 6 : 5)
                                          : read_blocks(c, 0, 1, v ? 2 : -1, v ? 3 : 2);
}

/* False: an argument that MPI refuses. */
static bool read_call(struct call *c)
{
    bool gather = espi_family_gathers(c->family), at_root = c->rank == c->root;
    int own = gather ? 0 : has_lists(c) ? 4 : 3; /* first argument of the own block */
    if (at_root && !read_sizes(c))
        return false;
    c->own.in_place = at_root && (void *)c->args[own] == MPI_IN_PLACE;
    if (c->own.in_place)
        return true;
    return read_block(c, (void *)c->args[own], count_arg(c, own + 1), (MPI_Datatype)c->args[own + 2]) &&
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
static bool own_apart(struct espi_thread *thread, struct call *c, struct espi_selfcopy_block *block)
{
    bool gather = espi_family_gathers(c->family);
    struct espi_selfcopy_side own = {c->own.type.handle, c->own.count}, of_all;
    if (espi_settings.datatypes == ESPI_MODE_OFF || c->rank != c->root || c->own.in_place || c->own.bytes == 0)
        return false;
    of_all = (struct espi_selfcopy_side){c->blocks.type.handle, espi_blocks_count(&c->blocks, c->root)};
    char *place = espi_blocks_at(&c->blocks, c->root);
    *block = gather ? (struct espi_selfcopy_block){.from = c->own.buf, .onto = place, .send = own, .receive = of_all}
                    : (struct espi_selfcopy_block){.from = place, .onto = c->own.buf, .send = of_all, .receive = own};
    block->place = ESPI_SELF_APART;
    return espi_selfcopy_look(thread, block);
}

static int run_tree(const struct call *c, struct espi_lease *lease)
{
    return espi_family_gathers(c->family) ? espi_tree_gather(&lease->plan, c->own_comm, &c->own, &c->blocks)
                                          : espi_tree_scatter(&lease->plan, c->own_comm, &c->own, &c->blocks);
}

/* The calls go along a tree, and MPI refuses this one of this rank: what other ranks need of it is done all the same,
   see subtree_plan.h; then the library reports the error. */
static void refuse_call(struct call *c, struct espi_lease *lease)
{
    lease->irregular = true;
    c->own = (struct espi_block){.type = {.handle = MPI_BYTE, .dense = true}, .refused = true};
    run_tree(c, lease);
}

/* At the root. A rank whose block is empty now and then may go without the call then (natively there is no message
   for it), so nobody else may wait for it. */
static void note_sizes(const struct call *c, struct espi_gather_lease *entry)
{
    for (int i = 0; i < c->size; i++) {
        int64_t bytes = espi_blocks_bytes(&c->blocks, i);
        entry->was_empty[i] = entry->was_empty[i] || bytes == 0;
        entry->sizes[i] = entry->was_empty[i] ? 0 : bytes;
    }
}

static espi_word call_along_tree(struct espi_thread *thread, struct call *c, struct espi_gather_lease *entry)
{
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    struct espi_selfcopy_block own = {0};
    uint64_t begun = espi_stats_now();
    entry->lease.calls++;
    espi_count(thread_state->stats, ESPI_COUNT_tree_calls, 1);
    if (c->rank == c->root) {
        note_sizes(c, entry);
        espi_lease_compare(&entry->lease, c->size, entry->sizes);
    }
    c->own.in_place = own_apart(thread, c, &own) || c->own.in_place;
    const bool gathers = espi_family_gathers(c->family);
    if (own.plan && gathers) /* whatever becomes of the others' blocks */
        espi_selfcopy_carry_out(thread, &own);
    improve_types(thread, c, &entry->lease.plan);
    int rc = run_tree(c, &entry->lease);
    if (own.plan && !gathers) /* the others wait for theirs */
        espi_selfcopy_carry_out(thread, &own);
    for (int i = 0; i < 2; i++)
        if (c->plans[i])
            espi_plan_release(c->plans[i]);
    espi_lease_took(&entry->lease, (double)(espi_stats_now() - begun) * 1e-9);
    if (rc != MPI_SUCCESS)
        espi_pmpi.Comm_call_errhandler(c->comm, rc);
    return rc;
}

/* At the root, after a call of the library, so that the arguments are good. */
static void look_at_sizes(struct call *c, struct espi_gather_lease *entry)
{
    if (entry->lease.state == ESPI_LEASE_ENDED)
        return;
    c->own_comm = MPI_COMM_NULL;
    if (!read_sizes(c))
        return;
    note_sizes(c, entry);
    entry->looked_at = true;
    if (entry->lease.state == ESPI_LEASE_HOLDS)
        espi_lease_compare(&entry->lease, c->size, entry->sizes);
}

/* NULL: the call is the library's alone. */
static struct espi_gather_comm *state_of_call(struct espi_thread_state *thread_state, MPI_Comm comm)
{
    if (!espi_comm_look(&thread_state->comm, comm) || thread_state->comm.inter || thread_state->comm.peers < 3)
        return NULL;
    return espi_gather_comm_of_thread(thread_state);
}

/* `entry`: NULL where there is no lease. */
static espi_word call_by_library(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                                 struct call *c, struct espi_gather_comm *state, struct espi_gather_lease *entry)
{
    struct espi_lease *lease = entry ? &entry->lease : NULL;
    unsigned epoch = atomic_load_explicit(&espi_gather_epoch, memory_order_acquire);
    uint64_t begun = !lease || lease->unmeasured ? 0 : espi_stats_now();
    espi_word rc = espi_generic_handler(fn)(thread, fn, args, next);
    if (espi_is_refusal((int)rc))
        return rc;
    /* An error handler may have freed the communicator. */
    if (epoch != atomic_load_explicit(&espi_gather_epoch, memory_order_acquire) &&
        (!(state = state_of_call(espi_thread_state(thread), c->comm)) ||
         (entry && !(entry = espi_gather_lease_find(state, c->family, c->root)))))
        return rc;
    state->made[c->family]++;
    espi_count_anywhere(ESPI_COUNT_tree_library, 1);
    if (!entry)
        return rc;
    lease = &entry->lease;
    lease->calls++;
    lease->library_calls += lease->interleaved && lease->now != lease->method;
    if (!lease->unmeasured)
        espi_lease_took(lease, (double)(espi_stats_now() - begun) * 1e-9);
    if (rc == MPI_SUCCESS && c->rank == c->root)
        look_at_sizes(c, entry);
    return rc;
}

/* A root that does not exist, or a communicator: perhaps the ones that this rank has named in such calls before. What
   a refused call does is right in any case. */
static void refuse_unknown(struct call *c, struct espi_gather_comm *state)
{
    struct espi_gather_lease *latest = NULL;
    for (struct espi_gather_lease *entry = state->held; entry; entry = entry->next)
        if (entry->lease.family == c->family && (!latest || entry->latest > latest->latest))
            latest = entry;
    if (!latest || latest->lease.now == ESPI_METHOD_LIBRARY)
        return;
    c->root = latest->key.root;
    c->own_comm = latest->comm.own;
    refuse_call(c, &latest->lease);
}

espi_word espi_collective_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    espi_handler library = espi_generic_handler(fn);
    struct espi_thread_state *thread_state;
    if (!espi_is_running() || !espi_world.trees ||
        !(thread_state = espi_thread_state(thread)))
        return library(thread, fn, args, next);
    struct call c = {.row = row, .args = args, .family = family_of(fn), .comm = (MPI_Comm)args[(int)row->comm],
                     .own_comm = MPI_COMM_NULL, .root = (int)args[(int)row->root]};
    struct espi_gather_comm *before = thread_state->gather_comm.state, *state = state_of_call(thread_state, c.comm);
    if (!state) {
        unsigned now = atomic_load_explicit(&espi_gather_epoch, memory_order_acquire);
        if (c.comm == MPI_COMM_NULL && before && thread_state->gather_comm.epoch == now) {
            c.rank = before->rank;
            c.size = before->size;
            refuse_unknown(&c, before);
        }
        espi_word rc = library(thread, fn, args, next);
        /* Known only now, perhaps on this rank alone: counted as on the others. */
        if (!espi_is_refusal((int)rc) && espi_comm_look_taken(&thread_state->comm, c.comm) &&
            (state = state_of_call(thread_state, c.comm)) != NULL)
            state->made[c.family]++;
        return rc;
    }
    c.rank = state->rank;
    c.size = state->size;
    if (c.root < 0 || c.root >= c.size) {
        refuse_unknown(&c, state);
        return library(thread, fn, args, next);
    }
    struct espi_gather_lease *entry = c.rank == c.root ? espi_gather_lease_of(state, c.family, c.root)
                                                       : espi_gather_lease_find(state, c.family, c.root);
    if (!entry || entry->lease.now == ESPI_METHOD_LIBRARY)
        return call_by_library(thread, fn, args, next, &c, state, entry);
    c.own_comm = entry->comm.own;
    entry->latest = ++state->calls;
    if (!read_call(&c)) {
        refuse_call(&c, &entry->lease);
        return library(thread, fn, args, next);
    }
    state->made[c.family]++;
    espi_count_call(thread_state->stats, fn);
    return call_along_tree(thread, &c, entry);
}
