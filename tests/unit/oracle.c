/*
 * Shares nothing with the product but the data types, and no cleverness: for every segment, every repetition length,
 * every stride that a bucket can have, and every way to split into the children of a struc (a path over all cut
 * positions per segment, children of any kind). A tree may start anywhere: a segment has one least cost for each of a
 * few start displacements, so that what the product takes from Lemma 7 is tested, not assumed.
 */
#include "oracle.h"

#include <stdlib.h>

#include "random.h"

enum { STARTS = 3 };
#define NEVER (INT64_MAX / 4)

struct oracle {
    const struct espi_typemap *map;
    enum espi_set set;
    const struct espi_costs *costs;
    int64_t start[STARTS]; /* 0, where the map starts, somewhere else */
    int64_t *cost;         /* [i][e][start] */
};

static int64_t *cell(struct oracle *o, size_t i, size_t e, int start)
{
    return &o->cost[(i * (o->map->n + 1) + e) * STARTS + (size_t)start];
}

static int64_t anywhere(struct oracle *o, size_t i, size_t e)
{
    int64_t least = NEVER;
    for (int s = 0; s < STARTS; s++) {
        least = *cell(o, i, e, s) < least ? *cell(o, i, e, s) : least;
    }
    return least;
}

static bool lower(int64_t *cost, int64_t value)
{
    if (value < *cost) {
        *cost = value;
        return true;
    }
    return false;
}

static bool equal_blocks(struct oracle *o, size_t i, size_t k, size_t q)
{
    for (size_t t = 0; t < q; t++) {
        if (o->map->base[i + t] != o->map->base[k + t] ||
            o->map->disp[i + t] - o->map->disp[i] != o->map->disp[k + t] - o->map->disp[k]) {
            return false;
        }
    }
    return true;
}

/* The fewest buckets of stride s for the c block starts p: a block joins the bucket before it when it can. */
static int64_t fewest_buckets(const int64_t *p, size_t c, int64_t s)
{
    int64_t buckets = 1;
    for (size_t k = 1; k < c; k++) {
        buckets += p[k] - p[k - 1] != s;
    }
    return buckets;
}

/* The fewest buckets when bucket b must start at p[0] + b * s1 and has stride s2; NEVER when it can not be done.
   possible[k * (c + 1) + b]: whether the first k blocks can stand in exactly b buckets. */
static int64_t fewest_strided_buckets(const int64_t *p, size_t c, int64_t s1, int64_t s2)
{
    int64_t *possible = calloc((c + 1) * (c + 1), sizeof *possible), result = NEVER;
    random_require(possible != NULL);
    possible[0] = 1;
    for (size_t k = 1; k <= c; k++) {
        for (size_t b = 1; b <= k; b++) {
            for (size_t j = 0; j < k; j++) { /* the last bucket holds blocks j .. k - 1 */
                bool fits = possible[j * (c + 1) + b - 1] && p[j] == p[0] + (int64_t)(b - 1) * s1;
                for (size_t t = j + 1; t < k && fits; t++) {
                    fits = p[t] - p[t - 1] == s2;
                }
                possible[k * (c + 1) + b] |= fits;
            }
            if (k == c && possible[k * (c + 1) + b] && (int64_t)b < result) {
                result = (int64_t)b;
            }
        }
    }
    free(possible);
    return result;
}

static bool try_repetitions(struct oracle *o, size_t i, size_t e)
{
    const struct espi_costs *costs = o->costs;
    bool changed = false;
    for (size_t q = 1; q <= e - i; q++) {
        size_t c = (e - i) / q;
        bool same = (e - i) % q == 0, strided = true;
        for (size_t k = 1; k < c && same; k++) {
            same = equal_blocks(o, i, i + k * q, q);
        }
        if (!same) {
            continue;
        }
        int64_t *p = malloc(c * sizeof *p);
        for (size_t k = 0; k < c; k++) {
            p[k] = o->map->disp[i + k * q];
            strided = strided && (k < 2 || p[k] - p[k - 1] == p[1] - p[0]);
        }
        int64_t child = anywhere(o, i, i + q);
        for (int s = 0; s < STARTS; s++) {
            int64_t *here = cell(o, i, e, s), chained = *cell(o, i, i + q, s);
            if (strided) {
                changed |= lower(here, costs->vec + chained);
            }
            changed |= lower(here, costs->idx + (int64_t)c * costs->idx_each + child);
            for (size_t k = 0; k < c && o->set != ESPI_SET_BASIC; k++) {
                int64_t step = k == 0 ? 0 : p[k] - p[k - 1];
                changed |= lower(here, costs->idxbuc + fewest_buckets(p, c, step) * costs->idxbuc_each + child);
            }
            for (size_t k = 0; k < c && o->set == ESPI_SET_EXTENDED; k++) {
                int64_t step = k == 0 ? 0 : p[k] - p[k - 1];
                for (size_t t = 0; t < c; t++) {
                    int64_t b = fewest_strided_buckets(p, c, p[t] - p[0], step);
                    changed |= b < NEVER && lower(here, costs->bucket + b * costs->bucket_each + chained);
                }
            }
        }
        free(p);
    }
    return changed;
}

