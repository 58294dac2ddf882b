/*
 * The table of layouts, and those of plain messages.
 *
 * Written from what is published of the data that applications exchange; the set is that of T. Schneider,
 * R. Gerstenberger, T. Hoefler, "Micro-applications for communication data access patterns and MPI datatypes",
 * EuroMPI 2012, and "Application-oriented ping-pong benchmarking: how to assess the real communication overheads",
 * Computing 96 (2014). Of the applications themselves:
 *   wrf_x, wrf_y    the halo of the WRF weather model (Skamarock et al., NCAR/TN-475): some 2-D, 3-D and 4-D arrays
 *                   of float, each a subarray in a struct by addresses; arrays run over i first, then k, then j
 *   milc_z          the MILC lattice code (Bernard et al., IJSA 5, 1991): su3 vectors (three complex floats) of the
 *                   even sites of a z face, for all t: nested vectors that are one vector
 *   lu_x, lu_y      NAS LU (Bailey et al., NAS parallel benchmarks, RNR-94-007): five doubles per cell; a row of
 *                   cells, and a column
 *   mg_x, mg_y, mg_z  NAS MG (the same): faces of an n x n x n array of double without its edges
 *   lammps_full, lammps_atomic  border atoms of LAMMPS (Plimpton, J. Comp. Phys. 117, 1995) by an index list:
 *                   positions, tag, type and mask, with `full` also charge and molecule; appended to the receiver's
 *                   arrays
 *   specfem_oc      SPECFEM3D_GLOBE (Carrington et al., SC 2008): points of the outer core by an index list, a float
 *                   each
 *   specfem_cm      the same for crust and mantle: three floats a point
 *   specfem_cm2     the same, and those of the inner core, in one struct by addresses
 *   specfem_mt      mantle faces: real(3, 2, n), of which one half leaves, received dense
 *   slab            a plane of an n x n x n array of double with ghost planes, along its slowest axis, as a
 *                   subarray: one run of bytes (W. Gropp, T. Hoefler, R. Thakur, E. Lusk, "Using Advanced MPI", MIT
 *                   Press 2014)
 *   rowcol          first row and first column of an n x n matrix of int (README)
 * Those that go by lists are in layouts_lists.c, those of collective calls, with their publications, in
 * layouts_joint.c.
 */
#include "bench/layouts.h"

/* ---- WRF: n = { cells of the patch in i and j, levels k } ---- */

enum { WRF_FLAT = 4, WRF_DEEP = 3, WRF_SCALARS = 2, WRF_ARRAYS = 9, WRF_WIDTH = 3 };
static const int wrf_scalars[WRF_SCALARS] = { 3, 2 }; /* fields of the 4-D arrays that are exchanged ... */
enum { WRF_FIRST = 1 };                               /* ... after one that is not */

struct wrf_array {
    int dims, sizes[4], part[4], start[4]; /* in C's order: field, j, k, i */
    size_t at, bytes;
};

static int wrf_along_x(const struct layout *l)
{
    return l->row->name[4] == 'x';
}

static struct wrf_array wrf_array(const struct layout *l, int a, int side)
{
    int flat = a < WRF_FLAT, fields = a < WRF_FLAT + WRF_DEEP ? 0 : wrf_scalars[a - WRF_FLAT - WRF_DEEP], d = 0;
    int x = wrf_along_x(l), inner = side == LAYOUT_FROM ? WRF_WIDTH : -1;
    struct wrf_array w = { 0 };

