/* Layouts of messages by lists of places; layouts_rows.c says where they come from. */
#include "bench/layouts.h"

#include <stdlib.h>

static void along(struct layout_part *part, const int *list, int entries, size_t unit)
{
    part->list = list;
    part->entries = entries;
    part->unit = unit;
}

/* Increasing places with gaps of no order, about `step` apart. */
static int *irregular(int n, int step, unsigned seed)
{
    int *list = malloc((size_t)n * sizeof *list), i, at = 0;
    unsigned state = seed;

    if (list == NULL)
        bench_die("layouts: out of memory");
    for (i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        at += 1 + (int)((state >> 16) % (unsigned)(2 * step - 1));
        list[i] = at;
    }
    return list;
}

/* ---- LAMMPS: n = { atoms that are sent }; one in eight of those that are there ---- */

enum { LAMMPS_ATOMIC = 4, LAMMPS_FULL = 6, LAMMPS_STEP = 8 };
/* x, tag, type, mask; charge, molecule */
static const struct {
    int blocks;
    size_t width;
} lammps_arrays[LAMMPS_FULL] = { { 3, sizeof(double) }, { 1, sizeof(int) },    { 1, sizeof(int) },
                                 { 1, sizeof(int) },    { 1, sizeof(double) }, { 1, sizeof(int) } };

static int lammps_many(const struct layout *l)
{
    return l->row->name[7] == 'f' ? LAMMPS_FULL : LAMMPS_ATOMIC;
}

/* Atoms that are there before any is received. */
static int lammps_atoms(const struct layout *l)
{
    return l->list[l->n[0] - 1] + 1;
}

void layout_describe_lammps(struct layout *l)
{
    int a, i, side;

    l->list = irregular(l->n[0], LAMMPS_STEP, 7);
    l->list2 = malloc((size_t)l->n[0] * sizeof *l->list2);
    if (l->list2 == NULL)
        bench_die("layouts: out of memory");
    for (i = 0; i < l->n[0]; i++)
        l->list2[i] = 3 * l->list[i];
    for (side = 0; side < LAYOUT_SIDES; side++) {
        for (a = 0; a < lammps_many(l); a++) {
            size_t block = (size_t)lammps_arrays[a].blocks * lammps_arrays[a].width;
            size_t at = l->span[side], there = (size_t)lammps_atoms(l) * block;

            if (side == LAYOUT_FROM)
                along(layout_add_part(l, side, at, block), l->list, l->n[0], block);
            else
                layout_add_part(l, side, at + there, (size_t)l->n[0] * block);
            l->span[side] += (there + (size_t)l->n[0] * block + 7) / 8 * 8;
        }
        l->types[side] = 1;
    }
    l->absolute = 1;
}

void layout_make_lammps(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base,
                        MPI_Datatype *type)
{
    MPI_Datatype one = MPI_DATATYPE_NULL, charge = MPI_DATATYPE_NULL, three = MPI_DATATYPE_NULL, part[LAMMPS_FULL];
    int lengths[LAMMPS_FULL], a, n = l->n[0], many = lammps_many(l);
    MPI_Aint at[LAMMPS_FULL];

    if (side == LAYOUT_FROM) {
        c->Type_create_indexed_block(n, 3, l->list2, MPI_DOUBLE, &three);
        c->Type_create_indexed_block(n, 1, l->list, MPI_INT, &one);
        if (many == LAMMPS_FULL)
            c->Type_create_indexed_block(n, 1, l->list, MPI_DOUBLE, &charge);
    }
    for (a = 0; a < many; a++) {
        int real = lammps_arrays[a].width == sizeof(double);
        size_t block = (size_t)lammps_arrays[a].blocks * lammps_arrays[a].width;

        if (side == LAYOUT_FROM) {
            part[a] = a == 0 ? three : real ? charge : one;
            lengths[a] = 1;
            at[a] = base;
        } else {
            part[a] = real ? MPI_DOUBLE : MPI_INT;
            lengths[a] = n * lammps_arrays[a].blocks;
            at[a] = base + (MPI_Aint)((size_t)lammps_atoms(l) * block);
        }
        base += (MPI_Aint)(((size_t)(lammps_atoms(l) + n) * block + 7) / 8 * 8);
    }
    c->Type_create_struct(many, lengths, at, part, type);
    if (side == LAYOUT_FROM) {
        c->Type_free(&three);
        c->Type_free(&one);
        if (many == LAMMPS_FULL)
            c->Type_free(&charge);
    }
    c->Type_commit(type);
}