static bool try_strucs(struct oracle *o, size_t i, size_t e)
{
    int64_t *f = malloc((e - i + 1) * sizeof *f), total;
    bool changed = false;
    f[0] = 0;
    for (size_t k = i + 1; k <= e; k++) {
        f[k - i] = NEVER;
        for (size_t j = i; j < k; j++) {
            int64_t path = f[j - i] + o->costs->struc_each + anywhere(o, j, k);
            f[k - i] = path < f[k - i] ? path : f[k - i];
        }
    }
    total = o->costs->struc + f[e - i];
    for (int s = 0; s < STARTS; s++) {
        changed |= lower(cell(o, i, e, s), total);
    }
    free(f);
    return changed;
}

int64_t oracle_cost(const struct espi_typemap *map, enum espi_set set, const struct espi_costs *costs)
{
    size_t n = map->n;
    struct oracle o = {.map = map, .set = set, .costs = costs, .start = {0, map->disp[0], map->disp[0] + 12345}};
    o.cost = malloc(n * (n + 1) * STARTS * sizeof *o.cost);
    random_require(o.cost != NULL);
    for (size_t len = 1; len <= n; len++) {
        for (size_t i = 0; i + len <= n; i++) {
            bool changed = true;
            for (int s = 0; s < STARTS; s++) {
                *cell(&o, i, i + len, s) = len == 1 && o.start[s] == 0 ? costs->leaf : NEVER;
            }
            while (changed) { /* a single copy or child makes a segment depend on itself */
                changed = try_repetitions(&o, i, i + len);
                changed |= try_strucs(&o, i, i + len);
            }
        }
    }
    int64_t result = *cell(&o, 0, n, 1);
    free(o.cost);
    return result;
}

static const espi_base *some_bases(void)
{
    static espi_base bases[3];
    bases[0] = espi_base_find("MPI_INT", 7);
    bases[1] = espi_base_find("MPI_DOUBLE", 10);
    bases[2] = espi_base_find("MPI_SHORT_INT", 13);
    return bases;
}

static void add(struct espi_typemap *map, espi_base base, int64_t disp)
{
    random_require(espi_typemap_append(map, base, disp) == ESPI_OK);
}

/* Appends at `at` something of at most `room` entries: an entry, or repeated, bucketed or joined smaller things. */
static void grow(struct espi_typemap *map, int64_t at, int64_t room, int bases)
{
    size_t from = map->n;
    if (room < 2 || random_in(0, 9) == 0) {
        add(map, some_bases()[random_in(0, bases - 1)], at);
        return;
    }
    int64_t half = random_in(1, room / 2);
    if (random_in(0, 3) == 0) {
        grow(map, at, half, bases);
        grow(map, at + random_in(-30, 60), room - half, bases);
        return;
    }
    grow(map, at, half, bases);
    int64_t m = (int64_t)(map->n - from), copies = random_in(2, room / m), stride = random_in(-8, 40), by = 0;
    int64_t shape = random_in(0, 2); /* one stride, mostly one stride, any strides */
    for (int64_t k = 1; k < copies; k++) {
        by += shape == 2 || (shape == 1 && random_in(0, 3) == 0) ? random_in(-20, 60) : stride;
        for (int64_t t = 0; t < m; t++) {
            add(map, map->base[from + (size_t)t], map->disp[from + (size_t)t] + by);
        }
    }
}

void random_map(struct espi_typemap *map, int64_t n)
{
    int bases = random_in(0, 2) == 0 ? (int)random_in(2, 3) : 1;
    int64_t size = random_in(1, n), start = random_in(0, 2) == 0 ? random_in(-50, 50) : 0;
    int64_t shape = random_in(0, 9);
    if (shape < 2) {
        int64_t range = random_in(1, 2 + 10 * size), at = start;
        for (int64_t k = 0; k < size; k++) {
            add(map, some_bases()[random_in(0, bases - 1)], at);
            at = shape == 0 ? at + random_in(-1, range) : start + random_in(-range, range);
        }
    } else {
        grow(map, start, size, bases);
    }
    while (random_in(0, 3) == 0) { /* near repeats */
        size_t at = (size_t)random_in(0, (int64_t)map->n - 1);
        map->disp[at] += random_in(-4, 4);
        map->base[at] = some_bases()[random_in(0, bases - 1)];
    }
}

struct espi_costs random_costs(void)
{
    struct espi_costs costs = espi_costs_default;
    int64_t most = random_in(0, 2) == 0 ? 0 : random_in(0, 9) == 0 ? ESPI_COST_MAX : random_in(0, 40);
    if (most > 0) {
        costs = (struct espi_costs){random_in(0, most), random_in(0, most), random_in(0, most), random_in(0, most),
                                    random_in(0, most), random_in(0, most), random_in(0, most), random_in(0, most),
                                    random_in(0, most), random_in(0, most)};
    }
    return costs;
}
