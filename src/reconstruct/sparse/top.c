/*
 * The root of the whole map. A map that starts at displacement 0 takes the best tree C(0, n). Else (Lemma 7) the node
 * that carries displacements nearest to the root along a chain of vec and bucket must take up the shift: A(l), the
 * least cost for the first l entries where they are, is the least of
 *   struc + path(l);  idx or idxbuc over blocks q | l, as C(0, q) below it;  vec + A(q) over uniform blocks,
 *   bucket + A(q) over blocks that stand in strided buckets;
 *   C(0, l) below an idx or idxbuc of a single entry.
 * All of them read the row of source 0. Squares of many periods that Lemma 6 left out must be tried here, for its
 * proof uses vec, which does not take up a shift; all of them begin at 0 and fill a prefix, so they are few.
 */
#include "reconstruct/sparse/tree.h"

#include <stdlib.h>

#include "reconstruct/dense/dense.h"

enum choice { PARTS, COPIES, NESTED, WRAP };

struct top {
    uint32_t len;
    int64_t cost;
    enum choice choice;
    struct espi_root root; /* COPIES, NESTED */
};

struct tops {
    struct espi_sparse *s;
    struct espi_arena *arena;
    const int64_t *path;
    const struct espi_edge *edge;
    struct top *known; /* a few lengths */
    size_t n, cap;
};

/* C(0, len). */
static espi_status plain_cost(struct tops *t, uint32_t len, int64_t *cost)
{
    struct espi_root root;
    espi_status status = espi_sparse_root(t->s, 0, len, &root);
    int64_t parts = t->s->costs.struc + t->path[len];
    *cost = root.cost < parts ? root.cost : parts;
    return status;
}

static espi_status shifted_cost(struct tops *t, uint32_t len, struct top *out);

static void take_cheaper(struct top *best, int64_t cost, enum choice choice, enum espi_edge_kind kind, uint32_t q,
                         uint32_t family)
{
    if (cost < best->cost)
        *best = (struct top){best->len, cost, choice, {cost, kind, q, family}};
}

/* Blocks of q at 0 that fill len. */
static espi_status try_blocks(struct tops *t, uint32_t q, int64_t block, uint32_t family, struct top *best,
                              bool *uniform)
{
    struct espi_sparse *s = t->s;
    const struct espi_costs *c = &s->costs;
    uint32_t m = best->len / q, times;
    int64_t stride;
    espi_status status = espi_sparse_mode(s, 0, q, m, &times, &stride);
    if (status)
        return status;
    take_cheaper(best, block + c->idx + c->idx_each * m, COPIES, ESPI_EDGE_IDX, q, family);
    if (s->buckets)
        take_cheaper(best, block + c->idxbuc + c->idxbuc_each * (m - times), COPIES, ESPI_EDGE_BUCKET, q, family);
    *uniform = times + 1 == m;
    int64_t above = s->even, least_below = block < c->leaf ? c->leaf : block;
    if (!*uniform) {
        above = ESPI_SPARSE_INF;
        if (s->strided && least_below + c->bucket + 2 * c->bucket_each < best->cost) {
            int64_t count = espi_buckets_best(s->map->disp, q, m).count;
            if (count > 0)
                above = c->bucket + c->bucket_each * count;
        }
    }
    if (above + least_below < best->cost) {
        struct top below;
        status = shifted_cost(t, q, &below);
        if (!status)
            take_cheaper(best, below.cost + above, NESTED, *uniform ? s->even_kind : ESPI_EDGE_STRIDED, q, family);
    }
    return status;
}

/* Uniform blocks of q at 0 fill len: so do those of all multiples of q that divide len. */
static espi_status try_multiples(struct tops *t, uint32_t q, struct top *best)
{
    espi_status status = ESPI_OK;
    uint32_t m = best->len / q;
    for (uint32_t k = 2; (uint64_t)k * k <= m && !status; k++)
        for (int side = 0; side < 2 && m % k == 0 && !status; side++) {
            uint32_t times = side ? m / k : k;
            int64_t block;
            bool uniform;
            status = plain_cost(t, times * q, &block);
            if (!status)
                status = try_blocks(t, times * q, block, ESPI_SPARSE_NONE, best, &uniform);
        }
    return status;
}