/* ---- SPECFEM3D_GLOBE: n = { points, those of a second array } ---- */

enum { SPECFEM_STEP = 4 };

/* Places of points that are `width` floats each, counted in floats. */
static int *points(int n, int width, unsigned seed)
{
    int *list = irregular(n, SPECFEM_STEP, seed), i;

    for (i = 0; i < n; i++)
        list[i] *= width;
    return list;
}

static size_t list_bytes(const int *list, int n, int width)
{
    return ((size_t)list[n - 1] + (size_t)width) * sizeof(float);
}

static int specfem_width(const struct layout *l)
{
    return l->row->name[8] == 'o' ? 1 : 3;
}

void layout_describe_specfem(struct layout *l)
{
    int width = specfem_width(l);

    l->list = points(l->n[0], width, 11);
    along(layout_add_part(l, LAYOUT_FROM, 0, (size_t)width * sizeof(float)), l->list, l->n[0], sizeof(float));
    l->span[LAYOUT_FROM] = list_bytes(l->list, l->n[0], width);
    layout_same_sides(l);
}

void layout_make_specfem(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base,
                         MPI_Datatype *type)
{
    (void)side, (void)base;
    c->Type_create_indexed_block(l->n[0], specfem_width(l), l->list, MPI_FLOAT, type);
    c->Type_commit(type);
}

void layout_describe_specfem_cm2(struct layout *l)
{
    size_t first;
    int side;

    l->list = points(l->n[0], 3, 13);
    l->list2 = points(l->n[1], 3, 17);
    first = list_bytes(l->list, l->n[0], 3);
    for (side = 0; side < LAYOUT_SIDES; side++) {
        along(layout_add_part(l, side, 0, 3 * sizeof(float)), l->list, l->n[0], sizeof(float));
        along(layout_add_part(l, side, first, 3 * sizeof(float)), l->list2, l->n[1], sizeof(float));
        l->span[side] = first + list_bytes(l->list2, l->n[1], 3);
        l->types[side] = 1;
    }
    l->absolute = 1;
}

void layout_make_specfem_cm2(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base,
                             MPI_Datatype *type)
{
    MPI_Datatype part[2];
    MPI_Aint at[2];
    int ones[2] = { 1, 1 };

    (void)side;
    c->Type_create_indexed_block(l->n[0], 3, l->list, MPI_FLOAT, &part[0]);
    c->Type_create_indexed_block(l->n[1], 3, l->list2, MPI_FLOAT, &part[1]);
    at[0] = base;
    at[1] = base + (MPI_Aint)list_bytes(l->list, l->n[0], 3);
    c->Type_create_struct(2, ones, at, part, type);
    c->Type_free(&part[0]);
    c->Type_free(&part[1]);
    c->Type_commit(type);
}

/* ---- row and column: n = { rows } ---- */

void layout_describe_rowcol(struct layout *l)
{
    size_t n = (size_t)l->n[0];
    int i;

    l->list = malloc(n * sizeof *l->list);
    l->list2 = malloc(n * sizeof *l->list2);
    if (l->list == NULL || l->list2 == NULL)
        bench_die("layouts: out of memory");
    for (i = 0; i < l->n[0]; i++) {
        l->list[i] = i * l->n[0];
        l->list2[i] = i == 0 ? l->n[0] : 1;
    }
    layout_add_part(l, LAYOUT_FROM, 0, n * sizeof(int));
    layout_loop(layout_add_part(l, LAYOUT_FROM, n * sizeof(int), sizeof(int)), 2, l->n[0] - 1, n * sizeof(int));
    l->span[LAYOUT_FROM] = n * n * sizeof(int);
    layout_same_sides(l);
}

void layout_make_rowcol(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base,
                        MPI_Datatype *type)
{
    (void)side, (void)base;
    c->Type_indexed(l->n[0], l->list2, l->list, MPI_INT, type);
    c->Type_commit(type);
}
