/*
 * Lists onto a stream. Blocks that follow each other on both sides become one; blocks at equal distances become
 * loops; what is left is a list of blocks of one size, or runs of blocks of different sizes. Displacements are kept
 * as distances from the first one, in 32 bits where they fit: a list is read once for each use, like data.
 */
#include <string.h>

#include "pack/program.h"

enum {
    LOOP_LEAST = 32,  /* so many equal distances in a list are a loop of their own */
    EQUAL_LEAST = 32, /* so many equal lengths among runs are a list of their own */
    MERGED_LEAST = 48 /* bytes on average that make runs of joined blocks better than the blocks */
};

/* Blocks in the order of the stream; all of `size` bytes where `bytes` is NULL. */
struct blocks {
    const int64_t *at, *bytes;
    int64_t size;
};

/* Pieces that stand one after the other in the stream. */
struct builder {
    struct espi_compiler *p;
    struct espi_piece *piece;
    int64_t n, room;
    espi_status status;
};

static void add_piece(struct builder *b, const struct espi_copy *copy, int64_t from)
{
    if (b->n == b->room) {
        const int64_t room = b->room == 0 ? 16 : 2 * b->room;
        struct espi_piece *larger = espi_arena_alloc(&b->p->scratch, (size_t)room * sizeof *larger);
        if (larger == NULL) {
            b->status = ESPI_ERR_MEMORY;
            return;
        }
        if (b->n > 0)
            memcpy(larger, b->piece, (size_t)b->n * sizeof *larger);
        b->piece = larger;
        b->room = room;
    }
    b->piece[b->n++] = (struct espi_piece){copy, from, 0};
}

static int64_t bytes_of(const struct blocks *v, int64_t j)
{
    return v->bytes != NULL ? v->bytes[j] : v->size;
}

/* Distances from the first, in 32 bits if they fit. */
static espi_status keep_places(struct espi_compiler *p, struct espi_copy *c, const int64_t *at)
{
    const int64_t first = at[0];
    int64_t wrong = 0;
    int64_t *far;
    int32_t *near = espi_arena_alloc(p->arena, (size_t)c->count * sizeof *near);
    if (near == NULL)
        return ESPI_ERR_MEMORY;
    for (int64_t j = 0; j < c->count; j++) {
        const int64_t by = espi_difference(at[j], first);
        near[j] = (int32_t)by;
        wrong |= by ^ near[j];
    }
    if (wrong == 0) {
        c->near = near;
        c->lists += c->count * (int64_t)sizeof *near;
        return ESPI_OK;
    }
    far = espi_arena_alloc(p->arena, (size_t)c->count * sizeof *far);
    if (far == NULL)
        return ESPI_ERR_MEMORY;
    for (int64_t j = 0; j < c->count; j++)
        far[j] = espi_difference(at[j], first);
    c->disp_from = far;
    c->lists += c->count * (int64_t)sizeof *far;
    return ESPI_OK;
}

/* Bounds, and lines as if the first block stood at the begin of one. */
static void measure_blocks(struct espi_copy *c, const int64_t *at, const int64_t *bytes, int64_t size)
{
    int64_t low = 0, high = 0, lines = 0, before = INT64_MIN;
    for (int64_t j = 0; j < c->count; j++) {
        const int64_t by = espi_difference(at[j], at[0]), end = espi_copy_plus(by, bytes != NULL ? bytes[j] : size);
        const int64_t first = by >> 6, last = (end - 1) >> 6;
        low = by < low ? by : low;
        high = end > high ? end : high;
        lines += last - first + (first != before);
        before = last;
    }
    c->low = low;
    c->high = high;
    c->lines = lines;
}

