/*
 * Calls in which a rank gives itself data.
 *
 * On a communicator of one rank the nine blocking collectives that move data are nothing but a copy. On larger ones
 * the block that a rank has for itself is taken out of MPI_Alltoallv and MPI_Alltoallw (its two counts become 0), and
 * of rooted calls at the root (MPI_IN_PLACE), and is copied after the call, so that others do not wait for it, or
 * before it, where the root only receives and would wait itself. What a rank does with its own block is no business
 * of the others'.
 *
 * MPI_Sendrecv to oneself is a message and a receive, which may not be for each other: an earlier message of the rank
 * to itself is received first, and an earlier receive gets this message. But when no earlier message is pending that
 * the call's receive would take, then only its own message can ever fulfil it, as nobody else can send one while the
 * call lasts. Would that go to another receive, the call would never return. So the two are for each other, or the
 * program hangs without Espalier too. Whether a message is pending: MPI_Iprobe knows those that have arrived, which
 * on a communicator of one rank are all; on others self_sends.h knows where none was ever sent that way.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/overlap.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/api_table.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/packed/message_ways.h"
#include "mpi/selfcopy/self_copy.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/selfcopy/self_sends.h"
#include "mpi/core/pmpi.h"
#include "mpi/typeplan/type_cache.h"
#include "words.h"

static bool has_derived(const struct espi_api_row *row, const espi_word *args)
{
    for (const struct espi_buffer_args *t = row->typed; t->shape != ESPI_SHAPE_NONE; t++)
        if (t->shape == ESPI_SHAPE_W || !espi_type_is_predefined((MPI_Datatype)args[(int)t->type]))
            return true;
    return false;
}

static int64_t number_at(const struct espi_api_row *row, const void *array, int i)
{
    return row->large ? ((const MPI_Count *)array)[i] : ((const int *)array)[i];
}

/* The own block's part of one side. The displacements of an array of blocks stand behind its counts. */
static bool read_side(struct espi_thread *thread, const struct espi_api_row *row, const espi_word *args,
                      const struct espi_buffer_args *t, int rank, void **buffer, struct espi_selfcopy_side *side)
{
    int64_t shift = 0, move;
    MPI_Count lb, extent;

    *buffer = (void *)args[(int)t->buffer];
    if (*buffer == MPI_IN_PLACE)
        return false;
    if (t->shape == ESPI_SHAPE_ONE) {
        side->type = (MPI_Datatype)args[(int)t->type];
        side->count = row->large ? (int64_t)args[(int)t->count] : (int64_t)(int)args[(int)t->count];
        if (t->at_root && __builtin_mul_overflow(side->count, (int64_t)rank, &shift))
            return false;
    } else {
        const void *counts = (const void *)args[(int)t->count], *places = (const void *)args[t->count + 1];
        if (counts == NULL || places == NULL || (t->shape == ESPI_SHAPE_W && (void *)args[(int)t->type] == NULL))
            return false;
        side->type = t->shape == ESPI_SHAPE_W ? ((const MPI_Datatype *)args[(int)t->type])[rank]
                                              : (MPI_Datatype)args[(int)t->type];
        side->count = number_at(row, counts, rank);
        shift = number_at(row, places, rank);
    }
    if (side->count <= 0 || side->type == MPI_DATATYPE_NULL)
        return false;
    if (shift != 0 && t->shape != ESPI_SHAPE_W) {
        if (!espi_type_is_predefined(side->type) && !espi_types_known(thread, side->type))
            return false;
        if (espi_pmpi.Type_get_extent_c(side->type, &lb, &extent) != MPI_SUCCESS ||
            __builtin_mul_overflow(shift, (int64_t)extent, &move))
            return false;
        shift = move;
    }
    *buffer = (char *)((uintptr_t)*buffer + (uintptr_t)shift);
    return true;
}

/* The type of the own block's one side. */
static MPI_Datatype own_type(const espi_word *args, const struct espi_buffer_args *t, int rank)
{
    if (t->shape != ESPI_SHAPE_W)
        return (MPI_Datatype)args[(int)t->type];
    return (void *)args[(int)t->type] != NULL ? ((const MPI_Datatype *)args[(int)t->type])[rank] : MPI_DATATYPE_NULL;
}

