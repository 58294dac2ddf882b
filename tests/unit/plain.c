/*
 * The recursion of the definition, segment by segment in order of length: a leaf; copies of a prefix, compared entry
 * by entry; a struct path over all cuts with parts of any kind. No dominance, no running minima. A map that starts
 * elsewhere than at 0 needs a second value, for prefixes only: the least cost of a tree that starts there.
 */
#include "plain.h"

#include <check.h>
#include <stdlib.h>

#include "random.h"

struct plain {
    const struct espi_typemap *map;
    const struct espi_costs *costs;
    bool buckets, strided;
    int64_t *fewest; /* [(i * (n + 1) + q) * (n + 1) + c]: strided buckets for c blocks of q at i; 0: impossible */
    int64_t *best; /* [i * (n + 1) + length] */
    int64_t *path; /* struct paths, likewise */
    int64_t *there; /* [length]: from entry 0, not moved to displacement 0 */
};

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool equal_blocks(const struct espi_typemap *map, size_t i, size_t k, size_t q)
{
    for (size_t t = 0; t < q; t++)
        if (map->base[i + t] != map->base[k + t] ||
            map->disp[i + t] - map->disp[i] != map->disp[k + t] - map->disp[k])
            return false;
    return true;
}

static size_t most_frequent(const struct espi_typemap *map, size_t i, size_t q, size_t c)
{
    const int64_t *d = map->disp + i;
    size_t most = 0;
    for (size_t a = 1; a < c; a++) {
        size_t times = 0;
        for (size_t b = 1; b < c; b++)
            times += d[b * q] - d[b * q - q] == d[a * q] - d[a * q - q];
        most = times > most ? times : most;
    }
    return most;
}

/* For all counts of the m equal blocks of q at d and one pair of strides: the buckets, as bits, that the last block
   can be in. */
static void place_blocks(const int64_t *d, size_t q, size_t m, int64_t s1, int64_t s2, int64_t *fewest)
{
    uint64_t in = 1;
    for (size_t k = 1; k < m && in != 0; k++) {
        uint64_t begin = 0;
        for (size_t b = 1; b <= k; b++)
            begin |= (uint64_t)(d[k * q] == d[0] + (int64_t)b * s1) << b;
        in = (d[k * q] - d[k * q - q] == s2 ? in : 0) | (in << 1 & begin);
        for (int64_t b = 0; b <= (int64_t)k; b++)
            if ((in >> b & 1) && (fewest[k + 1] == 0 || b + 1 < fewest[k + 1]))
                fewest[k + 1] = b + 1;
    }
}

/* Every pair of strides that buckets at i can have: the second begins at one of the blocks. */
static void fewest_buckets(struct plain *p, size_t i)
{
    const int64_t *d = p->map->disp + i;
    size_t n = p->map->n - i, n1 = p->map->n + 1;
    ck_assert(p->map->n <= 64);
    for (size_t q = 1; 2 * q <= n; q++) {
        size_t m = 1;
        while ((m + 1) * q <= n && equal_blocks(p->map, i, i + m * q, q))
            m++;
        for (size_t a = 1; a < m; a++) {
            bool seen = false;
            for (size_t b = 1; b < a && !seen; b++)
                seen = d[b * q] - d[b * q - q] == d[a * q] - d[a * q - q];
            for (size_t b = 0; b < m && !seen; b++)
                place_blocks(d, q, m, d[b * q] - d[0], d[a * q] - d[a * q - q],
                             p->fewest + ((i * n1) + q) * n1);
        }
    }
}

static void solve(struct plain *p, size_t i, size_t len)
{
    const struct espi_costs *k = p->costs;
    size_t n1 = p->map->n + 1;
    int64_t best = len == 1 ? k->leaf : INT64_MAX / 4, there = INT64_MAX / 4;
    for (size_t q = 1; q < len; q++) {
        size_t c = len / q;
        bool same = len % q == 0;
        for (size_t b = 1; b < c && same; b++)
            same = equal_blocks(p->map, i, i + b * q, q);
        if (!same)
            continue;
        size_t most = most_frequent(p->map, i, q, c);
        int64_t lists = k->idx + (int64_t)c * k->idx_each;
        if (p->buckets)
            lists = min64(lists, k->idxbuc + (int64_t)(c - most) * k->idxbuc_each);
        best = min64(best, lists + p->best[i * n1 + q]);
        there = min64(there, lists + p->best[i * n1 + q]);
        int64_t still = most + 1 == c ? k->vec : INT64_MAX / 4; /* takes up no shift */
        if (p->strided && p->fewest[(i * n1 + q) * n1 + c] > 0)
            still = min64(still, k->bucket + k->bucket_each * p->fewest[(i * n1 + q) * n1 + c]);
        best = min64(best, still + p->best[i * n1 + q]);
        if (i == 0)
            there = min64(there, still + p->there[q]);
    }
    int64_t path = k->struc_each + best;
    for (size_t j = 1; j < len; j++)
        path = min64(path, p->path[i * n1 + j] + k->struc_each + p->best[(i + j) * n1 + len - j]);
    best = min64(best, k->struc + path);
    p->best[i * n1 + len] = best;
    p->path[i * n1 + len] = min64(path, k->struc_each + best);
    if (i == 0) {
        int64_t wrap = min64(k->idx + k->idx_each, k->struc + k->struc_each);
        if (p->buckets)
            wrap = min64(wrap, k->idxbuc + k->idxbuc_each);
        p->there[len] = min64(min64(there, k->struc + path), wrap + best);
    }
}

