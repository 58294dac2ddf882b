#include "mpi/calls/repeated.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/overlap.h"
#include "mpi/core/runtime.h"
#include "mpi/typeplan/message_plan.h"
#include "mpi/typeplan/plan_credit.h"
#include "mpi/calls/substitute_array.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "mpi/typeplan/unseen.h"

/* What is kept takes at most this part of what buffers may take; and one that did not come while so many others
   looked for a place makes room. */
enum { KEPT = 16, SIGNATURES = 64, SHARE = 16, PATIENCE = 256 };

struct kept_type {
    struct espi_blocks_plan found; /* the slot is the last one's */
    struct espi_plan *plan;        /* of the slot; NULL: it has none */
    struct espi_plan_saving saving; /* of one that is packed */
    int64_t count;                 /* 0 items: there is nothing to do for it */
    MPI_Datatype as_given;         /* of one that there is nothing to do for; MPI_DATATYPE_NULL: it has no items */
    uint64_t kind;                 /* espi_use_kind, of one that goes as it is */
};

/* Arrays are copies, in the memory of struct espi_repeated. */
struct kept_side {
    bool seen, in_place, packed;
    int types; /* 0: one predefined, or nothing */
    int blocks;
    struct kept_type *type;
    MPI_Datatype predefined;
    espi_word count; /* where all blocks have one */
    char *counts, *places;
    size_t counts_size, places_size; /* 0: they may be what they are */
    int64_t *from;     /* of packed blocks: bytes from the buffer on */
    espi_word buffer;  /* that their places were last worked out for */
    espi_word word[4]; /* what MPI sees: buffer, count or counts, places, type or types */
};

struct espi_repeated {
    const struct espi_api_row *row;
    MPI_Comm comm;
    unsigned comm_epoch, plans_epoch;
    uint64_t signature;
    int root;
    bool busy; /* a call is under way; for ever where an error handler leaves it by a jump */
    uint64_t last; /* `missed` when it came last */
    struct espi_packed_blocks *blocks[2];
    int64_t bytes[2]; /* of the blocks */
    struct kept_side side[2];
};

static struct espi_repeated *kept[KEPT];
static int filled; /* places that were ever used */
static uint64_t signatures[SIGNATURES]; /* of the last calls that were not kept */
static int earliest;  /* of these */
static int next;      /* where the next call is looked for first: behind the last */
static uint64_t missed; /* calls that a place was looked for */
int64_t espi_repeated_bytes;

static void drop(int i)
{
    struct espi_repeated *r = kept[i];

    for (int which = 0; which < 2; which++)
        if (r->blocks[which] != NULL)
            espi_packed_blocks_close(r->blocks[which], espi_plan_release_owner);
    espi_repeated_bytes -= r->bytes[0] + r->bytes[1];
    kept[i] = NULL;
    free(r);
}

/* ---- whether a call is the same ---- */

/* A type with something to do, of which nothing is due. `paired`: flags of enum espi_paired that it must not have.
   MPI_DATATYPE_NULL has the number of a type that there may be. */
static bool is_same_type(struct kept_type *t, MPI_Datatype type, unsigned paired)
{
    struct espi_type_slot *slot;

    if (type == MPI_DATATYPE_NULL || espi_type_is_predefined(type) || (slot = espi_slot_of(type)) == NULL ||
        atomic_load_explicit(&slot->plan, memory_order_acquire) != t->plan ||
        atomic_load_explicit(&slot->uses, memory_order_relaxed) + 1 >=
            atomic_load_explicit(&slot->look, memory_order_relaxed) ||
        (atomic_load_explicit(&slot->paired, memory_order_relaxed) & paired) != 0)
        return false;
    t->found.slot = slot;
    return true;
}

static bool is_same_array(espi_word given, const char *was, size_t size)
{
    return size == 0 || (given != 0 && memcmp((const void *)given, was, size) == 0);
}

