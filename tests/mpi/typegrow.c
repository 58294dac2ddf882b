#include "typegrow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void leaf(struct tg_type *t, MPI_Datatype type, int base, const char *name)
{
    int size;
    MPI_Type_size(type, &size);
    t->type = type;
    t->predefined = 1;
    tg_add(t, 0, base, size);
    snprintf(t->text, sizeof t->text, "%s", name);
    tg_settle(t);
}

static void grow_base(struct tg_grow *g, struct tg_type *t)
{
    int base = g->base >= 0 ? g->base : (int)tg_between(g, 0, tg_bases() - 1);
    leaf(t, tg_base(base), base, tg_base_name(base));
}

static void grow_pair(struct tg_grow *g, struct tg_type *t)
{
    static const struct { MPI_Datatype pair, first; const char *name; } pairs[] = {
        {MPI_2INT, MPI_INT, "2int"}, {MPI_FLOAT_INT, MPI_FLOAT, "float_int"},
        {MPI_DOUBLE_INT, MPI_DOUBLE, "double_int"},
        {MPI_LONG_INT, MPI_LONG, "long_int"}, {MPI_SHORT_INT, MPI_SHORT, "short_int"},
    };
    int k = g->base < 0 ? (int)tg_between(g, 0, 4) : 0;
    int size;
    if (g->base >= 0 && tg_base(g->base) != MPI_INT) {
        grow_base(g, t);
        return;
    }
    MPI_Type_size(pairs[k].first, &size);
    t->type = pairs[k].pair;
    t->predefined = 1;
    tg_add(t, 0, tg_base_of(pairs[k].first), size);
    tg_add(t, size < 4 ? 4 : size, tg_base_of(MPI_INT), (int)sizeof(int));
    snprintf(t->text, sizeof t->text, "%s", pairs[k].name);
    tg_settle(t);
}

static void grow_f90(struct tg_grow *g, int kind, struct tg_type *t)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (g->base >= 0) {
        grow_base(g, t);
        return;
    }
    if (kind == TG_F90_REAL) {
        MPI_Type_create_f90_real(tg_chance(g, 50) ? 6 : 15, MPI_UNDEFINED, &type);
        leaf(t, type, tg_base_of(MPI_DOUBLE), "f90_real");
    } else if (kind == TG_F90_COMPLEX) {
        MPI_Type_create_f90_complex(tg_chance(g, 50) ? 6 : 15, MPI_UNDEFINED, &type);
        leaf(t, type, tg_base_of(MPI_C_DOUBLE_COMPLEX), "f90_complex");
    } else {
        static const int digits[] = {2, 4, 9, 18};
        MPI_Type_create_f90_integer(digits[tg_between(g, 0, 3)], &type);
        leaf(t, type, tg_base_of(MPI_LONG), "f90_integer");
    }
}

static void grow_child(struct tg_grow *g, int depth, size_t budget, struct tg_type *t)
{
    int kind = depth <= 0 || budget < 2 || tg_chance(g, 20) ? (tg_chance(g, 12) ? TG_PAIR : TG_BASE)
                                                         : (int)tg_between(g, TG_PAIR, TG_KINDS - 1);
    tg_grow_tree(g, kind, depth, budget, t);
}

static long times(struct tg_grow *g, size_t budget, const struct tg_type *c)
{
    long most = c->n ? (long)(budget / c->n) : 4;
    if (tg_chance(g, 6) || most < 1)
        return 0;
    return most <= 4 || tg_chance(g, 60) ? tg_between(g, 1, most < 4 ? most : 4) : tg_between(g, 1, most);
}

/* n blocks: lengths, and displacements in steps of `unit` bytes of room per copy. */
#define MOST_BLOCKS 64

struct blocks {
    int n, total;
    int len[MOST_BLOCKS];
    long disp[MOST_BLOCKS];
};

