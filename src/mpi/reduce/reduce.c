/*
 * The handler of all reductions. A call with a predefined operation on a derived type of equal elements is carried
 * out as the same call on elements: dense layouts by other words in the arguments, layouts with gaps through
 * contiguous buffers (struct espi_staged). Everything else goes on untouched, so that MPI says what it thinks of it.
 */
#include "mpi/reduce/reduce.h"

#include <limits.h>
#include <stdlib.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/datatype/decode.h"
#include "mpi/core/api_table.h"
#include "mpi/core/runtime.h"
#include "mpi/core/array_pool.h"
#include "mpi/core/thread_state.h"
#include "mpi/core/pmpi.h"
#include "mpi/comm/self_comm.h"
#include "mpi/datatype/ops.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/comm/world.h"
#include "words.h"

/* Arguments that all reductions share. */
enum { SENDBUF, RECVBUF, COUNT, TYPE, OP };

static espi_word go_on(enum espi_fn fn, const espi_word *args, espi_next next)
{
    switch (espi_api_rows[fn].args) {
    case 5:
        return ESPI_CALL(next, 5, args);
    case 6:
        return ESPI_CALL(next, 6, args);
    case 7:
        return ESPI_CALL(next, 7, args);
    case 8:
        return ESPI_CALL(next, 8, args);
    default:
        return ESPI_CALL(next, 9, args);
    }
}

static enum espi_reduction reduction_of(enum espi_fn fn)
{
    switch (fn) {
#define BOTH(name, kind)                            \
    case ESPI_FN_##name: case ESPI_FN_##name##_c:   \
        return kind;
#define FORMS(name, iname, kind) BOTH(name, kind) BOTH(iname, kind) BOTH(name##_init, kind)
        FORMS(Reduce, Ireduce, ESPI_RED_REDUCE)
        FORMS(Exscan, Iexscan, ESPI_RED_EXSCAN)
        FORMS(Reduce_scatter_block, Ireduce_scatter_block, ESPI_RED_BLOCK)
        FORMS(Reduce_scatter, Ireduce_scatter, ESPI_RED_SCATTER)
        BOTH(Reduce_local, ESPI_RED_LOCAL)
    default:
        return ESPI_RED_ALL; /* Allreduce and Scan: every rank gives and gets the same number of elements */
    }
}

/* A failure of our own (no memory) becomes what MPI does with an error of that class on this communicator. */
static espi_word fail(const struct espi_api_row *row, const espi_word *args, int error)
{
    MPI_Comm comm = row->comm >= 0 ? (MPI_Comm)args[(int)row->comm] : MPI_COMM_WORLD; /* as MPICH does without one */
    espi_pmpi.Comm_call_errhandler(comm, error);
    return error;
}

/* The int form cannot say how many elements there are: its large twin stands in the next row of api.def. */
static espi_next large_twin(enum espi_fn fn, espi_next next)
{
    espi_next twin = espi_pmpi_find(espi_api_name(fn + 1));
    return twin ? twin : next;
}

/* Of the counts of Reduce_scatter. */
static MPI_Count count_of(const void *counts, bool large, int i)
{
    return large ? ((const MPI_Count *)counts)[i] : ((const int *)counts)[i];
}

/* Counts of Reduce_scatter in elements, as int or MPI_Count; NULL when memory is short. */
static void *scaled_counts(const void *counts, bool from_large, bool to_large, int n, int64_t each)
{
    size_t size = (size_t)(n > 0 ? n : 1) * (to_large ? sizeof(MPI_Count) : sizeof(int));
    void *scaled = malloc(size);
    for (int i = 0; scaled && i < n; i++) {
        MPI_Count count = count_of(counts, from_large, i);
        if (to_large)
            ((MPI_Count *)scaled)[i] = count * each;
        else
            ((int *)scaled)[i] = (int)(count * each);
    }
    return scaled;
}

