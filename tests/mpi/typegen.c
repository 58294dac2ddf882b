#include "typegrow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const tg_kind_name[TG_KINDS] = {
    "base", "pair", "f90_real", "f90_complex", "f90_integer",
    "dup", "contiguous", "vector", "hvector", "indexed", "hindexed", "indexed_block", "hindexed_block",
    "struct", "subarray_c", "subarray_f", "darray_c", "darray_f", "resized",
};

uint64_t tg_below(uint64_t *state, uint64_t n)
{
    return n ? tg_next(state) % n : 0;
}

long tg_between(struct tg_grow *g, long low, long high)
{
    return low + (long)tg_below(&g->rng, (uint64_t)(high - low + 1));
}

int tg_chance(struct tg_grow *g, int percent)
{
    return (int)tg_below(&g->rng, 100) < percent;
}

/* Long double types are left out: their padding is not part of the value, so its bytes are nobody's promise. */
static const struct base_row {
    MPI_Datatype type;
    const char *name;
} base_table[] = {
    {MPI_BYTE, "byte"}, {MPI_CHAR, "char"}, {MPI_SIGNED_CHAR, "schar"}, {MPI_UNSIGNED_CHAR, "uchar"},
    {MPI_SHORT, "short"}, {MPI_UNSIGNED_SHORT, "ushort"}, {MPI_INT, "int"}, {MPI_UNSIGNED, "unsigned"},
    {MPI_LONG, "long"}, {MPI_UNSIGNED_LONG, "ulong"}, {MPI_LONG_LONG, "llong"}, {MPI_UNSIGNED_LONG_LONG, "ullong"},
    {MPI_FLOAT, "float"}, {MPI_DOUBLE, "double"}, {MPI_WCHAR, "wchar"}, {MPI_C_BOOL, "bool"},
    {MPI_INT8_T, "int8"}, {MPI_INT16_T, "int16"}, {MPI_INT32_T, "int32"}, {MPI_INT64_T, "int64"},
    {MPI_UINT8_T, "uint8"}, {MPI_UINT16_T, "uint16"}, {MPI_UINT32_T, "uint32"}, {MPI_UINT64_T, "uint64"},
    {MPI_C_COMPLEX, "complex"}, {MPI_C_DOUBLE_COMPLEX, "dcomplex"},
    {MPI_AINT, "aint"}, {MPI_OFFSET, "offset"}, {MPI_COUNT, "count"},
    {MPI_INTEGER, "INTEGER"}, {MPI_REAL, "REAL"}, {MPI_DOUBLE_PRECISION, "DOUBLE"}, {MPI_LOGICAL, "LOGICAL"},
    {MPI_CHARACTER, "CHARACTER"}, {MPI_COMPLEX, "COMPLEX"}, {MPI_DOUBLE_COMPLEX, "ZCOMPLEX"},
};

int tg_bases(void)
{
    return (int)(sizeof base_table / sizeof base_table[0]);
}

MPI_Datatype tg_base(int base)
{
    return base_table[base].type;
}

const char *tg_base_name(int base)
{
    return base_table[base].name;
}

int tg_base_of(MPI_Datatype type)
{
    for (int i = 0; i < tg_bases(); i++)
        if (base_table[i].type == type)
            return i;
    return 0;
}

void tg_add(struct tg_type *t, MPI_Aint disp, int base, int size)
{
    if (t->n == t->room) {
        t->room = t->room ? 2 * t->room : 16;
        t->map = realloc(t->map, t->room * sizeof t->map[0]);
    }
    t->map[t->n++] = (struct tg_entry){.disp = disp, .base = base, .size = size};
}

void tg_put(struct tg_type *t, const struct tg_type *c, MPI_Aint at, long copies)
{
    for (long j = 0; j < copies; j++)
        for (size_t i = 0; i < c->n; i++)
            tg_add(t, c->map[i].disp + at + j * (MPI_Aint)c->extent, c->map[i].base, c->map[i].size);
}

