/*
 * Slices: a tree for a range of the entries of another. A repetition node falls apart into at most three parts: the
 * end of one copy, whole copies, the beginning of another; so the new nodes number O(depth), whatever the range.
 */
#include "layout/layout.h"

struct part {
    int64_t disp;
    const struct espi_node *node;
};

static void add_part(struct part *parts, int *n, int64_t disp, const struct espi_node *node)
{
    if (node->entries > 0)
        parts[(*n)++] = (struct part){disp, node};
}

/* One struc over the parts; a single part needs only a shift. */
static espi_status join_parts(struct espi_arena *arena, const struct part *parts, int n, int64_t shift,
                              const struct espi_node **out)
{
    int64_t *disp = espi_arena_calloc(arena, (size_t)n + 1, sizeof *disp);
    const struct espi_node **sub = espi_arena_calloc(arena, (size_t)n + 1, sizeof *sub);
    if (!disp || !sub)
        return ESPI_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        if (__builtin_add_overflow(parts[i].disp, shift, &disp[i]))
            return ESPI_ERR_OVERFLOW;
        sub[i] = parts[i].node;
    }
    if (n == 1 && disp[0] == 0) {
        *out = sub[0];
        return ESPI_OK;
    }
    if (n == 1)
        return espi_node_idx(arena, 1, disp, sub[0], out);
    return espi_node_struc(arena, n, disp, sub, out);
}

/* Where copy number k of a repetition node's child stands, and which of its buckets holds it. */
struct place {
    int64_t bucket, inside; /* bucket index, copy within the bucket */
    int64_t disp;
};

static espi_status locate_entry(const struct espi_node *node, int64_t k, struct place *at)
{
    int64_t stride = node->kind == ESPI_BUCKET ? node->stride2 : node->stride, first, offset;
    if (node->kind == ESPI_VEC || node->kind == ESPI_IDX) {
        at->bucket = k;
        at->inside = 0;
        if (node->kind == ESPI_IDX)
            at->disp = node->disp[k];
        else if (__builtin_mul_overflow(k, node->stride, &at->disp))
            return ESPI_ERR_OVERFLOW;
        return ESPI_OK;
    }
    at->bucket = 0;
    while (k >= node->len[at->bucket])
        k -= node->len[at->bucket++];
    at->inside = k;
    if (node->kind == ESPI_IDXBUC)
        first = node->disp[at->bucket];
    else if (__builtin_mul_overflow(at->bucket, node->stride, &first))
        return ESPI_ERR_OVERFLOW;
    if (__builtin_mul_overflow(k, stride, &offset) || __builtin_add_overflow(first, offset, &at->disp))
        return ESPI_ERR_OVERFLOW;
    return ESPI_OK;
}

/* The whole copies first .. last-1 of the node's child, as parts: one for vec and idx, at most three for buckets
   (the rest of a bucket, whole buckets, the beginning of a bucket). */
static espi_status whole_copies(struct espi_arena *arena, const struct espi_node *node, int64_t first, int64_t last,
                                struct part *parts, int *n)
{
    struct place a, b;
    const struct espi_node *made;
    espi_status st;
    if (first >= last)
        return ESPI_OK;
    if ((st = locate_entry(node, first, &a)) || (st = locate_entry(node, last - 1, &b)))
        return st;
    if (node->kind == ESPI_VEC) {
        if ((st = espi_node_vec(arena, last - first, node->stride, node->child, &made)))
            return st;
        add_part(parts, n, a.disp, made);
        return ESPI_OK;
    }
    if (node->kind == ESPI_IDX) {
        if ((st = espi_node_idx(arena, last - first, node->disp + first, node->child, &made)))
            return st;
        add_part(parts, n, 0, made);
        return ESPI_OK;
    }
    int64_t stride = node->kind == ESPI_BUCKET ? node->stride2 : node->stride;
    if (a.bucket == b.bucket) {
        if ((st = espi_node_vec(arena, last - first, stride, node->child, &made)))
            return st;
        add_part(parts, n, a.disp, made);
        return ESPI_OK;
    }
    if ((st = espi_node_vec(arena, node->len[a.bucket] - a.inside, stride, node->child, &made)))
        return st;
    add_part(parts, n, a.disp, made);
    int64_t between = b.bucket - a.bucket - 1, at = 0;
    if (between > 0) {
        if (node->kind == ESPI_IDXBUC) {
            st = espi_node_idxbuc(arena, between, stride, node->disp + a.bucket + 1, node->len + a.bucket + 1,
                                  node->child, &made);
        } else {
            at = (a.bucket + 1) * node->stride;
            st = espi_node_bucket(arena, between, node->stride, stride, node->len + a.bucket + 1, node->child, &made);
        }
        if (st)
            return st;
        add_part(parts, n, at, made);
    }
    /* Its bucket starts b.inside strides before the last copy. */
    if ((st = espi_node_vec(arena, b.inside + 1, stride, node->child, &made)))
        return st;
    add_part(parts, n, b.disp - b.inside * stride, made);
    return ESPI_OK;
}

