/*
 * Families whose blocks are strided runs of leaves (Lemma 5).
 *
 * Inside one run they are useless (Lemma 2). So each has a *crossing*: a square whose two blocks lie in two runs of
 * one symbol with a single other symbol between. With t runs touched, m blocks, the alternatives are to list the t
 * runs as buckets, or as parts of a struct:
 *     other(t) = min(leaf + idxbuc + idxbuc_each t, struc + t (struc_each + leaf + uniform)).
 * A chain with at most x crossings is useless when even uniform + uniform + leaf >= other(x + 1). Pairs of blocks
 * inside one run only lengthen index lists: an edge with i of them and k crossings costs at least
 * idx + idx_each (k + i + 1) + uniform + leaf, and a bucket over such blocks at least ib (1 + i) + uniform +
 * ..., and strided buckets bucket + bucket_each (1 + i) + uniform + leaf, against other(k + 1); so i is bounded (see
 * most_inside).
 */
#include "reconstruct/sparse/sparse.h"

#include <stdlib.h>

struct crossing {
    uint32_t at;          /* first entry of the right run */
    uint32_t left, right; /* entries of both runs */
    uint32_t before, next; /* the crossings at the other ends of both runs, or NONE */
    uint32_t seen;         /* block length whose chain it was last put in */
};

static int64_t other_cost(const struct espi_sparse *s, int64_t t)
{
    const struct espi_costs *c = &s->costs;
    int64_t parts = c->struc + t * (c->struc_each + c->leaf + s->uniform);
    int64_t list = c->leaf + c->idxbuc + t * c->idxbuc_each;
    return s->buckets && list < parts ? list : parts;
}

static bool useful_crossings(const struct espi_sparse *s, uint32_t crossings)
{
    return s->uniform + s->uniform + s->costs.leaf < other_cost(s, (int64_t)crossings + 1);
}

/* Most pairs of blocks inside one run that a useful edge of a chain with so many crossings can have. */
static uint32_t most_inside(const struct espi_sparse *s, uint32_t crossings)
{
    const struct espi_costs *c = &s->costs;
    int64_t room = other_cost(s, (int64_t)crossings + 1) - c->idx - s->uniform - c->leaf;
    int64_t most = 0;
    if (room > 0)
        most = c->idx_each == 0 ? UINT32_MAX : (room - 1) / c->idx_each - 2;
    if (s->buckets && most < (int64_t)crossings - 1)
        most = (int64_t)crossings - 1;
    room = other_cost(s, (int64_t)crossings + 1) - c->bucket - s->uniform - c->leaf; /* bucket_each (1 + i) is less */
    if (s->strided && room > 0) {
        int64_t strided = c->bucket_each == 0 ? UINT32_MAX : (room - 1) / c->bucket_each - 1;
        most = most < strided ? strided : most;
    }
    return most < 0 ? 0 : most > UINT32_MAX ? UINT32_MAX : (uint32_t)most;
}