/* What the map implies, and the bounds MPI gives. */
void tg_settle(struct tg_type *t)
{
    MPI_Type_get_extent_x(t->type, &t->lb, &t->extent);
    t->size = 0;
    t->low = t->high = 0;
    for (size_t i = 0; i < t->n; i++) {
        MPI_Aint d = t->map[i].disp;
        t->size += t->map[i].size;
        if (i == 0 || d < t->low)
            t->low = d;
        if (i == 0 || d + t->map[i].size > t->high)
            t->high = d + t->map[i].size;
    }
}

void tg_note(struct tg_type *t, int large, const char *what, const struct tg_type *c)
{
    snprintf(t->text, sizeof t->text, "%.120s%s(%.360s)", what, large ? "_c" : "", c ? c->text : "");
}

void tg_make(const struct tg_wish *wish, struct tg_type *t)
{
    struct tg_grow g = {.rng = wish->seed, .base = wish->base, .disjoint = wish->disjoint};
    int kind = wish->kind < TG_KINDS ? wish->kind : (int)tg_between(&g, TG_PAIR, TG_KINDS - 1);
    tg_grow_tree(&g, kind, wish->depth, wish->budget, t);
    if (!t->predefined)
        MPI_Type_commit(&t->type);
}

static void make_resized(struct tg_type *t, MPI_Aint lb, MPI_Aint extent)
{
    struct tg_type r;
    memset(&r, 0, sizeof r);
    MPI_Type_create_resized(t->type, lb, extent, &r.type);
    MPI_Type_commit(&r.type);
    tg_put(&r, t, 0, 1);
    tg_note(&r, 0, "spaced", t);
    tg_settle(&r);
    tg_free(t);
    *t = r;
}

void tg_make_receivable(const struct tg_wish *wish, int copies, MPI_Aint span, struct tg_type *t)
{
    struct tg_wish w = *wish;
    w.disjoint = 1;
    for (int attempt = 0; attempt < 40; attempt++) {
        MPI_Aint low, high;
        tg_make(&w, t);
        if (tg_disjoint(t, 1)) {
            if (!tg_disjoint(t, copies))
                make_resized(t, t->low - (MPI_Aint)(w.seed % 8), t->high - t->low + (MPI_Aint)(w.seed % 24));
            tg_span(t, copies, &low, &high);
            if (high - low <= span)
                return;
        }
        tg_free(t);
        tg_next(&w.seed);
    }
    w.kind = TG_VECTOR;
    w.depth = 1;
    w.budget = 8;
    tg_make(&w, t);
    make_resized(t, t->low, t->high - t->low + 4);
}

void tg_make_spread(uint64_t seed, const struct tg_type *like, int count, struct tg_type *t)
{
    struct tg_grow g = {.rng = seed, .base = -1, .disjoint = 1};
    size_t n = like->n * (size_t)count;
    int *lens = malloc((n + 1) * sizeof *lens), same = 1;
    MPI_Aint *disps = malloc((n + 1) * sizeof *disps), at = tg_between(&g, -40, 40);
    MPI_Datatype *types = malloc((n + 1) * sizeof *types);
    size_t *order = malloc((n + 1) * sizeof *order);
    memset(t, 0, sizeof *t);
    /* Whole runs of elements stay together now and then, so that there is something to find. */
    size_t run = (size_t)tg_between(&g, 1, 9);
    int style = (int)tg_between(&g, 0, 2); /* in order, shuffled, backwards */
    for (size_t i = 0; i < n; i++)
        order[i] = style == 2 ? n - 1 - i : i;
    if (style == 1)
        for (size_t i = n; i-- > 1;) {
            size_t j = (size_t)tg_between(&g, 0, (long)i), o = order[i];
            order[i] = order[j];
            order[j] = o;
        }
    for (size_t k = 0; k < n; k++) {
        size_t i = order[k];
        const struct tg_entry *e = &like->map[i % like->n];
        if (k % run == 0)
            at += tg_between(&g, 0, 3) * e->size;
        lens[i] = 1;
        disps[i] = at;
        types[i] = base_table[e->base].type;
        same = same && types[i] == base_table[like->map[0].base].type;
        at += e->size;
    }
    for (size_t i = 0; i < n; i++) {
        const struct tg_entry *e = &like->map[i % like->n];
        int size;
        MPI_Type_size(types[i], &size);
        if (size != e->size) { /* an f90 type: the base table's type of that name has another size */
            types[i] = MPI_BYTE;
            lens[i] = e->size;
            same = 0;
        }
        tg_add(t, disps[i], e->base, e->size);
    }
    if (same && n)
        MPI_Type_create_hindexed_block((int)n, 1, disps, types[0], &t->type);
    else
        MPI_Type_create_struct((int)n, lens, disps, types, &t->type);
    MPI_Type_commit(&t->type);
    snprintf(t->text, sizeof t->text, "spread(%.400s)", like->text);
    tg_settle(t);
    free(lens);
    free(disps);
    free(types);
    free(order);
    if (!tg_disjoint(t, 4))
        make_resized(t, t->low, t->high - t->low + tg_between(&g, 0, 12));
}