/* An array that MPI may read until the operation is complete. */
static void *keep_counts(void *counts, bool large, int n)
{
    const size_t each = large ? sizeof(MPI_Count) : sizeof(int);
    const void *kept = counts ? espi_pooled_array(counts, (size_t)n * each) : NULL;
    free(counts);
    return (void *)kept;
}

struct reduction {
    struct espi_thread *thread;
    struct espi_thread_state *thread_state;
    enum espi_fn fn;
    enum espi_reduction kind;
    const struct espi_api_row *row;
    const struct espi_elements *view;
    espi_word *args; /* the program's */
    espi_next next;
    MPI_Comm comm;
    int size, rank;        /* of comm (size of the local group of an intercommunicator); 1 and 0 for Reduce_local */
    bool inter;
    bool gives, gets;      /* whether this rank has an input and an output */
    MPI_Count copies;      /* of the type, that this rank gives */
    MPI_Count copies_out;  /* that it gets */
    bool fits_int;         /* every count in elements fits the int form */
    enum espi_reduced *done;
};

/* A failure before MPI has seen the call. */
static espi_word withhold(const struct reduction *r, int error)
{
    *r->done = ESPI_REDUCED_NOT;
    return fail(r->row, r->args, error);
}

static MPI_Count word_count(const struct espi_api_row *row, espi_word word)
{
    return row->large ? (MPI_Count)word : (MPI_Count)(int)word;
}

static bool is_in_place(const struct reduction *r)
{
    return r->kind != ESPI_RED_LOCAL && (void *)r->args[SENDBUF] == MPI_IN_PLACE;
}

/* MPI_IN_PLACE where it says nothing: no address to read from, or write to. */
static bool is_misplaced(const struct reduction *r)
{
    const bool is_at_root = r->kind == ESPI_RED_REDUCE ? r->gets && !r->inter : r->kind != ESPI_RED_LOCAL;
    return (r->gets && (void *)r->args[RECVBUF] == MPI_IN_PLACE) ||
           (r->gives && (void *)r->args[SENDBUF] == MPI_IN_PLACE && !is_at_root);
}

/* Reads the call. False: leave it to MPI (counts or buffers that MPI refuses, numbers that overflow). */
static bool read_call(struct reduction *r)
{
    const struct espi_api_row *row = r->row;
    r->comm = row->comm >= 0 ? (MPI_Comm)r->args[(int)row->comm] : MPI_COMM_NULL;
    r->size = 1, r->rank = 0;
    r->inter = false;
    r->gives = r->gets = r->fits_int = true;
    bool asks = r->kind == ESPI_RED_BLOCK || r->kind == ESPI_RED_SCATTER || r->kind == ESPI_RED_EXSCAN ||
                r->kind == ESPI_RED_REDUCE;
    if (asks) {
        if (!espi_comm_look_now(&r->thread_state->comm, r->comm) || espi_pmpi.Comm_size(r->comm,
                                                                                        &r->size) != MPI_SUCCESS)
            return false;
        r->rank = r->thread_state->comm.rank;
        r->inter = r->thread_state->comm.inter;
    }
    if (r->kind == ESPI_RED_SCATTER) {
        const void *counts = (const void *)r->args[COUNT];
        if (!counts)
            return false;
        r->copies = 0;
        for (int i = 0; i < r->size; i++) {
            MPI_Count c = count_of(counts, row->large, i), elements;
            if (c < 0 || __builtin_mul_overflow(c, r->view->each, &elements) ||
                __builtin_add_overflow(r->copies, c, &r->copies))
                return false;
            r->fits_int = r->fits_int && elements <= INT_MAX;
            if (i == r->rank)
                r->copies_out = c;
        }
    } else {
        MPI_Count elements;
        r->copies_out = word_count(r->row, r->args[COUNT]);
        if (r->copies_out < 0 || __builtin_mul_overflow(r->copies_out, r->view->each, &elements) ||
            __builtin_mul_overflow(r->copies_out, r->kind == ESPI_RED_BLOCK ? r->size : 1, &r->copies))
            return false;
        r->fits_int = elements <= INT_MAX;
    }
    if (r->kind == ESPI_RED_REDUCE) {
        int root = (int)r->args[(int)row->root];
        r->gets = r->inter ? root == MPI_ROOT : root == r->rank;
        r->gives = r->inter ? root != MPI_ROOT && root != MPI_PROC_NULL : true;
    }
    MPI_Count bytes;
    return !is_misplaced(r) && !__builtin_mul_overflow(r->copies, r->view->each, &bytes) &&
           !__builtin_mul_overflow(bytes, r->view->unit, &bytes) && bytes <= PTRDIFF_MAX / 4;
}

