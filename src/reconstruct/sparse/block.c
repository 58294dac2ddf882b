/*
 * C of blocks, found when needed (Lemma 9). A family starts with a lower bound of its block's cost. A segment is
 * solved with what bounds there are; where the best tree found rests on a bound only, that block is solved, and the
 * segment again. When the best rests on known costs only, it is the best: all others cost at least their bounds.
 * Most rotations of a period, say, are never solved.
 */
#include "reconstruct/sparse/sparse.h"

#include <stdlib.h>
#include <string.h>

static int64_t least_cost(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* No tree of the block costs less: by the kind of its root. */
static int64_t at_least(const struct espi_sparse *s, uint32_t u, uint32_t q)
{
    const struct espi_costs *c = &s->costs;
    int64_t part = c->struc_each + c->leaf, pair = c->idx + 2 * c->idx_each;
    if (!s->runs_are_best)
        return c->leaf + least_cost(least_cost(s->uniform, pair), c->struc + 2 * c->struc_each + c->leaf);
    /* two parts with an inner node, or three leaves; a block of two entries is here two leaves of different types */
    int64_t best = c->struc + (q == 2 ? 2 * part : least_cost(3 * part, 2 * part + s->uniform));
    if (q > 3) /* copies of a block of at least two entries */
        best = least_cost(best, s->uniform + s->uniform + c->leaf);
    if (s->base_end[u] >= u + q) { /* copies of a leaf; they are no strided run */
        best = least_cost(best, c->leaf + c->idx + c->idx_each * q);
        if (s->buckets)
            best = least_cost(best, c->leaf + c->idxbuc + 2 * c->idxbuc_each);
        if (s->strided)
            best = least_cost(best, c->leaf + c->bucket + 2 * c->bucket_each);
    }
    return best;
}

/* The family that speaks for all with this block content. */
static uint32_t search_same(struct espi_sparse *s, uint32_t family)
{
    const struct espi_family *f = &s->families[family];
    size_t at = (espi_sparse_hash(s, f->start, f->q) + f->q) & (s->nblocks - 1);
    for (; s->blocks[at] != ESPI_SPARSE_NONE; at = (at + 1) & (s->nblocks - 1)) {
        const struct espi_family *g = &s->families[s->blocks[at]];
        if (g->q == f->q && espi_sparse_same(s, g->start, f->start, f->q))
            return s->blocks[at];
    }
    return s->blocks[at] = family;
}

espi_status espi_sparse_find_same(struct espi_sparse *s, uint32_t family)
{
    struct espi_family *f = &s->families[family];
    if (f->exact) /* all that has been solved knows it, and strided runs speak for themselves */
        return ESPI_OK;
    f->same = search_same(s, family);
    return espi_sparse_work(s, 1 + f->q / 32);
}

/* Finds C of the block; the family's cost is exact then unless Lemma 6 needs more than that. */
static espi_status find_cost(struct espi_sparse *s, uint32_t family)
{
    struct espi_family *f = &s->families[family];
    if (f->exact)
        return ESPI_OK;
    espi_status status = espi_sparse_find_same(s, family);
    if (status)
        return status;
    struct espi_family *g = &s->families[f->same];
    if (!g->solved) {
        struct espi_solution solution;
        status = espi_sparse_solve(s, g->start, g->q, ESPI_SPARSE_INF, &solution);
        if (status)
            return status;
        g->least = solution.cost;
        g->solved = true;
        espi_solution_release(&solution);
    }
    int64_t spare = f->period_run == ESPI_SPARSE_NONE ? ESPI_SPARSE_INF : s->runs[f->period_run].spare;
    f->cost = least_cost(g->least, spare);
    f->exact = g->least <= spare;
    return ESPI_OK;
}

espi_status espi_sparse_resolve(struct espi_sparse *s, uint32_t family)
{
    struct espi_family *f = &s->families[family];
    espi_status status = find_cost(s, family);
    if (status || f->exact)
        return status;
    f->cost = s->families[f->same].least;
    status = espi_sparse_certify(s, f, f->cost);
    f->exact = !status;
    return status;
}

/* Solving all blocks, short ones first, takes one row each; when only what is needed is solved, a segment may take
   several rounds. So the blocks are solved in this order up to a bound of work. Families are in order of q, but for
   those of strided runs, which have their costs. */
static espi_status solve_short(struct espi_sparse *s)
{
    uint64_t left = s->ahead;
    espi_status status = ESPI_OK;
    for (size_t i = 0; i < s->nfamilies && !status; i++) {
        struct espi_family *f = &s->families[i];
        if (f->exact)
            continue;
        f->same = search_same(s, (uint32_t)i);
        uint64_t row = 4 + f->q / 32;
        if (!s->families[f->same].solved)
            row += f->q + s->first[f->start + f->q] - s->first[f->start];
        if (row > left)
            break;
        left -= row;
        status = find_cost(s, (uint32_t)i);
    }
    return status;
}

espi_status espi_sparse_prepare(struct espi_sparse *s)
{
    size_t open = 0;
    for (size_t i = 0; i < s->nfamilies; i++) {
        struct espi_family *f = &s->families[i];
        f->exact = s->runs_are_best && espi_sparse_is_run(s, f->start, f->q); /* Lemma 2 */
        f->cost = f->exact ? s->uniform + s->costs.leaf : at_least(s, f->start, f->q);
        f->least = f->cost;
        f->solved = f->exact;
        if (f->period_run != ESPI_SPARSE_NONE)
            f->cost = least_cost(f->cost, s->runs[f->period_run].spare);
        open += !f->exact;
    }
    if (!open)
        return ESPI_OK;
    for (s->nblocks = 16; s->nblocks < 2 * open;)
        s->nblocks *= 2;
    s->blocks = espi_arena_alloc(&s->scratch, s->nblocks * sizeof *s->blocks);
    if (!s->blocks)
        return ESPI_ERR_MEMORY;
    memset(s->blocks, 0xff, s->nblocks * sizeof *s->blocks);
    espi_status status = espi_sparse_hashes(s);
    if (!status)
        status = solve_short(s);
    return status;
}

espi_status espi_sparse_resolve_path(struct espi_sparse *s, const struct espi_edge *edge, uint32_t len,
                                     bool *changed)
{
    espi_status status = ESPI_OK;
    for (uint32_t at = len; at > 0 && !status; at = edge[at].from)
        if (edge[at].family != ESPI_SPARSE_NONE && !s->families[edge[at].family].exact) {
            *changed = true;
            status = espi_sparse_resolve(s, edge[at].family);
        }
    return status;
}

/* After some rounds: what the best paths to any place rest on, or all there is. */
static espi_status resolve_more(struct espi_sparse *s, uint32_t u, uint32_t len, const struct espi_edge *edge,
                                bool all)
{
    espi_status status = ESPI_OK;
    for (uint32_t i = 1; i <= len && !status; i++) {
        if (edge[i].family != ESPI_SPARSE_NONE)
            status = find_cost(s, edge[i].family);
        for (uint32_t e = s->first[u + i - 1]; all && e < s->first[u + i] && !status; e++) {
            if (i - 1 + 2 * (uint64_t)s->square[e].q > len)
                break;
            status = find_cost(s, s->square[e].family);
        }
    }
    return status;
}

espi_status espi_sparse_solve(struct espi_sparse *s, uint32_t u, uint32_t len, int64_t enough,
                              struct espi_solution *out)
{
    const struct espi_costs *c = &s->costs;
    int64_t part = c->struc_each + c->leaf;
    int64_t any_struct = c->struc + (len > 2 && s->runs_are_best ? least_cost(3 * part, 2 * part + s->uniform)
                                     : 2 * part);
    memset(out, 0, sizeof *out);
    bool again = true;
    for (int round = 0; again; round++) {
        again = false;
        espi_status status = espi_sparse_root(s, u, len, &out->root);
        if (status)
            goto fail;
        out->cost = out->root.cost;
        out->parts = false;
        if (len > 1 && out->root.cost > any_struct) {
            if (!out->path) {
                out->path = malloc(((size_t)len + 1) * sizeof *out->path);
                out->edge = malloc(((size_t)len + 1) * sizeof *out->edge);
            }
            status = out->path && out->edge ? espi_sparse_row(s, u, len, out->path, out->edge) : ESPI_ERR_MEMORY;
            if (status)
                goto fail;
            out->parts = c->struc + out->path[len] < out->root.cost;
            out->cost = out->parts ? c->struc + out->path[len] : out->root.cost;
        }
        if (out->cost >= enough)
            return ESPI_OK;
        uint32_t family = out->root.family;
        if (out->parts) {
            status = espi_sparse_resolve_path(s, out->edge, len, &again);
            if (again && round > 1 && !status)
                status = resolve_more(s, u, len, out->edge, round > 3);
        } else if (family != ESPI_SPARSE_NONE && !s->families[family].exact) {
            again = true;
            status = espi_sparse_resolve(s, family);
        }
        if (!status)
            continue;
    fail:
        espi_solution_release(out);
        return status;
    }
    return ESPI_OK;
}

void espi_solution_release(struct espi_solution *solution)
{
    free(solution->path);
    free(solution->edge);
    solution->path = NULL;
    solution->edge = NULL;
}