static void list_of(struct builder *b, const struct espi_copy *child, int64_t n, const int64_t *at)
{
    struct espi_copy *c = espi_copy_make(b->p, ESPI_COPY_LIST);
    if (c == NULL) {
        b->status = ESPI_ERR_MEMORY;
        return;
    }
    c->count = n;
    c->child = child;
    c->bytes = espi_copy_times(n, child->bytes);
    c->pieces = espi_copy_times(n, child->pieces);
    c->lists = child->lists;
    b->status = keep_places(b->p, c, at);
    if (child->kind == ESPI_COPY_BLOCK) {
        measure_blocks(c, at, NULL, child->bytes);
        c->calls = 1;
    } else {
        measure_blocks(c, at, NULL, 1);
        c->low = espi_copy_plus(c->low, child->low);
        c->high = espi_copy_plus(c->high, child->high);
        c->lines = espi_copy_times(n, child->lines);
        c->calls = espi_copy_times(n, child->calls);
    }
    add_piece(b, c, at[0]);
}

static void runs_of(struct builder *b, const struct blocks *v, int64_t n)
{
    struct espi_copy *c = espi_copy_make(b->p, ESPI_COPY_RUNS);
    int64_t *start = espi_arena_alloc(b->p->arena, (size_t)(n + 1) * sizeof *start);
    struct espi_copy_run *run = espi_arena_alloc(b->p->arena, (size_t)n * sizeof *run);
    bool fits = true;

    if (c == NULL || start == NULL || run == NULL) {
        b->status = ESPI_ERR_MEMORY;
        return;
    }
    c->count = n;
    for (int64_t j = 0; j < n; j++) {
        const int64_t by = espi_difference(v->at[j], v->at[0]);
        start[j] = c->bytes;
        c->bytes = espi_copy_plus(c->bytes, v->bytes[j]);
        run[j] = (struct espi_copy_run){(int32_t)by, (uint32_t)v->bytes[j]};
        fits = fits && run[j].at == by && run[j].bytes == v->bytes[j];
    }
    start[n] = c->bytes;
    c->start = start;
    c->pieces = n;
    c->calls = 1;
    c->run = run;
    c->lists = n * (int64_t)sizeof *run;
    measure_blocks(c, v->at, v->bytes, 0);
    if (!fits) {
        int64_t *len = espi_arena_alloc(b->p->arena, (size_t)n * sizeof *len);
        c->run = NULL;
        b->status = len != NULL ? keep_places(b->p, c, v->at) : ESPI_ERR_MEMORY;
        if (b->status != ESPI_OK)
            return;
        memcpy(len, v->bytes, (size_t)n * sizeof *len);
        c->len = len;
    }
    add_piece(b, c, v->at[0]);
}

static void one_size(struct builder *b, const int64_t *at, int64_t n, int64_t size)
{
    const struct espi_copy *child;
    b->status = espi_copy_block(b->p, size, &child);
    if (b->status != ESPI_OK)
        return;
    if (n == 1)
        add_piece(b, child, at[0]);
    else
        list_of(b, child, n, at);
}

/* Blocks begin .. end - 1, none of which follows the one before: lists where lengths are equal, runs between them. */
static void apart(struct builder *b, const struct blocks *v, int64_t begin, int64_t end)
{
    int64_t left = begin;
    if (v->bytes == NULL) {
        one_size(b, v->at + begin, end - begin, v->size);
        return;
    }
    for (int64_t j = begin; j < end && b->status == ESPI_OK;) {
        int64_t k = j + 1;
        while (k < end && v->bytes[k] == v->bytes[j])
            k++;
        const bool equal = k - j >= EQUAL_LEAST || (j == begin && k == end);
        if (equal || k == end) {
            const int64_t stop = equal ? j : end;
            struct blocks some = {v->at + left, v->bytes + left, 0};
            if (stop - left == 1)
                one_size(b, some.at, 1, *some.bytes);
            else if (stop > left)
                runs_of(b, &some, stop - left);
            left = k;
        }
        if (equal && b->status == ESPI_OK)
            one_size(b, v->at + j, k - j, v->bytes[j]);
        j = k;
    }
}

static void equal_distances(struct builder *b, const struct blocks *v, int64_t n);

