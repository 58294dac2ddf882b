/*
 * Lines: what strided buckets over a chain of equal adjacent blocks can be made of (Lemmas 10 to 12).
 *
 * The strides of the chain are cut into stretches of one stride. Buckets with s2 = d come from one stretch of stride
 * d to a later one over breaks. Between two such stretches without a third there stands a single break, or a run of
 * s1, or a break and a run of s1: each of the single blocks in the run is a bucket. So the stretch before is two or
 * three places back, and only where a single break stands between may s1 be anything. There s1 is a part of the way
 * from one stretch to the next: the list of approaches has one entry for each.
 */
#include "reconstruct/sparse/sparse.h"

static int64_t stride_after(const struct espi_sparse *s, const struct espi_line *line, uint32_t j)
{
    const int64_t *d = s->map->disp + line->start + (size_t)s->stretches[j].at * line->q;
    return d[line->q] - d[0];
}

/* From the first block of stretch m to the block after the break that follows. */
static int64_t whole_distance(const struct espi_sparse *s, const struct espi_line *line, uint32_t m)
{
    return s->stretches[m].length * stride_after(s, line, m) + stride_after(s, line, m + 1);
}

/* Which buckets of strides s1, s2 = that of stretch m begin in m and have a bucket begin after the break (Lemma 11);
   `across` when the first block of m is one of them. */
static struct espi_approach begin_in(const struct espi_sparse *s, const struct espi_line *line, uint32_t m,
                                     int64_t s1)
{
    uint32_t length = s->stretches[m].length;
    int64_t d = stride_after(s, line, m), all = whole_distance(s, line, m);
    struct espi_approach a = {s1, ESPI_SPARSE_NONE, 0, ESPI_SPARSE_NONE, length + 1, 1, 0};
    if (d == 0) {
        if (all == s1) {
            a.last = length;
            a.step = 1;
        }
    } else if (s1 % d == 0 && s1 / d >= 1 && all % d == 0) {
        int64_t r = s1 / d, g = all / d, x = g - r < length ? g - r : length;
        if (g - length > r || x < 0)
            return a;
        x -= ((x - g) % r + r) % r;
        if (x < 0)
            return a;
        a.last = (uint32_t)x;
        a.step = r < a.step ? (uint32_t)r : a.step;
        a.buckets = (uint32_t)((g - x) / r);
        a.more = 1;
    } else if ((all - s1) % d == 0 && (all - s1) / d >= 0 && (all - s1) / d <= length) {
        a.last = (uint32_t)((all - s1) / d);
    }
    if (a.last != ESPI_SPARSE_NONE && a.last % a.step == 0)
        a.across = a.buckets + a.more * (a.last / a.step);
    return a;
}

static uint32_t find_approach(const struct espi_sparse *s, uint32_t m, int64_t s1)
{
    for (uint32_t i = s->stretches[m].first; i < s->stretches[m].end; i++)
        if (s->approaches[i].s1 == s1)
            return i;
    return ESPI_SPARSE_NONE;
}

static espi_status add_approach(struct espi_sparse *s, struct espi_approach a)
{
    espi_status status =
        espi_sparse_grow(&s->approaches, &s->approaches_cap, s->napproaches + 1, sizeof *s->approaches);
    if (!status) {
        s->approaches[s->napproaches++] = a;
        status = espi_sparse_work(s, 1);
    }
    return status;
}

/* From stretch m to a place where s1 is given; *out: its number, or NONE when nothing can come that way. */
static espi_status add_join(struct espi_sparse *s, const struct espi_line *line, uint32_t m, int64_t s1,
                            uint32_t *out)
{
    struct espi_approach a = begin_in(s, line, m, s1);
    a.before = find_approach(s, m, s1);
    if (a.before == ESPI_SPARSE_NONE && a.last == ESPI_SPARSE_NONE)
        return ESPI_OK;
    *out = (uint32_t)s->napproaches;
    return add_approach(s, a);
}