int64_t plain_cost(const struct espi_typemap *map, enum espi_set set, const struct espi_costs *costs)
{
    size_t n = map->n, cells = n * (n + 1);
    struct plain p = {.map = map, .costs = costs, .buckets = set != ESPI_SET_BASIC, .best = malloc(cells * 8)};
    p.strided = set == ESPI_SET_EXTENDED;
    p.path = malloc(cells * 8);
    p.there = malloc((n + 1) * 8);
    p.fewest = calloc(p.strided ? cells * (n + 1) : 1, 8);
    ck_assert(p.best && p.path && p.there && p.fewest);
    for (size_t i = 0; i < n && p.strided; i++)
        fewest_buckets(&p, i);
    for (size_t len = 1; len <= n; len++)
        for (size_t i = 0; i + len <= n; i++)
            solve(&p, i, len);
    int64_t result = map->disp[0] == 0 ? p.best[n] : p.there[n];
    free(p.best);
    free(p.path);
    free(p.there);
    free(p.fewest);
    return result;
}

/* Rows at one pitch whose first places are filled, full rows among them, as differences of blocks of q entries. */
static int64_t ragged_rows(int64_t *diff, int64_t n)
{
    int64_t len = 0, pitch = random_in(1, 6), at = 0, step = random_in(0, 9) ? random_in(1, 9) : random_in(-3, 0);
    int64_t q = random_in(0, 2) ? 1 : random_in(2, 4), inner = random_in(1, 2), full = random_in(0, 4);
    int64_t odd = random_in(0, 3) ? 0 : random_in(-9, 9);
    while (len < n)
        for (int64_t row = at, filled = random_in(0, 4) < full ? pitch : random_in(1, pitch); filled > 0; filled--) {
            for (int64_t k = 1; k < q && len < n; k++)
                diff[len++] = k % 2 ? inner : inner + 1;
            int64_t next = filled > 1 ? at + step : row + pitch * step + odd;
            if (len < n)
                diff[len++] = next - at - (q - 1) / 2 * (2 * inner + 1) - (q - 1) % 2 * inner;
            at = next;
        }
    return len;
}

static int64_t word_differences(int64_t *diff, int64_t n)
{
    int64_t len = 0, kind = random_in(0, 7), letters = random_in(1, 4);
    int64_t a = random_in(1, 4), b = random_in(1, 9), x = random_in(-9, 9);
    switch (kind) {
    case 0: /* a periodic stretch */
        for (int64_t p = random_in(0, 2) ? random_in(1, 7) : random_in(8, 30), i = 0; i < n; i++)
            diff[len++] = i < p ? random_in(1, p < 8 ? letters : 9) : diff[i - p];
        break;
    case 1: /* powers within powers: a ruler */
        for (int64_t i = 1, base = random_in(2, 3); i <= n; i++) {
            int64_t level = 0;
            for (int64_t r = i; r % base == 0; r /= base)
                level++;
            diff[len++] = level < letters ? level + 1 : level * 10;
        }
        break;
    case 2: /* Fibonacci-like */
        for (int64_t i = 0; i < n; i++)
            diff[len++] = (i + 2) * 610 / 987 - (i + 1) * 610 / 987 ? a : b;
        break;
    case 3: /* runs of one stride, gaps between */
        while (len < n) {
            for (int64_t run = random_in(0, 6); run > 0 && len < n; run--)
                diff[len++] = a;
            if (len < n)
                diff[len++] = random_in(0, 2) ? b : random_in(-30, 30);
        }
        break;
    case 4: /* equal blocks at irregular starts */
        for (int64_t q = random_in(1, 6), i = 0; i < n; i++)
            diff[len++] = i % q == q - 1 ? random_in(0, 2) ? x : random_in(-99, 99) : i < q ? random_in(1, letters)
                                                                                            : diff[i % q];
        break;
    case 5:
    case 6:
        len = ragged_rows(diff, n);
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            diff[len++] = random_in(1, letters);
    }
    for (int64_t k = random_in(0, 3); k > 0 && len > 0; k--) /* defects */
        diff[random_in(0, len - 1)] = random_in(0, 1) ? b : x;
    if (len > 3 && random_in(0, 3) == 0) /* twice, joined by something */
        for (int64_t half = len / 2, i = half; i < len; i++)
            diff[i] = i == half ? x : diff[i - half - 1];
    return len;
}

void repetitive_map(struct espi_typemap *map, int64_t n)
{
    espi_base bases[2] = {espi_base_find("MPI_INT", 7), espi_base_find("MPI_DOUBLE", 10)};
    int64_t size = random_in(1, n), *diff = malloc((size_t)n * sizeof *diff);
    int64_t len = word_differences(diff, size), at = random_in(0, 3) ? 0 : random_in(-20, 20);
    int64_t mixed = random_in(0, 3) ? 0 : random_in(2, 7);
    for (int64_t i = 0; i < len; i++) {
        espi_base base = bases[mixed && i % mixed == 0];
        ck_assert_int_eq(espi_typemap_append(map, base, at), ESPI_OK);
        at += diff[i];
    }
    free(diff);
}