static int64_t own_count(const struct espi_api_row *row, const espi_word *args, const struct espi_buffer_args *t,
                         int rank)
{
    if (t->shape == ESPI_SHAPE_ONE)
        return row->large ? (int64_t)args[(int)t->count] : (int64_t)(int)args[(int)t->count];
    return (void *)args[(int)t->count] != NULL ? number_at(row, (const void *)args[(int)t->count], rank) : 0;
}

/* A rank gives itself a block of this type: each use is to be seen until it is decided what is done with it, unless
   it is small. Gives what is known of it. */
static struct espi_type_slot *mark(MPI_Datatype type, int64_t count)
{
    struct espi_type_slot *slot = espi_type_is_predefined(type) ? NULL : espi_slot_of(type);
    struct espi_type_class *class = slot != NULL ? espi_slot_class(slot) : NULL;
    unsigned paired;

    if (slot == NULL || count <= 0 || count > INT_MAX)
        return slot;
    paired = atomic_load_explicit(&slot->paired, memory_order_relaxed);
    if (espi_selfcopy_is_small(class, count) &&
        !(paired & ~(unsigned)(ESPI_PAIRED_LEFT | ESPI_PAIRED_SEEN))) {
        class->own = false;
        espi_slot_pair(slot, type, paired & ~(unsigned)ESPI_PAIRED_SEEN);
    } else if (paired == 0) {
        espi_slot_pair(slot, type, ESPI_PAIRED_SEEN);
        if (class != NULL)
            class->own = true;
    }
    return slot;
}

/* Setting auto: whether a call with an own block is looked at. False: this one is left to MPI. */
static bool is_due(struct espi_thread_state *thread_state, const struct espi_api_row *row, const espi_word *args,
                   unsigned worth)
{
    if (espi_settings.datatypes != ESPI_MODE_AUTO)
        return true;
    struct espi_type_slot *slot[2];
    for (int i = 0; i < 2; i++)
        slot[i] = mark(own_type(args, &row->typed[i], thread_state->comm.rank),
                       own_count(row, args, &row->typed[i], thread_state->comm.rank));
    return thread_state->pairs.weight != 0 || espi_selfcopy_due(&thread_state->pairs, slot[0], slot[1], worth);
}

/* ---- collectives ---- */

/* Counts with a 0 in the place of the own one: few in `room`, which has ROOM bytes, more of them in memory that
   let_counts_go frees. NULL: there is none. */
enum { ROOM = 64 };
static void *without_own(const struct espi_api_row *row, espi_word counts, int n, int rank, char *room)
{
    const size_t each = row->large ? sizeof(MPI_Count) : sizeof(int), all = (size_t)n * each;
    char *copy = all <= ROOM ? room : malloc(all);

    if (copy != NULL) {
        memcpy(copy, (const void *)counts, all);
        memset(copy + (size_t)rank * each, 0, each);
    }
    return copy;
}

static void let_counts_go(void *counts, const char *room)
{
    if (counts != room)
        free(counts);
}

/* A use of one side's type that goes on as it is, on a communicator of one rank or in MPI_Sendrecv; `slot` is NULL
   for a predefined type. False: it needs more. */
static bool side_goes_on(const struct espi_api_row *row, const espi_word *args, const struct espi_buffer_args *t,
                         MPI_Datatype *type, int64_t *count, struct espi_type_slot **slot)
{
    const void *counts = (const void *)args[(int)t->count];

    *slot = NULL;
    if ((void *)args[(int)t->buffer] == MPI_IN_PLACE)
        return false;
    if (t->shape == ESPI_SHAPE_ONE)
        *count = row->large ? (int64_t)args[(int)t->count] : (int64_t)(int)args[(int)t->count];
    else if (counts == NULL || (t->shape == ESPI_SHAPE_W && (void *)args[(int)t->type] == NULL))
        return false;
    else
        *count = number_at(row, counts, 0);
    *type = t->shape == ESPI_SHAPE_W ? *(const MPI_Datatype *)args[(int)t->type]
                                     : (MPI_Datatype)args[(int)t->type];
    if (espi_type_is_predefined(*type))
        return true;
    if (*count > 0 && (*slot = espi_types_quiet(*type)) == NULL && row->kind & ESPI_P2P)
        *slot = espi_message_plan_leaves(*type, *count, ESPI_PAIRED, true);
    return *slot != NULL;
}

/* Whether of two uses of a type, the first of which is not, the second is to be looked at. */
static bool is_second_due(const struct espi_type_slot *slot)
{
    return atomic_load_explicit(&slot->uses, memory_order_relaxed) + 2 >=
           atomic_load_explicit(&slot->look, memory_order_relaxed);
}

