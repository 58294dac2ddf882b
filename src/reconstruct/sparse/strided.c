/*
 * Strided buckets in a row (Lemmas 10 to 12). While a row passes along a line, all that can change happens where a
 * stretch ends: within a stretch, the buckets that may end with its next block cost the same up to any block (s2 is
 * the present stride), or one more for each block (single blocks at s1, the present stride). So where a stretch
 * begins, the sources in the one or two before are gone through once, by their approaches (line.c).
 */
#include "reconstruct/sparse/sparse.h"

struct walk {
    struct espi_sparse *s;
    const struct espi_line *line;
    struct espi_line_state *state;
    uint32_t u;
    const int64_t *path;
    int64_t each;
};

static const struct espi_source nothing = {ESPI_SPARSE_INF, 0};

static inline void lower_source(struct espi_source *best, int64_t cost, uint32_t from)
{
    if (cost < best->cost)
        *best = (struct espi_source){cost, from};
}

static inline void lower_by(struct espi_source *best, struct espi_source other, int64_t more)
{
    lower_source(best, other.cost + more, other.from);
}

static inline uint32_t entry_of_block(const struct walk *w, uint32_t block)
{
    return w->line->start + block * w->line->q - w->u;
}

/* What comes from stretch m by the approach. */
static struct espi_source value_of_approach(const struct walk *w, uint32_t m, const struct espi_approach *a)
{
    const struct espi_stretch *t = &w->s->stretches[m];
    struct espi_source best = nothing;
    uint32_t opened = w->state->opened_block, lowest = opened > t->at ? opened - t->at : 0;
    if (a->before != ESPI_SPARSE_NONE && m >= w->state->opened)
        lower_by(&best, w->s->approach_value[a->before], w->each * w->s->approaches[a->before].across);
    if (a->last == ESPI_SPARSE_NONE || a->last < lowest)
        return best;
    int64_t cost = w->each * a->buckets, more = w->each * a->more;
    for (uint32_t x = a->last;; x -= a->step, cost += more) {
        uint32_t from = entry_of_block(w, t->at + x);
        lower_source(&best, w->path[from] + cost, from);
        if (x < lowest + a->step)
            break;
    }
    w->s->work += 1 + (a->last - lowest) / a->step;
    return best;
}

/* The first stretch of the row, and block of it. */
static void open_row(const struct walk *w, uint32_t block)
{
    struct espi_sparse *s = w->s;
    struct espi_line_state *state = w->state;
    uint32_t low = w->line->first, high = w->line->end;
    if (w->line->q == 1) {
        low = s->tok_of[block];
    } else {
        while (high - low > 1) {
            uint32_t middle = low + (high - low) / 2;
            if (s->stretches[middle].at <= block)
                low = middle;
            else
                high = middle;
        }
    }
    const struct espi_stretch *t = &s->stretches[low];
    state->opened = state->now = low;
    state->opened_block = block;
    state->at = block; /* `after` is nothing, and so are single blocks */
    state->end = t->at + t->length;
    state->inside = state->after = state->join1 = state->join2 = state->singles = nothing;
    for (uint32_t i = t->first; i < t->end; i++)
        s->approach_value[i] = nothing;
}

/* What comes to the first block of stretch j with s2 = its stride. `single`: from the single blocks before. */
static struct espi_source arrive_at_stretch(const struct walk *w, uint32_t j, struct espi_source single)
{
    struct espi_sparse *s = w->s;
    const struct espi_line_state *state = w->state; /* still that of stretch j - 1 */
    const struct espi_stretch *t = &s->stretches[j];
    struct espi_source best = single;
    if (t->single)
        lower_by(&best, state->after, -w->each);
    else if (t->back == 2)
        lower_by(&best, state->join1, w->each * (t[-1].length - 1));
    else if (t->back == 3)
        lower_by(&best, state->join2, w->each * t[-1].length);
    for (uint32_t i = t->first; i < t->end; i++)
        s->approach_value[i] = t->single ? value_of_approach(w, j - 2, &s->approaches[i]) : best;
    return best;
}

/* What comes from stretch m over the break to the block after it, that bucket counted. */
static struct espi_source leave_stretch(const struct walk *w, uint32_t m, struct espi_source any)
{
    const struct espi_sparse *s = w->s;
    struct espi_source best = {any.cost + 2 * w->each, any.from};
    for (uint32_t i = s->stretches[m].first; i < s->stretches[m].end; i++)
        lower_by(&best, s->approach_value[i], w->each * (s->approaches[i].across + 1));
    return best;
}

/* Stretch j begins; sources up to its first block are known. */
static void enter_stretch(const struct walk *w, uint32_t j)
{
    struct espi_sparse *s = w->s;
    struct espi_line_state *state = w->state;
    const struct espi_stretch *t = &s->stretches[j], *p = t - 1;
    struct espi_source single = nothing, any = nothing;
    if (t->used || p->used) {
        uint32_t low = state->opened_block > p->at ? state->opened_block : p->at, from = entry_of_block(w, low);
        int64_t cost = w->each * (t->at - low);
        for (uint32_t a = low; a < t->at; a++, from += w->line->q, cost -= w->each) {
            lower_source(&single, w->path[from] + cost, from);
            lower_source(&any, w->path[from], from);
        }
        lower_source(&any, w->path[from], from);
        s->work += 1 + (t->at - low) / 4;
    }
    struct espi_source inside = nothing;
    if (t->used) {
        inside = arrive_at_stretch(w, j, single);
        inside.cost += w->each;
    }
    state->inside = inside;
    state->after = state->join1 = state->join2 = state->singles = nothing;
    if (p->used)
        state->after = leave_stretch(w, j - 1, any);
    if (t->join1 != ESPI_SPARSE_NONE) {
        state->join1 = value_of_approach(w, j - 1, &s->approaches[t->join1]);
        lower_by(&state->singles, state->join1, w->each);
    }
    if (t->join2 != ESPI_SPARSE_NONE) {
        state->join2 = value_of_approach(w, j - 2, &s->approaches[t->join2]);
        lower_by(&state->singles, state->join2, 2 * w->each);
    }
    state->now = j;
    state->at = t->at;
    state->end = t->at + t->length;
}

void espi_sparse_enter(struct espi_sparse *s, uint32_t line, uint32_t stamp, uint32_t k, uint32_t u,
                       const int64_t *path)
{
    struct espi_line_state *state = &s->line_state[line];
    const struct walk w = {s, &s->lines[line], state, u, path, s->costs.bucket_each};
    if (state->stamp != stamp) {
        state->stamp = stamp;
        open_row(&w, k);
    } else {
        enter_stretch(&w, state->now + 1);
    }
}