static void place(struct tg_grow *g, long n, int same, long budget, struct blocks *b)
{
    long at = tg_between(g, -6, 6);
    b->n = (int)(n > MOST_BLOCKS ? MOST_BLOCKS : n);
    b->total = 0;
    long one = tg_chance(g, 8) ? 0 : tg_between(g, 1, 4);
    for (int i = 0; i < b->n; i++) {
        long len = same ? one : tg_chance(g, 10) ? 0 : tg_between(g, 1, 5);
        if (b->total + len > budget)
            len = 0;
        b->len[i] = (int)len;
        b->total += (int)len;
        b->disp[i] = g->disjoint || tg_chance(g, 60) ? at : tg_between(g, -10, 10);
        at += len + (tg_chance(g, 40) ? 0 : tg_between(g, 1, 3));
    }
    if (tg_chance(g, 40))
        for (int i = b->n - 1; i > 0; i--) {
            int j = (int)tg_between(g, 0, i);
            long d = b->disp[i];
            int l = b->len[i];
            b->disp[i] = b->disp[j];
            b->disp[j] = d;
            b->len[i] = b->len[j];
            b->len[j] = l;
        }
}

/* Room of one copy of a child for displacements in bytes, so that copies do not collide; sometimes not aligned. */
static MPI_Aint room(struct tg_grow *g, const struct tg_type *c)
{
    MPI_Aint e = (MPI_Aint)c->extent > c->high - c->low ? (MPI_Aint)c->extent : c->high - c->low;
    return e + (tg_chance(g, 25) ? tg_between(g, 1, 5) : 0);
}

static void grow_vector(struct tg_grow *g, int kind, size_t budget, int large, const struct tg_type *c,
                        struct tg_type *t)
{
    long n = times(g, budget, c);
    long len = n ? times(g, budget / (size_t)n, c) : tg_between(g, 0, 2);
    long gap = tg_chance(g, 30) ? 0 : tg_between(g, 1, 3);
    long stride = g->disjoint || tg_chance(g, 70) ? len + gap : tg_between(g, -3, 3);
    if (tg_chance(g, 30))
        stride = -stride;
    MPI_Aint step = stride * (MPI_Aint)c->extent;
    char what[96];
    if (kind == TG_VECTOR) {
        if (large)
            MPI_Type_vector_c(n, len, stride, c->type, &t->type);
        else
            MPI_Type_vector((int)n, (int)len, (int)stride, c->type, &t->type);
        snprintf(what, sizeof what, "vector[%ld,%ld,%ld]", n, len, stride);
    } else {
        if (tg_chance(g, 25))
            step = stride * room(g, c) + tg_between(g, 0, 3);
        if (large)
            MPI_Type_create_hvector_c(n, len, step, c->type, &t->type);
        else if (tg_chance(g, 50))
            MPI_Type_create_hvector((int)n, (int)len, step, c->type, &t->type);
        else
            MPI_Type_hvector((int)n, (int)len, step, c->type, &t->type);
        snprintf(what, sizeof what, "hvector[%ld,%ld,%ld]", n, len, (long)step);
    }
    for (long i = 0; i < n; i++)
        tg_put(t, c, i * step, len);
    tg_note(t, large, what, c);
}

