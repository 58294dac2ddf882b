/* The dense exact solver: tables, helpers that no width changes, choice of the width. See dense_solve.h. */
#include "reconstruct/dense.h"

#include <stdlib.h>
#include <string.h>

enum { TILE = 4 };

/* An open hash table of stride -> count, emptied by counting up `round`. */
struct slot {
    int64_t stride;
    uint32_t round, count;
};

struct work {
    const struct espi_dense *dense;
    uint32_t *x[TILE]; /* common extensions of the rows of a tile */
    uint32_t *run_end; /* of each i: the largest e so that [i, e) is one strided run of equal items */
    void *rows;        /* 2 * TILE arrays of n + 1 values */
    int64_t *bucket;   /* scratch for espi_buckets_fewest */
    bool runs_win;     /* a run as a vec has the least cost that two or more items can have */
    int64_t two_edges; /* no path of two or more edges costs less */
    struct slot *slot;
    size_t mask;
    uint32_t *round;
};

/* The most frequent stride so far and how often it occurred. */
struct tally {
    int64_t stride;
    size_t most;
    uint32_t round; /* 0 until a second stride occurs */
};

static int64_t difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static struct slot *find(const struct work *work, uint32_t round, int64_t stride)
{
    size_t at = (size_t)(((uint64_t)stride * UINT64_C(0x9e3779b97f4a7c15)) >> 40) & work->mask;
    while (work->slot[at].round == round && work->slot[at].stride != stride) {
        at = (at + 1) & work->mask;
    }
    if (work->slot[at].round != round) {
        work->slot[at] = (struct slot){stride, round, 0};
    }
    return &work->slot[at];
}

/* The leading stride is counted in the tally, others in the table, so that regular input never meets the table. */
static inline void tally_add(const struct work *work, struct tally *tally, int64_t stride)
{
    if (stride == tally->stride) {
        tally->most++;
        return;
    }
    if (tally->round == 0) {
        if (++*work->round == 0) { /* wrapped: old rounds could be taken for new ones */
            memset(work->slot, 0, (work->mask + 1) * sizeof *work->slot);
            *work->round = 1;
        }
        tally->round = *work->round;
    }
    struct slot *slot = find(work, tally->round, stride);
    slot->count++;
    if (slot->count > tally->most) {
        uint32_t most = slot->count;
        find(work, tally->round, tally->stride)->count = (uint32_t)tally->most;
        tally->stride = stride;
        tally->most = most;
    }
}

/* Row i of x from row i + 1 (`next`). */
static void extend(const struct work *work, size_t i, const uint32_t *next, uint32_t *x)
{
    const int64_t *disp = work->dense->disp;
    const uint32_t *symbol = work->dense->symbol;
    size_t n = work->dense->n;
    if (i + 1 == n) {
        return;
    }
    int64_t step = difference(disp[i + 1], disp[i]);
    for (size_t m = i + 1; m + 1 < n; m++) {
        uint32_t longer = difference(disp[m + 1], disp[m]) == step ? next[m + 1] : 0;
        x[m] = symbol[m] == symbol[i] ? 1 + longer : 0;
    }
    x[n - 1] = symbol[n - 1] == symbol[i];
}

#define VALUE int16_t
#define BITS 16
#define NAME(x) x##_16
#include "reconstruct/dense_solve.h"
#undef VALUE
#undef BITS
#undef NAME
#define VALUE int32_t
#define BITS 32
#define NAME(x) x##_32
#include "reconstruct/dense_solve.h"
#undef VALUE
#undef BITS
#undef NAME
#define VALUE int64_t
#define BITS 64
#define NAME(x) x##_64
#include "reconstruct/dense_solve.h"

int64_t espi_dense_best(const struct espi_dense *dense, size_t i, size_t e)
{
    size_t at = e * (e - 1) / 2 + i;
    return dense->bits == 16   ? ((const int16_t *)dense->best)[at]
           : dense->bits == 32 ? ((const int32_t *)dense->best)[at]
                               : ((const int64_t *)dense->best)[at];
}

int64_t espi_dense_edge(const struct espi_dense *dense, size_t i, size_t e)
{
    size_t at = e * (e - 1) / 2 + i;
    return dense->bits == 16   ? ((const int16_t *)dense->edge)[at]
           : dense->bits == 32 ? ((const int32_t *)dense->edge)[at]
                               : ((const int64_t *)dense->edge)[at];
}