/* A call that is left to MPI, on a communicator of one rank or MPI_Sendrecv: without the general way where it changes
   nothing. */
static espi_word as_it_is(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                          espi_handler substitute)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    struct espi_type_slot *slot[2];
    MPI_Datatype type[2];
    int64_t count[2];

    for (int side = 0; side < 2; side++)
        if (!side_goes_on(row, args, &row->typed[side], &type[side], &count[side], &slot[side]))
            return substitute(thread, fn, args, next);
    if ((slot[0] != NULL && slot[0] == slot[1] && is_second_due(slot[0])) ||
        (row->kind & ESPI_P2P && espi_ways_are_watched)) /* it is to be seen there */
        return substitute(thread, fn, args, next);
    if ((row->args < 7 || row->args > 9) && row->args != 12)
        return substitute(thread, fn, args, next);
    espi_count_call(thread_state->stats, fn);
    for (int side = 0; side < 2; side++)
        if (slot[side] != NULL)
            espi_types_used(thread_state->stats, type[side], slot[side], count[side]);
    return row->args == 7   ? ESPI_CALL(next, 7, args)
           : row->args == 8 ? ESPI_CALL(next, 8, args)
           : row->args == 9 ? ESPI_CALL(next, 9, args)
                            : ESPI_CALL(next, 12, args);
}

/* The turn is the call's. */
static espi_word by_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                         espi_handler substitute, const struct espi_selfcopy_block *block)
{
    const uint64_t begun = espi_stats_now();
    const espi_word result = as_it_is(thread, fn, args, next, substitute);

    if ((int)result == MPI_SUCCESS)
        espi_selfcopy_called(block, espi_stats_now() - begun);
    return result;
}

/* Whether the own block is one that was taken out of such a call lately: of the same types, and in the same places of
   its buffers, which are compared. Only where calls do not overlap. */
static bool is_again(struct espi_thread_state *thread_state, const struct espi_api_row *row, const espi_word *args,
                     struct espi_selfcopy_block *block)
{
    struct espi_selfcopy_cache *pairs = &thread_state->pairs;
    const int rank = thread_state->comm.rank;
    struct espi_selfcopy_side *const side[2] = {&block->send, &block->receive};
    int64_t place[2];

    if (espi_calls_overlap || !espi_selfcopy_may_be_again(pairs, row, (MPI_Comm)args[row->comm]))
        return false;
    for (int i = 0; i < 2; i++) {
        const struct espi_buffer_args *t = &row->typed[i];
        const void *counts = (const void *)args[t->count], *places = (const void *)args[t->count + 1];
        if (counts == NULL || places == NULL || (t->shape == ESPI_SHAPE_W && args[t->type] == 0))
            return false;
        *side[i] = (struct espi_selfcopy_side){own_type(args, t, rank), number_at(row, counts, rank)};
        place[i] = number_at(row, places, rank);
    }
    for (int n = 0; n < ESPI_SELFCOPY_AGAIN; n++) {
        const struct espi_selfcopy_again *a = &pairs->again[n];
        if (a->row != row || a->comm != (MPI_Comm)args[row->comm] || a->place[0] != place[0] ||
            a->place[1] != place[1])
            continue;
        block->from = (const void *)((uintptr_t)args[row->typed[0].buffer] + (uintptr_t)a->shift[0]);
        block->onto = (void *)((uintptr_t)args[row->typed[1].buffer] + (uintptr_t)a->shift[1]);
        if (espi_selfcopy_look_again(&a->pair, block)) {
            pairs->again_missed = 0;
            return true;
        }
    }
    if (++pairs->again_missed > ESPI_SELFCOPY_MISSES) {
        memset(pairs->again, 0, sizeof pairs->again);
        pairs->again_next = pairs->again_missed = 0;
    }
    return false;
}