    if (fields > 0) {
        w.sizes[d] = fields + WRF_FIRST;
        w.part[d] = fields;
        w.start[d++] = WRF_FIRST;
    }
    w.sizes[d] = l->n[1] + 2 * WRF_WIDTH;
    w.part[d] = x ? l->n[1] : WRF_WIDTH;
    w.start[d] = x ? WRF_WIDTH : inner > 0 ? inner : l->n[1] + WRF_WIDTH;
    d++;
    if (!flat) {
        w.sizes[d] = w.part[d] = l->n[2];
        d++;
    }
    w.sizes[d] = l->n[0] + 2 * WRF_WIDTH;
    w.part[d] = x ? WRF_WIDTH : l->n[0];
    w.start[d] = !x ? WRF_WIDTH : inner > 0 ? inner : l->n[0] + WRF_WIDTH;
    w.dims = d + 1;
    w.bytes = sizeof(float);
    for (d = 0; d < w.dims; d++)
        w.bytes *= (size_t)w.sizes[d];
    return w;
}

static void describe_wrf(struct layout *l)
{
    int side, a, d;

    for (side = 0; side < LAYOUT_SIDES; side++) {
        for (a = 0; a < WRF_ARRAYS; a++) {
            struct wrf_array w = wrf_array(l, a, side);
            struct layout_part *part =
                layout_add_part(l, side, l->span[side], (size_t)w.part[w.dims - 1] * sizeof(float));
            size_t stride = sizeof(float);

            for (d = w.dims - 1; d >= 0; d--) {
                part->at += stride * (size_t)w.start[d];
                if (d < w.dims - 1)
                    layout_loop(part, LAYOUT_LOOPS - (w.dims - 1) + d, w.part[d], stride);
                stride *= (size_t)w.sizes[d];
            }
            l->span[side] += w.bytes;
        }
        l->types[side] = 1;
    }
    l->absolute = 1;
}

static void make_wrf(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base,
                     MPI_Datatype *type)
{
    MPI_Datatype part[WRF_ARRAYS];
    MPI_Aint at[WRF_ARRAYS];
    int ones[WRF_ARRAYS], a;

    for (a = 0; a < WRF_ARRAYS; a++) {
        struct wrf_array w = wrf_array(l, a, side);

        c->Type_create_subarray(w.dims, w.sizes, w.part, w.start, MPI_ORDER_C, MPI_FLOAT, &part[a]);
        at[a] = base;
        base += (MPI_Aint)w.bytes;
        ones[a] = 1;
    }
    c->Type_create_struct(WRF_ARRAYS, ones, at, part, type);
    for (a = 0; a < WRF_ARRAYS; a++)
        c->Type_free(&part[a]);
    c->Type_commit(type);
}

/* ---- MILC: n = { sites in x and y, in z, in t } ---- */

static void describe_milc(struct layout *l)
{
    size_t vector = 6 * sizeof(float), plane = (size_t)l->n[0] * (size_t)l->n[0] / 2 * vector;

    layout_loop(layout_add_part(l, LAYOUT_FROM, 0, plane), 2, l->n[2], plane * (size_t)l->n[1]);
    l->span[LAYOUT_FROM] = plane * (size_t)l->n[1] * (size_t)l->n[2];
    layout_same_sides(l);
}

static void make_milc(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base,
                      MPI_Datatype *type)
{
    MPI_Datatype vector, plane;
    int half = l->n[0] / 2;

    (void)side, (void)base;
    c->Type_contiguous(6, MPI_FLOAT, &vector);
    c->Type_vector(l->n[0], half, half, vector, &plane);
    c->Type_create_hvector(l->n[2], 1, (MPI_Aint)(6 * sizeof(float)) * half * l->n[0] * l->n[1], plane, type);
    c->Type_free(&vector);
    c->Type_free(&plane);
    c->Type_commit(type);
}

/* ---- NAS LU: n = { cells in x, in y } ---- */

enum { LU_CELL = 5 };

static void describe_lu_x(struct layout *l)
{
    layout_add_part(l, LAYOUT_FROM, 0, LU_CELL * sizeof(double) * (size_t)l->n[0]);
    l->span[LAYOUT_FROM] = LU_CELL * sizeof(double) * (size_t)(l->n[0] + 2);
    layout_same_sides(l);
}

