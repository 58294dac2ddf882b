/*
 * One row: shortest paths from a source over the positions after it, edges = roots that are leaf or repetition.
 *
 * Edges of a family (or of the leaves of one base type) from its a-th to its b-th boundary, b >= a + 2, cost, above
 * the block and struc_each: vec when the strides between are equal; idx + idx_each (b - a);
 * idxbuc + idxbuc_each (b - a - f), f the frequency of the most frequent stride. None is tried singly (Lemma 4):
 *  - idx: the least path[a] - idx_each a over the sources so far;
 *  - vec: the least path[a] over the sources since the stride last changed;
 *  - buckets: let W(x) be the least over sources a of path[a] - ib a - ib (strides x since a). A new source and a new
 *    stride y change W: every W(x) falls to the least path[a] - ib a so far if that is less, and W(y) falls by ib.
 *    So the least W of all is a running minimum too, and W(x) is brought up to date only when x occurs.
 * Strided buckets are in strided.c.
 */
#include "reconstruct/sparse/sparse.h"

#include <string.h>

struct row {
    struct espi_sparse *s;
    uint32_t len;
    int64_t *path;
    struct espi_edge *edge;
};

static inline void relax_entry(const struct row *r, uint32_t to, int64_t cost, uint32_t from, uint32_t kind,
                               uint32_t family)
{
    if (cost < r->path[to]) {
        r->path[to] = cost;
        if (r->edge)
            r->edge[to] = (struct espi_edge){from, family, kind};
    }
}

static inline void forget_minima(struct espi_minima *m, uint32_t stamp)
{
    m->stamp = stamp;
    m->last_stride = ESPI_SPARSE_NONE;
    m->idx = m->vec = m->any = m->bucket = ESPI_SPARSE_INF;
    m->idx_from = m->vec_from = m->any_from = m->bucket_from = 0;
}

/* Boundary k of a chain, at relative position `from`, becomes a source; the next stride is number `stride`, recorded
   in w; edges into boundary k + 2 at `to`, their block and struc_each costing `block`. */
static inline __attribute__((always_inline)) void advance_family(const struct row *r, struct espi_minima *m,
                                                                 struct espi_by_stride *w, int64_t k, uint32_t from,
                                                                 uint32_t to, uint32_t stride, int64_t block,
                                                                 uint32_t family)
{
    const struct espi_costs *c = &r->s->costs;
    int64_t x = r->path[from];
    if (x - c->idx_each * k < m->idx) {
        m->idx = x - c->idx_each * k;
        m->idx_from = from;
    }
    if (stride != m->last_stride || x < m->vec) {
        m->vec = x;
        m->vec_from = from;
        m->last_stride = stride;
    }
    relax_entry(r, to, m->vec + r->s->even + block, m->vec_from, r->s->even_kind, family);
    relax_entry(r, to, m->idx + c->idx + c->idx_each * (k + 2) + block, m->idx_from, ESPI_EDGE_IDX, family);
    if (!r->s->buckets)
        return;
    if (x - c->idxbuc_each * k < m->any) {
        m->any = x - c->idxbuc_each * k;
        m->any_from = from;
    }
    if (w->stamp != m->stamp || m->any < w->least) {
        w->stamp = m->stamp;
        w->least = m->any;
        w->from = m->any_from;
    }
    w->least -= c->idxbuc_each;
    if (w->least < m->bucket) {
        m->bucket = w->least;
        m->bucket_from = w->from;
    }
    relax_entry(r, to, m->bucket + c->idxbuc + c->idxbuc_each * (k + 2) + block, m->bucket_from, ESPI_EDGE_BUCKET,
                family);
}

/* The same boundary for strided buckets; the row begins at entry u. */
static inline void advance_strided(const struct row *r, uint32_t line, uint32_t stamp, uint32_t k, uint32_t u,
                                   uint32_t to, int64_t block, uint32_t family)
{
    struct espi_line_state *state = &r->s->line_state[line];
    if (state->stamp != stamp || k == state->end)
        espi_sparse_enter(r->s, line, stamp, k, u, r->path);
    block += r->s->costs.bucket;
    relax_entry(r, to, state->inside.cost + block, state->inside.from, ESPI_EDGE_STRIDED, family);
    if (k == state->at)
        relax_entry(r, to, state->after.cost + block, state->after.from, ESPI_EDGE_STRIDED, family);
    relax_entry(r, to, state->singles.cost + r->s->costs.bucket_each * (k - state->at) + block, state->singles.from,
                ESPI_EDGE_STRIDED, family);
}

espi_status espi_sparse_row(struct espi_sparse *s, uint32_t u, uint32_t len, int64_t *path, struct espi_edge *edge)
{
    const struct espi_costs *c = &s->costs;
    struct row r = {s, len, path, edge};
    int64_t leaf = c->struc_each + c->leaf;
    int64_t pair = s->uniform < c->idx + 2 * c->idx_each ? s->uniform : c->idx + 2 * c->idx_each;
    uint32_t pair_kind = pair == s->even ? s->even_kind : pair < s->uniform ? ESPI_EDGE_IDX : ESPI_EDGE_BUCKET;
    struct espi_minima leaves;
    forget_minima(&leaves, ++s->stamp);
    uint32_t stamp = s->stamp;
    uint64_t squares = 0;
    path[0] = 0;
    for (uint32_t i = 1; i <= len; i++)
        path[i] = ESPI_SPARSE_INF;
    for (uint32_t i = 0; i < len; i++) {
        int64_t x = path[i];
        uint32_t at = u + i;
        relax_entry(&r, i + 1, x + leaf, i, ESPI_EDGE_LEAF, ESPI_SPARSE_NONE);
        if (i + 2 > len)
            break;
        if (s->base_end[at] > at + 1) {
            advance_family(&r, &leaves, &s->leaf_stride[s->sym[at]], i, i, i + 2, s->sym[at], leaf, ESPI_SPARSE_NONE);
            if (s->leaf_line)
                advance_strided(&r, 0, leaves.stamp, at, u, i + 2, leaf, ESPI_SPARSE_NONE);
        } else {
            forget_minima(&leaves, ++s->stamp);
        }
        uint32_t e = s->first[at], end = s->first[at + 1];
        for (; e < end; e++) {
            const struct espi_square *sq = &s->square[e];
            if (i + 2 * (uint64_t)sq->q > len)
                break;
            const struct espi_family *f = &s->families[sq->family];
            int64_t block = f->cost + c->struc_each;
            if (f->squares == 1) {
                relax_entry(&r, i + 2 * sq->q, x + pair + block, i, pair_kind, sq->family);
                continue;
            }
            struct espi_minima *m = &s->minima[sq->family];
            if (m->stamp != stamp)
                forget_minima(m, stamp);
            uint32_t k = (at - f->start) / f->q;
            advance_family(&r, m, &s->by_stride[sq->stride], k, i, i + 2 * sq->q, sq->stride, block, sq->family);
            if (f->line != ESPI_SPARSE_NONE)
                advance_strided(&r, f->line, stamp, k, u, i + 2 * sq->q, block, sq->family);
        }
        squares += e - s->first[at];
    }
    return espi_sparse_work(s, len + squares);
}
