/*
 * From a tree, or from a tree that two layouts share, to a program: dense runs become blocks, loops directly inside
 * loops one nest, for which another order may be noted. That is allowed because the strides of both sides are affine
 * in the loop counters and no place is written twice: the finest steps where the data go stand innermost, the finest
 * where they lie next to them. Each node is compiled once, however often it is shared.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "pack/program.h"

enum { TURNS_BYTES = 16384, FINE = 128, TURNS_MOST = 256, SLOTS_FIRST = 64 };
/* Few blocks in two loops, and in one; turns that are run together of a loop over them. And other steps through a
   program that take as long as a call of the kernel for two loops. */
enum { FEW_IN_TWO = 32, FEW_IN_ONE = 4, TURNS_OF_FEW = 64, GRID_CALLS = 3 };

struct espi_compiled {
    const struct espi_node *from, *onto; /* from == NULL: an empty slot */
    struct espi_piece piece;
};

struct espi_copy *espi_copy_make(struct espi_compiler *p, enum espi_copy_kind kind)
{
    struct espi_copy *c = espi_arena_calloc(p->arena, 1, sizeof *c);
    if (c != NULL)
        c->kind = kind;
    return c;
}

espi_status espi_copy_block(struct espi_compiler *p, int64_t bytes, const struct espi_copy **out)
{
    const bool kept = bytes < ESPI_BLOCKS_KEPT;
    struct espi_copy *c;
    if (kept && p->block[bytes] != NULL) {
        *out = p->block[bytes];
        return ESPI_OK;
    }
    c = espi_copy_make(p, ESPI_COPY_BLOCK);
    if (c == NULL)
        return ESPI_ERR_MEMORY;
    c->bytes = bytes;
    c->pieces = c->calls = bytes > 0;
    c->lines = bytes / ESPI_LINE + (bytes % ESPI_LINE != 0);
    c->high = bytes;
    if (kept)
        p->block[bytes] = c;
    *out = c;
    return ESPI_OK;
}