/* Remembers it. */
static void note(struct espi_thread *thread, const struct espi_api_row *row, const espi_word *args,
                 const struct espi_selfcopy_block *block)
{
    struct espi_selfcopy_cache *pairs = &espi_thread_state(thread)->pairs;
    const int rank = espi_thread_state(thread)->comm.rank;
    struct espi_selfcopy_again a = {.row = row,
                                    .comm = (MPI_Comm)args[row->comm],
                                    .pair = *espi_selfcopy_known(thread, &block->send, &block->receive)};
    int at = pairs->again_next;

    if (espi_calls_overlap || espi_selfcopy_plan_there(&a.pair, &block->send, &block->receive) == NULL)
        return;
    for (int i = 0; i < 2; i++) {
        const struct espi_buffer_args *t = &row->typed[i];
        a.place[i] = number_at(row, (const void *)args[t->count + 1], rank);
        a.shift[i] = (int64_t)((uintptr_t)(i == 0 ? block->from : block->onto) - (uintptr_t)args[t->buffer]);
    }
    for (int n = 0; n < ESPI_SELFCOPY_AGAIN; n++) {
        const struct espi_selfcopy_again *old = &pairs->again[n];
        if (old->row == row && old->comm == a.comm && memcmp(old->place, a.place, sizeof a.place) == 0 &&
            memcmp(&old->pair.key, &a.pair.key, sizeof a.pair.key) == 0)
            at = n;
    }
    pairs->again[at] = a;
    if (at == pairs->again_next)
        pairs->again_next = (at + 1) % ESPI_SELFCOPY_AGAIN;
}

/* Finds the block of a call, to be copied or carried out by the call itself. False: the call is left to MPI, and
   `*looked` says whether the block was looked at. */
static bool find_block(struct espi_thread *thread, const struct espi_api_row *row, const espi_word *args,
                       struct espi_selfcopy_block *block, bool *looked)
{
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    const struct espi_comm_facts comm = thread_state->comm;
    const bool each = comm.peers > 1 && row->root < 0;
    void *from, *onto;

    block->place = espi_selfcopy_place(&comm, row->typed, row->root);
    *looked = true;
    if (args[(int)row->typed[0].buffer] == args[(int)row->typed[1].buffer])
        return false;
    if (each && is_again(thread_state, row, args, block))
        return true;
    *looked = is_due(thread_state, row, args, espi_selfcopy_mark_of(block->place));
    if (!*looked || !read_side(thread, row, args, &row->typed[0], comm.rank, &from, &block->send) ||
        !read_side(thread, row, args, &row->typed[1], comm.rank, &onto, &block->receive))
        return false;
    block->from = from;
    block->onto = onto;
    if (!espi_selfcopy_look(thread, block))
        return false;
    if (each)
        note(thread, row, args, block);
    return true;
}

/* Whether the own block is copied before the call: a gather's, unless MPI refuses it for what was not looked at:
   another block's count, or a receive buffer that is none, of which the own block's place does not tell. Then nothing
   is to be touched. */
static bool comes_first(const struct espi_api_row *row, const espi_word *args, int peers)
{
    const struct espi_buffer_args *all = &row->typed[1];

    if (row->root < 0 || row->typed[0].at_root || args[all->buffer] == 0)
        return false;
    for (int i = 0; i < peers && all->shape != ESPI_SHAPE_ONE; i++)
        if (number_at(row, (const void *)args[all->count], i) < 0)
            return false;
    return true;
}

static espi_word collective(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                            espi_handler substitute)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    const struct espi_comm_facts comm = thread_state->comm;
    struct espi_selfcopy_block block = {0};
    _Alignas(MPI_Count) char room[2][ROOM];
    void *counts[2] = {NULL, NULL};
    espi_word changed[ESPI_MAX_ARGS], result;
    bool looked;

    if (!espi_selfcopy_is_apart(&comm, row->typed, row->root, args))
        return substitute(thread, fn, args, next);
    if (!find_block(thread, row, args, &block, &looked))
        return !looked && comm.peers == 1 ? as_it_is(thread, fn, args, next, substitute)
                                          : substitute(thread, fn, args, next);
    if (block.turn.way == ESPI_BY_CALL)
        return by_call(thread, fn, args, next, substitute, &block);
    if (comm.peers == 1) {
        espi_count_call(thread_state->stats, fn);
        espi_count(thread_state->stats, ESPI_COUNT_calls_examined, 1);
        espi_selfcopy_carry_out(thread, &block);
        return MPI_SUCCESS;
    }
    memcpy(changed, args, row->args * sizeof *args);
    if (row->root >= 0) {
        int own = row->typed[0].at_root ? 1 : 0;
        changed[(int)row->typed[own].buffer] = (espi_word)MPI_IN_PLACE;
    } else {
        for (int side = 0; side < 2; side++) {
            int at = row->typed[side].count;
            counts[side] = without_own(row, args[at], comm.peers, comm.rank, room[side]);
            changed[at] = (espi_word)counts[side];
        }
        if (counts[0] == NULL || counts[1] == NULL) {
            let_counts_go(counts[0], room[0]);
            let_counts_go(counts[1], room[1]);
            return substitute(thread, fn, args, next);
        }
    }
    const bool first = comes_first(row, args, comm.peers);
    if (first)
        espi_selfcopy_carry_out(thread, &block);
    result = substitute(thread, fn, changed, next);
    let_counts_go(counts[0], room[0]);
    let_counts_go(counts[1], room[1]);
    if (!first && (int)result == MPI_SUCCESS)
        espi_selfcopy_carry_out(thread, &block);
    return result;
}

