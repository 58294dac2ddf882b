/* From finished tables to the tree, block by block; equal blocks share one node. */
#include "reconstruct/sparse/tree.h"

#include "reconstruct/dense/dense.h"

/* The leaf of entry u (leaves of one base type in a row are one node). */
static espi_status leaf_node(struct espi_sparse *s, struct espi_arena *arena, uint32_t u,
                             const struct espi_node **out)
{
    espi_base base = s->map->base[u];
    if (s->leaf && s->leaf->base == base) {
        *out = s->leaf;
        return ESPI_OK;
    }
    espi_status status = espi_node_leaf(arena, base, &s->leaf);
    *out = s->leaf;
    return status;
}

/* idxbuc of m blocks of q at u: a new bucket wherever the stride is not the most frequent one. */
static espi_status make_buckets(struct espi_sparse *s, struct espi_arena *arena, uint32_t u, uint32_t q, uint32_t m,
                                const struct espi_node *child, int64_t origin, const struct espi_node **out)
{
    const int64_t *d = s->map->disp;
    uint32_t times = 0;
    int64_t stride = 0;
    espi_status status = m > 1 ? espi_sparse_mode(s, u, q, m, &times, &stride) : ESPI_OK;
    if (status)
        return status;
    int64_t *disp = espi_arena_alloc(arena, (m - times) * sizeof *disp);
    int64_t *len = espi_arena_alloc(arena, (m - times) * sizeof *len);
    if (!disp || !len)
        return ESPI_ERR_MEMORY;
    int64_t count = 0;
    for (uint32_t j = 0; j < m; j++) {
        if (j == 0 || d[u + j * q] - d[u + (j - 1) * q] != stride) {
            disp[count] = d[u + j * q] - origin;
            len[count++] = 0;
        }
        len[count - 1]++;
    }
    return espi_node_idxbuc(arena, count, stride, disp, len, child, out);
}

/* bucket of the m blocks of q at u. */
static espi_status make_strided(struct espi_sparse *s, struct espi_arena *arena, uint32_t u, uint32_t q, uint32_t m,
                                const struct espi_node *child, const struct espi_node **out)
{
    const int64_t *d = s->map->disp + u;
    struct espi_strided_buckets best = espi_buckets_best(d, q, m);
    int64_t *len = espi_arena_calloc(arena, (size_t)best.count, sizeof *len);
    if (!len)
        return ESPI_ERR_MEMORY;
    espi_buckets_lengths(d, q, m, &best, len);
    return espi_node_bucket(arena, best.count, best.stride1, best.stride2, len, child, out);
}

espi_status espi_sparse_copies(struct espi_sparse *s, struct espi_arena *arena, enum espi_edge_kind kind, uint32_t u,
                               uint32_t q, uint32_t m, const struct espi_node *child, int64_t origin,
                               const struct espi_node **out)
{
    const int64_t *d = s->map->disp;
    if (kind == ESPI_EDGE_LEAF) {
        *out = child;
        return ESPI_OK;
    }
    if (kind == ESPI_EDGE_VEC)
        return espi_node_vec(arena, m, d[u + q] - d[u], child, out);
    if (kind == ESPI_EDGE_STRIDED)
        return make_strided(s, arena, u, q, m, child, out);
    if (kind == ESPI_EDGE_BUCKET)
        return make_buckets(s, arena, u, q, m, child, origin, out);
    int64_t *disp = espi_arena_alloc(arena, m * sizeof *disp);
    if (!disp)
        return ESPI_ERR_MEMORY;
    for (uint32_t j = 0; j < m; j++)
        disp[j] = d[u + j * q] - origin;
    return espi_node_idx(arena, m, disp, child, out);
}

static espi_status family_node(struct espi_sparse *s, struct espi_arena *arena, uint32_t family,
                               const struct espi_node **out)
{
    struct espi_family *f = &s->families[s->families[family].same];
    if (!f->node) {
        espi_status status = espi_sparse_segment(s, arena, f->start, f->q, &f->node);
        if (status)
            return status;
    }
    *out = f->node;
    return ESPI_OK;
}

espi_status espi_sparse_block_node(struct espi_sparse *s, struct espi_arena *arena, uint32_t u, uint32_t q,
                                   uint32_t family, const struct espi_node **out)
{
    if (family != ESPI_SPARSE_NONE)
        return family_node(s, arena, family, out);
    return q == 1 ? leaf_node(s, arena, u, out) : espi_sparse_segment(s, arena, u, q, out);
}

espi_status espi_sparse_parts(struct espi_sparse *s, struct espi_arena *arena, uint32_t u, uint32_t len,
                              const struct espi_edge *edge, int64_t origin, const struct espi_node **out)
{
    int64_t count = 0;
    for (uint32_t at = len; at > 0; at = edge[at].from)
        count++;
    int64_t *disp = espi_arena_alloc(arena, (size_t)count * sizeof *disp);
    const struct espi_node **sub = espi_arena_alloc(arena, (size_t)count * sizeof *sub);
    if (!disp || !sub)
        return ESPI_ERR_MEMORY;
    int64_t k = count;
    for (uint32_t at = len; at > 0; at = edge[at].from) {
        const struct espi_edge *e = &edge[at];
        uint32_t first = u + e->from, q = e->family == ESPI_SPARSE_NONE ? 1 : s->families[e->family].q;
        const struct espi_node *child = NULL;
        espi_status status = espi_sparse_block_node(s, arena, first, q, e->family, &child);
        k--;
        if (!status)
            status = espi_sparse_copies(s, arena, e->kind, first, q, (at - e->from) / q, child, s->map->disp[first],
                                        &sub[k]);
        if (status)
            return status;
        disp[k] = s->map->disp[first] - origin;
    }
    return espi_node_struc(arena, count, disp, sub, out);
}

espi_status espi_sparse_segment(struct espi_sparse *s, struct espi_arena *arena, uint32_t u, uint32_t len,
                                const struct espi_node **out)
{
    struct espi_solution best;
    const struct espi_node *child = NULL;
    int64_t origin = s->map->disp[u];
    espi_status status = espi_sparse_solve(s, u, len, ESPI_SPARSE_INF, &best);
    if (status)
        return status;
    if (best.parts) {
        status = espi_sparse_parts(s, arena, u, len, best.edge, origin, out);
    } else {
        status = espi_sparse_block_node(s, arena, u, best.root.q, best.root.family, &child);
        if (!status)
            status = espi_sparse_copies(s, arena, best.root.kind, u, best.root.q, len / best.root.q, child, origin,
                                        out);
    }
    espi_solution_release(&best);
    return status;
}