static bool is_same_side(struct kept_side *s, const struct espi_buffer_args *typed, bool large,
                         const espi_word *args, unsigned paired)
{
    if (typed->shape == ESPI_SHAPE_NONE)
        return true;
    if (espi_call_side_is_in_place(typed, args) != s->in_place)
        return false;
    if (!s->seen)
        return true;
    if (typed->shape != ESPI_SHAPE_W && args[typed->buffer] == 0)
        return false;
    if (typed->shape == ESPI_SHAPE_ONE && (large ? args[typed->count] != s->count
                                                 : (int)args[typed->count] != (int)s->count))
        return false;
    if (s->types == 0)
        return (MPI_Datatype)args[typed->type] == s->predefined;
    if (typed->shape == ESPI_SHAPE_W && args[typed->type] == 0)
        return false;
    const MPI_Datatype *types = espi_call_side_types(typed, args);
    if (s->counts_size > 0 && !(is_same_array(args[typed->count], s->counts, s->counts_size) &&
                                is_same_array(args[typed->count + 1], s->places, s->places_size)))
        return false;
    for (int i = 0; i < s->types; i++) {
        struct kept_type *t = &s->type[i];
        if (t->count > 0 ? !is_same_type(t, types[i], paired)
                         : t->as_given != MPI_DATATYPE_NULL && t->as_given != types[i])
            return false;
    }
    return true;
}

/* The same function on the same communicator; else arrays may have other lengths, and are not to be read. */
static bool may_be_same(const struct espi_repeated *r, const struct espi_api_row *row, const espi_word *args)
{
    return r->row == row && r->comm == (MPI_Comm)args[row->comm] && !r->busy &&
           (row->root < 0 || (int)args[row->root] == r->root);
}

static bool is_stale(const struct espi_repeated *r)
{
    return r->comm_epoch != atomic_load_explicit(&espi_comm_epoch, memory_order_relaxed) ||
           r->plans_epoch != atomic_load_explicit(&espi_plans_epoch, memory_order_relaxed);
}

/* NULL: none. */
static struct espi_repeated *find(const struct espi_api_row *row, const espi_word *args, unsigned paired)
{
    int i = next;

    for (int n = 0; n < filled; n++) {
        struct espi_repeated *r = kept[i];
        const int at = i;
        i = i + 1 < filled ? i + 1 : 0;
        if (r == NULL || !may_be_same(r, row, args))
            continue;
        if (is_stale(r)) {
            drop(at);
            continue;
        }
        if (!is_same_side(&r->side[0], &row->typed[0], row->large, args, paired) ||
            !is_same_side(&r->side[1], &row->typed[1], row->large, args, paired))
            continue;
        next = i;
        return r;
    }
    return NULL;
}

/* ---- a call that is the same ---- */

static void begin_side(struct espi_repeated *r, int which, const espi_word *args, espi_word *changed)
{
    const struct espi_buffer_args *typed = &r->row->typed[which];
    struct kept_side *s = &r->side[which];
    struct espi_packed_block *blocks = espi_packed_blocks_each(r->blocks[which]);

    if (s->buffer != args[typed->buffer])
        for (int i = 0; i < s->blocks; i++)
            blocks[i].data = (char *)((uintptr_t)args[typed->buffer] + (uintptr_t)s->from[i]);
    s->buffer = args[typed->buffer];
    espi_packed_blocks_pack(r->blocks[which], false, false);
    if (!espi_packed_blocks_stand(r->blocks[which]))
        changed[typed->buffer] = s->word[0];
    changed[typed->count] = s->word[1];
    if (typed->shape != ESPI_SHAPE_ONE)
        changed[typed->count + 1] = s->word[2];
    changed[typed->type] = s->word[3];
}

static void count_packed(struct espi_stats_thread *stats, const struct kept_side *s, int64_t packed_bytes)
{
    int uses = 0;

    for (int i = 0; i < s->types; i++) {
        const struct kept_type *t = &s->type[i];
        if (t->count == 0)
            continue;
        uses++;
        espi_bump(&t->found.slot->uses, 1);
        espi_bump(&t->found.slot->items, (uint64_t)t->count);
        espi_bump(&t->plan->record->changed, 1);
        espi_bump(&t->plan->record->saved_ps[t->saving.where], t->saving.ps);
        espi_class_note(t->found.slot, t->plan, t->found.use, true);
    }
    espi_types_pay();
    espi_count(stats, ESPI_COUNT_calls_examined, (uint64_t)uses);
    espi_count(stats, ESPI_COUNT_calls_packed, (uint64_t)uses);
    espi_count(stats, ESPI_COUNT_bytes_packed, (uint64_t)packed_bytes);
}

