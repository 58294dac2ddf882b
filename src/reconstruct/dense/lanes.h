/*
 * Vectors of costs and what solve.h does with them, for one width of value: included by it with VALUE, BITS and
 * NAME(x) defined.
 */
#define INFINITE ((VALUE)(((int64_t)1 << (BITS - 2)) - 1)) /* twice that does not overflow */
#define LANES (512 / BITS)

struct NAME(candidate) {
    uint32_t from;
    VALUE cost;
};

/* Candidates of one column from sources of one block of columns. */
struct NAME(chunk) {
    uint32_t block, n; /* of `at`, in order */
    VALUE least;
};

struct NAME(list) {
    struct NAME(candidate) *at;
    struct NAME(chunk) *chunk;
    size_t n, cap, chunks, chunk_cap;
    VALUE least;
};

static inline VALUE NAME(clamp)(int64_t x)
{
    return x < INFINITE ? (VALUE)x : INFINITE;
}

/* a = min(a, b + d), element by element; values up to INFINITE. */
static inline __attribute__((always_inline)) void NAME(lower)(VALUE *restrict a, const VALUE *restrict b, VALUE d)
{
    SIMD
    for (size_t k = 0; k < LANES; k++) {
        VALUE t = (VALUE)(b[k] + d);
        a[k] = t < a[k] ? t : a[k];
    }
}

/* a = min(min(a, b) + d, INFINITE). */
static inline __attribute__((always_inline)) void NAME(join)(VALUE *restrict a, const VALUE *restrict b, VALUE d)
{
    SIMD
    for (size_t k = 0; k < LANES; k++) {
        VALUE t = (VALUE)((b[k] < a[k] ? b[k] : a[k]) + d);
        a[k] = t < INFINITE ? t : INFINITE;
    }
}

static inline __attribute__((always_inline)) void NAME(fill)(VALUE *a)
{
    SIMD
    for (size_t k = 0; k < LANES; k++) {
        a[k] = INFINITE;
    }
}

/* Whether a + d < b anywhere. */
static inline __attribute__((always_inline)) bool NAME(below)(const VALUE *restrict a, VALUE d,
                                                              const VALUE *restrict b)
{
    VALUE any = 0;
#ifndef __clang__
#pragma omp simd reduction(| : any)
#endif
    for (size_t k = 0; k < LANES; k++) {
        any |= (VALUE)((VALUE)(a[k] + d) < b[k] ? 1 : 0);
    }
    return any != 0;
}

/* Candidates of one chunk, four at a time. */
static inline __attribute__((always_inline)) void NAME(relax)(VALUE *restrict least, const VALUE *restrict f,
                                                              const struct NAME(candidate) *c, size_t n)
{
    size_t at = 0;
    for (; at + 4 <= n; at += 4, c += 4) {
        const VALUE *restrict f0 = f + (size_t)c[0].from * LANES, *restrict f1 = f + (size_t)c[1].from * LANES;
        const VALUE *restrict f2 = f + (size_t)c[2].from * LANES, *restrict f3 = f + (size_t)c[3].from * LANES;
        VALUE d0 = c[0].cost, d1 = c[1].cost, d2 = c[2].cost, d3 = c[3].cost;
        SIMD
        for (size_t k = 0; k < LANES; k++) {
            VALUE p = (VALUE)(f0[k] + d0), q = (VALUE)(f1[k] + d1);
            VALUE r = (VALUE)(f2[k] + d2), t = (VALUE)(f3[k] + d3);
            p = q < p ? q : p;
            r = t < r ? t : r;
            p = r < p ? r : p;
            least[k] = p < least[k] ? p : least[k];
        }
    }
    for (; at < n; at++, c++) {
        NAME(lower)(least, f + (size_t)c->from * LANES, c->cost);
    }
}

/*
 * Lists of buckets over single items, for sources with costs to begin with: `all` is the least of source + each *
 * copies, modes[x] of source + each * (copies - how often stride x occurred); `least` that of all strides seen. When
 * stride y comes, all modes but that of y rise by `each`, which is made good when they are met again.
 */
struct NAME(modes) {
    VALUE all[LANES] __attribute__((aligned(64)));
    VALUE least[LANES] __attribute__((aligned(64)));
    VALUE *mode;
};

static inline __attribute__((always_inline)) void NAME(mode_step)(struct NAME(modes) *m, const VALUE *restrict source,
                                                                  VALUE each, bool begins, size_t stride,
                                                                  VALUE late, bool known)
{
    if (begins) {
        NAME(fill)(m->all);
        NAME(fill)(m->least);
    } else {
        VALUE *restrict mode = m->mode + stride * LANES;
        SIMD
        for (size_t k = 0; k < LANES; k++) {
            VALUE t = (VALUE)((known ? mode[k] : INFINITE) + late), u = (VALUE)(m->least[k] + each);
            t = m->all[k] < t ? m->all[k] : t;
            mode[k] = t < INFINITE ? t : INFINITE;
            m->least[k] = mode[k] < u ? mode[k] : u;
        }
    }
    NAME(join)(m->all, source, each);
}
