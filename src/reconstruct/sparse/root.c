/* The best tree of one segment whose root is a leaf or a repetition of equal blocks that fill the segment. */
#include "reconstruct/sparse/sparse.h"

#include "reconstruct/dense/dense.h"

espi_status espi_sparse_mode(struct espi_sparse *s, uint32_t u, uint32_t q, uint32_t m, uint32_t *times,
                             int64_t *stride)
{
    const int64_t *d = s->map->disp;
    *times = 1;
    *stride = d[u + q] - d[u];
    espi_status status = espi_sparse_work(s, m);
    if (status)
        return status;
    if (q == 1) { /* leaves of one base type: symbols number the strides already */
        uint32_t stamp = ++s->stamp;
        for (uint32_t j = 0; j + 1 < m; j++) {
            struct espi_by_stride *w = &s->leaf_stride[s->sym[u + j]];
            if (w->stamp != stamp)
                *w = (struct espi_by_stride){stamp, 0, 0};
            if (++w->from > *times) {
                *times = w->from;
                *stride = d[u + j + 1] - d[u + j];
            }
        }
        return ESPI_OK;
    }
    status = espi_sparse_strides(s, m);
    if (status)
        return status;
    for (uint32_t j = 0; j + 1 < m; j++) {
        int64_t delta = d[u + (j + 1) * q] - d[u + j * q];
        uint32_t *count = espi_sparse_stride(s, delta);
        if (++*count > *times) {
            *times = *count;
            *stride = delta;
        }
    }
    return ESPI_OK;
}

/* Blocks of q at u, m of them, each of cost `block`: is that the best so far? */
static espi_status try_blocks(struct espi_sparse *s, uint32_t u, uint32_t q, uint32_t m, int64_t block,
                              uint32_t family, struct espi_root *root)
{
    const struct espi_costs *c = &s->costs;
    uint32_t times;
    int64_t stride;
    espi_status status = espi_sparse_mode(s, u, q, m, &times, &stride);
    if (status)
        return status;
    bool uniform = times + 1 == m;
    if (uniform && block + s->even < root->cost)
        *root = (struct espi_root){block + s->even, s->even_kind, q, family};
    if (block + c->idx + c->idx_each * m < root->cost)
        *root = (struct espi_root){block + c->idx + c->idx_each * m, ESPI_EDGE_IDX, q, family};
    if (s->buckets && block + c->idxbuc + c->idxbuc_each * (m - times) < root->cost)
        *root = (struct espi_root){block + c->idxbuc + c->idxbuc_each * (m - times), ESPI_EDGE_BUCKET, q, family};
    if (s->strided && !uniform && block + c->bucket + 2 * c->bucket_each < root->cost) {
        int64_t count = espi_buckets_best(s->map->disp + u, q, m).count;
        if (count > 0 && block + c->bucket + c->bucket_each * count < root->cost)
            *root = (struct espi_root){block + c->bucket + c->bucket_each * count, ESPI_EDGE_STRIDED, q, family};
        status = espi_sparse_work(s, m);
    }
    return status;
}

espi_status espi_sparse_root(struct espi_sparse *s, uint32_t u, uint32_t len, struct espi_root *root)
{
    espi_status status = ESPI_OK;
    if (len == 1) {
        *root = (struct espi_root){s->costs.leaf, ESPI_EDGE_LEAF, 1, ESPI_SPARSE_NONE};
        return ESPI_OK;
    }
    root->cost = ESPI_SPARSE_INF;
    if (s->base_end[u] >= u + len)
        status = try_blocks(s, u, 1, len, s->costs.leaf, ESPI_SPARSE_NONE, root);
    for (uint32_t e = s->first[u]; e < s->first[u + 1] && !status; e++) {
        const struct espi_square *sq = &s->square[e];
        const struct espi_family *f = &s->families[sq->family];
        uint32_t blocks = f->squares + 1 - (u - f->start) / f->q;
        if (len % sq->q == 0 && len / sq->q >= 2 && len / sq->q <= blocks)
            status = try_blocks(s, u, sq->q, len / sq->q, f->cost, sq->family, root);
    }
    return status;
}