static void count_left(struct espi_stats_thread *stats, const struct kept_side *s, const MPI_Datatype *types)
{
    for (int i = 0; i < s->types; i++)
        if (s->type[i].count > 0)
            espi_blocks_plan_left(stats, &s->type[i].found, types[i], s->type[i].count, s->type[i].kind);
}

bool espi_repeated_begin(struct espi_collective *call, struct espi_thread_state *thread_state,
                         const struct espi_api_row *row, const espi_word *args, espi_word *changed, bool first)
{
    const unsigned late = row->root >= 0 ? ESPI_PAIRED_LATE : 0,
                   paired = first && row->kind & ESPI_OWN ? ESPI_PAIRED_APART | ESPI_PAIRED_OPEN | late : 0;
    struct espi_repeated *r;

    if (espi_repeated_bytes == 0 || espi_calls_overlap ||
        (paired != 0 && espi_settings.datatypes != ESPI_MODE_AUTO) || espi_call_may_be_aliased(row, args) ||
        espi_packed_blocks_short_seen() ||
        atomic_load_explicit(&espi_type_service.mode, memory_order_relaxed) == ESPI_MODE_OFF ||
        (r = find(row, args, paired)) == NULL)
        return false;
    r->busy = true;
    r->last = missed;
    call->thread_state = thread_state;
    call->row = row;
    call->args = args;
    call->repeated = r;
    call->request = NULL;
    call->turn = (struct espi_way_turn){.way = ESPI_WAY_DENSE};
    call->substituted = 0;
    for (int i = 0; i < 2; i++) {
        call->blocks[i] = r->blocks[i];
        if (r->blocks[i] == NULL) {
            count_left(thread_state->stats, &r->side[i], espi_call_side_types(&row->typed[i], args));
            continue;
        }
        begin_side(r, i, args, changed);
        count_packed(thread_state->stats, &r->side[i], r->bytes[i]);
    }
    return true;
}

void espi_repeated_end(struct espi_repeated *r)
{
    r->busy = false;
}

void espi_repeated_forget(struct espi_repeated *r)
{
    for (int i = 0; i < KEPT; i++) {
        if (kept[i] != r)
            continue;
        r->blocks[0] = r->blocks[1] = NULL;
        drop(i);
        return;
    }
}

/* ---- keeping one ---- */

/* Bytes from the buffer of its side on. */
static int64_t from_buffer(const struct espi_collective *call, int which, const struct espi_packed_block *block)
{
    return (int64_t)((uintptr_t)block->data - (uintptr_t)call->args[call->row->typed[which].buffer]);
}

/* Whether all that is done with a side is the same the next time. */
static bool may_be_kept(const struct espi_call_side *s)
{
    if (s->longest > 0 || s->is_new)
        return false;
    for (int i = 0; i < s->types; i++)
        if (s->count[i] > 0 && !s->packed && (s->found[i].better != MPI_DATATYPE_NULL || s->found[i].plan != NULL))
            return false;
    return true;
}

/* Of function, communicator, root, and how many items of what go where. */
static uint64_t signature_of(const struct espi_collective *call, const struct espi_call_side side[2])
{
    uint64_t h = espi_mix((uint64_t)(call->row - espi_api_rows), (uint64_t)call->args[call->row->comm]);
    int64_t n;

    if (call->row->root >= 0)
        h = espi_mix(h, (uint64_t)(unsigned)call->args[call->row->root]);
    for (int which = 0; which < 2; which++) {
        const struct espi_call_side *s = &side[which];
        const struct espi_buffer_args *typed = &call->row->typed[which];
        h = espi_mix(h, (uint64_t)s->types << 2 | (uint64_t)s->seen << 1 | (uint64_t)s->packed);
        if (s->seen && s->types == 0)
            h = espi_mix(espi_mix(h, (uint64_t)call->args[typed->type]),
                         typed->shape == ESPI_SHAPE_ONE ? (uint64_t)call->args[typed->count] : 0);
        for (int i = 0; i < s->types; i++)
            if (s->count[i] > 0)
                h = espi_mix(h, (uint64_t)s->count[i] ^ (uint64_t)(uintptr_t)s->found[i].plan);
            else if ((n = espi_count_in(call->row, call->args, typed->count, i)) != 0) /* of a predefined type */
                h = espi_mix(espi_mix(h, (uint64_t)n), (uint64_t)espi_call_side_types(typed, call->args)[i]);
        for (int i = 0; s->packed && i < s->facts.blocks; i++)
            h = espi_mix(h, (uint64_t)from_buffer(call, which, &espi_packed_blocks_each(call->blocks[which])[i]));
    }
    return h | 1;
}

