/*
 * Inside a run of period p no squares are listed for blocks of k >= 2 periods (Lemma 6): let [u, u + kp) lie in the
 * run. Either C(u, kp) >= C(u, k'p) for some 1 <= k' < k, or its best tree is a struct whose parts are shorter
 * than 2p. Parts of one entry cost struc_each + leaf, longer ones at least `uniform` more, so such a struct costs at
 * least some L(k) that grows with k. Where L(2) >= C(u, p), blocks of k periods cost at least C(u, p), and a vec of
 * single periods is no worse than what could be made of them. Until C(u, p) is known, min(C(u, p), L(2)) is a lower
 * bound for all of them, so the rows count with it. Where L(2) < C(u, p), the values C(u, kp) are looked at for the
 * few k with L(k) < C(u, p): the first periods are solved as a map of their own, with all squares of the run.
 */
#include "reconstruct/sparse/sparse.h"

#include <stdlib.h>

int64_t espi_sparse_least_struct(const struct espi_sparse *s, uint64_t k, uint64_t p)
{
    int64_t one = s->costs.struc_each + s->costs.leaf, more = one + s->uniform;
    uint64_t longest = 2 * p - 1, whole = k * p / longest, rest = k * p % longest;
    int64_t tail = (int64_t)rest * one < more ? (int64_t)rest * one : more;
    int64_t by_long = (int64_t)whole * more + tail; /* the extremes of a linear program with one constraint */
    int64_t by_one = (int64_t)(k * p) * one;
    return s->costs.struc + (by_long < by_one ? by_long : by_one);
}

struct espi_period_part {
    struct espi_typemap map;
    struct espi_sparse solver;
    uint32_t periods; /* blocks of so many begin at every entry of the first period */
};

void espi_period_part_release(struct espi_period_part *part)
{
    if (part)
        espi_sparse_finish(&part->solver);
    free(part);
}

/* The rotations of a period share one part: most blocks in it are blocks of many of them. */
static espi_status open_part(struct espi_sparse *s, struct espi_period_run *r, uint32_t periods)
{
    if (r->part && r->part->periods >= periods)
        return ESPI_OK;
    espi_period_part_release(r->part);
    r->part = calloc(1, sizeof *r->part);
    if (!r->part)
        return ESPI_ERR_MEMORY;
    size_t n = (size_t)(periods + 1) * r->period; /* at most r->most + 1 <= 2 r->most periods: inside the run */
    r->part->periods = periods;
    r->part->map = (struct espi_typemap){n, n, s->map->disp + r->lo, s->map->base + r->lo};
    struct espi_sparse *part = &r->part->solver;
    part->map = &r->part->map;
    part->n = (uint32_t)n;
    part->costs = s->costs;
    part->buckets = s->buckets;
    part->strided = s->strided;
    part->even = s->even;
    part->even_kind = s->even_kind;
    part->uniform = s->uniform;
    part->runs_are_best = s->runs_are_best;
    part->drop_periods = part->keep_whole = true;
    part->ahead = s->ahead < 64 * (uint64_t)n ? s->ahead : 64 * (uint64_t)n;
    part->work_limit = s->work_limit - s->work;
    espi_status status = espi_sparse_begin(part);
    s->failed = s->failed || part->failed;
    return status ? status : espi_sparse_work(s, part->work);
}

espi_status espi_sparse_certify(struct espi_sparse *s, const struct espi_family *f, int64_t cost)
{
    struct espi_period_run *r = &s->runs[f->period_run];
    uint32_t p = r->period, last = 1;
    while (last < r->most && espi_sparse_least_struct(s, last + 1, p) < cost)
        last++;
    if (last < 2)
        return ESPI_OK;
    espi_status status = open_part(s, r, last);
    if (status)
        return s->failed ? ESPI_ERR_LIMIT : status;
    struct espi_sparse *part = &r->part->solver;
    uint32_t u = (f->start + p - r->lo % p) % p; /* the same content, in the first period */
    uint64_t before = part->work;
    part->work_limit = before + (s->work_limit - s->work);
    for (uint32_t k = 2; k <= last && !status && !part->failed; k++) {
        struct espi_solution solution;
        status = espi_sparse_solve(part, u, k * p, cost, &solution);
        if (!status)
            part->failed = solution.cost < cost;
        espi_solution_release(&solution);
    }
    s->failed = part->failed;
    if (!status)
        status = espi_sparse_work(s, part->work - before);
    return s->failed ? ESPI_ERR_LIMIT : status;
}
