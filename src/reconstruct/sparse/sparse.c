/* The sparse exact method, step by step; see sparse.h and doc/reconstruction.md. */
#include "reconstruct/sparse/sparse.h"

#include <stdlib.h>
#include <string.h>

#include "reconstruct/parts.h"

void espi_sparse_start(struct espi_sparse *s, const struct espi_typemap *map,
                       const struct espi_reconstruct_options *o, uint64_t work_limit, uint64_t ahead,
                       bool drop_periods)
{
    const struct espi_costs *c = &o->costs;
    memset(s, 0, sizeof *s);
    s->map = map;
    s->n = (uint32_t)map->n;
    s->costs = *c;
    s->buckets = o->set != ESPI_SET_BASIC;
    s->strided = o->set == ESPI_SET_EXTENDED;
    s->even = c->vec;
    s->even_kind = ESPI_EDGE_VEC;
    if (s->strided && c->bucket + c->bucket_each < s->even) {
        s->even = c->bucket + c->bucket_each;
        s->even_kind = ESPI_EDGE_STRIDED;
    }
    s->uniform = s->buckets && c->idxbuc + c->idxbuc_each < s->even ? c->idxbuc + c->idxbuc_each : s->even;
    s->runs_are_best = s->uniform <= c->idx + 2 * c->idx_each &&
                       s->uniform <= c->struc + 2 * c->struc_each + c->leaf; /* condition V, Lemma 2 */
    s->drop_periods = drop_periods && s->runs_are_best;
    s->ahead = ahead;
    s->work_limit = work_limit && work_limit < UINT32_MAX ? work_limit : UINT32_MAX;
}

static espi_status find_families(struct espi_sparse *s)
{
    struct espi_builder b;
    espi_status status = espi_builder_start(s, &b);
    if (!status && s->runs_are_best) {
        status = espi_sparse_repeats(s);
        if (!status && s->ntok > 2)
            status = espi_sparse_leafruns(s, &b);
        if (!status && s->ntok > 2)
            status = espi_sparse_expand(s, &b);
    } else if (!status) { /* a thin listing needs the intervals */
        status = s->thin ? ESPI_ERR_LIMIT : espi_sparse_expand_all(s, &b);
    }
    if (!status)
        status = espi_builder_finish(s, &b);
    espi_builder_release(&b);
    return status;
}

espi_status espi_sparse_begin(struct espi_sparse *s)
{
    espi_status status = espi_sparse_work(s, 3 * (uint64_t)s->n); /* symbols and one row at least */
    if (!status)
        status = espi_sparse_text(s);
    if (!status)
        status = find_families(s);
    if (status)
        return status;
    s->minima = espi_arena_calloc(&s->scratch, s->nfamilies, sizeof *s->minima);
    s->by_stride = espi_arena_calloc(&s->scratch, s->nstrides, sizeof *s->by_stride);
    s->leaf_stride = espi_arena_calloc(&s->scratch, s->nsym, sizeof *s->leaf_stride);
    if (!s->minima || !s->by_stride || !s->leaf_stride)
        return ESPI_ERR_MEMORY;
    status = espi_sparse_lines(s);
    return status ? status : espi_sparse_prepare(s);
}

void espi_sparse_finish(struct espi_sparse *s)
{
    free(s->intervals);
    for (size_t i = 0; i < s->nruns; i++)
        espi_period_part_release(s->runs[i].part);
    free(s->runs);
    free(s->run_links);
    free(s->families);
    free(s->slots);
    free(s->lines);
    free(s->stretches);
    free(s->approaches);
    espi_arena_release(&s->scratch);
}

espi_status espi_sparse_reconstruct(struct espi_arena *arena, const struct espi_typemap *map,
                                    const struct espi_reconstruct_options *options, uint64_t work_limit,
                                    uint64_t ahead, struct espi_reconstruction *out)
{
    uint64_t began = espi_reconstruct_clock();
    const struct espi_node *tree = NULL;
    struct espi_sparse s = {.failed = false};
    if (!espi_costs_valid(&options->costs))
        return ESPI_ERR_ARGUMENT;
    if (!espi_span_fits(map))
        return ESPI_ERR_OVERFLOW;
    if (map->n > (size_t)1 << 28) /* positions have 32 bits, and sums of costs stay far from the end of 64 */
        return ESPI_ERR_LIMIT;
    espi_status status = ESPI_OK;
    if (map->n == 0)
        status = espi_node_struc(arena, 0, NULL, NULL, &tree);
    for (int round = 0; map->n > 0 && round < 2 && (round == 0 || s.failed); round++) {
        /* Once more without Lemma 6 where it does not hold. */
        espi_sparse_start(&s, map, options, work_limit, ahead, round == 0);
        status = espi_sparse_begin(&s);
        if (!status)
            status = espi_sparse_tree(&s, arena, &tree);
        espi_sparse_finish(&s);
    }
    if (status)
        return status;
    out->tree = tree;
    out->cost = espi_cost(tree, &options->costs);
    out->lower_bound = out->cost;
    out->exact = true;
    out->elapsed_ns = espi_reconstruct_clock() - began;
    return ESPI_OK;
}

espi_status espi_reconstruct_sparse(struct espi_arena *arena, const struct espi_typemap *map,
                                    const struct espi_reconstruct_options *options, uint64_t work_limit,
                                    struct espi_reconstruction *out)
{
    uint64_t ahead = 5000000 + 8 * (uint64_t)map->n;
    if (work_limit > 0 && work_limit / 4 * 3 < ahead)
        ahead = work_limit / 4 * 3;
    return espi_sparse_reconstruct(arena, map, options, work_limit, ahead, out);
}