/* The same of blocks of one size, of which some may follow each other: joined where that gains. */
static void adjacent(struct builder *b, const struct blocks *v, int64_t begin, int64_t end)
{
    const int64_t *at = v->at, size = v->size;
    int64_t runs = 1, length = 1, first = 0, n = 0;
    bool equal = true;

    for (int64_t j = begin + 1; j < end; j++) {
        if (at[j] == espi_sum(at[j - 1], size)) {
            length++;
            continue;
        }
        first = first == 0 ? length : first;
        equal = equal && length == first;
        length = 1;
        runs++;
    }
    equal = equal && (length == first || first == 0);
    if (runs == end - begin || (!equal && (end - begin) / runs < (MERGED_LEAST + size - 1) / size)) {
        apart(b, v, begin, end);
        return;
    }
    int64_t *place = espi_arena_alloc(&b->p->scratch, 2 * (size_t)runs * sizeof *place), *bytes = place + runs;
    if (place == NULL) {
        b->status = ESPI_ERR_MEMORY;
        return;
    }
    for (int64_t j = begin; j < end; n++) {
        int64_t k = j + 1;
        while (k < end && at[k] == espi_sum(at[k - 1], size))
            k++;
        place[n] = at[j];
        bytes[n] = (k - j) * size;
        j = k;
    }
    struct blocks joined = {place, equal ? NULL : bytes, bytes[0]};
    equal_distances(b, &joined, n);
}

/* All blocks: loops where distances and lengths stay equal for long, lists and runs between them. */
static void equal_distances(struct builder *b, const struct blocks *v, int64_t n)
{
    int64_t left = 0;
    bool joined = v->bytes != NULL;

    for (int64_t j = 0; j < n && b->status == ESPI_OK;) {
        int64_t k = j + 1;
        if (k < n && bytes_of(v, k) == bytes_of(v, j)) {
            const int64_t by = espi_difference(v->at[k], v->at[j]);
            while (k < n && bytes_of(v, k) == bytes_of(v, j) && espi_difference(v->at[k], v->at[k - 1]) == by)
                k++;
        }
        const bool equal = k - j >= LOOP_LEAST || (j == 0 && k == n);
        if (equal || k == n) {
            const int64_t stop = equal ? j : n;
            if (stop > left && joined)
                apart(b, v, left, stop);
            else if (stop > left)
                adjacent(b, v, left, stop);
            left = k;
        }
        if (equal && b->status == ESPI_OK) {
            const struct espi_copy *block, *loops = NULL;
            struct espi_copy_loop loop = {k - j, k > j + 1 ? espi_difference(v->at[j + 1], v->at[j]) : 0,
                                          bytes_of(v, j)};
            b->status = espi_copy_block(b->p, loop.onto, &block);
            if (b->status == ESPI_OK)
                b->status = espi_copy_repeat(b->p, &loop, block, &loops);
            if (b->status == ESPI_OK)
                add_piece(b, loops, v->at[j]);
        }
        /* The last block of a short stretch may be the first of a long one. */
        j = equal || k == n || k == j + 1 ? k : k - 1;
    }
}