static void grow_list(struct tg_grow *g, int kind, size_t budget, int large, const struct tg_type *c,
                      struct tg_type *t)
{
    struct blocks b;
    int ints[MOST_BLOCKS];
    MPI_Count lens_c[MOST_BLOCKS], disps_c[MOST_BLOCKS];
    MPI_Aint bytes[MOST_BLOCKS];
    int same = kind == TG_INDEXED_BLOCK || kind == TG_HINDEXED_BLOCK;
    int in_bytes = kind == TG_HINDEXED || kind == TG_HINDEXED_BLOCK;
    place(g, times(g, budget, c), same, c->n ? (long)(budget / c->n) : 16, &b);
    if (same)
        for (int i = 1; i < b.n; i++)
            b.len[i] = b.len[0];
    MPI_Aint unit = in_bytes ? room(g, c) : (MPI_Aint)c->extent;
    for (int i = 0; i < b.n; i++) {
        ints[i] = (int)b.disp[i];
        bytes[i] = b.disp[i] * unit + (in_bytes && !g->disjoint && tg_chance(g, 10) ? 1 : 0);
        lens_c[i] = b.len[i];
        disps_c[i] = in_bytes ? bytes[i] : b.disp[i];
        tg_put(t, c, bytes[i], b.len[i]);
    }
    if (kind == TG_INDEXED && large)
        MPI_Type_indexed_c(b.n, lens_c, disps_c, c->type, &t->type);
    else if (kind == TG_INDEXED)
        MPI_Type_indexed(b.n, b.len, ints, c->type, &t->type);
    else if (kind == TG_HINDEXED && large)
        MPI_Type_create_hindexed_c(b.n, lens_c, disps_c, c->type, &t->type);
    else if (kind == TG_HINDEXED && tg_chance(g, 50))
        MPI_Type_hindexed(b.n, b.len, bytes, c->type, &t->type);
    else if (kind == TG_HINDEXED)
        MPI_Type_create_hindexed(b.n, b.len, bytes, c->type, &t->type);
    else if (kind == TG_INDEXED_BLOCK && large)
        MPI_Type_create_indexed_block_c(b.n, b.n ? b.len[0] : 1, disps_c, c->type, &t->type);
    else if (kind == TG_INDEXED_BLOCK)
        MPI_Type_create_indexed_block(b.n, b.n ? b.len[0] : 1, ints, c->type, &t->type);
    else if (large)
        MPI_Type_create_hindexed_block_c(b.n, b.n ? b.len[0] : 1, disps_c, c->type, &t->type);
    else
        MPI_Type_create_hindexed_block(b.n, b.n ? b.len[0] : 1, bytes, c->type, &t->type);
    char what[64];
    snprintf(what, sizeof what, "%s[%d blocks]", tg_kind_name[kind], b.n);
    tg_note(t, large, what, c);
}

static void grow_struct(struct tg_grow *g, int depth, size_t budget, int large, struct tg_type *t)
{
    enum { MOST = 5 };
    struct tg_type c[MOST];
    MPI_Datatype types[MOST];
    int lens[MOST];
    MPI_Aint disps[MOST], at = tg_between(g, -9, 9);
    MPI_Count lens_c[MOST], disps_c[MOST];
    int n = tg_chance(g, 5) ? 0 : (int)tg_between(g, 1, MOST);
    int order[MOST];
    char what[512] = "struct{";
    memset(c, 0, sizeof c);
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0 && tg_chance(g, 60); i--) {
        int j = (int)tg_between(g, 0, i), o = order[i];
        order[i] = order[j];
        order[j] = o;
    }
    for (int i = 0; i < n; i++)
        grow_child(g, depth - 1, budget / (size_t)n, &c[i]);
    for (int k = 0; k < n; k++) {
        int i = order[k];
        long most = c[i].n ? (long)(budget / (size_t)n / c[i].n) : 2;
        lens[i] = tg_chance(g, 10) ? 0 : (int)tg_between(g, 1, most < 1 ? 1 : most > 3 ? 3 : most);
        MPI_Aint low, high;
        tg_span(&c[i], lens[i], &low, &high);
        disps[i] = g->disjoint || tg_chance(g, 70) ? at - low : tg_between(g, -20, 20);
        at += high - low + (tg_chance(g, 50) ? 0 : tg_between(g, 1, 9));
    }
    for (int i = 0; i < n; i++) {
        types[i] = c[i].type;
        lens_c[i] = lens[i];
        disps_c[i] = disps[i];
        tg_put(t, &c[i], disps[i], lens[i]);
        size_t used = strlen(what);
        snprintf(what + used, sizeof what - used, "%s%dx%.60s@%ld", i ? "," : "", lens[i], c[i].text, (long)disps[i]);
    }
    if (large)
        MPI_Type_create_struct_c(n, lens_c, disps_c, types, &t->type);
    else if (tg_chance(g, 50))
        MPI_Type_create_struct(n, lens, disps, types, &t->type);
    else
        MPI_Type_struct(n, lens, disps, types, &t->type);
    snprintf(t->text, sizeof t->text, "%.500s%s}", what, large ? "_c" : "");
    for (int i = 0; i < n; i++)
        tg_free(&c[i]);
}

