/*
 * Inside a run of period p, blocks of k periods with k > keep need no squares of their own (Lemma 6).
 *
 * The lemma: let [u, u + kp) lie in the run. Either C(u, kp) >= C(u, k'p) for some 1 <= k' < k, or its best tree is a
 * struct whose parts are shorter than 2p. Parts of one entry cost struc_each + leaf, longer ones at least `uniform`
 * more, so the cost of such a struct has a lower bound that grows with k; beyond `keep` the bound passes an upper
 * bound of C(u, p). What is left to check, when all costs are known, is C(u, kp) >= C(u, p) for 2 <= k <= keep.
 */
#include "reconstruct/sparse.h"

#include <stdlib.h>

static int by_symbol(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* How often the most frequent symbol occurs in one period; 0 when memory is short (a valid lower bound). */
static uint32_t most_frequent(const struct espi_sparse *s, uint32_t at, uint32_t period)
{
    size_t n = 0;
    uint32_t (*tok)[2] = malloc((s->tok_of[at + period - 1] - s->tok_of[at] + 1) * sizeof *tok);
    if (!tok)
        return 0;
    for (uint32_t i = at; i < at + period;) {
        uint32_t end = s->tok_at[s->tok_of[i] + 1];
        end = end > at + period ? at + period : end;
        tok[n][0] = s->sym[i];
        tok[n++][1] = end - i;
        i = end;
    }
    qsort(tok, n, sizeof *tok, by_symbol);
    uint32_t best = 0;
    for (size_t i = 0; i < n;) {
        uint32_t sum = 0, symbol = tok[i][0];
        for (; i < n && tok[i][0] == symbol; i++)
            sum += tok[i][1];
        best = sum > best ? sum : best;
    }
    free(tok);
    return best;
}

/* Least cost of struct parts shorter than 2p that have k * p entries in all. */
static int64_t least_struct(const struct espi_sparse *s, uint64_t k, uint64_t p)
{
    int64_t one = s->costs.struc_each + s->costs.leaf, more = one + s->uniform;
    uint64_t longest = 2 * p - 1, whole = k * p / longest, rest = k * p % longest;
    int64_t tail = (int64_t)rest * one < more ? (int64_t)rest * one : more;
    int64_t by_long = (int64_t)whole * more + tail; /* the extremes of a linear program with one constraint */
    int64_t by_one = (int64_t)(k * p) * one;
    return s->costs.struc + (by_long < by_one ? by_long : by_one);
}

uint32_t espi_sparse_periods_kept(struct espi_sparse *s, uint32_t at, uint32_t period, uint32_t tokens,
                                  uint32_t periods)
{
    const struct espi_costs *c = &s->costs;
    /* p entries of any rotation are at most tokens + 2 strided runs */
    int64_t most = c->struc + ((int64_t)tokens + 2) * (c->struc_each + c->leaf + s->uniform);
    if (s->base_end[at] > at + period) {
        int64_t list = c->leaf + c->idx + c->idx_each * period;
        most = list < most ? list : most;
        if (s->buckets) {
            list = c->leaf + c->idxbuc + c->idxbuc_each * ((int64_t)period - most_frequent(s, at, period));
            most = list < most ? list : most;
        }
    }
    uint32_t keep = 1;
    while (keep < periods && least_struct(s, keep + 1, period) < most)
        keep++;
    return keep;
}

static const struct espi_family *family_at(const struct espi_sparse *s, uint32_t u, uint32_t q)
{
    for (uint32_t i = s->first[u]; i < s->first[u + 1]; i++)
        if (s->square[i].q == q)
            return &s->families[s->square[i].family];
    return NULL;
}

bool espi_sparse_periods_hold(const struct espi_sparse *s)
{
    for (size_t i = 0; i < s->nintervals; i++) {
        const struct espi_interval *m = &s->intervals[i];
        if (m->run == ESPI_SPARSE_NONE || m->multiple < 2 || !s->runs[m->run].drops)
            continue;
        /* the first p starts stand for all, the run being periodic */
        uint32_t p = s->runs[m->run].period;
        for (uint32_t u = m->lo; u < m->lo + p && u + m->q - 1 <= m->hi; u++) {
            const struct espi_family *whole = family_at(s, u, m->q), *one = family_at(s, u, p);
            if (whole && one && whole->cost < one->cost)
                return false;
        }
    }
    return true;
}