/* The pieces of a builder as one. */
static espi_status finish(struct builder *b, struct espi_piece *out)
{
    struct espi_copy *c;
    const struct espi_copy **sub;
    int64_t *disp, *start;

    if (b->status != ESPI_OK)
        return b->status;
    if (b->n == 0)
        return espi_copy_block(b->p, 0, &out->copy);
    if (b->n == 1) {
        *out = b->piece[0];
        return ESPI_OK;
    }
    c = espi_copy_make(b->p, ESPI_COPY_PARTS);
    sub = espi_arena_alloc(b->p->arena, (size_t)b->n * sizeof *sub);
    disp = espi_arena_alloc(b->p->arena, (size_t)b->n * sizeof *disp);
    start = espi_arena_alloc(b->p->arena, (size_t)(b->n + 1) * sizeof *start);
    if (c == NULL || sub == NULL || disp == NULL || start == NULL)
        return ESPI_ERR_MEMORY;
    c->count = b->n;
    for (int64_t j = 0; j < b->n; j++) {
        const struct espi_copy *s = sub[j] = b->piece[j].copy;
        disp[j] = espi_difference(b->piece[j].from, b->piece[0].from);
        start[j] = c->bytes;
        c->bytes = espi_copy_plus(c->bytes, s->bytes);
        c->pieces = espi_copy_plus(c->pieces, s->pieces);
        c->lines = espi_copy_plus(c->lines, s->lines);
        c->calls = espi_copy_plus(c->calls, s->calls);
        c->lists = espi_copy_plus(c->lists, s->lists);
        const int64_t low = espi_copy_plus(disp[j], s->low), high = espi_copy_plus(disp[j], s->high);
        c->low = j == 0 || low < c->low ? low : c->low;
        c->high = j == 0 || high > c->high ? high : c->high;
    }
    start[b->n] = c->bytes;
    c->sub = sub;
    c->disp_from = disp;
    c->start = start;
    *out = (struct espi_piece){c, b->piece[0].from, 0};
    return ESPI_OK;
}

/* Any child at displacements. */
static void any_list(struct builder *b, int64_t count, const int64_t *disp, const struct espi_copy *child)
{
    bool equal = true;
    for (int64_t j = 2; j < count && equal; j++)
        equal = espi_difference(disp[j], disp[j - 1]) == espi_difference(disp[1], disp[0]);
    if (count == 1) {
        add_piece(b, child, disp[0]);
    } else if (equal) {
        struct espi_copy_loop loop = {count, espi_difference(disp[1], disp[0]), child->bytes};
        const struct espi_copy *loops = NULL;
        b->status = espi_copy_repeat(b->p, &loop, child, &loops);
        if (b->status == ESPI_OK)
            add_piece(b, loops, disp[0]);
    } else {
        list_of(b, child, count, disp);
    }
}

static void list_or_blocks(struct builder *b, int64_t count, const int64_t *disp, const struct espi_copy *child)
{
    if (child->kind == ESPI_COPY_BLOCK) {
        struct blocks v = {disp, NULL, child->bytes};
        equal_distances(b, &v, count);
    } else {
        any_list(b, count, disp, child);
    }
}

espi_status espi_dense_list(struct espi_compiler *p, int64_t count, const int64_t *disp,
                            const struct espi_copy *child, struct espi_piece *out)
{
    struct builder b = {.p = p};
    list_or_blocks(&b, count, disp, child);
    return finish(&b, out);
}

/* Blocks of any lengths; the arrays are changed. */
static void any_blocks(struct builder *b, int64_t count, int64_t *at, int64_t *bytes)
{
    struct blocks v = {at, bytes, 0};
    int64_t n = 0;
    bool equal = true;

    for (int64_t j = 1; j < count && equal; j++)
        equal = bytes[j] == bytes[0];
    if (equal && bytes[0] > 0) {
        v.bytes = NULL;
        v.size = bytes[0];
        equal_distances(b, &v, count);
        return;
    }
    for (int64_t j = 0; j < count; j++) {
        if (bytes[j] == 0)
            continue;
        if (n > 0 && espi_sum(at[n - 1], bytes[n - 1]) == at[j]) {
            bytes[n - 1] += bytes[j];
        } else {
            at[n] = at[j];
            bytes[n++] = bytes[j];
        }
    }
    equal_distances(b, &v, n);
}

espi_status espi_dense_parts(struct espi_compiler *p, int64_t count, const struct espi_piece *piece,
                             struct espi_piece *out)
{
    struct builder b = {.p = p};
    int64_t *at = espi_arena_alloc(&p->scratch, 2 * (size_t)count * sizeof *at), *bytes = at + count;