/* Whether one like it was made before, not long ago. */
static bool was_made(uint64_t signature)
{
    for (int i = 0; i < SIGNATURES; i++)
        if (signatures[i] == signature)
            return true;
    signatures[earliest] = signature;
    earliest = (earliest + 1) % SIGNATURES;
    return false;
}

/* It has been kept, and something was due. */
static bool is_kept(uint64_t signature)
{
    for (int i = 0; i < filled; i++)
        if (kept[i] != NULL && kept[i]->signature == signature && !is_stale(kept[i]))
            return true;
    return false;
}

static bool fits(int64_t more)
{
    return espi_repeated_bytes + more <= (espi_settings.pack_mb << 20) / SHARE;
}

/* A place for a call with so many bytes more; -1: there is none. So where a program has more calls than are kept some
   of them stay, and they do not take turns. */
static int choose_place(int64_t more)
{
    int empty = -1, oldest = -1;

    missed++;
    for (int i = KEPT - 1; i >= 0; i--) {
        if (kept[i] != NULL && !kept[i]->busy && is_stale(kept[i]))
            drop(i);
        if (kept[i] == NULL)
            empty = i;
        else if (!kept[i]->busy && (oldest < 0 || kept[i]->last < kept[oldest]->last))
            oldest = i;
    }
    if ((empty < 0 || !fits(more)) && oldest >= 0 && missed - kept[oldest]->last > PATIENCE) {
        drop(oldest);
        empty = oldest;
    }
    if (empty < 0 || !fits(more))
        return -1;
    filled = empty < filled ? filled : empty + 1;
    return empty;
}

/* Sizes of the arrays of a side, as they are given. */
static void measure(struct kept_side *k, const struct espi_api_row *row, const struct espi_buffer_args *typed)
{
    const bool wide = row->large || (row->kind & ESPI_NEIGHBOUR && typed->shape == ESPI_SHAPE_W);

    if (k->types == 0 || typed->shape == ESPI_SHAPE_ONE)
        return;
    k->counts_size = (size_t)k->blocks * (row->large ? sizeof(MPI_Count) : sizeof(int));
    k->places_size = !k->packed ? 0 : (size_t)k->blocks * (wide ? sizeof(MPI_Aint) : sizeof(int));
}

static size_t size_of(const struct kept_side *k)
{
    const size_t all = (size_t)k->types * sizeof *k->type + (k->packed ? (size_t)k->blocks * sizeof *k->from : 0) +
                       k->counts_size + k->places_size;
    return (all + _Alignof(struct kept_type) - 1) / _Alignof(struct kept_type) * _Alignof(struct kept_type);
}

static void keep_types(struct kept_side *k, const struct espi_collective *call, const struct espi_call_side *s,
                       int which)
{
    const struct espi_buffer_args *typed = &call->row->typed[which];
    const MPI_Datatype *types = espi_call_side_types(typed, call->args);
    const bool root = call->row->root >= 0 && (int)call->args[call->row->root] == call->thread_state->comm.rank;

    for (int i = 0; i < k->types; i++) {
        struct kept_type *t = &k->type[i];
        const int64_t given = typed->shape != ESPI_SHAPE_W ? 0
                                                           : espi_count_in(call->row, call->args, typed->count, i);
        *t = (struct kept_type){.count = s->count[i], .as_given = given != 0 ? types[i] : MPI_DATATYPE_NULL};
        if (t->count == 0)
            continue;
        t->found = s->found[i];
        t->plan = atomic_load_explicit(&t->found.slot->plan, memory_order_acquire);
        if (s->packed)
            t->saving = espi_plan_saving(t->plan, t->count, t->found.purpose, true, t->found.use);
        else if (!s->mixed)
            t->kind = espi_use_kind((enum espi_fn)(call->row - espi_api_rows), which, t->count, root,
                                    espi_both_derived(call->row->typed, call->args));
    }
}

