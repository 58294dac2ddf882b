/*
 * The dynamic program, for one width of value: included by dense.c with VALUE, BITS and NAME(x) defined.
 *
 * Let C(i, e) be the least cost of a tree whose type map is the segment [i, e) moved so that it starts at 0, and
 * R(i, e) the same over trees whose root is not a struc. Every subtree may be taken to start at 0 (a shift moves up
 * into the displacements of the next idx, idxbuc or struc above; see Lemma 7 and backtrack.c for the root), so both
 * are defined by shorter segments:
 *   - R(i, i+1) is the item's own cost: any other tree contains it.
 *   - A repetition root has c >= 2 equal blocks of length q with the child C(i, i+q). It is a vec when all strides
 *     are equal, an idx always, an idxbuc with c - m buckets where m is how often the chosen stride occurs: the
 *     most frequent one is the best. For strided buckets see buckets.c. (One copy under a repetition node
 *     costs more and changes nothing.)
 *   - A struc root has no struc child: its children could stand in the parent for struc + struc_each less. So
 *     C(i, e) = min(R(i, e), struc + f_i(e)) with f_i(e) the least cost of a path from i to e over edges (j, k) of
 *     cost struc_each + R(j, k).
 *
 * Rows i are filled from the last to the first, each for growing e. When C(i, i+q) is final, every repetition of that
 * block is offered to R(i, i+cq), ended by the first block that differs. Block equality is one look at x(i, m), the
 * length of the longest equal segments that start at i and m:
 *   x(i, m) = 0 if the items differ, 1 if the next differences do, else 1 + x(i+1, m+1).
 *
 * A tile is LANES rows, top, top - 1, .. down to low, whose values for one column e make one vector of 64 bytes. Of
 * all edges (j, e) few are looked at:
 *   - idx, idxbuc and uniform nodes over single items are found by running minima over j (Lemma 4 of
 *     doc/reconstruction.md), as are the costs of [i, e) itself as idx or idxbuc; inside strided runs R comes from
 *     a table by length.
 *   - Another edge (j, e) counts only if it costs less than the best path from j to e without it, since that path can
 *     stand in its place in any path. Then it is a *candidate*, and is kept in the list of its column for the rows to
 *     come.
 * What is known of equal segments is taken over, for costs depend on contents only: if row i goes on like a row m of
 * an earlier tile for x(i, m) entries, its values up to column i + x(i, m) are those of row m (Lemma 14). As x(i + 1,
 * m + 1) >= x(i, m) - 1, that column does not fall from one row of a tile to the row after it; so a tile's lowest row
 * says how far all its rows are *known*.
 */

#include "reconstruct/dense/lanes.h"

/* Offers every repetition of the block [i, i + q), whose least cost is `child`, to the roots of lane k in columns
   beyond those that are known. */
static void NAME(offer)(const struct work *work, size_t i, size_t q, int64_t child, const uint32_t *x, size_t k,
                        VALUE *root)
{
    const struct espi_costs *costs = &work->dense->costs;
    const int64_t *disp = work->dense->disp;
    size_t n = work->dense->n, known = work->known, c = 2;
    if (known > i && i + ((known - i) / q + 1) * q > n) {
        return;
    }
    struct tally tally = {.stride = difference(disp[i + q], disp[i])};
    if (work->run_end[i] - i >= 2 * q) {
        c = (work->run_end[i] - i) / q + 1; /* what lies inside the run is known */
        tally.most = c - 2;
    }
    for (size_t at = i + (c - 1) * q; q > 1 && at + q <= n && x[at] >= q; at += q, c++) {
        tally_add(work, &tally, difference(disp[at], disp[at - q]));
        if (at + q <= known) {
            continue;
        }
        int64_t cost = costs->idx + (int64_t)c * costs->idx_each;
        if (tally.most == c - 1 && costs->vec < cost) {
            cost = costs->vec;
        }
        if (work->dense->set != ESPI_SET_BASIC) {
            int64_t buckets = costs->idxbuc + (int64_t)(c - tally.most) * costs->idxbuc_each;
            cost = buckets < cost ? buckets : cost;
        }
        cost += child;
        if (cost < root[(at + q) * LANES + k]) {
            root[(at + q) * LANES + k] = (VALUE)cost;
            work->roots[at + q] |= UINT32_C(1) << k;
        }
    }
    if (work->dense->set == ESPI_SET_EXTENDED) {
        const int64_t *bucket = work->bucket;
        for (c = 2; i + c * q <= n && x[i + (c - 1) * q] >= q; c++) {
        }
        espi_buckets_fewest(disp + i, q, c - 1, work->bucket);
        for (c = 2; bucket[c] != 0; c++) {
            int64_t cost = child + costs->bucket + bucket[c] * costs->bucket_each;
            if (i + c * q > known && cost < root[(i + c * q) * LANES + k]) {
                root[(i + c * q) * LANES + k] = (VALUE)cost;
                work->roots[i + c * q] |= UINT32_C(1) << k;
            }
        }
    }
}