static espi_status shifted_cost(struct tops *t, uint32_t len, struct top *out)
{
    struct espi_sparse *s = t->s;
    const struct espi_costs *c = &s->costs;
    for (size_t i = 0; i < t->n; i++)
        if (t->known[i].len == len) {
            *out = t->known[i];
            return ESPI_OK;
        }
    struct top best = {len, ESPI_SPARSE_INF, PARTS, {0, ESPI_EDGE_LEAF, 1, ESPI_SPARSE_NONE}};
    bool uniform = false, filled = false;
    int64_t block;
    espi_status status = plain_cost(t, len, &block);
    if (status)
        return status;
    take_cheaper(&best, block + c->idx + c->idx_each, WRAP, ESPI_EDGE_IDX, len, ESPI_SPARSE_NONE);
    if (s->buckets)
        take_cheaper(&best, block + c->idxbuc + c->idxbuc_each, WRAP, ESPI_EDGE_BUCKET, len, ESPI_SPARSE_NONE);
    if (len > 1 && s->base_end[0] >= len)
        status = try_blocks(t, 1, c->leaf, ESPI_SPARSE_NONE, &best, &uniform);
    for (uint32_t e = s->first[0]; e < s->first[1] && !status; e++) {
        uint32_t q = s->square[e].q, family = s->square[e].family;
        if (len % q != 0 || len / q < 2 || len / q > s->families[family].squares + 1)
            continue;
        status = try_blocks(t, q, s->families[family].cost, family, &best, &uniform);
        if (!status && uniform && !filled) {
            filled = true; /* the least period; others are multiples of it */
            status = try_multiples(t, q, &best);
        }
    }
    take_cheaper(&best, c->struc + t->path[len], PARTS, ESPI_EDGE_LEAF, 1, ESPI_SPARSE_NONE);
    if (!status)
        status = espi_sparse_grow(&t->known, &t->cap, t->n + 1, sizeof *t->known);
    if (!status)
        t->known[t->n++] = *out = best;
    return status;
}

/* Makes exact what C(0, len) rests on. */
static espi_status settle_plain(struct tops *t, uint32_t len, bool *changed)
{
    struct espi_sparse *s = t->s;
    struct espi_root root;
    espi_status status = espi_sparse_root(s, 0, len, &root);
    if (status)
        return status;
    if (s->costs.struc + t->path[len] < root.cost)
        return espi_sparse_resolve_path(s, t->edge, len, changed);
    if (root.family == ESPI_SPARSE_NONE || s->families[root.family].exact)
        return ESPI_OK;
    *changed = true;
    return espi_sparse_resolve(s, root.family);
}

/* Makes exact what A(len) rests on. */
static espi_status make_exact(struct tops *t, uint32_t len, bool *changed)
{
    struct top top;
    espi_status status = shifted_cost(t, len, &top);
    if (status)
        return status;
    switch (top.choice) {
    case PARTS:
        return espi_sparse_resolve_path(t->s, t->edge, len, changed);
    case NESTED:
        return make_exact(t, top.root.q, changed);
    case COPIES:
    case WRAP:
        if (top.root.family == ESPI_SPARSE_NONE)
            return top.root.q == 1 ? ESPI_OK : settle_plain(t, top.root.q, changed);
        if (!t->s->families[top.root.family].exact) {
            *changed = true;
            return espi_sparse_resolve(t->s, top.root.family);
        }
        return ESPI_OK;
    }
    return ESPI_OK;
}

static espi_status build_top(struct tops *t, uint32_t len, const struct espi_node **out)
{
    struct espi_sparse *s = t->s;
    struct top top;
    const struct espi_node *child = NULL;
    espi_status status = shifted_cost(t, len, &top);
    if (status)
        return status;
    switch (top.choice) {
    case PARTS:
        return espi_sparse_parts(s, t->arena, 0, len, t->edge, 0, out);
    case NESTED:
        status = build_top(t, top.root.q, &child);
        break;
    case COPIES:
    case WRAP:
        status = espi_sparse_block_node(s, t->arena, 0, top.root.q, top.root.family, &child);
        break;
    }
    if (status)
        return status;
    return espi_sparse_copies(s, t->arena, top.root.kind, 0, top.root.q, len / top.root.q, child, 0, out);
}

espi_status espi_sparse_tree(struct espi_sparse *s, struct espi_arena *arena, const struct espi_node **out)
{
    if (s->map->disp[0] == 0)
        return espi_sparse_segment(s, arena, 0, s->n, out);
    int64_t *path = malloc(((size_t)s->n + 1) * sizeof *path);
    struct espi_edge *edge = malloc(((size_t)s->n + 1) * sizeof *edge);
    struct tops t = {s, arena, path, edge, NULL, 0, 0};
    espi_status status = path && edge ? ESPI_OK : ESPI_ERR_MEMORY;
 if (!status) {
        for (bool again = true; again && !status;) {
            again = false;
            t.n = 0;
            status = espi_sparse_row(s, 0, s->n, path, edge);
            if (!status)
                status = make_exact(&t, s->n, &again);
        }
        if (!status)
            status = build_top(&t, s->n, out);
    }
    free(t.known);
    free(path);
    free(edge);
    return status;
}