/* ---- MPI_Sendrecv ---- */

/* In the place of a message to oneself: whether one is pending is asked, and a status is filled. About, by what whole
   runs of such messages saved and the times of single copies. */
enum { BESIDE_NS = 150 };

/* Another thread may be sending to the own rank, or receiving from it. */
static bool other_threads(void)
{
    int level = MPI_THREAD_MULTIPLE;
    return espi_pmpi.Query_thread(&level) != MPI_SUCCESS || level == MPI_THREAD_MULTIPLE;
}

static espi_word sendrecv(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                          espi_handler substitute)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    int dest = (int)args[3], sendtag = (int)args[4], source = (int)args[8], recvtag = (int)args[9], pending = 1;
    bool alone = thread_state->comm.peers == 1;
    MPI_Comm comm = (MPI_Comm)args[10];
    MPI_Status *status = (MPI_Status *)args[11];
    struct espi_selfcopy_block block = {0};
    void *from, *onto;

    if (dest != thread_state->comm.rank || (source != dest && (source != MPI_ANY_SOURCE || !alone)) || sendtag < 0 ||
        !is_due(thread_state, row, args, ESPI_PAIRED_COPIED | ESPI_PAIRED_MESSAGE) ||
        sendtag > thread_state->comm.tag_ub || (recvtag != sendtag && recvtag != MPI_ANY_TAG) || status == NULL ||
        other_threads() || (!alone && espi_self_sends_possible(comm, dest)) ||
        !read_side(thread, row, args, &row->typed[0], 0, &from, &block.send) ||
        !read_side(thread, row, args, &row->typed[1], 0, &onto, &block.receive)) {
        thread_state->pairs.weight = 0; /* a lot that may have been drawn was for this one */
        return as_it_is(thread, fn, args, next, substitute);
    }
    block.from = from;
    block.onto = onto;
    block.place = alone ? ESPI_SELF_ALONE : ESPI_SELF_MESSAGE;
    block.beside_ns = BESIDE_NS;
    if (!espi_selfcopy_look(thread, &block) ||
        espi_pmpi.Iprobe(source, recvtag, comm, &pending, MPI_STATUS_IGNORE) != MPI_SUCCESS || pending)
        return as_it_is(thread, fn, args, next, substitute);
    if (block.turn.way == ESPI_BY_CALL)
        return by_call(thread, fn, args, next, substitute, &block);
    espi_count_call(thread_state->stats, fn);
    espi_count(thread_state->stats, ESPI_COUNT_calls_examined, 1);
    espi_selfcopy_carry_out(thread, &block);
    if (status != MPI_STATUS_IGNORE) { /* its MPI_ERROR stays as it was, as natively */
        status->MPI_SOURCE = dest;
        status->MPI_TAG = sendtag;
        espi_pmpi.Status_set_cancelled(status, 0);
        espi_pmpi.Status_set_elements_x(status, MPI_BYTE, block.plan->bytes);
    }
    return MPI_SUCCESS;
}

espi_word espi_selfcopy_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                             espi_handler substitute)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    if (!has_derived(row, args) ||
        !espi_is_running() ||
        espi_settings.datatypes == ESPI_MODE_OFF)
        return substitute(thread, fn, args, next);
    bool message = fn == ESPI_FN_Sendrecv || fn == ESPI_FN_Sendrecv_c;
    if (message && (int)args[8] != (int)args[3] && (int)args[8] != MPI_ANY_SOURCE)
        return substitute(thread, fn, args, next);
    struct espi_thread_state *thread_state = espi_thread_state(thread);
    if (thread_state == NULL || !espi_comm_look(&thread_state->comm,
                                                (MPI_Comm)args[(int)row->comm]) || thread_state->comm.inter)
        return substitute(thread, fn, args, next);
    return message ? sendrecv(thread, fn, args, next, substitute) : collective(thread, fn, args, next, substitute);
}