/* The call on elements at `in` and `out`. */
static espi_word call_on_elements(const struct reduction *r, espi_word in, espi_word out)
{
    espi_word args[ESPI_MAX_ARGS];
    espi_next next = r->next;
    bool large = r->row->large, later = r->row->kind & (ESPI_NONBLOCKING | ESPI_PERSISTENT);
    void *counts = NULL;
    for (int i = 0; i < r->row->args; i++)
        args[i] = r->args[i];
    args[SENDBUF] = in;
    args[RECVBUF] = out;
    args[TYPE] = (espi_word)r->view->base;
    if (!large && !r->fits_int) {
        next = large_twin(r->fn, next);
        large = true;
    }
    if (r->kind == ESPI_RED_SCATTER) {
        counts = scaled_counts((const void *)args[COUNT], r->row->large, large, r->size, r->view->each);
        if (later)
            counts = keep_counts(counts, large, r->size);
        if (!counts)
            return withhold(r, MPI_ERR_NO_MEM);
        args[COUNT] = (espi_word)counts;
    } else {
        args[COUNT] = word_count(r->row, args[COUNT]) * r->view->each;
    }
    espi_word rc = go_on(r->fn, args, next);
    if (!later)
        free(counts);
    return rc;
}

/* No gaps: the elements stand at the same place, `start` bytes on (a buffer may be MPI_BOTTOM). */
static espi_word reduce_dense(struct reduction *r)
{
    espi_word start = (espi_word)r->view->start;
    return call_on_elements(r, is_in_place(r) ? r->args[SENDBUF] : r->args[SENDBUF] + start,
                            r->args[RECVBUF] + start);
}

/* The buffers of this call. In place, the scattering calls have their input in the whole of the receive buffer and
   their output at its beginning. On rank 0, Exscan leaves the receive buffer alone. */
static struct espi_staged stage(const struct reduction *r)
{
    struct espi_staged staged = {.view = *r->view, .type = (MPI_Datatype)r->args[TYPE]};
    if (r->copies > 0) {
        const struct espi_way way =
            espi_types_counted_way(r->thread, r->thread_state->stats, staged.type, r->copies, true,
                                   r->view->padded ? ESPI_PACK_REDUCED_NOT : ESPI_PACK_REDUCED);
        staged.type = way.type;
        staged.plan = way.packed;
    }
    /* MPICH 4.0.2 crashes in MPI_Reduce of more than 2 KiB in place at a root other than 0. */
    staged.in_place = is_in_place(r) && r->kind != ESPI_RED_REDUCE;
    staged.in = (const void *)(is_in_place(r) ? r->args[RECVBUF] : r->args[SENDBUF]);
    staged.out = (void *)r->args[RECVBUF];
    staged.gives = r->gives;
    staged.gets = r->gets && !(r->kind == ESPI_RED_EXSCAN && r->rank == 0);
    staged.in_copies = r->copies;
    staged.out_copies = r->copies_out;
    return staged;
}

