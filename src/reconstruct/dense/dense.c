/* The dense exact solver: tables, helpers that no width changes, choice of the width. See solve.h. */
#include "reconstruct/dense/dense.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cpu.h"
#include "base/hash.h"

enum { MOST_LANES = 32, BLOCK = 32 };

/* An open hash table of stride -> count, emptied by counting up `round`. */
struct slot {
    int64_t stride;
    uint32_t round, count;
};

struct work {
    const struct espi_dense *dense;
    uint32_t *x[MOST_LANES]; /* common extensions of the rows of a tile */
    uint32_t *run_end; /* of each i: the largest e so that [i, e) is one strided run of equal items */
    uint32_t *stride;  /* of each i > 0: number of the distance to i - 1 */
    size_t strides;
    int64_t **run;     /* per symbol: run[l] = least cost of a strided run of l items, without a struc at the root */
    int64_t one_edge;  /* no edge costs less */
    int64_t uniform;   /* least cost of a repetition of uniform stride over its block */
    void *rows;        /* arrays of n + 1 vectors: paths and roots; see solve */
    void *modes[2];    /* arrays of a vector per stride */
    uint32_t *kept;    /* a mask of lanes per vector of the tables */
    size_t known;      /* of this tile: columns up to this one are like those of rows that are filled */
    size_t never;      /* columns up to this one are known to every tile, and need no lists of candidates */
    uint64_t *touched;
    uint32_t *squares, *roots; /* per column: lanes */
    int64_t *bucket;   /* scratch for espi_buckets_fewest */
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

static struct slot *find_stride(const struct work *work, uint32_t round, int64_t stride)
{
    size_t at = espi_mix(0, (uint64_t)stride) & work->mask;
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
    struct slot *slot = find_stride(work, tally->round, stride);
    slot->count++;
    if (slot->count > tally->most) {
        uint32_t most = slot->count;
        find_stride(work, tally->round, tally->stride)->count = (uint32_t)tally->most;
        tally->stride = stride;
        tally->most = most;
    }
}

/* Row i of x from row i + 1 (`next`). */
static void extend_row(const struct work *work, size_t i, const uint32_t *next, uint32_t *x)
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

bool espi_dense_can(enum espi_dense_code code)
{
    return code == ESPI_DENSE_BEST || (int)code - ESPI_DENSE_PLAIN <= (int)espi_cpu_vectors();
}

/* The tables are stored tile by tile, as they are filled: columns of a vector each. */
static size_t place_of(const struct espi_dense *dense, size_t i, size_t e)
{
    size_t n = dense->n, lanes = 512 / (size_t)dense->bits, tile = (n - 1 - i) / lanes;
    size_t low = n > (tile + 1) * lanes ? n - (tile + 1) * lanes : 0;
    return lanes * lanes * (tile * (tile + 1) / 2) + (e - low - 1) * lanes + (n - 1 - i) % lanes;
}

/* The greatest of x[from .. n - 1] and where it is; 0 if there is none. */
static uint32_t longest_match(const uint32_t *x, size_t from, size_t n, size_t *where)
{
    uint32_t most = 0;
    for (size_t m = from; m < n; m++) {
        most = x[m] > most ? x[m] : most;
    }
    *where = n - 1;
    for (size_t m = from; m < n && most > 0; m++) {
        if (x[m] == most) {
            *where = m;
            break;
        }
    }
    return most;
}

/* How long row 0 goes on like some row m >= from: x(0, m) for growing m, beginning with what a row before tells. */
static size_t goes_on(const struct work *work, size_t from, uint32_t *x)
{
    const int64_t *disp = work->dense->disp;
    const uint32_t *symbol = work->dense->symbol;
    size_t n = work->dense->n, origin = 0, end = 0, most = 0;
    for (size_t m = 1; m < n; m++) {
        size_t l = m >= end ? 0 : x[m - origin] < end - m ? x[m - origin] : end - m;
        while (m + l < n && symbol[l] == symbol[m + l] &&
               (l == 0 || difference(disp[l], disp[l - 1]) == difference(disp[m + l], disp[m + l - 1]))) {
            l++;
        }
        x[m] = (uint32_t)l;
        if (m + l > end) {
            origin = m;
            end = m + l;
        }
        most = m >= from && l > most ? l : most;
    }
    return most;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#ifndef __clang__ /* which vectorizes at -O2 anyway, and warns where it is told not to */
#define SIMD _Pragma("omp simd")
#else
#define SIMD
#endif

#define VALUE int16_t
#define BITS 16
#define NAME(x) x##_16
#include "reconstruct/dense/solve.h"
#undef VALUE
#undef BITS
#undef NAME
#define VALUE int32_t
#define BITS 32
#define NAME(x) x##_32
#include "reconstruct/dense/solve.h"
#undef VALUE
#undef BITS
#undef NAME
#define VALUE int64_t
#define BITS 64
#define NAME(x) x##_64
#include "reconstruct/dense/solve.h"

static int64_t value_at(const struct espi_dense *dense, const void *table, size_t at)
{
    return dense->bits == 16   ? ((const int16_t *)table)[at]
           : dense->bits == 32 ? ((const int32_t *)table)[at]
                               : ((const int64_t *)table)[at];
}

static int64_t value_of(const struct espi_dense *dense, const void *table, size_t i, size_t e)
{
    return value_at(dense, table, place_of(dense, i, e));
}

int64_t espi_dense_edge(const struct espi_dense *dense, size_t i, size_t e)
{
    return value_of(dense, dense->edge, i, e);
}

int64_t espi_dense_path(const struct espi_dense *dense, size_t i, size_t e)
{
    return i == e ? 0 : value_of(dense, dense->path, i, e);
}

int64_t espi_dense_best(const struct espi_dense *dense, size_t i, size_t e)
{
    return least_of(espi_dense_edge(dense, i, e) - dense->costs.struc_each,
                    espi_dense_path(dense, i, e) + dense->costs.struc);
}

void espi_dense_paths(const struct espi_dense *dense, size_t i, size_t e, int64_t *path)
{
    size_t lanes = 512 / (size_t)dense->bits, at = place_of(dense, i, i + 1);
    path[0] = 0;
    for (size_t k = 1; k <= e - i; k++, at += lanes) {
        path[k] = value_at(dense, dense->path, at);
    }
}

size_t espi_dense_last_edge(const struct espi_dense *dense, size_t i, size_t e, const int64_t *path)
{
    size_t lanes = 512 / (size_t)dense->bits;
    for (size_t j = i; j + 1 < e;) { /* the sources of one tile stand side by side */
        size_t rows = (dense->n - 1 - j) % lanes + 1, at = place_of(dense, j, e);
        for (; rows > 0 && j + 1 < e; rows--, j++, at--) {
            if (path[j - i] + value_at(dense, dense->edge, at) == path[e - i]) {
                return j;
            }
        }
    }
    return e - 1;
}

void espi_dense_release(struct espi_dense *dense)
{
    free(dense->edge);
    free(dense->path);
    dense->edge = dense->path = NULL;
}

static void set_uniform(struct work *work)
{
    const struct espi_costs *costs = &work->dense->costs;
    work->uniform = costs->vec;
    if (work->dense->set != ESPI_SET_BASIC) {
        work->uniform = least_of(work->uniform, costs->idxbuc + costs->idxbuc_each);
    }
    if (work->dense->set == ESPI_SET_EXTENDED) {
        work->uniform = least_of(work->uniform, costs->bucket + costs->bucket_each);
    }
}

/* Distances between neighbours, numbered. */
static void set_strides(struct work *work)
{
    const int64_t *disp = work->dense->disp;
    uint32_t round = ++*work->round;
    work->strides = 0;
    for (size_t i = 1; i < work->dense->n; i++) {
        struct slot *slot = find_stride(work, round, difference(disp[i], disp[i - 1]));
        if (slot->count == 0) {
            slot->count = (uint32_t)++work->strides;
        }
        work->stride[i] = slot->count - 1;
    }
}

/*
 * Inside one strided run costs depend on lengths only: R(l) = min over q | l of C(q) + the cheapest node over l / q
 * copies at one stride, C(l) = min(R(l), struc + F(l)), F the paths. O(l^2) once, instead of for every place.
 */
static bool set_runs(struct work *work)
{
    const struct espi_dense *dense = work->dense;
    const struct espi_costs *costs = &dense->costs;
    size_t n = dense->n;
    int64_t *path = malloc((n + 1) * sizeof *path);
    for (size_t i = 0; i < n && path != NULL; i++) { /* the longest run of each symbol */
        size_t length = 0;
        uint32_t symbol = dense->symbol[i];
        if (work->run[symbol] != NULL) {
            continue;
        }
        for (size_t j = i; j < n; j++) {
            if (dense->symbol[j] == symbol && work->run_end[j] - j > length) {
                length = work->run_end[j] - j;
            }
        }
        int64_t *run = work->run[symbol] = malloc((length + 1) * sizeof *run);
        if (run == NULL) {
            break;
        }
        for (size_t l = 0; l <= length; l++) {
            run[l] = INT64_MAX / 4;
            path[l] = INT64_MAX / 4;
        }
        path[0] = 0;
        run[1] = dense->weight[symbol];
        for (size_t l = 1; l <= length; l++) {
            int64_t least = INT64_MAX / 4;
            for (size_t k = 0; k < l; k++) {
                least = least_of(least, path[k] + run[l - k]);
            }
            path[l] = least + costs->struc_each;
            int64_t best = least_of(run[l], costs->struc + path[l]);
            for (size_t c = 2; c * l <= length; c++) {
                int64_t root = least_of(work->uniform, costs->idx + (int64_t)c * costs->idx_each);
                run[c * l] = least_of(run[c * l], best + root);
            }
        }
    }
    bool done = path != NULL;
    for (size_t i = 0; i < n && done; i++) {
        done = work->run[dense->symbol[i]] != NULL;
    }
    free(path);
    return done;
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

/* Memory for a table, in large pages where the system has them. */
static void *map_table(size_t bytes)
{
    const size_t page = (size_t)2 << 20;
    if (bytes < 2 * page) {
        return aligned_alloc(64, bytes);
    }
    void *at = aligned_alloc(page, (bytes + page - 1) / page * page);
#ifdef MADV_HUGEPAGE
    if (at != NULL) {
        (void)madvise(at, (bytes + page - 1) / page * page, MADV_HUGEPAGE); /* only time is lost without them */
    }
#endif
    return at;
}

espi_status espi_dense_solve(struct espi_dense *dense)
{
    size_t n = dense->n, cells, bytes, lanes, tiles;
    struct work work = {.dense = dense, .mask = 1};
    uint32_t round = 0;
    int64_t heavy = 0, light = INT64_MAX;
    espi_status status = ESPI_ERR_MEMORY;
    dense->edge = dense->path = NULL;
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
    if (!espi_dense_can(dense->code)) {
        return ESPI_ERR_ARGUMENT;
    }
    if (__builtin_mul_overflow((int64_t)n, dense->costs.struc_each + heavy, &most) || most > INT64_MAX / 8) {
        return ESPI_ERR_OVERFLOW;
    }
    int64_t list = dense->costs.idx + (int64_t)n * dense->costs.idx_each + heavy + dense->costs.struc_each;
    if (dense->symbols == 1 && list < most) {
        most = list; /* nor the one edge of a list */
    }
    most += dense->costs.struc + dense->costs.struc_each;
    dense->bits = most < (1 << 14) - 1 && dense->least_bits <= 16 ? 16
                  : most < (1 << 30) - 1 && dense->least_bits <= 32 ? 32 : 64;
    bytes = (size_t)dense->bits / 8;
    lanes = 64 / bytes;
    tiles = (n + lanes - 1) / lanes;
    cells = lanes * lanes * (tiles * (tiles + 1) / 2);
    while (work.mask + 1 < 2 * n) {
        work.mask = 2 * work.mask + 1;
    }
    dense->edge = map_table(cells * bytes);
    dense->path = map_table(cells * bytes);
    work.rows = aligned_alloc(64, 64 * (2 * (n + 1) + n / BLOCK + 1));
    work.modes[0] = aligned_alloc(64, 2 * 64 * n);
    work.modes[1] = (char *)work.modes[0] + 64 * n;
    work.kept = malloc(cells / lanes * sizeof *work.kept);
    work.touched = calloc(n, sizeof *work.touched);
    work.squares = malloc(2 * (n + 1) * sizeof *work.squares);
    work.roots = work.squares + n + 1;
    work.run_end = malloc(n * sizeof *work.run_end);
    work.stride = malloc(n * sizeof *work.stride);
    work.run = calloc(dense->symbols, sizeof *work.run);
    work.x[0] = malloc(lanes * n * sizeof *work.x[0]);
    work.slot = calloc(work.mask + 1, sizeof *work.slot);
    work.bucket = calloc(n + 3, sizeof *work.bucket);
    work.round = &round;
    if (dense->edge == NULL || dense->path == NULL || work.rows == NULL || work.modes[0] == NULL ||
        work.kept == NULL || work.touched == NULL || work.squares == NULL || work.run_end == NULL ||
        work.stride == NULL || work.run == NULL || work.x[0] == NULL || work.slot == NULL || work.bucket == NULL) {
        goto done;
    }
    for (size_t k = 1; k < lanes; k++) {
        work.x[k] = work.x[0] + k * n;
    }
    work.one_edge = dense->costs.struc_each + light;
    /* The lowest row of every tile goes on at least to there: x(i + k, m + k) >= x(i, m) - k, and m + k is beyond the
       tile of i + k if m >= lanes. */
    work.never = goes_on(&work, lanes, work.x[0]);
    set_uniform(&work);
    set_run_ends(&work);
    set_strides(&work);
    if (set_runs(&work)) {
        bool solved = dense->bits == 16 ? solve_16(&work) : dense->bits == 32 ? solve_32(&work) : solve_64(&work);
        status = solved ? ESPI_OK : ESPI_ERR_MEMORY;
    }
done:
    for (uint32_t s = 0; work.run != NULL && s < dense->symbols; s++) {
        free(work.run[s]);
    }
    free(work.rows);
    free(work.modes[0]);
    free(work.kept);
    free(work.touched);
    free(work.squares);
    free(work.run_end);
    free(work.stride);
    free(work.run);
    free(work.x[0]);
    free(work.slot);
    free(work.bucket);
    if (status != ESPI_OK) {
        espi_dense_release(dense);
    }
    return status;
}
