/*
 * Strided buckets: m equal blocks start at p_0, p_1, ...; find s1, s2 and the fewest buckets so that bucket j starts
 * at p_0 + j s1 and its blocks follow each other at s2. Every bucket holds at least one block.
 *
 * For given s1 and s2 one pass is enough. While blocks follow at s2, the number of the bucket that the present block
 * is in may be any of j0 .. j0 + floor(t / r), where j0 is the bucket that the stretch began with, t the steps since
 * then, and r = s1 / s2 when that is a whole number >= 1: only at every r-th step can a new bucket begin inside a
 * stretch. Where a stretch ends, the next block must begin a bucket, which its place tells: j = (p_k - p_0) / s1; so
 * there is one way to go on, and the fewest buckets for a prefix is j0 + 1.
 *
 * Few pairs (s1, s2) need trying. Let p_0 .. p_t be the first stretch, of stride d, and p' the next block.
 *   - All of the first blocks stand alone: s1 = d, s2 = p' - p_t.
 *   - Else the first bucket has two blocks or more (or s1 = s2, the same as one long bucket), so s2 = d, and p'
 *     begins bucket j: p' - p_0 = j s1. Either j = 1, or buckets began inside the stretch: s1 = r d with r a proper
 *     divisor of u = (p' - p_0) / d and (j - 1) r = u - r <= t.
 */
#include <string.h>

#include "reconstruct/dense/dense.h"

struct starts {
    const int64_t *p;
    size_t step, m;
};

static int64_t block_place(const struct starts *starts, size_t k)
{
    return starts->p[k * starts->step] - starts->p[0];
}

/* One pass; lowers fewest[2 .. m] (0: impossible so far), fills len when not NULL. Returns how many buckets all m
   blocks need, or 0. */
static int64_t place_blocks(const struct starts *starts, int64_t s1, int64_t s2, int64_t *fewest, int64_t *len)
{
    int64_t r = s2 != 0 && s1 % s2 == 0 && s1 / s2 >= 1 ? s1 / s2 : 0, j0 = 0, t = 0;
    for (size_t k = 1; k <= starts->m; k++) {
        bool end = k == starts->m;
        if (!end && block_place(starts, k) - block_place(starts, k - 1) == s2) {
            t++;
        } else {
            int64_t j = j0 + 1, at = end ? 0 : block_place(starts, k);
            if (!end && s1 != 0) {
                j = at / s1;
                if (at % s1 != 0 || j <= j0 || j > j0 + 1 + (r > 0 ? t / r : 0)) {
                    return 0;
                }
            } else if (!end && at != 0) {
                return 0;
            }
            if (len != NULL) {
                for (int64_t inside = j0; inside + 1 < j; inside++, t -= r) {
                    len[inside] = r;
                }
                len[j - 1] = t + 1;
            }
            if (end) {
                return j0 + 1;
            }
            j0 = j;
            t = 0;
        }
        if (fewest != NULL && (fewest[k + 1] == 0 || j0 + 1 < fewest[k + 1])) {
            fewest[k + 1] = j0 + 1;
        }
    }
    return 0;
}

/* The first stretch: how many steps of its stride *d it has. */
static int64_t first_stretch(const struct starts *starts, int64_t *d)
{
    int64_t t = 1;
    *d = starts->m > 1 ? block_place(starts, 1) : 0;
    while ((size_t)t + 1 < starts->m && block_place(starts, (size_t)t + 1) - block_place(starts, (size_t)t) == *d) {
        t++;
    }
    return t;
}

void espi_buckets_fewest(const int64_t *p, size_t step, size_t m, int64_t *fewest)
{
    const struct starts starts = {p, step, m};
    int64_t d, t = first_stretch(&starts, &d);
    memset(fewest, 0, (m + 2) * sizeof *fewest);
    if ((size_t)t + 1 >= m) {
        place_blocks(&starts, 0, d, fewest, NULL); /* one stretch, one bucket */
    } else {
        int64_t next = block_place(&starts, (size_t)t + 1);
        place_blocks(&starts, next, d, fewest, NULL);
        place_blocks(&starts, d, next - block_place(&starts, (size_t)t), fewest, NULL);
        int64_t u = d != 0 && next % d == 0 ? next / d : 0;
        for (int64_t r = u - t > 1 ? u - t : 1; r <= u / 2; r++) {
            if (u % r == 0) {
                place_blocks(&starts, r * d, d, fewest, NULL);
            }
        }
    }
    fewest[m + 1] = 0;
}

static void try_pair(const struct starts *starts, int64_t s1, int64_t s2, struct espi_strided_buckets *best)
{
    int64_t count = place_blocks(starts, s1, s2, NULL, NULL);
    if (count > 0 && (best->count == 0 || count < best->count)) {
        *best = (struct espi_strided_buckets){count, s1, s2};
    }
}

/*
 * For all m blocks one r is enough: the greatest common divisor g of the places, in units of d, at which a stretch of
 * d begins. Any r that serves divides them all, and is at least each break in these units; so g serves too, and the
 * larger r, the fewer buckets. If the place after a break is no multiple of d, s1 can only be that of the first.
 */
static int64_t common_stride(const struct starts *starts, int64_t d)
{
    int64_t g = 0;
    for (size_t k = 1; k < starts->m && g != 1; k++) {
        int64_t at = block_place(starts, k);
        if (at - block_place(starts, k - 1) == d) {
            continue;
        }
        if (at % d != 0) {
            return 0;
        }
        for (int64_t rest = at / d; rest != 0;) {
            int64_t swap = g % rest;
            g = rest;
            rest = swap;
        }
    }
    return g < 0 ? -g * d : g * d;
}

struct espi_strided_buckets espi_buckets_best(const int64_t *p, size_t step, size_t m)
{
    const struct starts starts = {p, step, m};
    struct espi_strided_buckets best = {0, 0, 0};
    int64_t d, t = first_stretch(&starts, &d);
    if ((size_t)t + 1 >= m) {
        try_pair(&starts, 0, d, &best);
        return best;
    }
    int64_t next = block_place(&starts, (size_t)t + 1), common = d != 0 ? common_stride(&starts, d) : 0;
    try_pair(&starts, next, d, &best);
    try_pair(&starts, d, next - block_place(&starts, (size_t)t), &best);
    if (common != 0 && common != next) {
        try_pair(&starts, common, d, &best);
    }
    return best;
}

void espi_buckets_lengths(const int64_t *p, size_t step, size_t m, const struct espi_strided_buckets *best,
                          int64_t *len)
{
    const struct starts starts = {p, step, m};
    place_blocks(&starts, best->stride1, best->stride2, NULL, len);
}