/* All elements with, per dimension, the listed indices; dims in memory order, slowest first. */
static void put_grid(struct tg_type *t, const struct tg_type *c, int dims, const int *size, int (*own)[64],
                     const int *n, int dim, long at)
{
    if (dim == dims) {
        tg_put(t, c, at * (MPI_Aint)c->extent, 1);
        return;
    }
    for (int i = 0; i < n[dim]; i++)
        put_grid(t, c, dims, size, own, n, dim + 1, at * size[dim] + own[dim][i]);
}

static void grow_array(struct tg_grow *g, int kind, size_t budget, int large, const struct tg_type *c,
                       struct tg_type *t)
{
    int dims = (int)tg_between(g, 1, 3), fortran = kind == TG_SUBARRAY_F || kind == TG_DARRAY_F;
    int darray = kind == TG_DARRAY_C || kind == TG_DARRAY_F;
    int size[3], sub[3], start[3], distrib[3], darg[3], psize[3], procs = 1, coord[3];
    int own[3][64], n[3], total = 1;
    MPI_Count size_c[3], sub_c[3], start_c[3];
    long most = c->n ? (long)(budget / c->n) : 64;
    for (int d = 0; d < dims; d++) {
        int limit = most / total > 8 ? 8 : most / total < 1 ? 1 : (int)(most / total);
        size[d] = (int)tg_between(g, 1, limit);
        total *= size[d];
        sub[d] = (int)tg_between(g, 1, size[d]);
        start[d] = (int)tg_between(g, 0, size[d] - sub[d]);
        int which = (int)tg_between(g, 0, 2);
        distrib[d] = which == 0 ? MPI_DISTRIBUTE_BLOCK : which == 1 ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_NONE;
        psize[d] = which == 2 ? 1 : (int)tg_between(g, 1, size[d] < 3 ? size[d] : 3);
        int least = which == 0 ? (size[d] + psize[d] - 1) / psize[d] : 1;
        darg[d] = which == 2 || tg_chance(g, 40) ? MPI_DISTRIBUTE_DFLT_DARG : (int)tg_between(g, least, least + 1);
        procs *= psize[d];
        size_c[d] = size[d];
        sub_c[d] = sub[d];
        start_c[d] = start[d];
    }
    int rank = (int)tg_between(g, 0, procs - 1), left = rank;
    for (int d = dims - 1; d >= 0; d--) { /* the process grid is row-major in either order */
        coord[d] = left % psize[d];
        left /= psize[d];
    }
    for (int d = 0; d < dims; d++) {
        n[d] = 0;
        int block = distrib[d] == MPI_DISTRIBUTE_NONE ? size[d] : darg[d];
        if (block == MPI_DISTRIBUTE_DFLT_DARG)
            block = distrib[d] == MPI_DISTRIBUTE_BLOCK ? (size[d] + psize[d] - 1) / psize[d] : 1;
        for (int i = 0; i < size[d]; i++)
            if (darray ? (i / block) % psize[d] == coord[d] : i >= start[d] && i < start[d] + sub[d])
                own[d][n[d]++] = i;
    }
    int order = fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
    if (darray && large)
        MPI_Type_create_darray_c(procs, rank, dims, size_c, distrib, darg, psize, order, c->type, &t->type);
    else if (darray)
        MPI_Type_create_darray(procs, rank, dims, size, distrib, darg, psize, order, c->type, &t->type);
    else if (large)
        MPI_Type_create_subarray_c(dims, size_c, sub_c, start_c, order, c->type, &t->type);
    else
        MPI_Type_create_subarray(dims, size, sub, start, order, c->type, &t->type);
    if (fortran) { /* memory order: last dimension slowest */
        int own_f[3][64], n_f[3], size_f[3];
        for (int d = 0; d < dims; d++) {
            memcpy(own_f[d], own[dims - 1 - d], sizeof own_f[d]);
            n_f[d] = n[dims - 1 - d];
            size_f[d] = size[dims - 1 - d];
        }
        put_grid(t, c, dims, size_f, own_f, n_f, 0, 0);
    } else {
        put_grid(t, c, dims, size, own, n, 0, 0);
    }
    char what[128];
    int used = snprintf(what, sizeof what, "%s[", tg_kind_name[kind]);
    for (int d = 0; d < dims; d++)
        used += snprintf(what + used, sizeof what - (size_t)used, darray ? " %d:%d/%d" : " %d:%d+%d", size[d],
                         darray ? coord[d] : start[d], darray ? psize[d] : sub[d]);
    tg_note(t, large, strcat(what, "]"), c);
}