static uint32_t least_length(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* One chain: n crossings from the first, each the next of the one before, of block length q. */
static espi_status add_chain(struct espi_sparse *s, struct espi_builder *b, const struct crossing *all,
                             uint32_t first, uint32_t n)
{
    if (!useful_crossings(s, n))
        return ESPI_OK;
    uint32_t q = b->q, inside = most_inside(s, n);
    espi_status status = ESPI_OK;
    for (uint32_t i = 0, at = first; i < n && !status; at = all[at].next, i++) {
        const struct crossing *x = &all[at];
        uint32_t left = x->left / q - 1, right = x->right / q - 1;
        bool joined = i > 0 && left <= inside; /* the run to the left is bridged from its other end */
        for (uint32_t k = joined ? 0 : least_length(left, inside); k > 0 && !status; k--)
            status = espi_builder_add(s, b, x->at - (k + 1) * q, ESPI_SPARSE_NONE);
        if (!status)
            status = espi_builder_add(s, b, x->at - q, ESPI_SPARSE_NONE);
        for (uint32_t k = 0; k < least_length(right, inside) && !status; k++)
            status = espi_builder_add(s, b, x->at + k * q, ESPI_SPARSE_NONE);
    }
    return status;
}

static espi_status find_crossings(struct espi_sparse *s, struct crossing **out, size_t *count)
{
    struct crossing *all = NULL;
    size_t n = 0, cap = 0;
    uint32_t last[2] = {0, 0}, which[2] = {0, 0}; /* crossings at the last token found of either parity */
    for (uint32_t j = 1; j + 1 < s->ntok; j++) {
        uint32_t at = s->tok_at[j], left = s->tok_at[j - 1];
        if (s->tok_at[j + 1] != at + 1 || s->sym[left] != s->sym[at + 1] || s->base_end[left] == left + 1)
            continue;
        espi_status status = espi_sparse_grow(&all, &cap, n + 1, sizeof *all);
        if (status) {
            free(all);
            return status;
        }
        bool linked = last[j % 2] > 0 && last[j % 2] + 2 == j;
        if (linked)
            all[which[j % 2]].next = (uint32_t)n;
        all[n] = (struct crossing){at + 1, at - left + 1, s->tok_at[j + 2] - at,
                                   linked ? which[j % 2] : ESPI_SPARSE_NONE, ESPI_SPARSE_NONE, 0};
        last[j % 2] = j;
        which[j % 2] = (uint32_t)n++;
    }
    *out = all;
    *count = n;
    return ESPI_OK;
}

/* Does the chain of block length q go on from this crossing to the next? */
static bool goes_on(const struct crossing *all, uint32_t i, uint32_t q)
{
    uint32_t next = all[i].next;
    return next != ESPI_SPARSE_NONE && all[i].right % q == 0 && q <= least_length(all[next].left, all[next].right);
}

static bool in_chain(const struct crossing *all, uint32_t i, uint32_t q)
{
    return goes_on(all, i, q) || (all[i].before != ESPI_SPARSE_NONE && goes_on(all, all[i].before, q));
}

espi_status espi_sparse_leafruns(struct espi_sparse *s, struct espi_builder *b)
{
    struct crossing *all = NULL;
    uint32_t *start = NULL, *list = NULL, longest = 0;
    size_t n = 0;
    bool singles = useful_crossings(s, 1);
    espi_status status = find_crossings(s, &all, &n);
    if (status || n == 0)
        goto end;
    for (size_t i = 0; i < n; i++) {
        uint32_t m = least_length(all[i].left, all[i].right);
        longest = m > longest ? m : longest;
    }
    start = calloc((size_t)longest + 2, sizeof *start);
    status = start ? ESPI_OK : ESPI_ERR_MEMORY;
    for (int fill = 0; fill < 2 && !status; fill++) {
        for (size_t i = 0; i < n && !status; i++) {
            uint32_t m = least_length(all[i].left, all[i].right);
            status = espi_sparse_work(s, 1 + m / 8);
            for (uint32_t q = 2; q <= m; q++)
                if (singles || in_chain(all, (uint32_t)i, q)) {
                    if (fill)
                        list[start[q]] = (uint32_t)i;
                    start[q]++;
                }
        }
        if (!fill && !status) { /* counts to first places */
            uint32_t sum = 0;
            for (uint32_t q = 2; q <= longest + 1; q++) {
                uint32_t count = start[q];
                start[q] = sum;
                sum += count;
            }
            list = malloc(((size_t)sum + 1) * sizeof *list);
            status = list ? ESPI_OK : ESPI_ERR_MEMORY;
        }
    }
    for (uint32_t q = 2; q <= longest && !status; q++) { /* start[q] is now the end of q's part of the list */
        espi_builder_open(b, q);
        for (size_t i = q > 2 ? start[q - 1] : 0; i < start[q] && !status; i++) {
            uint32_t length = 1, at = list[i];
            if (all[at].seen == q)
                continue;
            for (all[at].seen = q; goes_on(all, at, q); length++, all[at].seen = q)
                at = all[at].next;
            status = add_chain(s, b, all, list[i], length);
        }
        if (!status)
            status = espi_builder_close(s, b);
    }
end:
    free(all);
    free(start);
    free(list);
    return status;
}