/* The approach of s1 to stretch j from two back, if it can go on through j. */
static espi_status add_through(struct espi_sparse *s, const struct espi_line *line, uint32_t j, int64_t s1)
{
    uint32_t across = begin_in(s, line, j, s1).across;
    struct espi_approach a = begin_in(s, line, j - 2, s1);
    a.before = find_approach(s, j - 2, s1);
    if (across == 0 || (a.before == ESPI_SPARSE_NONE && a.last == ESPI_SPARSE_NONE))
        return ESPI_OK;
    a.across = across;
    return add_approach(s, a);
}

static espi_status add_approaches(struct espi_sparse *s, const struct espi_line *line, uint32_t first, uint32_t j)
{
    espi_status status = ESPI_OK;
    int64_t d = stride_after(s, line, j), all = whole_distance(s, line, j), length = s->stretches[j].length;
    if (!s->stretches[j].single) { /* all come from a run of single blocks */
        struct espi_approach a = {.before = ESPI_SPARSE_NONE};
        if (j > first)
            a = begin_in(s, line, j, stride_after(s, line, j - 1));
        a.last = ESPI_SPARSE_NONE;
        return a.across > 0 ? add_approach(s, a) : ESPI_OK;
    }
    status = add_through(s, line, j, all);
    if (d == 0 || all % d != 0 || all / d > 2 * length)
        return status;
    int64_t g = all / d; /* s1 = r d, r a proper divisor of g that is no less than the break */
    for (int64_t k = 1; k * k <= g && !status; k++) {
        if (g % k != 0)
            continue;
        if (k < g && k >= g - length)
            status = add_through(s, line, j, k * d);
        if (k > 1 && g / k > k && g / k >= g - length && !status)
            status = add_through(s, line, j, g / k * d);
    }
    return status;
}

/* Which stretch buckets of the same s2 come from; which may have as many strides of s2 as is needed. */
static bool mark_stretches(struct espi_sparse *s, const struct espi_line *line, uint32_t first, uint32_t end,
                           int64_t needed)
{
    struct espi_stretch *t = s->stretches;
    bool any = false;
    for (uint32_t j = first; j < end; j++) {
        t[j].back = 0;
        if (j >= first + 2 && stride_after(s, line, j - 2) == stride_after(s, line, j))
            t[j].back = 2;
        else if (j >= first + 3 && t[j - 2].length == 1 && stride_after(s, line, j - 3) == stride_after(s, line, j))
            t[j].back = 3;
        t[j].single = t[j].back == 2 && t[j - 1].length == 1;
        t[j].first = t[j].length + (t[j].back ? t[j - t[j].back].first : 0); /* for now: strides so far */
    }
    for (uint32_t j = end; j-- > first;) {
        t[j].used = t[j].used || t[j].first >= needed;
        if (t[j].back && t[j].used)
            t[j - t[j].back].used = true;
        any = any || t[j].used;
    }
    return any;
}

/* Stretches [first, end), whose places are known, but for the rest. */
static espi_status connect_stretches(struct espi_sparse *s, const struct espi_line *line, uint32_t first,
                                     uint32_t end, int64_t needed, bool *any)
{
    *any = end - first > 1 && mark_stretches(s, line, first, end, needed);
    espi_status status = *any ? espi_sparse_work(s, 2 * (end - first)) : ESPI_OK;
    for (uint32_t j = first; j < end && !status; j++) {
        struct espi_stretch *t = &s->stretches[j];
        t->first = t->end = (uint32_t)s->napproaches;
        t->join1 = t->join2 = ESPI_SPARSE_NONE;
        if (!*any)
            continue;
        if (t->used && j + 1 < end)
            status = add_approaches(s, line, first, j);
        t->end = (uint32_t)s->napproaches;
        if (!status && t->length > 1 && j > first && t[-1].used)
            status = add_join(s, line, j - 1, stride_after(s, line, j), &t->join1);
        if (!status && j > first + 1 && t[-1].length == 1 && t[-2].used && t->back != 2)
            status = add_join(s, line, j - 2, stride_after(s, line, j), &t->join2);
    }
    return status;
}

