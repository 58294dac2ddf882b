/*
 * Layouts of collective calls, from what is published of them:
 *   fft2        the transposition within a 2-D FFT of an n x n matrix of complex double, rows distributed (T.
 *               Hoefler, S. Gottlieb, "Parallel zero-copy algorithms for fast Fourier transform and conjugate
 *               gradient using MPI datatypes", EuroMPI 2010): MPI_Alltoall with derived types on both sides
 *   pencil_01, pencil_12  redistributions of an n x n x n array of double from pencils along one axis to pencils
 *               along another (L. Dalcin, M. Mortensen, D. E. Keyes, "Fast parallel multidimensional FFT using
 *               advanced MPI", J. Parallel Distrib. Comput. 128, 2019): MPI_Alltoallw over subarrays, between axes 0
 *               and 1, and between 1 and 2, where blocks are shorter
 *   halo3       faces of an n x n x n array of double with a halo of width 1, to the six neighbours of a periodic
 *               grid (Hoefler, Traeff, "Sparse collective operations for MPI", HIPS 2009): MPI_Neighbor_alltoallw
 */
#include "bench/layouts.h"

/* Blocks of a subarray in C's order. */
static void add_subarray(struct layout_piece *piece, const int sizes[3], const int part[3], const int start[3])
{
    struct layout_part *p = &piece->part[piece->parts++];
    size_t stride = sizeof(double);
    int d;

    p->block = (size_t)part[2] * sizeof(double);
    p->loop[2].count = 1;
    for (d = 2; d >= 0; d--) {
        p->at += (size_t)start[d] * stride;
        if (d < 2) {
            p->loop[d].count = part[d];
            p->loop[d].stride = stride;
        }
        stride *= (size_t)sizes[d];
    }
}

static size_t volume(const int sizes[3])
{
    return (size_t)sizes[0] * (size_t)sizes[1] * (size_t)sizes[2] * sizeof(double);
}

/* One piece and one type for each rank or neighbour on both sides. */
static void subarrays(struct layout *l, int pieces,
                      void (*which)(const struct layout *, int side, int piece, int[3], int[3], int[3]))
{
    int side, piece, sizes[3], part[3], start[3];

    l->pieces = pieces;
    for (side = 0; side < LAYOUT_SIDES; side++) {
        l->types[side] = pieces;
        for (piece = 0; piece < pieces; piece++) {
            which(l, side, piece, sizes, part, start);
            add_subarray(&l->piece[side][piece], sizes, part, start);
            l->piece[side][piece].type = piece;
        }
        l->span[side] = volume(sizes);
    }
}

static void make_subarrays(const struct layout *l, const struct layout_calls *c, int side, MPI_Datatype *type,
                           void (*which)(const struct layout *, int side, int piece, int[3], int[3], int[3]))
{
    int piece, sizes[3], part[3], start[3];

    for (piece = 0; piece < l->pieces; piece++) {
        which(l, side, piece, sizes, part, start);
        c->Type_create_subarray(3, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &type[piece]);
        c->Type_commit(&type[piece]);
    }
}

/* ---- transposition: n = { rows } ---- */

enum { COMPLEX = 2 * sizeof(double) };

void layout_describe_fft2(struct layout *l)
{
    int n = l->n[0], own = n / l->ranks, r, side;

    l->pieces = l->ranks;
    for (r = 0; r < l->ranks; r++) {
        struct layout_part *from = &l->piece[LAYOUT_FROM][r].part[0], *to = &l->piece[LAYOUT_TO][r].part[0];
        size_t place = (size_t)r * (size_t)own * COMPLEX;

        for (side = 0; side < LAYOUT_SIDES; side++) {
            l->piece[side][r].parts = 1;
            l->piece[side][r].part[0].at = place;
            l->piece[side][r].at = (int)place;
            l->piece[side][r].part[0].loop[0].count = 1;
        }
        from->block = (size_t)own * COMPLEX;
        from->loop[1].count = 1;
        from->loop[2].count = own;
        from->loop[2].stride = (size_t)n * COMPLEX;
        to->block = COMPLEX;
        to->loop[1].count = to->loop[2].count = own;
        to->loop[1].stride = COMPLEX;
        to->loop[2].stride = (size_t)n * COMPLEX;
    }
    for (side = 0; side < LAYOUT_SIDES; side++) {
        l->types[side] = 1;
        l->span[side] = (size_t)own * (size_t)n * COMPLEX;
    }
}

void layout_make_fft2(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base,
                      MPI_Datatype *type)
{
    int n = l->n[0], own = n / l->ranks;
    MPI_Datatype element, block, column, columns;

    (void)base;
    c->Type_contiguous(2, MPI_DOUBLE, &element);
    if (side == LAYOUT_FROM) {
        c->Type_vector(own, own, n, element, &block);
    } else {
        c->Type_vector(own, 1, n, element, &column);
        c->Type_create_resized(column, 0, COMPLEX, &columns);
        c->Type_contiguous(own, columns, &block);
        c->Type_free(&column);
        c->Type_free(&columns);
    }
    c->Type_create_resized(block, 0, (MPI_Aint)own * COMPLEX, type);
    c->Type_free(&block);
    c->Type_free(&element);
    c->Type_commit(type);
}

/* ---- redistributions: n = { points in each direction } ---- */

/* Of the two axes of the row's name the first is distributed before, the second after. */
static void which_pencil(const struct layout *l, int side, int piece, int sizes[3], int part[3], int start[3])
{
    int n = l->n[0], own = n / l->ranks, first = l->row->name[7] - '0', d;
    int held = side == LAYOUT_FROM ? first : first + 1, cut = side == LAYOUT_FROM ? first + 1 : first;

    for (d = 0; d < 3; d++) {
        sizes[d] = d == held ? own : n;
        part[d] = d == cut ? own : sizes[d];
        start[d] = d == cut ? piece * own : 0;
    }
}

void layout_describe_pencil(struct layout *l)
{
    subarrays(l, l->ranks, which_pencil);
}

void layout_make_pencil(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base,
                        MPI_Datatype *type)
{
    (void)base;
    make_subarrays(l, c, side, type, which_pencil);
}

/* ---- halos: n = { points in each direction } ---- */

enum { NEIGHBORS = 6 };

/* Neighbours stand in pairs, lower and upper, one pair for each axis. */
static void which_face(const struct layout *l, int side, int piece, int sizes[3], int part[3], int start[3])
{
    int n = l->n[0], d;

    for (d = 0; d < 3; d++) {
        sizes[d] = n + 2;
        part[d] = n;
        start[d] = 1;
    }
    part[piece / 2] = 1;
    start[piece / 2] = piece % 2 == 0 ? (side == LAYOUT_FROM ? 1 : 0) : (side == LAYOUT_FROM ? n : n + 1);
}

void layout_describe_halo(struct layout *l)
{
    int dims[3] = { 0, 0, 0 }, periods[3] = { 1, 1, 1 };

    MPI_Dims_create(l->ranks, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &l->comm);
    subarrays(l, NEIGHBORS, which_face);
}

void layout_make_halo(const struct layout *l, const struct layout_calls *c, int side, MPI_Aint base,
                      MPI_Datatype *type)
{
    (void)base;
    make_subarrays(l, c, side, type, which_face);
}
