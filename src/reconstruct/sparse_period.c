/*
 * Inside a run of period p no squares are listed for blocks of k >= 2 periods (Lemma 6): let [u, u + kp) lie in the
 * run. Either C(u, kp) >= C(u, k'p) for some 1 <= k' < k, or its best tree is a struct whose parts are shorter
 * than 2p. Parts of one entry cost struc_each + leaf, longer ones at least `uniform` more, so such a struct costs at
 * least some L(k) that grows with k. Where L(2) >= C(u, p), blocks of k periods cost at least C(u, p), and a vec of
 * single periods is no worse than what could be made of them. Until C(u, p) is known, min(C(u, p), L(2)) is a lower
 * bound for all of them, so the rows count with it. Where L(2) < C(u, p), the values C(u, kp) are looked at for the
 * few k with L(k) < C(u, p): the first periods are solved as a map of their own, with all squares of the run.
 */
#include "reconstruct/sparse.h"

#include <string.h>

int64_t espi_sparse_least_struct(const struct espi_sparse *s, uint64_t k, uint64_t p)
{
    int64_t one = s->costs.struc_each + s->costs.leaf, more = one + s->uniform;
    uint64_t longest = 2 * p - 1, whole = k * p / longest, rest = k * p % longest;
    int64_t tail = (int64_t)rest * one < more ? (int64_t)rest * one : more;
    int64_t by_long = (int64_t)whole * more + tail; /* the extremes of a linear program with one constraint */
    int64_t by_one = (int64_t)(k * p) * one;
    return s->costs.struc + (by_long < by_one ? by_long : by_one);
}

espi_status espi_sparse_certify(struct espi_sparse *s, const struct espi_family *f, int64_t cost)
{
    const struct espi_period_run *r = &s->runs[f->period_run];
    uint32_t p = r->period, last = 1;
    while (last < r->most && espi_sparse_least_struct(s, last + 1, p) < cost)
        last++;
    if (last < 2)
        return ESPI_OK;
    /* The same content begins in the first period of the run, where `last` periods follow. */
    uint32_t u = r->lo + (f->start + p - r->lo % p) % p;
    struct espi_typemap map = {(size_t)last * p, (size_t)last * p, s->map->disp + u, s->map->base + u};
    struct espi_sparse part = {.map = &map, .n = last * p, .costs = s->costs, .buckets = s->buckets};
    part.strided = s->strided;
    part.even = s->even;
    part.even_kind = s->even_kind;
    part.uniform = s->uniform;
    part.runs_are_best = s->runs_are_best;
    part.drop_periods = part.keep_whole = true;
    part.ahead = s->ahead < 64 * (uint64_t)part.n ? s->ahead : 64 * (uint64_t)part.n;
    part.work_limit = s->work_limit - s->work;
    espi_status status = espi_sparse_begin(&part);
    for (uint32_t k = 2; k <= last && !status && !part.failed; k++) {
        struct espi_solution solution;
        status = espi_sparse_solve(&part, 0, k * p, cost, &solution);
        if (!status)
            part.failed = solution.cost < cost;
        espi_solution_release(&solution);
    }
    s->failed = part.failed;
    if (!status)
        status = espi_sparse_work(s, part.work);
    espi_sparse_finish(&part);
    return s->failed ? ESPI_ERR_LIMIT : status;
}