/* What is known of row i before it is filled: single items, strided runs, where blocks repeat. */
static void NAME(begin_row)(const struct work *work, size_t i, size_t k, VALUE *root)
{
    const struct espi_dense *dense = work->dense;
    const struct espi_costs *costs = &dense->costs;
    const uint32_t *x = work->x[k];
    const int64_t *run = work->run[dense->symbol[i]];
    size_t n = dense->n, end = work->run_end[i];
    uint32_t bit = UINT32_C(1) << k;
    if (i + 1 > work->known) {
        root[(i + 1) * LANES + k] = NAME(clamp)(run[1]);
        work->roots[i + 1] |= bit;
    }
    for (size_t e = (i + 1 > work->known ? i + 1 : work->known) + 1; e <= end; e++) {
        int64_t plain = least_of(work->uniform, costs->idx + (int64_t)(e - i) * costs->idx_each) + run[1];
        root[e * LANES + k] = NAME(clamp)(run[e - i]);
        if (run[e - i] < plain) {
            work->roots[e] |= bit;
        }
    }
    for (size_t q = dense->set == ESPI_SET_EXTENDED ? 1 : 2; i + 2 * q <= n; q++) {
        if (x[i + q] >= q) {
            size_t inside = (end - i) / q, at = i + inside * q;
            if (inside < 2 || (at + q <= n && x[at] >= q)) {
                work->squares[i + q] |= bit;
            }
        }
    }
}

