/* The type map as a string of symbols, its runs of equal symbols, and hashes of its blocks. */
#include "reconstruct/sparse/sparse.h"

#include <string.h>

#include "base/hash.h"

/* Numbers the symbols in the order of their first appearance, so that tables indexed by them are read in order. */
static espi_status number_symbols(struct espi_sparse *s)
{
    const int64_t *d = s->map->disp;
    const espi_base *base = s->map->base;
    size_t slots = 16;
    while (slots < 2 * (size_t)s->n)
        slots *= 2;
    struct espi_arena tables = ESPI_ARENA_INIT;
    uint32_t *table = espi_arena_alloc(&tables, slots * sizeof *table);
    int64_t *diff = espi_arena_alloc(&tables, s->n * sizeof *diff);
    uint32_t *pair = espi_arena_alloc(&tables, s->n * sizeof *pair);
    if (!table || !diff || !pair) {
        espi_arena_release(&tables);
        return ESPI_ERR_MEMORY;
    }
    memset(table, 0xff, slots * sizeof *table);
    uint32_t last = ESPI_SPARSE_NONE;
    for (uint32_t i = 0; i + 1 < s->n; i++) {
        int64_t delta = d[i + 1] - d[i];
        uint32_t bases = (uint32_t)base[i] << 16 | base[i + 1];
        if (last != ESPI_SPARSE_NONE && diff[last] == delta && pair[last] == bases) {
            s->sym[i] = last;
            continue;
        }
        size_t at = espi_mix(espi_mix(0, (uint64_t)delta), bases) & (slots - 1);
        while (table[at] != ESPI_SPARSE_NONE && (diff[table[at]] != delta || pair[table[at]] != bases))
            at = (at + 1) & (slots - 1);
        if (table[at] == ESPI_SPARSE_NONE) {
            diff[s->nsym] = delta;
            pair[s->nsym] = bases;
            table[at] = s->nsym++;
        }
        s->sym[i] = last = table[at];
    }
    espi_arena_release(&tables);
    return ESPI_OK;
}

espi_status espi_sparse_text(struct espi_sparse *s)
{
    uint32_t n = s->n;
    s->sym = espi_arena_alloc(&s->scratch, n * sizeof *s->sym);
    s->base_end = espi_arena_alloc(&s->scratch, n * sizeof *s->base_end);
    s->tok_of = espi_arena_alloc(&s->scratch, n * sizeof *s->tok_of);
    if (!s->sym || !s->base_end || !s->tok_of)
        return ESPI_ERR_MEMORY;
    espi_status status = number_symbols(s);
    if (status)
        return status;
    s->ntok = 0;
    for (uint32_t i = 0; i + 1 < n; i++) {
        s->ntok += i == 0 || s->sym[i] != s->sym[i - 1];
        s->tok_of[i] = s->ntok - 1;
    }
    s->tok_at = espi_arena_alloc(&s->scratch, ((size_t)s->ntok + 1) * sizeof *s->tok_at);
    if (!s->tok_at)
        return ESPI_ERR_MEMORY;
    for (uint32_t i = n - 1; i-- > 0;)
        s->tok_at[s->tok_of[i]] = i;
    s->tok_at[s->ntok] = n - 1;
    s->base_end[n - 1] = n;
    for (uint32_t i = n - 1; i-- > 0;)
        s->base_end[i] = s->map->base[i] == s->map->base[i + 1] ? s->base_end[i + 1] : i + 1;
    return ESPI_OK;
}

espi_status espi_sparse_hashes(struct espi_sparse *s)
{
    if (s->prefix)
        return ESPI_OK;
    const uint64_t factor = UINT64_C(0x5851f42d4c957f2d);
    uint64_t *prefix = espi_arena_alloc(&s->scratch, s->n * sizeof *prefix);
    uint64_t *power = espi_arena_alloc(&s->scratch, s->n * sizeof *power);
    if (!prefix || !power)
        return ESPI_ERR_MEMORY;
    prefix[0] = 0;
    power[0] = 1;
    for (uint32_t i = 0; i + 1 < s->n; i++) {
        prefix[i + 1] = prefix[i] * factor + espi_mix(0, s->sym[i] + UINT64_C(0x632be59bd9b4e019));
        power[i + 1] = power[i] * factor;
    }
    s->prefix = prefix;
    s->power = power;
    return ESPI_OK;
}

uint64_t espi_sparse_hash(const struct espi_sparse *s, uint32_t u, uint32_t len)
{
    return espi_mix(0, s->prefix[u + len - 1] - s->prefix[u] * s->power[len - 1]);
}

bool espi_sparse_same(const struct espi_sparse *s, uint32_t u, uint32_t v, uint32_t len)
{
    if (len < 2)
        return s->map->base[u] == s->map->base[v];
    return u == v || memcmp(s->sym + u, s->sym + v, (len - 1) * sizeof *s->sym) == 0;
}

bool espi_sparse_is_run(const struct espi_sparse *s, uint32_t u, uint32_t len)
{
    return s->tok_at[s->tok_of[u] + 1] >= u + len - 1 && s->map->base[u] == s->map->base[u + 1];
}