static espi_word reduce_with_gaps(struct reduction *r)
{
    struct espi_staged staged = stage(r);
    const struct espi_api_row *row = r->row;
    struct espi_later *later = NULL;
    espi_word rc;
    if (!espi_staged_allocate(&staged))
        return withhold(r, MPI_ERR_NO_MEM);
    bool persistent = row->kind & ESPI_PERSISTENT, nonblocking = row->kind & ESPI_NONBLOCKING;
    rc = persistent ? MPI_SUCCESS : espi_staged_pack(&staged);
    if (!rc && nonblocking && !(later = espi_reduce_later_new(staged.type)))
        rc = MPI_ERR_NO_MEM;
    if (rc) {
        espi_staged_release(&staged);
        return withhold(r, (int)rc);
    }
    rc = call_on_elements(r, staged.in_place ? r->args[SENDBUF] : (espi_word)staged.elements_in,
                          (espi_word)staged.elements_out);
    if (rc) {
        if (later)
            espi_reduce_later_drop(later);
        espi_staged_release(&staged);
        return rc;
    }
    if (!persistent && !nonblocking) {
        *r->done = ESPI_REDUCED;
        rc = espi_staged_unpack(&staged);
        espi_staged_release(&staged);
        return rc ? fail(row, r->args, (int)rc) : rc;
    }
    /* From here on MPI works on the buffers: they are released when it is done. */
    MPI_Request *request = (MPI_Request *)r->args[row->args - 1];
    if (later) {
        espi_reduce_later_begin(later, &staged, request);
        return MPI_SUCCESS;
    }
    rc = espi_reduce_persist(&staged, request);
    return rc ? fail(row, r->args, (int)rc) : rc;
}

/* The blocking int form of the same reduction, whatever was called. */
static enum espi_fn plain_form(enum espi_fn fn)
{
    return espi_api_rows[fn].large ? fn - 1 : fn;
}

static int64_t piece_limit(void)
{
    return espi_settings.reduce_piece_kb * 1024;
}

int64_t espi_reduce_never_large(int blocks)
{
    enum { LARGEST_BASE_TYPE = 32 }; /* bytes: MPI_C_LONG_DOUBLE_COMPLEX */
    return piece_limit() / LARGEST_BASE_TYPE / blocks;
}

/* The sum of the counts of Reduce_scatter; 0 where in_pieces does not take the call, or MPI refuses them. */
static MPI_Count sum_of_counts(struct espi_comm_facts *facts, const struct espi_api_row *row, const espi_word *args)
{
    const void *counts = (const void *)args[COUNT];
    MPI_Count sum = 0;
    if (!counts || !espi_comm_look_now(facts, (MPI_Comm)args[(int)row->comm]) || facts->inter)
        return 0;
    for (int i = 0; i < facts->peers; i++)
        if (__builtin_add_overflow(sum, count_of(counts, row->large, i), &sum))
            return 0;
    return sum;
}

/* A cheap look at a call with a base type: could it be larger than the limit? */
static bool may_be_large(struct espi_thread_state *thread_state, enum espi_reduction kind,
                         const struct espi_api_row *row, const espi_word *args)
{
    if (atomic_load_explicit(&espi_world.all_present, memory_order_relaxed) == ESPI_ALL_PRESENT_NO ||
        kind == ESPI_RED_LOCAL || row->kind & (ESPI_NONBLOCKING | ESPI_PERSISTENT))
        return false;
    if (kind == ESPI_RED_SCATTER)
        return sum_of_counts(&thread_state->comm, row, args) > espi_reduce_never_large(1);
    return word_count(row, args[COUNT]) > espi_reduce_never_large(kind == ESPI_RED_BLOCK ? espi_world.size : 1);
}

/* Asks MPI whether it would refuse a buffer of the call, by sending it to nobody. */
static int refusal_of(const struct reduction *r, espi_word buffer, int64_t copies)
{
    MPI_Comm self = espi_self_comm();
    if (self == MPI_COMM_NULL)
        return MPI_SUCCESS;
    return espi_pmpi.Send_c((const void *)buffer, copies, (MPI_Datatype)r->args[TYPE], MPI_PROC_NULL, 0, self);
}