static void make_lu_x(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base,
                      MPI_Datatype *type)
{
    (void)side, (void)base;
    c->Type_contiguous(LU_CELL * l->n[0], MPI_DOUBLE, type);
    c->Type_commit(type);
}

static void describe_lu_y(struct layout *l)
{
    size_t cell = LU_CELL * sizeof(double), row = cell * (size_t)(l->n[0] + 2);

    layout_loop(layout_add_part(l, LAYOUT_FROM, 0, cell), 2, l->n[1], row);
    l->span[LAYOUT_FROM] = row * (size_t)l->n[1];
    layout_same_sides(l);
}

static void make_lu_y(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base,
                      MPI_Datatype *type)
{
    MPI_Datatype cell;

    (void)side, (void)base;
    c->Type_contiguous(LU_CELL, MPI_DOUBLE, &cell);
    c->Type_vector(l->n[1], 1, l->n[0] + 2, cell, type);
    c->Type_free(&cell);
    c->Type_commit(type);
}

/* ---- NAS MG: n = { points in each direction } ---- */

static void describe_mg(struct layout *l)
{
    size_t n = (size_t)l->n[0], row = n * sizeof(double), plane = n * row;
    int inner = l->n[0] - 2;
    struct layout_part *part;

    switch (l->row->name[3]) {
    case 'x':
        part = layout_add_part(l, LAYOUT_FROM, 0, sizeof(double));
        layout_loop(part, 1, inner, plane);
        layout_loop(part, 2, inner, row);
        break;
    case 'y': layout_loop(layout_add_part(l, LAYOUT_FROM, 0, (size_t)inner * sizeof(double)), 2, inner, plane); break;
    default: layout_loop(layout_add_part(l, LAYOUT_FROM, 0, (size_t)inner * sizeof(double)), 2, inner, row);
    }
    l->span[LAYOUT_FROM] = plane * n;
    layout_same_sides(l);
}

static void make_mg(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base, MPI_Datatype *type)
{
    MPI_Datatype column;
    int n = l->n[0];

    (void)side, (void)base;
    switch (l->row->name[3]) {
    case 'x':
        c->Type_vector(n - 2, 1, n, MPI_DOUBLE, &column);
        c->Type_create_hvector(n - 2, 1, (MPI_Aint)sizeof(double) * n * n, column, type);
        c->Type_free(&column);
        break;
    case 'y': c->Type_vector(n - 2, n - 2, n * n, MPI_DOUBLE, type); break;
    default: c->Type_vector(n - 2, n - 2, n, MPI_DOUBLE, type);
    }
    c->Type_commit(type);
}

/* ---- SPECFEM3D_GLOBE, mantle faces: n = { points } ---- */

static void describe_specfem_mt(struct layout *l)
{
    size_t point = 3 * sizeof(float), n = (size_t)l->n[0];

    layout_loop(layout_add_part(l, LAYOUT_FROM, 0, point), 2, l->n[0], 2 * point);
    layout_add_part(l, LAYOUT_TO, 0, n * point);
    l->span[LAYOUT_FROM] = 2 * n * point;
    l->span[LAYOUT_TO] = n * point;
    l->types[LAYOUT_FROM] = l->types[LAYOUT_TO] = 1;
}

static void make_specfem_mt(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base,
                            MPI_Datatype *type)
{
    (void)base;
    if (side == LAYOUT_FROM)
        c->Type_vector(l->n[0], 3, 6, MPI_FLOAT, type);
    else
        c->Type_contiguous(3 * l->n[0], MPI_FLOAT, type);
    c->Type_commit(type);
}

/* ---- planes: n = { points in each direction } ---- */

enum { SLAB_GHOST = 0, SLAB_INNER = 1 };

