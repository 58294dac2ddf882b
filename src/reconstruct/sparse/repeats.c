/*
 * Finds every square (u, q) whose block is not a strided run of leaves, as intervals (Lemma 8).
 *
 * The string of symbols is cut into tokens (runs of one symbol). Such a block contains a token boundary, and its mate
 * q symbols on is a boundary between the same symbols, J tokens on. For J = 2, 3 every boundary is tried. Else at
 * least J - 3 whole tokens of the block are repeated J tokens on; with 2W - 1 <= J - 3 they contain W tokens that
 * start at a multiple of W. So for W = 1, 2, 4, ... it is enough to compare the hash of the W tokens at each
 * multiple of W with the W tokens J on, for 2W + 2 <= J < 4W + 2: about 2 comparisons of words per token and W, read
 * in order. Hits are extended symbol by symbol, so a collision of hashes costs time only.
 */
#include "reconstruct/sparse/sparse.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* From so many periods on, squares of multiples are left out (Lemma 6). With fewer there are not many, and to solve
   their blocks as they come takes less than to certify in maps of their own, one within the other, that they do not
   matter: words with many short runs (Sturmian words, morphisms) took 10 to 1000 times as long otherwise. */
enum { WORTH_DROPPING = 8 };

struct finder {
    struct espi_sparse *s;
    uint32_t *hash; /* of the W tokens from here */
};

static espi_status add_interval(struct espi_sparse *s, struct espi_interval interval)
{
    espi_status status =
        espi_sparse_grow(&s->intervals, &s->intervals_cap, s->nintervals + 1, sizeof *s->intervals);
    if (!status) {
        s->intervals[s->nintervals++] = interval;
        status = espi_sparse_work(s, 4);
    }
    return status;
}

static uint32_t tok_len(const struct espi_sparse *s, uint32_t j)
{
    return s->tok_at[j + 1] - s->tok_at[j];
}

static uint32_t tok_sym(const struct espi_sparse *s, uint32_t j)
{
    return s->sym[s->tok_at[j]];
}

/* Is the match of boundary j with boundary j + J one between two symbols of a known periodic run? Those squares are
   already listed. */
static bool inside_run(const struct espi_sparse *s, uint32_t j, uint32_t q)
{
    uint32_t at = s->tok_at[j];
    for (uint32_t l = s->run_list[j]; l != ESPI_SPARSE_NONE; l = s->run_links[l].next) {
        const struct espi_period_run *r = &s->runs[s->run_links[l].run];
        if (q % r->period == 0 && at >= r->lo && at + q < r->hi)
            return true;
    }
    return false;
}

/* Symbols [lo, hi) have period q: list the squares of all its multiples, and mark its tokens. */
static espi_status add_run(struct espi_sparse *s, uint32_t lo, uint32_t hi, uint32_t q)
{
    espi_status status = espi_sparse_grow(&s->runs, &s->runs_cap, s->nruns + 1, sizeof *s->runs);
    if (status)
        return status;
    uint32_t id = (uint32_t)s->nruns++;
    uint32_t most = (hi - lo + 1) / 2 / q; /* a square of k periods has 2kq entries, the run hi - lo + 1 */
    bool drops = s->drop_periods && most >= WORTH_DROPPING && !(s->keep_whole && lo == 0 && hi == s->n - 1);
    s->runs[id] = (struct espi_period_run){lo, hi, q, most, drops, espi_sparse_least_struct(s, 2, q), NULL};
    for (uint32_t k = 1; k <= (drops ? 1 : most) && !status; k++)
        status = add_interval(s, (struct espi_interval){k * q, lo, hi - k * q, id, k});
    if (most < 2)
        return status;
    for (uint32_t j = s->tok_of[lo]; j <= s->tok_of[hi - 1] && !status; j++) {
        status = espi_sparse_grow(&s->run_links, &s->run_links_cap, s->nrun_links + 1, sizeof *s->run_links);
        if (!status) {
            s->run_links[s->nrun_links] = (struct espi_run_link){id, s->run_list[j]};
            s->run_list[j] = (uint32_t)s->nrun_links++;
            status = espi_sparse_work(s, 1);
        }
    }
    return status;
}