/* The error with which MPI refuses a buffer, or one that is given twice, as what it gets are buffers of our own. The
   ranks agree before they reduce in pieces; one whose buffers are refused must not be there: it will call again. */
static int refused_buffers(const struct reduction *r)
{
    int rc = r->gives && !is_in_place(r) ? refusal_of(r, r->args[SENDBUF], r->copies) : MPI_SUCCESS;
    if (!rc && r->gives && r->gets && r->args[SENDBUF] == r->args[RECVBUF] && r->copies > 0 &&
        (r->kind == ESPI_RED_LOCAL || (espi_comm_look_now(&r->thread_state->comm, r->comm) &&
                                       !r->thread_state->comm.inter)) && espi_self_refuses_alias())
        rc = MPI_ERR_BUFFER;
    return rc || !r->gets ? rc : refusal_of(r, r->args[RECVBUF], r->copies_out);
}

/* True when the call was carried out in pieces (in_pieces.c). Every rank of the communicator comes to the same
   conclusion up to the agreement, whatever type it passes: size, communicator and settings are common. */
static bool in_pieces(struct reduction *r, bool dense, espi_word *result)
{
    bool done;
    int rc;
    if (r->row->kind & (ESPI_NONBLOCKING | ESPI_PERSISTENT) || r->kind == ESPI_RED_LOCAL ||
        r->copies * r->view->each * r->view->unit <= piece_limit() || !espi_comm_look_now(&r->thread_state->comm,
                                                                                          r->comm) ||
        r->thread_state->comm.inter || !espi_world_covers(r->comm))
        return false;
    struct espi_large large = {.fn = plain_form(r->fn),
                               .comm = r->comm,
                               .op = (MPI_Op)r->args[OP],
                               .root = r->row->root >= 0 ? (int)r->args[(int)r->row->root] : 0,
                               .rank = r->thread_state->comm.rank,
                               .size = r->thread_state->comm.peers,
                               .base = r->view->base,
                               .type = (MPI_Datatype)r->args[TYPE],
                               .unit = r->view->unit,
                               .elements = r->copies * r->view->each,
                               .copies = r->copies,
                               .out = (void *)r->args[RECVBUF],
                               .in_place = is_in_place(r),
                               .gaps = !dense,
                               .padded = r->view->padded};
    int64_t *blocks = NULL;
    if (large.root < 0 || large.root >= large.size)
        return false;
    if ((rc = refused_buffers(r)) != MPI_SUCCESS) {
        *result = espi_type_is_predefined(large.type) ? go_on(r->fn, r->args, r->next) : withhold(r, rc);
        return true;
    }
    if (r->kind == ESPI_RED_BLOCK || r->kind == ESPI_RED_SCATTER) {
        blocks = malloc((size_t)large.size * sizeof *blocks);
        for (int i = 0; blocks && i < large.size; i++)
            blocks[i] = r->view->each * (r->kind == ESPI_RED_BLOCK
                                             ? r->copies_out
                                             : count_of((const void *)r->args[COUNT], r->row->large, i));
        large.blocks = blocks;
        large.out_of_memory = !blocks;
    }
    large.in = (const char *)(large.in_place ? r->args[RECVBUF] : r->args[SENDBUF]);
    if (dense) { /* the elements begin a little later */
        large.in = (const char *)large.in + r->view->start;
        large.out = (char *)large.out + r->view->start;
        large.type = large.base;
        large.copies = large.elements;
    }
    done = espi_reduce_in_pieces(&large, &rc);
    *result = rc;
    free(blocks);
    if (done)
        espi_count(r->thread_state->stats, ESPI_COUNT_reduce_pieces, 1);
    return done;
}

