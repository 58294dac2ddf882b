/*
 * From a shared tree to a program: dense runs become blocks, loops directly inside loops one nest, whose order is
 * chosen anew. That is allowed because the strides of both sides are affine in the loop counters and no place is
 * written twice: the finest steps where the data go stand innermost, the finest where they lie next to them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "pack/copy_program.h"

enum { DEPTH_MOST = ESPI_DEPTH_MAX, TURNS_BYTES = 16384, FINE = 128, TURNS_MOST = 256, TURNS_LEAST = 8 };

struct compiled {
    struct {
        const struct espi_node *from, *onto;
    } key;
    const struct espi_copy *copy;
    UT_hash_handle hh;
};

struct compiler {
    struct espi_arena *arena;
    struct espi_arena scratch;
    struct compiled *known;
    int depth;
};

static espi_status compile(struct compiler *p, const struct espi_node *from, const struct espi_node *onto,
                           const struct espi_copy **out);

static struct espi_copy *make_copy(struct compiler *p, enum espi_copy_kind kind)
{
    struct espi_copy *c = espi_arena_calloc(p->arena, 1, sizeof *c);
    if (c != NULL)
        c->kind = kind;
    return c;
}

static espi_status block(struct compiler *p, int64_t bytes, const struct espi_copy **out)
{
    struct espi_copy *c = make_copy(p, ESPI_COPY_BLOCK);
    if (c == NULL)
        return ESPI_ERR_MEMORY;
    c->bytes = bytes;
    c->pieces = 1;
    *out = c;
    return ESPI_OK;
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t c;
    return __builtin_mul_overflow(a, b, &c) ? INT64_MAX : c;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t c;
    return __builtin_add_overflow(a, b, &c) ? INT64_MAX : c;
}

static int64_t distance(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* A base type. One with a gap inside (a short and an int, say) becomes its two values. */
static espi_status leaf(struct compiler *p, espi_base base, const struct espi_copy **out)
{
    const struct espi_base_info *info = espi_base_info(base);
    const struct espi_copy *value[2];
    const struct espi_copy **sub;
    int64_t *disp;
    struct espi_copy *c;
    espi_status status;
    const size_t second = sizeof(int);

    if (info->size == info->extent)
        return block(p, info->size, out);
    status = block(p, (int64_t)(info->size - second), &value[0]);
    if (status == ESPI_OK)
        status = block(p, (int64_t)second, &value[1]);
    c = make_copy(p, ESPI_COPY_PARTS);
    disp = espi_arena_calloc(p->arena, 2, sizeof *disp);
    sub = espi_arena_calloc(p->arena, 2, sizeof *sub);
    if (status != ESPI_OK || c == NULL || disp == NULL || sub == NULL)
        return ESPI_ERR_MEMORY;
    disp[1] = (int64_t)(info->extent - second);
    sub[0] = value[0];
    sub[1] = value[1];
    c->count = 2;
    c->pieces = 2;
    c->disp_from = c->disp_onto = disp;
    c->sub = sub;
    *out = c;
    return ESPI_OK;
}

/* How many turns of the innermost loop are run together; see copy_run.c. */
static int64_t turns(const struct espi_copy *child, const struct espi_copy_loop *loop, int64_t bytes)
{
    int64_t step = plus(distance(loop->from), distance(loop->onto)), n;
    if (child->kind == ESPI_COPY_BLOCK || child->kind == ESPI_COPY_LOOPS || child->kind == ESPI_COPY_BUCKETS ||
        bytes / child->pieces > FINE)
        return 0;
    n = step > 0 ? TURNS_BYTES / step : TURNS_MOST;
    n = n < TURNS_MOST ? n : TURNS_MOST;
    return n >= TURNS_LEAST && loop->count >= TURNS_LEAST ? n : 0;
}