static espi_status add_stretch(struct espi_sparse *s, uint32_t at, uint32_t length)
{
    espi_status status =
        espi_sparse_grow(&s->stretches, &s->stretches_cap, s->nstretches + 1, sizeof *s->stretches);
    if (!status)
        s->stretches[s->nstretches++] = (struct espi_stretch){.at = at, .length = length};
    return status;
}

static espi_status add_line(struct espi_sparse *s, struct espi_line line)
{
    espi_status status = espi_sparse_grow(&s->lines, &s->lines_cap, s->nlines + 1, sizeof *s->lines);
    if (!status)
        s->lines[s->nlines++] = line;
    return status;
}

/* The leaves: stretches are the tokens. */
static espi_status add_leaves(struct espi_sparse *s, int64_t needed)
{
    struct espi_line line = {0, 1, 0, s->ntok};
    espi_status status = ESPI_OK;
    for (uint32_t j = 0; j < s->ntok && !status; j++)
        status = add_stretch(s, s->tok_at[j], s->tok_at[j + 1] - s->tok_at[j]);
    for (uint32_t u = 0; u + 1 < s->n && !status; u = s->base_end[u]) {
        bool any = false;
        if (s->base_end[u] > u + 1)
            status = connect_stretches(s, &line, s->tok_of[u], s->tok_of[s->base_end[u] - 2] + 1, needed, &any);
        s->leaf_line = s->leaf_line || any;
    }
    if (s->leaf_line)
        return status ? status : add_line(s, line);
    s->nstretches = s->napproaches = 0;
    return status;
}

static espi_status add_family(struct espi_sparse *s, struct espi_family *f, int64_t needed)
{
    const int64_t *d = s->map->disp + f->start;
    size_t stretches = s->nstretches, approaches = s->napproaches;
    uint32_t at = 0;
    espi_status status = espi_sparse_work(s, f->squares / 4);
    for (uint32_t k = 1; k <= f->squares && !status; k++) {
        const int64_t *p = d + (size_t)k * f->q;
        if (k == f->squares || p[f->q] - p[0] != p[0] - p[-(ptrdiff_t)f->q]) {
            status = add_stretch(s, at, k - at);
            at = k;
        }
    }
    struct espi_line line = {f->start, f->q, (uint32_t)stretches, (uint32_t)s->nstretches};
    bool any = false;
    if (!status)
        status = connect_stretches(s, &line, line.first, line.end, needed, &any);
    if (!status && any) {
        f->line = (uint32_t)s->nlines;
        return add_line(s, line);
    }
    s->nstretches = stretches;
    s->napproaches = approaches;
    return status;
}

/* Lemma 12: c >= 2 strided buckets with h strides of s2 in them, of c + h blocks, are worth while only when they cost
   less than idx and idxbuc: the least such h, or 0 when there is none. */
static int64_t least_inside(const struct espi_costs *c)
{
    int64_t more = c->bucket - c->idx + 2 * (c->bucket_each - c->idx_each);
    if (c->bucket >= c->idxbuc && c->bucket_each >= c->idxbuc_each)
        return 0;
    if (c->idx_each == 0)
        return c->bucket + 2 * c->bucket_each < c->idx;
    return c->bucket_each < c->idx_each || more < 0 ? 1 : more / c->idx_each + 1;
}

espi_status espi_sparse_lines(struct espi_sparse *s)
{
    int64_t needed = s->strided ? least_inside(&s->costs) : 0;
    if (needed == 0)
        return ESPI_OK;
    espi_status status = add_leaves(s, needed);
    for (size_t i = 0; i < s->nfamilies && !status; i++)
        if (s->families[i].squares > needed) /* blocks: at least 2 + needed */
            status = add_family(s, &s->families[i], needed);
    if (status)
        return status;
    s->line_state = espi_arena_calloc(&s->scratch, s->nlines, sizeof *s->line_state);
    s->approach_value = espi_arena_calloc(&s->scratch, s->napproaches, sizeof *s->approach_value);
    return s->line_state && s->approach_value ? ESPI_OK : ESPI_ERR_MEMORY;
}