void espi_dense_release(struct espi_dense *dense)
{
    free(dense->edge);
    free(dense->best);
    dense->edge = dense->best = NULL;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * The bounds that let the program skip work; `light` is the least weight of an item.
 * A tree of two or more items has a node that repeats at least two blocks or a struc of at least two children, and at
 * least one item below it. So a run of one symbol costs at least its weight and the cheapest such node; if that is
 * vec, nothing beats vec(c, s, item). A path of two edges costs at least 2 * (struc_each + light).
 */
static void set_bounds(struct work *work, int64_t light)
{
    const struct espi_costs *costs = &work->dense->costs;
    int64_t other = least_of(costs->idx + 2 * costs->idx_each, costs->struc + 2 * costs->struc_each + light);
    if (work->dense->set != ESPI_SET_BASIC) {
        other = least_of(other, costs->idxbuc + costs->idxbuc_each);
    }
    if (work->dense->set == ESPI_SET_EXTENDED) {
        other = least_of(other, costs->bucket + costs->bucket_each);
    }
    work->runs_win = costs->vec <= other;
    work->two_edges = 2 * (costs->struc_each + light);
}

static void set_run_ends(struct work *work)
{
    const struct espi_dense *dense = work->dense;
    size_t n = dense->n;
    for (size_t i = n; i-- > 0;) {
        work->run_end[i] = (uint32_t)(i + 1);
        if (i + 1 < n && dense->symbol[i] == dense->symbol[i + 1]) {
            work->run_end[i] = (uint32_t)(i + 2);
            if (i + 2 < n && work->run_end[i + 1] > i + 2 &&
                difference(dense->disp[i + 1], dense->disp[i]) ==
                    difference(dense->disp[i + 2], dense->disp[i + 1])) {
                work->run_end[i] = work->run_end[i + 1];
            }
        }
    }
}

espi_status espi_dense_solve(struct espi_dense *dense)
{
    size_t n = dense->n, cells = n * (n + 1) / 2, bytes;
    struct work work = {.dense = dense, .mask = 1};
    uint32_t round = 0;
    int64_t heavy = 0, light = INT64_MAX;
    espi_status status = ESPI_ERR_MEMORY;
    dense->edge = dense->best = NULL;
    if (n == 0) {
        return ESPI_ERR_ARGUMENT;
    }
    if (n > 1 << 20) {
        return ESPI_ERR_LIMIT; /* 2^40 cells */
    }
    for (uint32_t s = 0; s < dense->symbols; s++) {
        heavy = dense->weight[s] > heavy ? dense->weight[s] : heavy;
        light = least_of(light, dense->weight[s]);
    }
    /* No value that matters exceeds the struc of all items; see INFINITE. */
    int64_t most;
    if (__builtin_mul_overflow((int64_t)n, dense->costs.struc_each + heavy, &most) || most > INT64_MAX / 8) {
        return ESPI_ERR_OVERFLOW;
    }
    most += dense->costs.struc + dense->costs.struc_each;
    dense->bits = most < 1 << 14 ? 16 : most < 1 << 30 ? 32 : 64;
    bytes = (size_t)dense->bits / 8;
    while (work.mask + 1 < 2 * n) {
        work.mask = 2 * work.mask + 1;
    }
    dense->edge = malloc(cells * bytes);
    dense->best = malloc(cells * bytes);
    work.rows = malloc(2 * TILE * (n + 1) * bytes);
    work.run_end = malloc(n * sizeof *work.run_end);
    work.x[0] = malloc(TILE * n * sizeof *work.x[0]);
    work.slot = calloc(work.mask + 1, sizeof *work.slot);
    work.bucket = calloc(n + 3, sizeof *work.bucket);
    work.round = &round;
    if (dense->edge == NULL || dense->best == NULL || work.rows == NULL || work.run_end == NULL ||
        work.x[0] == NULL || work.slot == NULL || work.bucket == NULL) {
        goto done;
    }
    for (int k = 1; k < TILE; k++) {
        work.x[k] = work.x[0] + (size_t)k * n;
    }
    set_bounds(&work, light);
    set_run_ends(&work);
    if (dense->bits == 16) {
        solve_16(&work);
    } else if (dense->bits == 32) {
        solve_32(&work);
    } else {
        solve_64(&work);
    }
    status = ESPI_OK;
done:
    free(work.rows);
    free(work.run_end);
    free(work.x[0]);
    free(work.slot);
    free(work.bucket);
    if (status != ESPI_OK) {
        espi_dense_release(dense);
    }
    return status;
}