/* The loop for the place `at`, of those from 0 to at: the one that `side` steps most finely in. */
static void finest_last(struct espi_copy *c, int at, bool by_onto)
{
    int best = at;
    for (int i = at - 1; i >= 0; i--) {
        int64_t mine = by_onto ? c->loop[i].onto : c->loop[i].from,
                its = by_onto ? c->loop[best].onto : c->loop[best].from;
        if (distance(mine) < distance(its))
            best = i;
    }
    struct espi_copy_loop chosen = c->loop[best];
    memmove(&c->loop[best], &c->loop[best + 1], (size_t)(at - best) * sizeof chosen);
    c->loop[at] = chosen;
}

/* Loops that go on where the one inside ends become one with it. */
static void join_loops(struct espi_copy *c)
{
    for (int i = c->levels - 1; i > 0; i--) {
        struct espi_copy_loop *outer = &c->loop[i - 1], *inner = &c->loop[i];
        if (outer->from == inner->from * inner->count && outer->onto == inner->onto * inner->count) {
            inner->count *= outer->count;
            memmove(outer, inner, (size_t)(c->levels - i) * sizeof *inner);
            c->levels--;
        }
    }
}

static espi_status repeat(struct compiler *p, const struct espi_copy_loop *loop, const struct espi_copy *child,
                          int64_t bytes, const struct espi_copy **out)
{
    struct espi_copy *c;

    if (loop->count == 1) {
        *out = child;
        return ESPI_OK;
    }
    if (child->kind == ESPI_COPY_BLOCK && loop->from == child->bytes && loop->onto == child->bytes)
        return block(p, child->bytes * loop->count, out);
    c = make_copy(p, ESPI_COPY_LOOPS);
    if (c == NULL)
        return ESPI_ERR_MEMORY;
    c->loop[0] = *loop;
    c->levels = 1;
    c->child = child;
    c->pieces = times(loop->count, child->pieces);
    if (child->kind == ESPI_COPY_LOOPS && child->levels < ESPI_COPY_LEVELS) {
        c->levels += child->levels;
        memcpy(&c->loop[1], child->loop, (size_t)child->levels * sizeof *c->loop);
        c->child = child->child;
        join_loops(c);
        if (c->child->kind == ESPI_COPY_BLOCK && c->levels > 1) {
            finest_last(c, c->levels - 1, true);
            finest_last(c, c->levels - 2, false);
        }
    }
    c->chunk = turns(c->child, &c->loop[c->levels - 1], bytes / (loop->count > 0 ? loop->count : 1));
    *out = c;
    return ESPI_OK;
}

static espi_status list(struct compiler *p, const struct espi_node *from, const struct espi_node *onto,
                        const struct espi_copy **out)
{
    const struct espi_copy *child;
    struct espi_copy *c = make_copy(p, ESPI_COPY_LIST);
    espi_status status = compile(p, from->child, onto->child, &child);
    if (c == NULL || status != ESPI_OK)
        return c == NULL ? ESPI_ERR_MEMORY : status;
    c->count = from->count;
    c->disp_from = from->disp;
    c->disp_onto = onto->disp;
    c->child = child;
    c->pieces = times(c->count, child->pieces);
    *out = c;
    return ESPI_OK;
}

static espi_status buckets(struct compiler *p, const struct espi_node *from, const struct espi_node *onto,
                           const struct espi_copy **out)
{
    const struct espi_node *const side[2] = {from, onto};
    bool strided = from->kind == ESPI_BUCKET;
    const int64_t *disp[2] = {from->disp, onto->disp};
    const struct espi_copy *child;
    struct espi_copy *c = make_copy(p, ESPI_COPY_BUCKETS);
    int64_t copies = 0;
    espi_status status = compile(p, from->child, onto->child, &child);
    if (c == NULL || status != ESPI_OK)
        return c == NULL ? ESPI_ERR_MEMORY : status;
    for (int s = 0; s < 2 && strided; s++) {
        int64_t *made = espi_arena_calloc(p->arena, (size_t)from->count, sizeof *made);
        if (made == NULL)
            return ESPI_ERR_MEMORY;
        for (int64_t j = 0; j < from->count; j++)
            made[j] = j * side[s]->stride;
        disp[s] = made;
    }
    for (int64_t j = 0; j < from->count; j++)
        copies = plus(copies, from->len[j]);
    c->count = from->count;
    c->loop[0] = (struct espi_copy_loop){0, strided ? from->stride2 : from->stride,
                                         strided ? onto->stride2 : onto->stride};
    c->disp_from = disp[0];
    c->disp_onto = disp[1];
    c->len = from->len;
    c->child = child;
    c->pieces = c->loop[0].from == child->bytes && c->loop[0].onto == child->bytes ? c->count
                                                                                   : times(copies, child->pieces);
    *out = c;
    return ESPI_OK;
}