/* How many symbols from a and from b, a < b, are equal; counts token comparisons. */
static uint32_t match_right(const struct espi_sparse *s, uint32_t a, uint32_t b, uint32_t most, uint32_t *steps)
{
    uint32_t n = s->n - 1, sum = 0;
    while (b + sum < n && sum < most && s->sym[a + sum] == s->sym[b + sum]) {
        uint32_t x = s->tok_at[s->tok_of[a + sum] + 1] - a, y = s->tok_at[s->tok_of[b + sum] + 1] - b;
        sum = x < y ? x : y;
        ++*steps;
    }
    return sum;
}

/* The same for those before a and before b. */
static uint32_t match_left(const struct espi_sparse *s, uint32_t a, uint32_t b, uint32_t *steps)
{
    uint32_t sum = 0;
    while (a > sum && s->sym[a - sum - 1] == s->sym[b - sum - 1]) {
        uint32_t x = a - s->tok_at[s->tok_of[a - sum - 1]], y = b - s->tok_at[s->tok_of[b - sum - 1]];
        sum = x < y ? x : y;
        ++*steps;
    }
    return sum;
}

/* Two different runs of one period that hold a and b: as soon as one period matches, all does up to the nearer ends
   of the runs, where one goes on with its period and the other does not. Without this, the many pairs of like runs
   whose match is too short for a square would all be read through. */
static bool in_like_runs(const struct espi_sparse *s, uint32_t a, uint32_t b, const struct espi_period_run **x,
                         const struct espi_period_run **y)
{
    enum { WORTH = 12 };
    for (uint32_t k = s->run_list[s->tok_of[a]]; k != ESPI_SPARSE_NONE; k = s->run_links[k].next) {
        *x = &s->runs[s->run_links[k].run];
        if (a < (*x)->lo || a + (*x)->period > (*x)->hi || (*x)->hi - (*x)->lo < WORTH)
            continue;
        for (uint32_t l = s->run_list[s->tok_of[b]]; l != ESPI_SPARSE_NONE; l = s->run_links[l].next) {
            *y = &s->runs[s->run_links[l].run];
            if (*x != *y && (*x)->period == (*y)->period && b >= (*y)->lo && b + (*y)->period <= (*y)->hi)
                return true;
        }
    }
    return false;
}

/* Position a may match position b = a + q: the maximal interval. */
static espi_status extend_match(struct espi_sparse *s, uint32_t a, uint32_t b)
{
    uint32_t q = b - a, left = 0, right = 0, steps = 2;
    const struct espi_period_run *x, *y;
    if (in_like_runs(s, a, b, &x, &y) && match_right(s, a, b, x->period, &steps) >= x->period) {
        uint32_t l1 = a - x->lo, l2 = b - y->lo, r1 = x->hi - a, r2 = y->hi - b;
        left = l1 < l2 ? l1 : l2;
        right = r1 < r2 ? r1 : r2;
        if (l1 == l2)
            left += match_left(s, a - left, b - left, &steps);
        if (r1 == r2)
            right += match_right(s, a + right, b + right, UINT32_MAX, &steps);
    } else {
        right = match_right(s, a, b, UINT32_MAX, &steps);
        left = match_left(s, a, b, &steps);
    }
    espi_status status = espi_sparse_work(s, steps);
    uint32_t lo = a - left, hi = a + right;
    if (status || hi - lo + 1 < q || hi == lo || s->tok_of[lo] == s->tok_of[hi - 1])
        return status; /* too short, or without a boundary */
    if (hi - lo >= q && !inside_run(s, s->tok_of[a], q))
        return add_run(s, lo, hi + q, q);
    return add_interval(s, (struct espi_interval){q, lo, hi, ESPI_SPARSE_NONE, 0});
}

