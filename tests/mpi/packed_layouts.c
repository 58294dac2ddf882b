/* Datatypes of packed.h: vectors, lists and structs with negative strides, gaps in pairs, lower bounds that are not
   0, extents that are not the span, items of a few bytes and items that a message cuts into parts. */
#include "packed.h"

#include <stdlib.h>
#include <string.h>

#define MARGIN 64

struct layout layouts[LAYOUTS];

static MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype moved(MPI_Datatype type, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype resized;
    MPI_Type_create_resized(type, lb, extent, &resized);
    MPI_Type_free(&type);
    return resized;
}

static MPI_Datatype irregular(int n, MPI_Datatype base)
{
    int *at = malloc((size_t)n * sizeof *at), *length = malloc((size_t)n * sizeof *length), next = 3;
    MPI_Datatype type;
    for (int i = 0; i < n; i++) {
        at[i] = next;
        length[i] = 1 + i * 7 % 3;
        next += length[i] + 1 + i * 11 % 5;
    }
    MPI_Type_indexed(n, length, at, base, &type);
    free(at);
    free(length);
    return type;
}

/* Backwards, one element at a time. */
static MPI_Datatype reversed(int n, MPI_Datatype base)
{
    MPI_Aint lb, extent;
    MPI_Datatype type;
    MPI_Type_get_extent(base, &lb, &extent);
    MPI_Type_create_hvector(n, 1, -2 * extent, base, &type);
    return type;
}

static MPI_Datatype make(int which)
{
    static const int at[6] = {9, 0, 3, 14, 5, 30};
    MPI_Datatype type = MPI_DATATYPE_NULL, inner;
    switch (which) {
    case 0:
        MPI_Type_vector(37, 2, 5, MPI_INT, &type);
        break;
    case 1:
        type = reversed(19, MPI_DOUBLE);
        break;
    case 2:
        MPI_Type_create_struct(3, (const int[]){3, 1, 2}, (const MPI_Aint[]){1, 8, 24},
                               (const MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE, MPI_SHORT_INT}, &type);
        break;
    case 3:
        MPI_Type_create_indexed_block(6, 1, at, MPI_FLOAT_INT, &type);
        break;
    case 4:
        MPI_Type_vector(11, 1, 3, MPI_SHORT, &type);
        type = moved(type, -24, 120);
        break;
    case 5:
        MPI_Type_create_subarray(3, (const int[]){6, 7, 8}, (const int[]){3, 4, 5}, (const int[]){2, 1, 3},
                                 MPI_ORDER_FORTRAN, MPI_FLOAT, &type);
        break;
    case 6:
        MPI_Type_create_struct(2, (const int[]){5, 9}, (const MPI_Aint[]){640, 72},
                               (const MPI_Datatype[]){MPI_LONG, MPI_CHAR}, &type);
        break;
    case 7:
        MPI_Type_contiguous(5, MPI_DOUBLE_INT, &type);
        break;
    case 8: /* cut into parts by the library */
        type = irregular(3000, MPI_DOUBLE);
        break;
    case 9: /* dense */
        MPI_Type_contiguous(50, MPI_INT, &type);
        break;
    case 10:
        MPI_Type_vector(13, 3, 7, MPI_CHAR, &type);
        break;
    default: /* items that interleave */
        MPI_Type_vector(40, 1, 24, MPI_INT, &inner);
        type = moved(inner, 0, 12);
    }
    return committed(type);
}

void layouts_make(void)
{
    static const char *const name[LAYOUTS] = {"vector", "backwards", "struct", "pairs", "resized", "subarray",
                                              "shifted", "gaps in pairs", "long", "dense", "bytes", "interleaved"};
    /* Bytes of the base types that an item begins with. */
    static const int begin[LAYOUTS] = {20, 40, 11, 16, 6, 100, 24, 12, 9992, 40, 7, 44};
    static const int bases[LAYOUTS] = {74, 19, 0, 0, 11, 60, 0, 0, 0, 50, 39, 40};
    const MPI_Datatype base[LAYOUTS] = {[0] = MPI_INT, [1] = MPI_DOUBLE, [4] = MPI_SHORT, [5] = MPI_FLOAT,
                                        [9] = MPI_INT, [10] = MPI_CHAR,  [11] = MPI_INT};
    for (int i = 0; i < LAYOUTS; i++) {
        struct layout *l = &layouts[i];
        MPI_Aint low, span;
        *l = (struct layout){.name = name[i], .type = make(i), .base = MPI_DATATYPE_NULL, .bases = bases[i]};
        MPI_Type_size(l->type, &l->size);
        l->part = 2 * l->size + begin[i];
        MPI_Type_get_true_extent(l->type, &low, &span);
        l->at_zero = low == 0;
        if (bases[i] > 0) {
            l->base = base[i];
            l->twin = committed(reversed(bases[i], base[i]));
        } else {
            MPI_Type_dup(l->type, &l->twin);
        }
    }
}

void layouts_free(void)
{
    for (int i = 0; i < LAYOUTS; i++) {
        MPI_Type_free(&layouts[i].type);
        MPI_Type_free(&layouts[i].twin);
    }
}

struct area area_new(MPI_Datatype type, uint64_t seed)
{
    struct area area;
    MPI_Aint lb, extent, low, span;
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &low, &span);
    MPI_Aint far = (ITEMS + 1) * extent, first = low + (far < 0 ? far : 0), last = low + span + (far > 0 ? far : 0);
    first = first > 0 ? 0 : (first - 63) / 64 * 64;
    area.size = (size_t)(last - first) + 2 * MARGIN;
    area.mem = malloc(area.size);
    area.origin = area.mem + MARGIN - first;
    for (size_t i = 0; i < area.size; i++) {
        if (i % 8 == 0)
            seed = mix(seed, i);
        area.mem[i] = (unsigned char)(seed >> (i % 8 * 8));
    }
    return area;
}

void area_end(struct area *area, const char *call, const char *what)
{
    check_bytes(NULL, call, what, area->mem, area->size);
    free(area->mem);
}