static espi_status parts(struct compiler *p, const struct espi_node *from, const struct espi_node *onto,
                         const struct espi_copy **out)
{
    const struct espi_copy **sub = espi_arena_calloc(p->arena, (size_t)from->count, sizeof *sub);
    struct espi_copy *c = make_copy(p, ESPI_COPY_PARTS);
    espi_status status = ESPI_OK;
    if (c == NULL || sub == NULL)
        return ESPI_ERR_MEMORY;
    for (int64_t j = 0; j < from->count && status == ESPI_OK; j++) {
        status = compile(p, from->sub[j], onto->sub[j], &sub[j]);
        if (status == ESPI_OK)
            c->pieces = plus(c->pieces, sub[j]->pieces);
    }
    c->count = from->count;
    c->disp_from = from->disp;
    c->disp_onto = onto->disp;
    c->sub = sub;
    *out = c;
    return status;
}

static espi_status compile_new(struct compiler *p, const struct espi_node *from, const struct espi_node *onto,
                               const struct espi_copy **out)
{
    if (from->entries == 0)
        return block(p, 0, out);
    switch (from->kind) {
    case ESPI_LEAF:
        return from->base == onto->base ? leaf(p, from->base, out) : ESPI_ERR_ARGUMENT;
    case ESPI_VEC: {
        struct espi_copy_loop loop = {from->count, from->stride, onto->stride};
        const struct espi_copy *child;
        espi_status status = compile(p, from->child, onto->child, &child);
        return status == ESPI_OK ? repeat(p, &loop, child, from->size, out) : status;
    }
    case ESPI_IDX:
        return list(p, from, onto, out);
    case ESPI_STRUC:
        return parts(p, from, onto, out);
    default:
        return buckets(p, from, onto, out);
    }
}

static bool same_shape(const struct espi_node *from, const struct espi_node *onto)
{
    if (from->kind != onto->kind || from->count != onto->count || from->entries != onto->entries)
        return false;
    return from->len == NULL || from->len == onto->len ||
           memcmp(from->len, onto->len, (size_t)from->count * sizeof *from->len) == 0;
}

static espi_status compile(struct compiler *p, const struct espi_node *from, const struct espi_node *onto,
                           const struct espi_copy **out)
{
    struct compiled *known, probe;
    espi_status status;

    if (!same_shape(from, onto))
        return ESPI_ERR_ARGUMENT;
    memset(&probe, 0, sizeof probe);
    probe.key.from = from;
    probe.key.onto = onto;
    HASH_FIND(hh, p->known, &probe.key, sizeof probe.key, known);
    if (known != NULL) {
        *out = known->copy;
        return ESPI_OK;
    }
    if (p->depth == DEPTH_MOST)
        return ESPI_ERR_UNSUPPORTED;
    p->depth++;
    status = compile_new(p, from, onto, out);
    p->depth--;
    known = espi_arena_calloc(&p->scratch, 1, sizeof *known);
    if (status != ESPI_OK || known == NULL)
        return status != ESPI_OK ? status : ESPI_ERR_MEMORY;
    known->key = probe.key;
    known->copy = *out;
    HASH_ADD(hh, p->known, key, sizeof known->key, known);
    return known->hh.tbl != NULL ? ESPI_OK : ESPI_ERR_MEMORY;
}

espi_status espi_copy_compile(struct espi_arena *arena, const struct espi_node *from, const struct espi_node *onto,
                              const struct espi_copy **out)
{
    struct compiler p = {.arena = arena};
    espi_status status = compile(&p, from, onto, out);
    HASH_CLEAR(hh, p.known);
    espi_arena_release(&p.scratch);
    return status;
}