int64_t espi_copy_times(int64_t a, int64_t b)
{
    int64_t c;
    if (!__builtin_mul_overflow(a, b, &c))
        return c;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

int64_t espi_copy_plus(int64_t a, int64_t b)
{
    int64_t c;
    if (!__builtin_add_overflow(a, b, &c))
        return c;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t distance(int64_t stride)
{
    return stride < 0 ? -(stride + (stride == INT64_MIN)) : stride;
}

/* A base type. One with a gap inside (a short and an int, say) becomes its two values. */
static espi_status leaf(struct espi_compiler *p, espi_base base, bool dense, struct espi_piece *out)
{
    const struct espi_base_info *info = espi_base_info(base);
    const int64_t second = sizeof(int), first = (int64_t)info->size - second;
    struct espi_piece value[2] = {{.from = 0}};
    const struct espi_copy **sub;
    int64_t *disp;
    struct espi_copy *c;
    espi_status status;

    if (info->size == info->extent || first <= 0)
        return espi_copy_block(p, info->size, &out->copy);
    value[1].from = info->extent - second;
    status = espi_copy_block(p, first, &value[0].copy);
    if (status == ESPI_OK)
        status = espi_copy_block(p, second, &value[1].copy);
    if (status == ESPI_OK && dense)
        return espi_dense_parts(p, 2, value, out);
    c = espi_copy_make(p, ESPI_COPY_PARTS);
    disp = espi_arena_calloc(p->arena, 2, sizeof *disp);
    sub = espi_arena_calloc(p->arena, 2, sizeof *sub);
    if (status != ESPI_OK || c == NULL || disp == NULL || sub == NULL)
        return ESPI_ERR_MEMORY;
    disp[1] = value[1].from;
    sub[0] = value[0].copy;
    sub[1] = value[1].copy;
    c->count = 2;
    c->pieces = 2;
    c->bytes = info->size;
    c->disp_from = c->disp_onto = disp;
    c->sub = sub;
    out->copy = c;
    return ESPI_OK;
}

/* How many turns of the innermost loop are run together; see run.c. */
static int64_t turns(const struct espi_copy *child, const struct espi_copy_loop *loop)
{
    int64_t step = espi_copy_plus(distance(loop->from), distance(loop->onto)), n;
    if (child->kind == ESPI_COPY_BLOCK || child->kind == ESPI_COPY_LOOPS || child->kind == ESPI_COPY_BUCKETS ||
        child->kind == ESPI_COPY_RUNS || child->pieces == 0 || child->bytes / child->pieces > FINE)
        return 0;
    n = step > 0 ? TURNS_BYTES / step : TURNS_MOST;
    n = n < TURNS_MOST ? n : TURNS_MOST;
    return n >= ESPI_TURNS_LEAST && loop->count >= ESPI_TURNS_LEAST ? n : 0;
}

/* The same of loops over blocks, in the order in which they run: where the last two, or the last one of two, have few
   turns a kernel would be called for a few blocks: 31 grids of 4 x 4 doubles took three times as long (row few_4x4 of
   bench/packing). */
static int64_t turns_of_few(const struct espi_copy *c)
{
    const struct espi_copy_loop *inner = &c->loop[c->order[c->levels - 1]],
                                *next = c->levels > 1 ? &c->loop[c->order[c->levels - 2]] : NULL;
    if (c->child->kind != ESPI_COPY_BLOCK || c->child->bytes > ESPI_LINE || c->levels < 2)
        return 0;
    const bool few = c->levels == 2 ? inner->count <= FEW_IN_ONE
                                    : inner->count <= FEW_IN_TWO && next->count <= FEW_IN_TWO / inner->count;
    const int64_t turns = c->levels == 2 ? next->count : c->loop[c->order[c->levels - 3]].count;
    return few && turns >= ESPI_TURNS_LEAST ? TURNS_OF_FEW : 0;
}

/* The loop for the place `at`, of those that stand from 0 to at: the one that `side` steps most finely in. */
static void finest_last(struct espi_copy *c, int at, bool by_onto)
{
    int best = at;
    for (int i = at - 1; i >= 0; i--) {
        const struct espi_copy_loop *mine = &c->loop[c->order[i]], *its = &c->loop[c->order[best]];
        if (by_onto ? distance(mine->onto) < distance(its->onto) : distance(mine->from) < distance(its->from))
            best = i;
    }
    const uint8_t chosen = c->order[best];
    memmove(&c->order[best], &c->order[best + 1], (size_t)(at - best) * sizeof chosen);
    c->order[at] = chosen;
}

/* Loops that go on where the one inside ends become one with it. */
static void join_loops(struct espi_copy *c)
{
    for (int i = c->levels - 1; i > 0; i--) {
        struct espi_copy_loop *outer = &c->loop[i - 1], *inner = &c->loop[i];
        int64_t from, onto, count;
        if (!__builtin_mul_overflow(inner->from, inner->count, &from) && outer->from == from &&
            !__builtin_mul_overflow(inner->onto, inner->count, &onto) && outer->onto == onto &&
            !__builtin_mul_overflow(inner->count, outer->count, &count)) {
            inner->count = count;
            memmove(outer, inner, (size_t)(c->levels - i) * sizeof *inner);
            c->levels--;
        }
    }
}

/* Calls of kernels where some turns are run together: of the loop over few blocks, and of all around it. 0: they are
   not. */
static int64_t calls_of_few(const struct espi_copy *c)
{
    const int at = c->levels < 3 ? 0 : c->levels - 3;
    const int64_t turns = c->loop[c->order[at]].count;
    if (!espi_copy_is_few(c, c->levels - at, turns))
        return 0;
    int64_t calls = espi_copy_times(GRID_CALLS, turns / TURNS_OF_FEW + (turns % TURNS_OF_FEW != 0));

    for (int i = 0; i < c->levels - 1; i++)
        if (i != at)
            calls = espi_copy_times(calls, c->loop[c->order[i]].count);
    return calls;
}

/* Loops with steps of less than a line share lines with each other. */
void espi_copy_measure_loops(struct espi_copy *c)
{
    bool done[ESPI_COPY_LEVELS] = {false};
    const int inner = c->child->kind == ESPI_COPY_BLOCK ? 2 : 0; /* loops within one kernel */
    c->lines = c->child->lines;
    c->lists = c->child->lists;
    c->calls = c->child->kind == ESPI_COPY_BLOCK ? 1 : c->child->calls;
    c->low = c->child->low;
    c->high = c->child->high;
    for (int n = 0; n < c->levels; n++) {
        int best = -1;
        for (int i = 0; i < c->levels; i++)
            if (!done[i] && (best < 0 || distance(c->loop[i].from) < distance(c->loop[best].from)))
                best = i;
        const struct espi_copy_loop *loop = &c->loop[best];
        const int64_t last = espi_copy_times(loop->count - 1, loop->from);
        done[best] = true;
        c->lines = espi_copy_times(c->lines, loop->count);
        if (last < 0)
            c->low = espi_copy_plus(c->low, last);
        else
            c->high = espi_copy_plus(c->high, last);
        if (distance(loop->from) < ESPI_LINE) {
            int64_t all = espi_copy_plus(c->high, -(c->low + (c->low == INT64_MIN))) / ESPI_LINE + 1;
            c->lines = c->lines < all ? c->lines : all;
        }
    }
    const int64_t few = calls_of_few(c);
    for (int i = 0; i < c->levels - inner && few == 0; i++)
        c->calls = espi_copy_times(c->calls, c->loop[i].count);
    c->calls = few > 0 ? few : espi_copy_times(c->calls, inner > 0 && c->levels > 2 ? GRID_CALLS : 1);
}

espi_status espi_copy_repeat(struct espi_compiler *p, const struct espi_copy_loop *loop,
                             const struct espi_copy *child, const struct espi_copy **out)
{
    struct espi_copy *c;
    int64_t bytes = espi_copy_times(loop->count, child->bytes);

    if (loop->count == 1 || child->bytes == 0) {
        *out = child;
        return ESPI_OK;
    }
    if (child->kind == ESPI_COPY_BLOCK && loop->from == child->bytes && loop->onto == child->bytes)
        return espi_copy_block(p, bytes, out);
    c = espi_copy_make(p, ESPI_COPY_LOOPS);
    if (c == NULL)
        return ESPI_ERR_MEMORY;
    c->loop[0] = *loop;
    c->levels = 1;
    c->child = child;
    c->bytes = bytes;
    c->pieces = espi_copy_times(loop->count, child->pieces);
    if (child->kind == ESPI_COPY_LOOPS && child->levels < ESPI_COPY_LEVELS) {
        c->levels += child->levels;
        memcpy(&c->loop[1], child->loop, (size_t)child->levels * sizeof *c->loop);
        c->child = child->child;
        join_loops(c);
    }
    for (int i = 0; i < c->levels; i++)
        c->order[i] = (uint8_t)i;
    if (c->child->kind == ESPI_COPY_BLOCK && c->levels > 1) {
        finest_last(c, c->levels - 1, true);
        finest_last(c, c->levels - 2, false);
        for (int i = 0; i < c->levels; i++)
            c->turned = c->turned || c->order[i] != i;
    }
    c->chunk = c->child->kind == ESPI_COPY_BLOCK ? turns_of_few(c) : turns(c->child, &c->loop[c->levels - 1]);
    espi_copy_measure_loops(c);
    *out = c;
    return ESPI_OK;
}

static espi_status list(struct espi_compiler *p, const struct espi_node *from, struct espi_piece *out)
{
    espi_status status = espi_copy_tree(p, from->child, NULL, out);
    const int64_t shift = out->from;

    if (status == ESPI_OK)
        status = espi_dense_list(p, from->count, from->disp, out->copy, out);
    out->from = espi_sum(out->from, shift);
    return status;
}

static espi_status parts(struct espi_compiler *p, const struct espi_node *from, const struct espi_node *onto,
                         struct espi_piece *out)
{
    /* The pieces of a program onto a stream are not kept as they are. */
    struct espi_piece *piece = espi_arena_calloc(&p->scratch, (size_t)from->count, sizeof *piece);
    const struct espi_copy **sub;
    struct espi_copy *c;
    int64_t *disp[2];

    if (piece == NULL)
        return ESPI_ERR_MEMORY;
    for (int64_t j = 0; j < from->count; j++) {
        espi_status status = espi_copy_tree(p, from->sub[j], onto != NULL ? onto->sub[j] : NULL, &piece[j]);
        if (status != ESPI_OK)
            return status;
        piece[j].from = espi_sum(piece[j].from, from->disp[j]);
        piece[j].onto = espi_sum(piece[j].onto, onto != NULL ? onto->disp[j] : 0);
    }
    if (onto == NULL)
        return espi_dense_parts(p, from->count, piece, out);
    c = espi_copy_make(p, ESPI_COPY_PARTS);
    sub = espi_arena_alloc(p->arena, (size_t)from->count * sizeof *sub);
    disp[0] = espi_arena_alloc(p->arena, (size_t)from->count * sizeof *disp[0]);
    disp[1] = espi_arena_alloc(p->arena, (size_t)from->count * sizeof *disp[1]);
    if (c == NULL || sub == NULL || disp[0] == NULL || disp[1] == NULL)
        return ESPI_ERR_MEMORY;
    for (int64_t j = 0; j < from->count; j++) {
        sub[j] = piece[j].copy;
        disp[0][j] = piece[j].from;
        disp[1][j] = piece[j].onto;
        c->pieces = espi_copy_plus(c->pieces, sub[j]->pieces);
    }
    c->count = from->count;
    c->bytes = from->size;
    c->disp_from = disp[0];
    c->disp_onto = disp[1];
    c->sub = sub;
    out->copy = c;
    return ESPI_OK;
}

static espi_status compile_new(struct espi_compiler *p, const struct espi_node *from, const struct espi_node *onto,
                               struct espi_piece *out)
{
    if (from->size == 0)
        return espi_copy_block(p, 0, &out->copy);
    switch (from->kind) {
    case ESPI_LEAF:
        return onto == NULL || from->base == onto->base ? leaf(p, from->base, onto == NULL, out)
                                                        : ESPI_ERR_ARGUMENT;
    case ESPI_VEC: {
        espi_status status = espi_copy_tree(p, from->child, onto != NULL ? onto->child : NULL, out);
        if (status != ESPI_OK)
            return status;
        struct espi_copy_loop loop = {from->count, from->stride, onto != NULL ? onto->stride : out->copy->bytes};
        return espi_copy_repeat(p, &loop, out->copy, &out->copy);
    }
    case ESPI_IDX:
        return onto != NULL ? espi_paired_list(p, from, onto, out) : list(p, from, out);
    case ESPI_STRUC:
        return parts(p, from, onto, out);
    default:
        return onto != NULL ? espi_paired_buckets(p, from, onto, out) : espi_dense_buckets(p, from, out);
    }
}

static bool same_shape(const struct espi_node *from, const struct espi_node *onto)
{
    if (from->kind != onto->kind || from->count != onto->count || from->entries != onto->entries)
        return false;
    return from->len == NULL || from->len == onto->len ||
           memcmp(from->len, onto->len, (size_t)from->count * sizeof *from->len) == 0;
}

static struct espi_compiled *find_slot(struct espi_compiled *table, size_t slots, const struct espi_node *from,
                                       const struct espi_node *onto)
{
    size_t at = (size_t)espi_mix(espi_mix(0, (uintptr_t)from), (uintptr_t)onto) & (slots - 1);
    while (table[at].from != NULL && (table[at].from != from || table[at].onto != onto))
        at = (at + 1) & (slots - 1);
    return &table[at];
}

/* Room for one more, at least half of the table being free. */
static espi_status grow_known(struct espi_compiler *p)
{
    const size_t slots = p->slots == 0 ? SLOTS_FIRST : 2 * p->slots;
    struct espi_compiled *larger;
    if (2 * (p->used + 1) <= p->slots)
        return ESPI_OK;
    larger = calloc(slots, sizeof *larger);
    if (larger == NULL)
        return ESPI_ERR_MEMORY;
    for (size_t i = 0; i < p->slots; i++)
        if (p->known[i].from != NULL)
            *find_slot(larger, slots, p->known[i].from, p->known[i].onto) = p->known[i];
    free(p->known);
    p->known = larger;
    p->slots = slots;
    return ESPI_OK;
}

/* A base type, or some next to each other: a block, made as quickly as found. */
static bool is_plain(const struct espi_node *node)
{
    if (node->kind == ESPI_VEC && node->stride == node->child->size)
        node = node->child;
    return node->kind == ESPI_LEAF && node->size == node->true_ub;
}

espi_status espi_copy_tree(struct espi_compiler *p, const struct espi_node *from, const struct espi_node *onto,
                           struct espi_piece *out)
{
    espi_status status;
    const bool plain = is_plain(from);

    if (onto != NULL && !same_shape(from, onto))
        return ESPI_ERR_ARGUMENT;
    if (!plain && p->slots > 0) {
        const struct espi_compiled *slot = find_slot(p->known, p->slots, from, onto);
        if (slot->from != NULL) {
            *out = slot->piece;
            return ESPI_OK;
        }
    }
    if (p->depth == ESPI_DEPTH_MAX)
        return ESPI_ERR_UNSUPPORTED;
    *out = (struct espi_piece){NULL, 0, 0};
    p->depth++;
    status = compile_new(p, from, onto, out);
    p->depth--;
    if (status == ESPI_OK && !plain)
        status = grow_known(p);
    if (status == ESPI_OK && !plain) {
        *find_slot(p->known, p->slots, from, onto) = (struct espi_compiled){from, onto, *out};
        p->used++;
    }
    return status;
}

void espi_compiler_release(struct espi_compiler *p)
{
    free(p->known);
    espi_arena_release(&p->scratch);
}

espi_status espi_copy_compile(struct espi_arena *arena, const struct espi_node *from, const struct espi_node *onto,
                              const struct espi_copy **out)
{
    struct espi_compiler p = {.arena = arena};
    struct espi_piece piece;
    espi_status status = espi_copy_tree(&p, from, onto, &piece);
    espi_compiler_release(&p);
    *out = status == ESPI_OK ? piece.copy : NULL;
    return status;
}
