/*
 * From the tables of the dense solver to a tree. The tables hold costs only: how a cost came about is found again
 * here, which takes O(n d(n)) time per repetition node (d: number of divisors) and O(n) per part of a struc.
 *
 * A sequence that starts at x != 0 (Lemma 7). A tree with only vec and bucket nodes on the way down from the root to
 * an item starts at 0; any other can be moved by x at no cost, in the displacements of the first idx, idxbuc or
 * struc on that way. So the least cost is the minimum over trees that have such a node: A(n) with
 *   A(l) = min(least idx, idxbuc or struc over [0, l) with children of cost C, idx of one copy included,
 *              vec + A(q) for the blocks q of [0, l) that repeat at one stride).
 * Only divisors of n matter for l.
 */
#include <stdlib.h>

#include "reconstruct/dense/dense.h"

struct builder {
    const struct espi_dense *dense;
    struct espi_arena *arena;
    const struct espi_node *const *item;
    int64_t *strides; /* scratch of n + 1 */
    int64_t *path;    /* likewise, of a row */
    size_t *end;      /* likewise, ends of parts */
};

/* How the root of a segment is made. */
struct choice {
    enum espi_kind kind;
    size_t q;       /* block length of a repetition */
    int64_t stride; /* of vec and idxbuc */
    size_t buckets; /* idxbuc */
    int64_t cost;
    struct espi_strided_buckets strided; /* bucket */
};

static int64_t difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Whether [i, e) is a sequence of equal blocks of length q; q divides its length. */
static bool blocks_repeat(const struct espi_dense *dense, size_t i, size_t e, size_t q)
{
    const int64_t *disp = dense->disp;
    for (size_t k = i + q; k < e; k++) {
        if (dense->symbol[k] != dense->symbol[k - q] ||
            ((k - i) % q != 0 && difference(disp[k], disp[k - 1]) != difference(disp[k - q], disp[k - q - 1]))) {
            return false;
        }
    }
    return true;
}