/* Into memory of its own. */
static void keep_side(struct kept_side *k, char *memory, const struct espi_collective *call,
                      const struct espi_call_side *s, int which, const espi_word *changed)
{
    const struct espi_buffer_args *typed = &call->row->typed[which];

    k->type = (struct kept_type *)memory;
    keep_types(k, call, s, which);
    memory += (size_t)k->types * sizeof *k->type;
    if (k->packed) {
        const struct espi_packed_block *blocks = espi_packed_blocks_each(call->blocks[which]);
        const espi_word word[] = {changed[typed->buffer], changed[typed->count],
                                  typed->shape == ESPI_SHAPE_ONE ? 0 : changed[typed->count + 1],
                                  changed[typed->type]};
        memcpy(k->word, word, sizeof k->word);
        k->buffer = call->args[typed->buffer];
        k->from = (int64_t *)memory;
        for (int i = 0; i < k->blocks; i++)
            k->from[i] = from_buffer(call, which, &blocks[i]);
        memory += (size_t)k->blocks * sizeof *k->from;
    }
    k->counts = memory;
    k->places = memory + k->counts_size;
    if (k->counts_size > 0)
        memcpy(k->counts, (const void *)call->args[typed->count], k->counts_size);
    if (k->places_size > 0)
        memcpy(k->places, (const void *)call->args[typed->count + 1], k->places_size);
}

static struct espi_repeated *make(const struct espi_collective *call, const struct espi_call_side side[2],
                                  const espi_word *changed)
{
    const struct espi_api_row *row = call->row;
    struct kept_side k[2];
    struct espi_repeated *r;

    for (int i = 0; i < 2; i++) {
        const struct espi_buffer_args *typed = &row->typed[i];
        const bool there = typed->shape != ESPI_SHAPE_NONE;
        k[i] = (struct kept_side){.seen = side[i].seen,
                                  .in_place = there && espi_call_side_is_in_place(typed, call->args),
                                  .packed = side[i].packed,
                                  .types = side[i].types,
                                  .blocks = side[i].seen ? side[i].facts.blocks : 0};
        if (!k[i].seen)
            continue;
        k[i].count = typed->shape == ESPI_SHAPE_ONE ? call->args[typed->count] : 0;
        k[i].predefined = typed->shape == ESPI_SHAPE_W ? MPI_DATATYPE_NULL : (MPI_Datatype)call->args[typed->type];
        measure(&k[i], row, typed);
    }
    if ((r = malloc(sizeof *r + size_of(&k[0]) + size_of(&k[1]))) == NULL)
        return NULL;
    *r = (struct espi_repeated){.row = row,
                                .comm = (MPI_Comm)call->args[row->comm],
                                .comm_epoch = call->thread_state->comm.epoch,
                                .plans_epoch = atomic_load_explicit(&espi_plans_epoch, memory_order_relaxed),
                                .root = row->root < 0 ? 0 : (int)call->args[row->root],
                                .busy = true,
                                .last = missed,
                                .blocks = {call->blocks[0], call->blocks[1]},
                                .bytes = {side[0].packed ? side[0].bytes : 0, side[1].packed ? side[1].bytes : 0},
                                .side = {k[0], k[1]}};
    char *memory = (char *)(r + 1);
    for (int i = 0; i < 2; i++) {
        keep_side(&r->side[i], memory, call, &side[i], i, changed);
        memory += size_of(&k[i]);
    }
    return r;
}

void espi_repeated_keep(struct espi_collective *call, const struct espi_call_side side[2], const espi_word *changed)
{
    const int64_t more = (side[0].packed ? side[0].bytes : 0) + (side[1].packed ? side[1].bytes : 0);
    uint64_t signature;
    int place;

    if (espi_calls_overlap || call->row->kind & ESPI_NONBLOCKING || call->substituted > 0 ||
        !may_be_kept(&side[0]) || !may_be_kept(&side[1]))
        return;
    signature = signature_of(call, side);
    if (!was_made(signature) || is_kept(signature))
        return;
    if ((place = choose_place(more)) < 0 || (kept[place] = make(call, side, changed)) == NULL)
        return;
    kept[place]->signature = signature;
    espi_repeated_bytes += more;
    call->repeated = kept[place];
}

void espi_repeated_stop(void)
{
    for (int i = 0; i < KEPT; i++)
        if (kept[i] != NULL && !kept[i]->busy)
            drop(i);
    memset(signatures, 0, sizeof signatures);
}