static bool NAME(keep)(struct NAME(list) *list, size_t from, VALUE cost)
{
    uint32_t block = (uint32_t)(from / BLOCK);
    if (list->n == list->cap) {
        size_t cap = list->cap < 8 ? 8 : 2 * list->cap;
        struct NAME(candidate) *grown = realloc(list->at, cap * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        list->at = grown;
        list->cap = cap;
    }
    if (list->chunks == 0 || list->chunk[list->chunks - 1].block != block) {
        if (list->chunks == list->chunk_cap) {
            size_t cap = list->chunk_cap < 4 ? 4 : 2 * list->chunk_cap;
            struct NAME(chunk) *grown = realloc(list->chunk, cap * sizeof *grown);
            if (grown == NULL) {
                return false;
            }
            list->chunk = grown;
            list->chunk_cap = cap;
        }
        list->chunk[list->chunks++] = (struct NAME(chunk)){block, 0, INFINITE};
    }
    struct NAME(chunk) *chunk = &list->chunk[list->chunks - 1];
    chunk->n++;
    chunk->least = cost < chunk->least ? cost : chunk->least;
    list->least = list->n == 0 || cost < list->least ? cost : list->least;
    list->at[list->n++] = (struct NAME(candidate)){(uint32_t)from, cost};
    return true;
}

struct NAME(tile) {
    const struct work *work;
    size_t top, low;
    VALUE *f, *root;  /* vectors per column: f_i(e), and R(i, e) but for idx and idxbuc over items */
    VALUE *block;     /* per BLOCK columns: the least of f */
    VALUE *edge, *path; /* of the tables */
    uint32_t *kept;     /* per column: the lanes of which it kept a candidate */
    ptrdiff_t copy[LANES]; /* what is known of lane k stands copy[k] columns on from its own column in the tables, */
    size_t lane[LANES];    /* in this lane */
    struct NAME(list) *list; /* per column */
    uint64_t stamp;
};

/* The known values of column e for the lanes whose rows begin before it; returns which of them kept a candidate. */
static inline __attribute__((always_inline)) uint32_t NAME(take_known)(const struct NAME(tile) *t, size_t e,
                                                                       VALUE each, VALUE *restrict path,
                                                                       VALUE *restrict root)
{
    const struct espi_dense *dense = t->work->dense;
    const VALUE *paths = dense->path, *edges = dense->edge;
    uint32_t kept = 0;
    for (size_t k = e <= t->top ? t->top - e + 1 : 0; k <= t->top - t->low; k++) {
        size_t column = (size_t)((ptrdiff_t)e + t->copy[k]), lane = t->lane[k];
        path[k] = paths[column * LANES + lane];
        root[k] = (VALUE)(edges[column * LANES + lane] - each);
        kept |= (t->work->kept[column] >> lane & 1) << k;
    }
    return kept;
}

static inline __attribute__((always_inline)) bool NAME(columns)(struct NAME(tile) *t)
{
    const struct work *work = t->work;
    const struct espi_dense *dense = work->dense;
    const struct espi_costs *costs = &dense->costs;
    const uint32_t *symbol = dense->symbol, *stride = work->stride;
    size_t top = t->top, low = t->low, stretch = low;
    VALUE *f = t->f;
    VALUE uniform[LANES] __attribute__((aligned(64))), idx[LANES] __attribute__((aligned(64)));
    VALUE own_idx[LANES] __attribute__((aligned(64))), source[LANES] __attribute__((aligned(64)));
    VALUE none[LANES] __attribute__((aligned(64))), least[LANES] __attribute__((aligned(64)));
    VALUE own[LANES] __attribute__((aligned(64))), enough[LANES] __attribute__((aligned(64)));
    static const VALUE nothing[LANES];
    VALUE idx_each = NAME(clamp)(costs->idx_each), buc_each = NAME(clamp)(costs->idxbuc_each);
    VALUE struc = NAME(clamp)(costs->struc), struc_each = NAME(clamp)(costs->struc_each);
    bool buckets = dense->set != ESPI_SET_BASIC, own_lists = true;
    struct NAME(modes) all = {.mode = work->modes[0]}, mine = {.mode = work->modes[1]};
    NAME(fill)(uniform);
    NAME(fill)(idx);
    NAME(fill)(own_idx);
    NAME(fill)(none);
    NAME(fill)(all.all);
    NAME(fill)(all.least);
    NAME(fill)(mine.all);
    NAME(fill)(mine.least);
    NAME(fill)(f + low * LANES);
    f[low * LANES + (top - low)] = 0;
    for (size_t b = low / BLOCK; b <= dense->n / BLOCK; b++) {
        NAME(fill)(t->block + b * LANES);
    }
    NAME(lower)(t->block + low / BLOCK * LANES, f + low * LANES, 0);
    for (size_t e = low + 1; e <= dense->n; e++) {
        const VALUE *before = f + (e - 1) * LANES;
        int64_t weight = dense->weight[symbol[e - 1]];
        bool begins = e == low + 1 || symbol[e - 1] != symbol[e - 2];
        if (begins) {
            stretch = e;
            NAME(fill)(uniform);
            NAME(fill)(idx);
            NAME(fill)(own_idx);
            own_lists = own_lists && e - 1 <= top;
        } else {
            if (e - 1 > stretch && stride[e - 1] != stride[e - 2]) {
                NAME(fill)(uniform);
            }
            NAME(join)(uniform, f + (e - 2) * LANES, 0);
        }
        NAME(fill)(source);
        if (e - 1 <= top) {
            source[top - (e - 1)] = 0;
        }
        /* Paths whose last edge is a list of items, or a uniform node over some. */
        NAME(fill)(least);
        NAME(join)(idx, before, idx_each);
        NAME(lower)(least, idx, NAME(clamp)(costs->idx + weight + costs->struc_each));
        NAME(lower)(least, uniform, NAME(clamp)(work->uniform + weight + costs->struc_each));
        VALUE late = 0;
        bool met = false;
        if (buckets) {
            if (!begins) {
                uint64_t *touched = &work->touched[stride[e - 1]];
                met = *touched > t->stamp + stretch;
                late = met ? NAME(clamp)((int64_t)(t->stamp + e - *touched - 1) * costs->idxbuc_each) : 0;
                *touched = t->stamp + e;
            }
            NAME(mode_step)(&all, before, buc_each, begins, stride[e - 1], late, met);
            NAME(lower)(least, all.least, NAME(clamp)(costs->idxbuc + weight + costs->struc_each));
        }
        /* The segments as lists themselves. */
        VALUE *restrict root = t->root + e * LANES;
        memcpy(own, root, sizeof own);
        if (own_lists) {
            NAME(join)(own_idx, source, idx_each);
            NAME(lower)(own, own_idx, NAME(clamp)(costs->idx + weight));
            if (buckets) {
                NAME(mode_step)(&mine, source, buc_each, begins, stride[e - 1], late, met);
                NAME(lower)(own, mine.least, NAME(clamp)(costs->idxbuc + weight));
            }
        }
        uint32_t fresh = 0;
        if (e <= work->known) {
            fresh = NAME(take_known)(t, e, struc_each, least, own);
            for (uint32_t left = e > work->never ? fresh : 0; left != 0; left &= left - 1) {
                size_t k = (size_t)__builtin_ctz(left);
                if (!NAME(keep)(&t->list[e], top - k, (VALUE)(own[k] + struc_each))) {
                    return false;
                }
            }
        } else {
            /* Candidates, but not where the segments themselves, as edges, are as good as any path that uses them. */
            const struct NAME(list) *list = &t->list[e];
            memcpy(enough, least, sizeof enough);
            NAME(lower)(enough, own, struc_each);
            if (list->n > 0 && NAME(below)(nothing, NAME(clamp)(list->least + work->one_edge), enough)) {
                const struct NAME(candidate) *c = list->at;
                for (size_t at = 0; at < list->chunks; c += list->chunk[at++].n) {
                    if (NAME(below)(t->block + list->chunk[at].block * LANES, list->chunk[at].least, enough)) {
                        NAME(relax)(least, f, c, list->chunk[at].n);
                        NAME(lower)(enough, least, 0);
                    }
                }
            }
            for (uint32_t left = work->roots[e]; left != 0; left &= left - 1) {
                size_t k = (size_t)__builtin_ctz(left);
                int64_t cost = (int64_t)root[k] + costs->struc_each;
                if (cost < least[k]) {
                    if (e > work->never && !NAME(keep)(&t->list[e], top - k, (VALUE)cost)) {
                        return false;
                    }
                    NAME(lower)(least, f + (top - k) * LANES, (VALUE)cost);
                    fresh |= UINT32_C(1) << k;
                }
            }
        }
        t->kept[e - low - 1] = fresh;
        VALUE *restrict edge = t->edge + (e - low - 1) * LANES;
        VALUE *restrict now = f + e * LANES;
        memcpy(t->path + (e - low - 1) * LANES, least, sizeof least);
        SIMD
        for (size_t k = 0; k < LANES; k++) {
            VALUE with = (VALUE)(own[k] + struc_each);
            now[k] = least[k];
            edge[k] = with < INFINITE ? with : INFINITE;
        }
        if (e <= top) {
            now[top - e] = 0;
        }
        NAME(lower)(t->block + e / BLOCK * LANES, now, 0);
        for (uint32_t left = work->squares[e]; left != 0; left &= left - 1) {
            size_t k = (size_t)__builtin_ctz(left), i = top - k;
            int64_t parts = (int64_t)least[k] + struc, cost = parts < own[k] ? parts : own[k];
            NAME(offer)(work, i, e - i, cost, work->x[k], k, t->root);
        }
    }
    return true;
}

static bool NAME(columns_any)(struct NAME(tile) *t)
{
    return NAME(columns)(t);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static bool NAME(columns_avx2)(struct NAME(tile) *t)
{
    return NAME(columns)(t);
}

__attribute__((target("avx512f,avx512bw,avx512vl"))) static bool NAME(columns_avx512)(struct NAME(tile) *t)
{
    return NAME(columns)(t);
}
#endif

/* False when there is no memory for the candidates. */
static bool NAME(solve)(struct work *work)
{
    const struct espi_dense *dense = work->dense;
    size_t n = dense->n, lists = n + 1;
    bool done = true;
    struct NAME(tile) t = {
        .work = work, .f = work->rows, .edge = dense->edge, .path = dense->path, .kept = work->kept, .stamp = n + 1};
    bool (*columns)(struct NAME(tile) *) = NAME(columns_any);
#ifdef __x86_64__
    enum espi_dense_code code = dense->code;
    if (code == ESPI_DENSE_AVX512 || (code == ESPI_DENSE_BEST && espi_dense_can(ESPI_DENSE_AVX512))) {
        columns = NAME(columns_avx512);
    } else if (code == ESPI_DENSE_AVX2 || (code == ESPI_DENSE_BEST && espi_dense_can(ESPI_DENSE_AVX2))) {
        columns = NAME(columns_avx2);
    }
#endif
    t.root = t.f + (n + 1) * LANES;
    t.block = t.root + (n + 1) * LANES;
    t.list = calloc(lists, sizeof *t.list);
    for (size_t todo = n; todo > 0 && done && t.list != NULL; todo = t.low) {
        size_t rows = todo < LANES ? todo : LANES;
        t.top = todo - 1;
        t.low = todo - rows;
        for (size_t e = t.low; e <= n; e++) {
            NAME(fill)(t.root + e * LANES);
            work->squares[e] = work->roots[e] = 0;
        }
        for (size_t k = 0; k < rows; k++) {
            size_t i = t.top - k, like;
            extend_row(work, i, work->x[(k + LANES - 1) % LANES], work->x[k]);
            work->known = i + longest_match(work->x[k], t.top + 1, n, &like);
            t.lane[k] = (n - 1 - like) % LANES;
            t.copy[k] = (ptrdiff_t)(place_of(dense, like, like + 1) / LANES) - (ptrdiff_t)(i + 1);
        }
        for (size_t k = 0; k < rows; k++) {
            NAME(begin_row)(work, t.top - k, k, t.root);
        }
        done = columns(&t);
        t.stamp += n + 1;
        t.edge += (n - t.low) * LANES;
        t.path += (n - t.low) * LANES;
        t.kept += n - t.low;
    }
    for (size_t e = 0; t.list != NULL && e < lists; e++) {
        free(t.list[e].at);
        free(t.list[e].chunk);
    }
    done = done && t.list != NULL;
    free(t.list);
    return done;
}

#undef INFINITE
#undef LANES
