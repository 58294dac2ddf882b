/*
 * The dynamic program, for one width of value: included by dense.c with VALUE, BITS and NAME(x) defined.
 *
 * Let C(i, e) be the least cost of a tree whose type map is the segment [i, e) moved so that it starts at 0, and
 * R(i, e) the same over trees whose root is not a struc. Every subtree may be taken to start at 0 (a shift moves up
 * into the displacements of the next idx, idxbuc or struc above; see Lemma 5 and build.c for the root), so both are
 * defined by shorter segments:
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
 * block is offered to R(i, i+cq): O(n/q) offers, so O(n log n) per row, ended by the first block that differs. Block
 * equality is one look at x(i, m), the length of the longest equal segments that start at i and m:
 *   x(i, m) = 0 if the items differ, 1 if the next differences do, else 1 + x(i+1, m+1).
 * f_i(e) is a minimum over two contiguous arrays, f_i and the column e of the edges; TILE rows share each column that
 * is loaded. The minimum is skipped where the edge (i, e) costs no more than any two edges can.
 */

#define INFINITE ((VALUE)((int64_t)1 << (BITS - 2)))

static inline __attribute__((always_inline)) void NAME(relax_plain)(const VALUE *restrict edge,
                                                                    const VALUE *const f[TILE], size_t n,
                                                                    VALUE out[TILE])
{
    const VALUE *restrict f0 = f[0], *restrict f1 = f[1], *restrict f2 = f[2], *restrict f3 = f[3];
    VALUE m0 = INFINITE, m1 = INFINITE, m2 = INFINITE, m3 = INFINITE;
#ifndef __clang__ /* which vectorizes this at -O2 anyway, and warns where it is told not to */
#pragma omp simd reduction(min : m0, m1, m2, m3)
#endif
    for (size_t j = 0; j < n; j++) {
        VALUE t0 = (VALUE)(f0[j] + edge[j]), t1 = (VALUE)(f1[j] + edge[j]);
        VALUE t2 = (VALUE)(f2[j] + edge[j]), t3 = (VALUE)(f3[j] + edge[j]);
        m0 = t0 < m0 ? t0 : m0;
        m1 = t1 < m1 ? t1 : m1;
        m2 = t2 < m2 ? t2 : m2;
        m3 = t3 < m3 ? t3 : m3;
    }
    out[0] = m0;
    out[1] = m1;
    out[2] = m2;
    out[3] = m3;
}

static void NAME(relax_any)(const VALUE *edge, const VALUE *const f[TILE], size_t n, VALUE out[TILE])
{
    NAME(relax_plain)(edge, f, n, out);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void NAME(relax_avx2)(const VALUE *edge, const VALUE *const f[TILE],
                                                             size_t n, VALUE out[TILE])
{
    NAME(relax_plain)(edge, f, n, out);
}
#endif

/* Offers every repetition of the block [i, i + q), whose least cost is `child`, to the row's edges. */
static void NAME(offer)(const struct work *work, size_t i, size_t q, int64_t child, const uint32_t *x, VALUE *row)
{
    const struct espi_costs *costs = &work->dense->costs;
    const int64_t *disp = work->dense->disp;
    size_t n = work->dense->n, c = 2;
    if (i + 2 * q > n || x[i + q] < q) {
        return;
    }
    struct tally tally = {.stride = difference(disp[i + q], disp[i])};
    if (work->runs_win && work->run_end[i] - i >= 2 * q) {
        c = (work->run_end[i] - i) / q + 1; /* what lies inside the run can not be improved */
        tally.most = c - 2;
    }
    for (size_t at = i + (c - 1) * q; at + q <= n && x[at] >= q; at += q, c++) {
        tally_add(work, &tally, difference(disp[at], disp[at - q]));
        int64_t cost = costs->idx + (int64_t)c * costs->idx_each;
        if (tally.most == c - 1 && costs->vec < cost) {
            cost = costs->vec;
        }
        if (work->dense->set != ESPI_SET_BASIC) {
            int64_t buckets = costs->idxbuc + (int64_t)(c - tally.most) * costs->idxbuc_each;
            cost = buckets < cost ? buckets : cost;
        }
        cost += child;
        if (cost < row[at + q]) {
            row[at + q] = (VALUE)cost;
        }
    }
    if (work->dense->set == ESPI_SET_EXTENDED) {
        const int64_t *bucket = work->bucket;
        espi_buckets_fewest(disp + i, q, c - 1, work->bucket);
        for (c = 2; bucket[c] != 0; c++) {
            int64_t cost = child + costs->bucket + bucket[c] * costs->bucket_each;
            if (cost < row[i + c * q]) {
                row[i + c * q] = (VALUE)cost;
            }
        }
    }
}

static void NAME(solve)(const struct work *work)
{
    const struct espi_dense *dense = work->dense;
    const struct espi_costs *costs = &dense->costs;
    size_t n = dense->n;
    VALUE *edge = dense->edge, *best = dense->best, *f[TILE], *row[TILE];
    void (*relax)(const VALUE *, const VALUE *const *, size_t, VALUE *) = NAME(relax_any);
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        relax = NAME(relax_avx2);
    }
#endif
    for (int k = 0; k < TILE; k++) {
        f[k] = (VALUE *)work->rows + (size_t)k * (n + 1);
        row[k] = (VALUE *)work->rows + (size_t)(TILE + k) * (n + 1);
    }
    for (size_t todo = n; todo > 0;) {
        size_t top = todo - 1, rows = todo < TILE ? todo : TILE, low = todo - rows;
        const VALUE *shared[TILE];
        for (size_t k = 0; k < TILE; k++) {
            size_t i = top - k;
            shared[k] = f[k < rows ? k : 0] + top + 1;
            if (k < rows) {
                extend(work, i, work->x[(k + TILE - 1) % TILE], work->x[k]);
                for (size_t e = i; e <= n; e++) {
                    row[k][e] = INFINITE;
                }
                row[k][i + 1] = (VALUE)dense->weight[dense->symbol[i]];
                for (size_t e = i + 2; work->runs_win && e <= work->run_end[i]; e++) {
                    row[k][e] = (VALUE)(row[k][i + 1] + costs->vec);
                }
                f[k][i] = 0;
            }
        }
        for (size_t e = low + 1; e <= n; e++) {
            VALUE *column = edge + e * (e - 1) / 2, *best_column = best + e * (e - 1) / 2, from[TILE];
            bool relaxed = false;
            for (size_t k = e > top ? 0 : top - e + 1; k < rows; k++) {
                size_t i = top - k;
                VALUE own = row[k][e];
                int64_t cost = own + costs->struc_each;
                VALUE least = cost < INFINITE ? (VALUE)cost : INFINITE;
                column[i] = least;
                if (e - i > 1 && cost > work->two_edges) {
                    for (size_t j = i + 1; j <= top && j < e; j++) {
                        VALUE sum = (VALUE)(f[k][j] + column[j]);
                        least = sum < least ? sum : least;
                    }
                    if (e > top + 1) {
                        if (!relaxed) {
                            relax(column + top + 1, shared, e - top - 1, from);
                            relaxed = true;
                        }
                        least = from[k] < least ? from[k] : least;
                    }
                }
                f[k][e] = least;
                cost = least + costs->struc < own ? least + costs->struc : own;
                best_column[i] = (VALUE)cost;
                NAME(offer)(work, i, e - i, cost, work->x[k], row[k]);
            }
        }
        todo = low;
    }
}

#undef INFINITE