static espi_status try_near(struct espi_sparse *s)
{
    espi_status status = ESPI_OK;
    for (uint32_t J = 2; J <= 3; J++)
        for (uint32_t j = 1; j + J < s->ntok && !status; j++) {
            if (tok_sym(s, j) != tok_sym(s, j + J) || tok_sym(s, j - 1) != tok_sym(s, j + J - 1))
                continue;
            bool seen = j >= 2 && tok_len(s, j - 1) == tok_len(s, j + J - 1) &&
                        tok_sym(s, j - 2) == tok_sym(s, j + J - 2);
            if (!seen && !inside_run(s, j, s->tok_at[j + J] - s->tok_at[j]))
                status = extend_match(s, s->tok_at[j], s->tok_at[j + J]);
        }
    return status;
}

/* All hits of the window of W tokens at j with windows lo <= k < hi. */
static espi_status scan_windows(const struct finder *f, uint32_t j, uint32_t W, uint32_t lo, uint32_t hi)
{
    enum { CHUNK = 32 };
    struct espi_sparse *s = f->s;
    const uint32_t *hash = f->hash, key = hash[j];
    espi_status status = ESPI_OK;
    for (uint32_t k = lo; k < hi && !status; k += CHUNK) {
        uint32_t end = hi - k < CHUNK ? hi : k + CHUNK;
        if (end == k + CHUNK) {
            uint32_t hits = 0;
            for (int i = 0; i < CHUNK; i++)
                hits += hash[k + i] == key;
            if (!hits)
                continue;
        }
        for (uint32_t i = k; i < end && !status; i++)
            if (hash[i] == key && !(j >= W && hash[j - W] == hash[i - W]) &&
                !inside_run(s, j, s->tok_at[i] - s->tok_at[j]))
                status = extend_match(s, s->tok_at[j], s->tok_at[i]);
    }
    return status;
}

static uint32_t hash_pair(uint32_t a, uint32_t b)
{
    return (uint32_t)(espi_mix(espi_mix(0, a), b) >> 32);
}

static espi_status try_far(struct finder *f)
{
    struct espi_sparse *s = f->s;
    uint32_t n = s->ntok;
    espi_status status = ESPI_OK;
    for (uint32_t j = 0; j < n; j++)
        f->hash[j] = hash_pair(tok_sym(s, j), tok_len(s, j));
    for (uint32_t W = 1; (uint64_t)3 * W + 2 <= n && !status; W *= 2) {
        for (uint32_t j = 0; (uint64_t)j + 3 * (uint64_t)W + 2 <= n && !status; j += W) {
            uint64_t end = (uint64_t)j + 4 * (uint64_t)W + 2, last = (uint64_t)n - W + 1;
            status = scan_windows(f, j, W, j + 2 * W + 2, (uint32_t)(end < last ? end : last));
        }
        for (uint32_t j = 0; (uint64_t)j + 2 * (uint64_t)W <= n; j++)
            f->hash[j] = hash_pair(f->hash[j], f->hash[j + W]);
        if (!status)
            status = espi_sparse_work(s, n / 4);
    }
    return status;
}

static int by_block(const void *a, const void *b)
{
    const struct espi_interval *x = a, *y = b;
    if (x->q != y->q)
        return x->q < y->q ? -1 : 1;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

espi_status espi_sparse_repeats(struct espi_sparse *s)
{
    if (s->ntok < 3)
        return ESPI_OK;
    s->run_list = espi_arena_alloc(&s->scratch, s->ntok * sizeof *s->run_list);
    struct finder f = {s, malloc(s->ntok * sizeof *f.hash)};
    espi_status status = s->run_list && f.hash ? ESPI_OK : ESPI_ERR_MEMORY;
    if (!status) {
        memset(s->run_list, 0xff, s->ntok * sizeof *s->run_list);
        status = try_near(s);
    }
    if (!status)
        status = try_far(&f);
    free(f.hash);
    if (status)
        return status;
    if (s->nintervals)
        qsort(s->intervals, s->nintervals, sizeof *s->intervals, by_block);
    size_t kept = 0;
    for (size_t i = 0; i < s->nintervals; i++)
        if (i == 0 || by_block(&s->intervals[i], &s->intervals[i - 1]) != 0)
            s->intervals[kept++] = s->intervals[i];
    s->nintervals = kept;
    return ESPI_OK;
}