    if (at == NULL)
        return ESPI_ERR_MEMORY;
    for (int64_t j = 0, k; j < count && b.status == ESPI_OK; j = k) {
        const struct espi_copy *copy = piece[j].copy;
        int64_t n = 0;
        if (copy->kind == ESPI_COPY_BLOCK) {
            for (k = j; k < count && piece[k].copy->kind == ESPI_COPY_BLOCK; k++) {
                at[k] = piece[k].from;
                bytes[k] = piece[k].copy->bytes;
            }
            any_blocks(&b, k - j, at + j, bytes + j);
        } else {
            for (k = j; k < count && piece[k].copy == copy; k++)
                at[n++] = piece[k].from;
            any_list(&b, n, at, copy);
        }
    }
    return finish(&b, out);
}

/* `stride` between the copies of a bucket; `low` and `high` bound them all, counted as `at` is. */
static void strided_buckets(struct builder *b, const struct espi_copy *child, const int64_t *at, const int64_t *len,
                            int64_t n, int64_t stride, int64_t low, int64_t high)
{
    struct espi_copy *c = espi_copy_make(b->p, ESPI_COPY_BUCKETS);
    int64_t *kept = espi_arena_alloc(b->p->arena, (size_t)n * sizeof *kept);
    int64_t *start = espi_arena_alloc(b->p->arena, (size_t)(n + 1) * sizeof *start);
    int64_t copies = 0;

    if (c == NULL || kept == NULL || start == NULL) {
        b->status = ESPI_ERR_MEMORY;
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        kept[j] = len[j];
        start[j] = copies * child->bytes;
        copies += len[j];
    }
    start[n] = copies * child->bytes;
    c->count = n;
    c->loop[0] = (struct espi_copy_loop){0, stride, child->bytes};
    c->len = kept;
    c->start = start;
    c->child = child;
    c->bytes = start[n];
    c->pieces = espi_copy_times(copies, child->pieces);
    c->lines = espi_copy_times(copies, child->lines);
    c->calls = child->kind == ESPI_COPY_BLOCK ? n : espi_copy_times(copies, child->calls);
    c->lists = child->lists + n * (int64_t)sizeof *kept;
    c->low = espi_difference(low, at[0]);
    c->high = espi_difference(high, at[0]);
    b->status = keep_places(b->p, c, at);
    if (b->status == ESPI_OK)
        add_piece(b, c, at[0]);
}

espi_status espi_dense_buckets(struct espi_compiler *p, const struct espi_node *node, struct espi_piece *out)
{
    const int64_t stride = node->kind == ESPI_BUCKET ? node->stride2 : node->stride;
    int64_t *at = espi_arena_alloc(&p->scratch, 2 * (size_t)node->count * sizeof *at), *len = at + node->count;
    struct builder b = {.p = p};
    int64_t n = 0, shift;
    bool equal = true;
    espi_status status = espi_copy_tree(p, node->child, NULL, out);
    const struct espi_copy *child = out->copy;

    if (status != ESPI_OK || at == NULL)
        return status != ESPI_OK ? status : ESPI_ERR_MEMORY;
    shift = out->from;
    const bool dense = child->kind == ESPI_COPY_BLOCK && stride == child->bytes;
    for (int64_t j = 0; j < node->count; j++) {
        const int64_t place = node->kind == ESPI_BUCKET ? j * node->stride : node->disp[j];
        if (node->len[j] > 0) {
            at[n] = place;
            len[n++] = dense ? node->len[j] * stride : node->len[j];
            equal = equal && len[n - 1] == len[0];
        }
    }
    if (dense) {
        any_blocks(&b, n, at, len);
    } else if (equal) {
        struct espi_copy_loop loop = {len[0], stride, child->bytes};
        status = espi_copy_repeat(p, &loop, child, &child);
        if (status != ESPI_OK)
            return status;
        list_or_blocks(&b, n, at, child);
    } else {
        strided_buckets(&b, child, at, len, n, stride, espi_difference(node->true_lb, shift),
                        espi_difference(node->true_ub, shift));
    }
    status = finish(&b, out);
    out->from = espi_sum(out->from, shift);
    return status;
}
