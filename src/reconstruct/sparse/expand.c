/* Families from intervals: one square per start in an interval, and what continues them inside periodic runs. */
#include "reconstruct/sparse/sparse.h"

/* The run that holds block [u, u + q) in whole periods and of which squares of that length were left out. */
static const struct espi_period_run *run_of(const struct espi_sparse *s, uint32_t u, uint32_t q)
{
    for (uint32_t l = s->run_list[s->tok_of[u]]; l != ESPI_SPARSE_NONE; l = s->run_links[l].next) {
        const struct espi_period_run *r = &s->runs[s->run_links[l].run];
        if (r->drops && q % r->period == 0 && q / r->period > 1 && u >= r->lo && u + q - 1 <= r->hi)
            return r;
    }
    return NULL;
}

/* A square that is not inside a run may continue a chain of equal blocks inside one, to either side: Lemma 6 speaks
   of chains inside the run only, so those squares are needed. */
static espi_status continue_in_runs(struct espi_sparse *s, struct espi_builder *b, uint32_t u)
{
    espi_status status = ESPI_OK;
    uint32_t q = b->q;
    const struct espi_period_run *r = run_of(s, u, q);
    for (uint32_t v = u; r && v >= r->lo + q && b->stamp[v - q] != b->now && !status; v -= q)
        status = espi_builder_add(s, b, v - q, ESPI_SPARSE_NONE);
    r = run_of(s, u + q, q);
    for (uint32_t v = u + q; r && v + 2 * q - 1 <= r->hi && b->stamp[v] != b->now && !status; v += q)
        status = espi_builder_add(s, b, v, ESPI_SPARSE_NONE);
    return status;
}

/* Blocks of two entries of different base types are the only ones of a single symbol that are not strided runs.
   Lemma 6 holds for them: L(2) is at least the cost of two leaves. */
static espi_status expand_pairs(struct espi_sparse *s, struct espi_builder *b)
{
    espi_status status = ESPI_OK;
    for (uint32_t u = 0; u + 4 <= s->n && !status; u++)
        if (s->sym[u] == s->sym[u + 2] && s->base_end[u] == u + 1)
            status = espi_builder_add(s, b, u, ESPI_SPARSE_NONE);
    return status;
}

/*
 * Words as full of repeats as Fibonacci's have some n log n squares, but less than n intervals (maximal repetitions,
 * as the runs theorem has it). Where all squares are too many, two chains of each interval stand for it, one from its
 * first entry and one up to its last; and none where even a list of all blocks but one costs no more than a
 * repetition and a further part.
 */
static espi_status expand_thin(struct espi_sparse *s, struct espi_builder *b)
{
    const struct espi_costs *c = &s->costs;
    espi_status status = ESPI_OK;
    for (size_t i = 0; i < s->nintervals && !status;) {
        uint32_t q = s->intervals[i].q;
        espi_builder_open(b, q);
        for (; i < s->nintervals && s->intervals[i].q == q && !status; i++) {
            const struct espi_interval *m = &s->intervals[i];
            uint32_t squares = (m->hi - m->lo + 1) / q, last = m->hi + 1 - q;
            uint32_t run = m->multiple == 1 && s->runs[m->run].drops ? m->run : ESPI_SPARSE_NONE;
            if ((int64_t)squares * q * c->idx_each <= s->uniform + c->struc_each)
                continue;
            for (uint32_t k = 0; k < squares && !status; k++)
                status = espi_builder_add(s, b, m->lo + k * q, run);
            for (uint32_t k = 0; k < squares && !status; k++)
                status = espi_builder_add(s, b, last - k * q, run);
        }
        if (!status)
            status = espi_builder_close(s, b);
    }
    return status;
}

espi_status espi_sparse_expand(struct espi_sparse *s, struct espi_builder *b)
{
    s->in_intervals = 0;
    for (size_t i = 0; i < s->nintervals; i++)
        s->in_intervals += s->intervals[i].hi + 2 - s->intervals[i].lo - s->intervals[i].q;
    if (s->thin)
        return expand_thin(s, b);
    if (s->in_intervals > s->work_limit) /* each costs more than a unit: told at once */
        return ESPI_ERR_LIMIT;
    espi_builder_open(b, 2);
    espi_status status = expand_pairs(s, b);
    if (!status)
        status = espi_builder_close(s, b);
    for (size_t i = 0; i < s->nintervals && !status;) {
        uint32_t q = s->intervals[i].q;
        size_t end = i;
        espi_builder_open(b, q);
        for (; end < s->nintervals && s->intervals[end].q == q && !status; end++) {
            const struct espi_interval *m = &s->intervals[end];
            uint32_t run = m->multiple == 1 && s->runs[m->run].drops ? m->run : ESPI_SPARSE_NONE;
            for (uint32_t u = m->lo; u + q - 1 <= m->hi && !status; u++)
                if (s->tok_at[s->tok_of[u] + 1] < u + q - 1)
                    status = espi_builder_add(s, b, u, run);
        }
        for (; i < end && !status; i++) {
            const struct espi_interval *m = &s->intervals[i];
            for (uint32_t u = m->lo; u + q - 1 <= m->hi && m->multiple < 2 && !status; u++)
                if (s->tok_at[s->tok_of[u] + 1] < u + q - 1)
                    status = continue_in_runs(s, b, u);
        }
        i = end;
        if (!status)
            status = espi_builder_close(s, b);
    }
    return status;
}

/* Each square is in the rows of the blocks around it, of many when strided runs are not the best there is. */
enum { ROWS = 64 };

espi_status espi_sparse_expand_all(struct espi_sparse *s, struct espi_builder *b)
{
    espi_status status = ESPI_OK;
    for (uint32_t q = 2; 2 * q <= s->n && !status; q++) {
        espi_builder_open(b, q);
        uint32_t same = 0; /* symbols before i + 1 that equal those q on */
        for (uint32_t i = 0; i + q + 1 < s->n && !status; i++) {
            same = s->sym[i] == s->sym[i + q] ? same + 1 : 0;
            if (same >= q - 1)
                status = espi_builder_add(s, b, i + 2 - q, ESPI_SPARSE_NONE);
        }
        if (!status)
            status = espi_sparse_work(s, (s->n - q) / 8);
        if (b->nall + b->n > s->work_limit / ROWS) /* their rows would be too much: told at once */
            status = ESPI_ERR_LIMIT;
        if (!status)
            status = espi_builder_close(s, b);
    }
    return status;
}
