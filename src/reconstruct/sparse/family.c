/* Collects squares, links those of one block content into families, sorts them by position. */
#include "reconstruct/sparse/sparse.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

espi_status espi_sparse_work(struct espi_sparse *s, uint64_t units)
{
    s->work += units;
    return s->work > s->work_limit ? ESPI_ERR_LIMIT : ESPI_OK;
}

espi_status espi_sparse_grow(void *array_pointer, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return ESPI_OK;
    size_t wanted = *capacity < 64 ? 64 : 2 * *capacity;
    while (wanted < need)
        wanted *= 2;
    void *old;
    memcpy(&old, array_pointer, sizeof old);
    void *grown = wanted > SIZE_MAX / size ? NULL : realloc(old, wanted * size);
    if (!grown)
        return ESPI_ERR_MEMORY;
    memcpy(array_pointer, &grown, sizeof grown);
    *capacity = wanted;
    return ESPI_OK;
}

espi_status espi_sparse_strides(struct espi_sparse *s, uint32_t n)
{
    size_t slots = 16, old = s->nslots;
    while (slots < 2 * (size_t)n)
        slots *= 2;
    espi_status status = espi_sparse_grow(&s->slots, &s->nslots, slots, sizeof *s->slots);
    if (status)
        return status;
    if (s->nslots > old)
        memset(s->slots + old, 0, (s->nslots - old) * sizeof *s->slots);
    s->slot_mask = slots - 1;
    s->slot_stamp++;
    return ESPI_OK;
}

uint32_t *espi_sparse_stride(struct espi_sparse *s, int64_t stride)
{
    size_t at = espi_mix(0, (uint64_t)stride) & s->slot_mask;
    while (s->slots[at].stamp == s->slot_stamp && s->slots[at].stride != stride)
        at = (at + 1) & s->slot_mask;
    if (s->slots[at].stamp != s->slot_stamp)
        s->slots[at] = (struct espi_stride_slot){stride, s->slot_stamp, 0};
    return &s->slots[at].number;
}

espi_status espi_builder_start(struct espi_sparse *s, struct espi_builder *b)
{
    memset(b, 0, sizeof *b);
    b->stamp = espi_arena_calloc(&s->scratch, s->n, sizeof *b->stamp);
    b->place = espi_arena_alloc(&s->scratch, s->n * sizeof *b->place);
    b->owner = espi_arena_alloc(&s->scratch, s->n * sizeof *b->owner);
    return b->stamp && b->place && b->owner ? ESPI_OK : ESPI_ERR_MEMORY;
}

void espi_builder_open(struct espi_builder *b, uint32_t q)
{
    b->q = q;
    b->n = 0;
    b->now++;
}

espi_status espi_builder_add(struct espi_sparse *s, struct espi_builder *b, uint32_t u, uint32_t run)
{
    if (b->stamp[u] == b->now)
        return ESPI_OK;
    espi_status status = espi_sparse_work(s, 1);
    if (!status)
        status = espi_sparse_grow(&b->at, &b->cap, b->n + 1, sizeof *b->at);
    if (status)
        return status;
    b->stamp[u] = b->now;
    b->owner[u] = run;
    b->at[b->n++] = u;
    return ESPI_OK;
}

static int by_position(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Numbers the strides of one family; the numbers of different families differ. */
static espi_status number_strides(struct espi_sparse *s, struct espi_builder *b, struct espi_family *f)
{
    espi_status status = espi_sparse_strides(s, f->squares);
    if (status)
        return status;
    const int64_t *d = s->map->disp;
    uint32_t u = f->start;
    for (uint32_t k = 0; k < f->squares; k++, u += f->q) {
        uint32_t *number = espi_sparse_stride(s, d[u + f->q] - d[u]);
        if (*number == 0)
            *number = ++s->nstrides;
        b->all[b->place[u]].square.stride = *number - 1;
    }
    return ESPI_OK;
}

espi_status espi_builder_close(struct espi_sparse *s, struct espi_builder *b)
{
    bool sorted = true;
    for (size_t i = 1; i < b->n; i++)
        sorted = sorted && b->at[i - 1] < b->at[i];
    if (!sorted)
        qsort(b->at, b->n, sizeof *b->at, by_position);
    espi_status status = espi_sparse_grow(&b->all, &b->all_cap, b->nall + b->n, sizeof *b->all);
    size_t first_family = s->nfamilies;
    for (size_t i = 0; i < b->n && !status; i++) {
        uint32_t u = b->at[i], family;
        if (u >= b->q && b->stamp[u - b->q] == b->now) {
            family = b->all[b->place[u - b->q]].square.family;
            s->families[family].squares++;
        } else {
            status = espi_sparse_grow(&s->families, &s->families_cap, s->nfamilies + 1, sizeof *s->families);
            if (status)
                break;
            family = (uint32_t)s->nfamilies++;
            s->families[family] = (struct espi_family){
                .start = u, .q = b->q, .squares = 1, .same = family};
            s->families[family].period_run = s->families[family].line = ESPI_SPARSE_NONE;
        }
        struct espi_family *f = &s->families[family];
        if (b->owner[u] != ESPI_SPARSE_NONE &&
            (f->period_run == ESPI_SPARSE_NONE || s->runs[f->period_run].most < s->runs[b->owner[u]].most))
            f->period_run = b->owner[u];
        b->place[u] = (uint32_t)b->nall;
        b->all[b->nall++] = (struct espi_flat){u, {b->q, family, 0}};
    }
    for (size_t f = first_family; f < s->nfamilies && !status; f++)
        if (s->families[f].squares > 1)
            status = number_strides(s, b, &s->families[f]);
    return status;
}

espi_status espi_builder_finish(struct espi_sparse *s, struct espi_builder *b)
{
    s->nsquares = b->nall;
    s->first = espi_arena_calloc(&s->scratch, (size_t)s->n + 2, sizeof *s->first);
    s->square = espi_arena_alloc(&s->scratch, b->nall * sizeof *s->square);
    if (!s->first || !s->square)
        return ESPI_ERR_MEMORY;
    uint32_t *start = s->first + 1; /* counted one place up, so that filling moves it into place */
    for (size_t i = 0; i < b->nall; i++)
        start[b->all[i].u + 1]++;
    for (uint32_t u = 1; u <= s->n; u++)
        start[u] += start[u - 1];
    for (size_t i = 0; i < b->nall; i++)
        s->square[start[b->all[i].u]++] = b->all[i].square;
    for (uint32_t u = 0; u < s->n; u++) /* two ascending sequences per position at most: nearly sorted */
        for (uint32_t i = s->first[u] + 1; i < s->first[u + 1]; i++) {
            struct espi_square x = s->square[i];
            uint32_t j = i;
            for (; j > s->first[u] && s->square[j - 1].q > x.q; j--)
                s->square[j] = s->square[j - 1];
            s->square[j] = x;
        }
    return ESPI_OK;
}

void espi_builder_release(struct espi_builder *b)
{
    free(b->at);
    free(b->all);
    b->at = NULL;
    b->all = NULL;
}