static int compare_strides(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The most frequent stride between the c blocks of [i, i + cq); returns how often it occurs. */
static size_t most_frequent(struct builder *b, size_t i, size_t c, size_t q, int64_t *stride)
{
    size_t most = 0;
    for (size_t k = 1; k < c; k++) {
        b->strides[k - 1] = difference(b->dense->disp[i + k * q], b->dense->disp[i + (k - 1) * q]);
    }
    if (c > 1) { /* an array of no elements may be a null pointer to qsort */
        qsort(b->strides, c - 1, sizeof *b->strides, compare_strides);
    }
    *stride = 0;
    for (size_t k = 0, run = 0; k + 1 < c; k++) {
        run = k > 0 && b->strides[k] == b->strides[k - 1] ? run + 1 : 1;
        if (run > most) {
            most = run;
            *stride = b->strides[k];
        }
    }
    return most;
}

static void consider_choice(struct choice *choice, struct choice other)
{
    if (other.cost < choice->cost) {
        *choice = other;
    }
}

/* The cheapest repetition root of [i, e) whose child is a tree of block length q and cost C, or when `absorbing` the
   cheapest that can be displaced. */
static void consider_block(struct builder *b, size_t i, size_t e, size_t q, bool absorbing, struct choice *choice)
{
    const struct espi_costs *costs = &b->dense->costs;
    size_t c = (e - i) / q;
    int64_t child = espi_dense_best(b->dense, i, i + q), stride;
    size_t most = most_frequent(b, i, c, q, &stride);
    if (!absorbing && most == c - 1) {
        consider_choice(choice, (struct choice){ESPI_VEC, q, stride, 0, child + costs->vec, {0}});
    }
    int64_t list = child + costs->idx + (int64_t)c * costs->idx_each;
    consider_choice(choice, (struct choice){ESPI_IDX, q, 0, 0, list, {0}});
    if (b->dense->set != ESPI_SET_BASIC) {
        int64_t cost = child + costs->idxbuc + (int64_t)(c - most) * costs->idxbuc_each;
        consider_choice(choice, (struct choice){ESPI_IDXBUC, q, stride, c - most, cost, {0}});
    }
}

/* Strided buckets of c > 1 blocks over a child of cost `child`. */
static void consider_strided(struct builder *b, size_t i, size_t c, size_t q, int64_t child, struct choice *choice)
{
    const struct espi_costs *costs = &b->dense->costs;
    if (b->dense->set == ESPI_SET_EXTENDED && c > 1) {
        struct espi_strided_buckets best = espi_buckets_best(b->dense->disp + i, q, c);
        if (best.count > 0) {
            consider_choice(choice, (struct choice){ESPI_BUCKET, q, 0, 0,
                                                    child + costs->bucket + best.count * costs->bucket_each, best});
        }
    }
}

static espi_status build_segment(struct builder *b, size_t i, size_t e, int64_t shift, const struct espi_node **out);

/* A repetition node as chosen, over a finished child. */
static espi_status build_repetition(struct builder *b, size_t i, size_t e, int64_t shift, const struct choice *choice,
                                    const struct espi_node *child, const struct espi_node **out)
{
    const int64_t *disp = b->dense->disp;
    size_t q = choice->q, c = (e - i) / q, n = choice->kind == ESPI_IDX ? c : choice->buckets, bucket = 0;
    if (choice->kind == ESPI_VEC) {
        return espi_node_vec(b->arena, (int64_t)c, choice->stride, child, out);
    }
    if (choice->kind == ESPI_BUCKET) {
        const struct espi_strided_buckets *best = &choice->strided;
        int64_t *lengths = espi_arena_calloc(b->arena, (size_t)best->count, sizeof *lengths);
        if (lengths == NULL) {
            return ESPI_ERR_MEMORY;
        }
        espi_buckets_lengths(disp + i, q, c, best, lengths);
        return espi_node_bucket(b->arena, best->count, best->stride1, best->stride2, lengths, child, out);
    }
    int64_t *at = espi_arena_calloc(b->arena, n, sizeof *at), *len = NULL;
    if (at == NULL) {
        return ESPI_ERR_MEMORY;
    }
    if (choice->kind == ESPI_IDX) {
        for (size_t k = 0; k < c; k++) {
            at[k] = disp[i + k * q] - disp[i] + shift;
        }
        return espi_node_idx(b->arena, (int64_t)c, at, child, out);
    }
    len = espi_arena_calloc(b->arena, n, sizeof *len);
    if (len == NULL) {
        return ESPI_ERR_MEMORY;
    }
    for (size_t k = 0; k < c; k++) {
        size_t p = i + k * q;
        if (k > 0 && difference(disp[p], disp[p - q]) == choice->stride) {
            len[bucket - 1]++;
        } else {
            at[bucket] = disp[p] - disp[i] + shift;
            len[bucket++] = 1;
        }
    }
    return espi_node_idxbuc(b->arena, (int64_t)n, choice->stride, at, len, child, out);
}

/* The tree of an edge: no struc at its root. */
static espi_status build_edge(struct builder *b, size_t i, size_t e, const struct espi_node **out)
{
    struct choice choice = {.cost = INT64_MAX};
    const struct espi_node *child;
    if (e == i + 1) {
        *out = b->item[b->dense->symbol[i]];
        return ESPI_OK;
    }
    for (size_t q = (e - i) / 2; q > 0; q--) {
        if ((e - i) % q == 0 && blocks_repeat(b->dense, i, e, q)) {
            consider_block(b, i, e, q, false, &choice);
            consider_strided(b, i, (e - i) / q, q, espi_dense_best(b->dense, i, i + q), &choice);
        }
    }
    espi_status status = build_segment(b, i, i + choice.q, 0, &child);
    return status == ESPI_OK ? build_repetition(b, i, e, 0, &choice, child, out) : status;
}

static espi_status build_struc(struct builder *b, size_t i, size_t e, int64_t shift, const struct espi_node **out)
{
    size_t c = 0;
    espi_dense_paths(b->dense, i, e, b->path);
    for (size_t k = e; k > i; k = espi_dense_last_edge(b->dense, i, k, b->path)) {
        b->end[c++] = k;
    }
    size_t *end = espi_arena_calloc(b->arena, c, sizeof *end);
    int64_t *disp = espi_arena_calloc(b->arena, c, sizeof *disp);
    const struct espi_node **sub = espi_arena_calloc(b->arena, c, sizeof *sub);
    if (end == NULL || disp == NULL || sub == NULL) {
        return ESPI_ERR_MEMORY;
    }
    for (size_t at = 0; at < c; at++) { /* a part may use the scratch memory */
        end[at] = b->end[c - 1 - at];
    }
    for (size_t at = 0, j = i; at < c; j = end[at++]) {
        espi_status status = build_edge(b, j, end[at], &sub[at]);
        if (status != ESPI_OK) {
            return status;
        }
        disp[at] = b->dense->disp[j] - b->dense->disp[i] + shift;
    }
    return espi_node_struc(b->arena, (int64_t)c, disp, sub, out);
}

/* A least-cost tree of [i, e), moved to start at `shift`, which is 0 unless a struc is the best root. */
static espi_status build_segment(struct builder *b, size_t i, size_t e, int64_t shift, const struct espi_node **out)
{
    if (e > i + 1 && espi_dense_best(b->dense, i, e) <
                         espi_dense_edge(b->dense, i, e) - b->dense->costs.struc_each) {
        return build_struc(b, i, e, shift, out);
    }
    return build_edge(b, i, e, out);
}

/* Lemma 7: the best root of the prefix [0, l) that can be displaced, for every divisor l of n. */
static espi_status build_displaced(struct builder *b, const struct espi_node **out, int64_t *cost)
{
    const struct espi_dense *dense = b->dense;
    size_t n = dense->n, l;
    struct choice *best = espi_arena_calloc(b->arena, n + 1, sizeof *best);
    const struct espi_node *child = NULL;
    if (best == NULL) {
        return ESPI_ERR_MEMORY;
    }
    for (l = 1; l <= n; l++) {
        if (n % l != 0) {
            continue;
        }
        best[l].cost = INT64_MAX;
        for (size_t q = l; q > 0; q--) {
            if (l % q == 0 && blocks_repeat(dense, 0, l, q)) {
                int64_t stride;
                size_t c = l / q;
                consider_block(b, 0, l, q, true, &best[l]);
                if (q < l && most_frequent(b, 0, c, q, &stride) == c - 1) {
                    consider_choice(&best[l], (struct choice){ESPI_VEC, q, stride, 0, dense->costs.vec + best[q].cost,
                                    {0}});
                }
                if (q < l) {
                    consider_strided(b, 0, c, q, best[q].cost, &best[l]);
                }
            }
        }
        consider_choice(&best[l],
                        (struct choice){.kind = ESPI_STRUC, .cost = dense->costs.struc + espi_dense_path(dense, 0,
                                                                                                         l)});
    }
    *cost = best[n].cost;
    for (l = n; best[l].kind == ESPI_VEC || best[l].kind == ESPI_BUCKET; l = best[l].q) {
        /* the chain of nodes that stay where they are, made from below afterwards */
    }
    espi_status status = best[l].kind == ESPI_STRUC
                             ? build_struc(b, 0, l, dense->disp[0], &child)
                             : build_segment(b, 0, best[l].q, 0, &child);
    if (status == ESPI_OK && best[l].kind != ESPI_STRUC) {
        status = build_repetition(b, 0, l, dense->disp[0], &best[l], child, &child);
    }
    while (status == ESPI_OK && l < n) {
        size_t above = n; /* the node over l on the chain from n */
        while (best[above].q != l) {
            above = best[above].q;
        }
        status = build_repetition(b, 0, above, 0, &best[above], child, &child);
        l = above;
    }
    *out = child;
    return status;
}

espi_status espi_dense_build(const struct espi_dense *dense, struct espi_arena *arena,
                             const struct espi_node *const *item, const struct espi_node **out, int64_t *cost)
{
    size_t n = dense->n;
    struct builder b = {.dense = dense, .arena = arena, .item = item};
    espi_status status = ESPI_ERR_MEMORY;
    b.strides = malloc((n + 1) * sizeof *b.strides);
    b.path = malloc((n + 1) * sizeof *b.path);
    b.end = malloc((n + 1) * sizeof *b.end);
    if (b.strides != NULL && b.path != NULL && b.end != NULL) {
        if (dense->disp[0] == 0) {
            *cost = espi_dense_best(dense, 0, n);
            status = build_segment(&b, 0, n, 0, out);
        } else {
            status = build_displaced(&b, out, cost);
        }
    }
    free(b.strides);
    free(b.path);
    free(b.end);
    return status;
}