void tg_make_dup(const struct tg_type *like, struct tg_type *t)
{
    memset(t, 0, sizeof *t);
    MPI_Type_dup(like->type, &t->type);
    tg_put(t, like, 0, 1);
    tg_note(t, 0, "dup", like);
    tg_settle(t);
}

void tg_free(struct tg_type *t)
{
    if (!t->predefined && t->type != MPI_DATATYPE_NULL)
        MPI_Type_free(&t->type);
    free(t->map);
    memset(t, 0, sizeof *t);
    t->type = MPI_DATATYPE_NULL;
}

void tg_span(const struct tg_type *t, MPI_Count count, MPI_Aint *low, MPI_Aint *high)
{
    MPI_Aint last = count > 0 ? (MPI_Aint)(count - 1) * (MPI_Aint)t->extent : 0;
    *low = *high = 0;
    if (count > 0 && t->n) {
        *low = t->low + (last < 0 ? last : 0);
        *high = t->high + (last > 0 ? last : 0);
    }
}

int tg_disjoint(const struct tg_type *t, int copies)
{
    MPI_Aint low, high;
    tg_span(t, copies, &low, &high);
    if (high - low > 64 << 20)
        return 0;
    unsigned char *seen = calloc((size_t)(high - low) + 1, 1);
    int ok = 1;
    for (int k = 0; k < copies && ok; k++)
        for (size_t i = 0; i < t->n && ok; i++)
            for (int b = 0; b < t->map[i].size; b++) {
                unsigned char *s = &seen[t->map[i].disp + k * (MPI_Aint)t->extent + b - low];
                ok = ok && !*s;
                *s = 1;
            }
    free(seen);
    return ok;
}

size_t tg_pack(const struct tg_type *t, MPI_Count count, const unsigned char *origin, unsigned char *out)
{
    size_t at = 0;
    for (MPI_Count k = 0; k < count; k++)
        for (size_t i = 0; i < t->n; i++) {
            memcpy(out + at, origin + t->map[i].disp + k * (MPI_Aint)t->extent, (size_t)t->map[i].size);
            at += (size_t)t->map[i].size;
        }
    return at;
}

void tg_unpack(const struct tg_type *t, MPI_Count count, unsigned char *origin, const unsigned char *in, size_t bytes)
{
    size_t at = 0;
    for (MPI_Count k = 0; k < count && at < bytes; k++)
        for (size_t i = 0; i < t->n && at < bytes; i++) {
            size_t size = (size_t)t->map[i].size;
            memcpy(origin + t->map[i].disp + k * (MPI_Aint)t->extent, in + at, size < bytes - at ? size : bytes - at);
            at += size;
        }
}