static void describe_slab(struct layout *l)
{
    size_t plane = sizeof(double) * (size_t)l->n[0] * (size_t)l->n[0];

    layout_add_part(l, LAYOUT_FROM, SLAB_INNER * plane, plane);
    layout_add_part(l, LAYOUT_TO, SLAB_GHOST * plane, plane);
    l->span[LAYOUT_FROM] = l->span[LAYOUT_TO] = plane * (size_t)l->n[0];
    l->types[LAYOUT_FROM] = l->types[LAYOUT_TO] = 1;
}

static void make_slab(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base,
                      MPI_Datatype *type)
{
    int n = l->n[0], sizes[3] = { n, n, n }, part[3] = { 1, n, n };
    int start[3] = { side == LAYOUT_FROM ? SLAB_INNER : SLAB_GHOST, 0, 0 };

    (void)base;
    c->Type_create_subarray(3, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, type);
    c->Type_commit(type);
}

#define MESSAGE LAYOUT_MESSAGE
const struct layout_row layout_rows[] = {
    { "wrf_x", MESSAGE, { { 12, 8, 4 }, { 24, 16, 14 }, { 64, 64, 27 } }, describe_wrf, make_wrf },
    { "wrf_y", MESSAGE, { { 8, 12, 4 }, { 16, 24, 14 }, { 64, 64, 27 } }, describe_wrf, make_wrf },
    { "milc_z", MESSAGE, { { 4, 4, 12 }, { 8, 8, 16 }, { 16, 16, 64 } }, describe_milc, make_milc },
    { "lu_x", MESSAGE, { { 64 }, { 408 }, { 3060 } }, describe_lu_x, make_lu_x },
    { "lu_y", MESSAGE, { { 33, 64 }, { 64, 408 }, { 102, 3060 } }, describe_lu_y, make_lu_y },
    { "mg_x", MESSAGE, { { 18 }, { 66 }, { 130 } }, describe_mg, make_mg },
    { "mg_y", MESSAGE, { { 18 }, { 66 }, { 130 } }, describe_mg, make_mg },
    { "mg_z", MESSAGE, { { 18 }, { 66 }, { 130 } }, describe_mg, make_mg },
    { "lammps_full", MESSAGE, { { 64 }, { 640 }, { 4000 } }, layout_describe_lammps, layout_make_lammps },
    { "lammps_atomic", MESSAGE, { { 64 }, { 640 }, { 4000 } }, layout_describe_lammps, layout_make_lammps },
    { "specfem_oc", MESSAGE, { { 800 }, { 6000 }, { 40000 } }, layout_describe_specfem, layout_make_specfem },
    { "specfem_cm", MESSAGE, { { 300 }, { 2400 }, { 14800 } }, layout_describe_specfem, layout_make_specfem },
    { "specfem_cm2", MESSAGE, { { 250, 50 }, { 2000, 400 }, { 12000, 2800 } }, layout_describe_specfem_cm2,
      layout_make_specfem_cm2 },
    { "specfem_mt", MESSAGE, { { 300 }, { 2400 }, { 15200 } }, describe_specfem_mt, make_specfem_mt },
    { "slab", MESSAGE, { { 16 }, { 64 }, { 256 } }, describe_slab, make_slab },
    { "rowcol", MESSAGE, { { 500 }, { 1000 }, { 4000 } }, layout_describe_rowcol, layout_make_rowcol },
    { "fft2", LAYOUT_ALLTOALL, { { 16 }, { 64 }, { 192 } }, layout_describe_fft2, layout_make_fft2 },
    { "pencil_01", LAYOUT_ALLTOALLW, { { 12 }, { 96 }, { 256 } }, layout_describe_pencil, layout_make_pencil },
    { "pencil_12", LAYOUT_ALLTOALLW, { { 12 }, { 96 }, { 256 } }, layout_describe_pencil, layout_make_pencil },
    { "halo3", LAYOUT_NEIGHBORS, { { 8 }, { 32 }, { 64 } }, layout_describe_halo, layout_make_halo },
};
const int layout_row_count = sizeof layout_rows / sizeof layout_rows[0];