static espi_word reduce_local(struct reduction *r)
{
    struct espi_staged staged = stage(r);
    int rc = MPI_ERR_NO_MEM;
    if (r->copies * r->view->each * r->view->unit > piece_limit()) {
        struct espi_large large = {.fn = r->fn, .op = (MPI_Op)r->args[OP], .base = r->view->base,
                                   .type = (MPI_Datatype)r->args[TYPE], .unit = r->view->unit,
                                   .elements = r->copies * r->view->each, .copies = r->copies,
                                   .in = staged.in, .out = staged.out, .gaps = true, .padded = r->view->padded};
        rc = espi_reduce_local_in_pieces(&large);
        espi_staged_release(&staged);
    } else if (espi_staged_allocate(&staged)) {
        rc = espi_staged_pack(&staged);
        if (!rc) /* the second buffer is input, too */
            rc = espi_staged_pack_output(&staged);
        if (!rc)
            rc = (int)call_on_elements(r, (espi_word)staged.elements_in, (espi_word)staged.elements_out);
        if (!rc)
            rc = espi_staged_unpack(&staged);
        espi_staged_release(&staged);
    }
    return rc ? fail(r->row, r->args, rc) : rc;
}

/* What is not simply passed on: `bit` is the operation's. */
static __attribute__((noinline)) espi_word reduction_call(struct espi_thread *thread, enum espi_fn fn,
                                                          espi_word *args, espi_next next, enum espi_reduction kind,
                                                          unsigned bit, enum espi_reduced *done)
{
    MPI_Datatype type = (MPI_Datatype)args[TYPE];
    bool predefined = espi_type_is_predefined(type);
    struct espi_elements base;
    espi_word result;
    int refused;
    struct reduction r = {.thread = thread, .thread_state = espi_thread_state(thread), .fn = fn, .kind = kind,
                          .row = &espi_api_rows[fn], .args = args, .next = next, .done = done};
    if (predefined)
        r.view = espi_elements_of_base(espi_base_of_handle(type), &base) ? &base : NULL;
    else
        r.view = espi_elements_of(type);
    if (!r.view || !(r.view->ops & bit) || !read_call(&r))
        return go_on(fn, args, next);
    bool dense = r.view->dense || (r.view->run && r.copies == 1);
    if (!predefined)
        espi_count(r.thread_state->stats, dense ? ESPI_COUNT_reduce_dense : ESPI_COUNT_reduce_packed, 1);
    if (in_pieces(&r, dense, &result))
        return result;
    if (predefined)
        return go_on(fn, args, next);
    if ((!dense || kind == ESPI_RED_LOCAL) && (refused = refused_buffers(&r)) != MPI_SUCCESS)
        return withhold(&r, refused);
    if (dense && (kind != ESPI_RED_REDUCE || !is_in_place(&r))) /* else it is staged, see there */
        return reduce_dense(&r);
    return r.kind == ESPI_RED_LOCAL ? reduce_local(&r) : reduce_with_gaps(&r);
}

espi_word espi_reduce_told(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next,
                           enum espi_reduced *done)
{
    struct espi_thread_state *thread_state;
    unsigned bit;
    *done = ESPI_REDUCED_AS_RETURNED;
    if (!espi_is_running() || !(thread_state = espi_thread_state(thread)))
        return go_on(fn, args, next);
    espi_count_call(thread_state->stats, fn);
    enum espi_reduction kind = reduction_of(fn);
    if (espi_settings.reduce == ESPI_MODE_OFF ||
        (espi_type_is_predefined((MPI_Datatype)args[TYPE]) &&
         !may_be_large(thread_state, kind, &espi_api_rows[fn], args)) ||
        !(bit = espi_reduce_op_bit((MPI_Op)args[OP])))
        return go_on(fn, args, next);
    return reduction_call(thread, fn, args, next, kind, bit, done);
}

espi_word espi_reduce_call(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    enum espi_reduced done;
    return espi_reduce_told(thread, fn, args, next, &done);
}