static void grow_resized(struct tg_grow *g, int large, const struct tg_type *c, struct tg_type *t)
{
    MPI_Aint lb = tg_between(g, -24, 24), extent = c->high - c->low + tg_between(g, 0, 16);
    if (!g->disjoint)
        extent = tg_chance(g, 10) ? 0 : tg_between(g, tg_chance(g, 10) ? -30 : 1, 60);
    if (large)
        MPI_Type_create_resized_c(c->type, lb, extent, &t->type);
    else
        MPI_Type_create_resized(c->type, lb, extent, &t->type);
    tg_put(t, c, 0, 1);
    char what[64];
    snprintf(what, sizeof what, "resized[%ld,%ld]", (long)lb, (long)extent);
    tg_note(t, large, what, c);
}

void tg_grow_tree(struct tg_grow *g, int kind, int depth, size_t budget, struct tg_type *t)
{
    struct tg_type c;
    int large = tg_chance(g, 35);
    memset(t, 0, sizeof *t);
    if (kind == TG_BASE) {
        grow_base(g, t);
        return;
    }
    if (kind == TG_PAIR) {
        grow_pair(g, t);
        return;
    }
    if (kind == TG_F90_REAL || kind == TG_F90_COMPLEX || kind == TG_F90_INTEGER) {
        grow_f90(g, kind, t);
        return;
    }
    if (kind == TG_STRUCT) {
        grow_struct(g, depth, budget, large, t);
        tg_settle(t);
        return;
    }
    grow_child(g, depth - 1, kind == TG_DUP || kind == TG_RESIZED ? budget : budget / 4, &c);
    if (kind == TG_DUP) {
        MPI_Type_dup(c.type, &t->type);
        tg_put(t, &c, 0, 1);
        tg_note(t, 0, "dup", &c);
    } else if (kind == TG_CONTIGUOUS) {
        long n = times(g, budget, &c);
        if (large)
            MPI_Type_contiguous_c(n, c.type, &t->type);
        else
            MPI_Type_contiguous((int)n, c.type, &t->type);
        tg_put(t, &c, 0, n);
        char what[32];
        snprintf(what, sizeof what, "contiguous[%ld]", n);
        tg_note(t, large, what, &c);
    } else if (kind == TG_VECTOR || kind == TG_HVECTOR) {
        grow_vector(g, kind, budget, large, &c, t);
    } else if (kind <= TG_HINDEXED_BLOCK) {
        grow_list(g, kind, budget, large, &c, t);
    } else if (kind <= TG_DARRAY_F) {
        grow_array(g, kind, budget, large, &c, t);
    } else {
        grow_resized(g, large, &c, t);
    }
    tg_settle(t);
    tg_free(&c);
}