static espi_status slice_repetition(struct espi_arena *arena, const struct espi_node *node, int64_t from, int64_t to,
                                    int64_t shift, const struct espi_node **out)
{
    struct part parts[5];
    int n = 0;
    int64_t each = node->child->entries;
    int64_t first = from / each, skip = from % each, last = to / each, rest = to % each;
    struct place at;
    const struct espi_node *piece;
    espi_status st;
    if (skip > 0 || (first == last && rest > 0)) {
        int64_t end = first == last ? rest : each;
        if ((st = locate_entry(node, first, &at)) || (st = espi_node_slice(arena, node->child, skip, end, 0, &piece)))
            return st;
        add_part(parts, &n, at.disp, piece);
        if (first == last)
            return join_parts(arena, parts, n, shift, out);
        first++;
    }
    if ((st = whole_copies(arena, node, first, last, parts, &n)))
        return st;
    if (rest > 0) {
        if ((st = locate_entry(node, last, &at)) || (st = espi_node_slice(arena, node->child, 0, rest, 0, &piece)))
            return st;
        add_part(parts, &n, at.disp, piece);
    }
    return join_parts(arena, parts, n, shift, out);
}

static espi_status slice_struc(struct espi_arena *arena, const struct espi_node *node, int64_t from, int64_t to,
                               int64_t shift, const struct espi_node **out)
{
    int64_t i = 0, before = 0;
    while (before + node->sub[i]->entries <= from)
        before += node->sub[i++]->entries;
    int64_t first = i, first_before = before;
    while (before + node->sub[i]->entries < to)
        before += node->sub[i++]->entries;
    int64_t count = i - first + 1;
    int64_t *disp = espi_arena_calloc(arena, (size_t)count, sizeof *disp);
    const struct espi_node **sub = espi_arena_calloc(arena, (size_t)count, sizeof *sub);
    if (!disp || !sub)
        return ESPI_ERR_MEMORY;
    for (int64_t k = 0; k < count; k++) {
        if (__builtin_add_overflow(node->disp[first + k], shift, &disp[k]))
            return ESPI_ERR_OVERFLOW;
        sub[k] = node->sub[first + k];
    }
    /* The last part first: with one part only, both cuts go through the same child. */
    espi_status st = espi_node_slice(arena, sub[count - 1], 0, to - before, 0, &sub[count - 1]);
    if (!st)
        st = espi_node_slice(arena, sub[0], from - first_before, sub[0]->entries, 0, &sub[0]);
    return st ? st : espi_node_struc(arena, count, disp, sub, out);
}

espi_status espi_node_slice(struct espi_arena *arena, const struct espi_node *node, int64_t from, int64_t to,
                            int64_t shift, const struct espi_node **out)
{
    if (from < 0 || from > to || to > node->entries)
        return ESPI_ERR_ARGUMENT;
    if (from == to)
        return espi_node_struc(arena, 0, NULL, NULL, out);
    if (from == 0 && to == node->entries) {
        struct part whole = {0, node};
        return join_parts(arena, &whole, 1, shift, out);
    }
    /* A leaf has one entry and never gets here. */
    return node->kind == ESPI_STRUC ? slice_struc(arena, node, from, to, shift, out)
                                    : slice_repetition(arena, node, from, to, shift, out);
}
