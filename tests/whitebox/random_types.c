#include "random_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

void random_seed(const char *program)
{
    const char *text = getenv("ESPALIER_TEST_SEED");
    unsigned long seed = text != NULL ? strtoul(text, NULL, 0) : 20220407;

    state = seed * 2862933555777941757u + 3037000493u;
    printf("%s: seed %lu\n", program, seed);
}

uint64_t random_below(uint64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % n;
}

uint64_t random_state(void)
{
    return state;
}

void random_again(uint64_t from)
{
    state = from;
}

static int some(int from, int to)
{
    return from + (int)random_below((uint64_t)(to - from + 1));
}

static struct made base_type(void)
{
    static const MPI_Datatype list[] = {MPI_CHAR,   MPI_SHORT,      MPI_INT,       MPI_DOUBLE,   MPI_DOUBLE,
                                        MPI_FLOAT,  MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_LONG_INT, MPI_BYTE,
                                        MPI_INT8_T, MPI_2INT,       MPI_COMPLEX,   MPI_LONG,     MPI_INT};
    struct made m = {list[random_below(sizeof list / sizeof list[0])], malloc(sizeof(MPI_Datatype)), 1, 0};

    m.bases[0] = m.type;
    return m;
}

const char *made_name(int which)
{
    static const char *const names[MADE_KINDS] = {
        "dup", "contiguous", "vector", "hvector", "indexed", "hindexed", "indexed_block", "hindexed_block", "struct",
        "subarray", "darray", "resized", "contiguous_c", "vector_c", "hvector_c", "indexed_c", "hindexed_c",
        "indexed_block_c", "hindexed_block_c", "struct_c", "subarray_c", "darray_c", "resized_c", "f90",
    };

    return which >= 0 && which < MADE_KINDS ? names[which] : "any";
}

static int darray(int large, MPI_Datatype child, MPI_Datatype *out)
{
    int n = some(1, 3), sizes[3], how[3], arg[3], procs[3], p = 1, i;
    int order = some(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    MPI_Count big[3];

    for (i = 0; i < n; i++) {
        sizes[i] = some(1, 9);
        big[i] = sizes[i];
        procs[i] = some(1, 3);
        how[i] = some(0, 2);
        arg[i] = MPI_DISTRIBUTE_DFLT_DARG;
        if (how[i] == 0) {
            how[i] = MPI_DISTRIBUTE_NONE;
            procs[i] = 1;
        } else if (how[i] == 1) {
            how[i] = MPI_DISTRIBUTE_BLOCK;
            if (some(0, 1))
                arg[i] = (sizes[i] + procs[i] - 1) / procs[i] + some(0, 1);
        } else {
            how[i] = MPI_DISTRIBUTE_CYCLIC;
            if (some(0, 1))
                arg[i] = some(1, 4);
        }
        p *= procs[i];
    }
    return large ? MPI_Type_create_darray_c(p, some(0, p - 1), n, big, how, arg, procs, order, child, out)
                 : MPI_Type_create_darray(p, some(0, p - 1), n, sizes, how, arg, procs, order, child, out);
}

static int subarray(int large, MPI_Datatype child, MPI_Datatype *out)
{
    int n = some(1, 3), sizes[3], sub[3], start[3], i, order = some(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    MPI_Count s[3], u[3], t[3];

    for (i = 0; i < n; i++) {
        s[i] = sizes[i] = some(1, 6);
        u[i] = sub[i] = some(1, sizes[i]);
        t[i] = start[i] = some(0, sizes[i] - sub[i]);
    }
    return large ? MPI_Type_create_subarray_c(n, s, u, t, order, child, out)
                 : MPI_Type_create_subarray(n, sizes, sub, start, order, child, out);
}

enum { LIST = 6 };

struct list {
    int n, len[LIST], disp[LIST];
    MPI_Aint bytes[LIST];
    MPI_Count big_len[LIST], big_disp[LIST], big_bytes[LIST];
};

static void random_list(struct list *l)
{
    int i, same = some(0, 3) == 0;

    l->n = some(0, LIST);
    for (i = 0; i < l->n; i++) {
        l->big_len[i] = l->len[i] = same ? some(1, 2) * 0 + 2 : some(0, 3);
        l->big_disp[i] = l->disp[i] = some(-8, 20);
        l->big_bytes[i] = l->bytes[i] = some(-300, 300);
    }
}

/* Kinds 0 .. 22 of one child; -1 when MPI refused. */
static int construct(int which, MPI_Datatype child, MPI_Datatype *out)
{
    int count = some(0, 4), length = some(0, 3), stride = some(-5, 9), bytes = some(-90, 150);
    struct list l;

    random_list(&l);
    switch (which) {
    case 0:
        return MPI_Type_dup(child, out);
    case 1:
        return MPI_Type_contiguous(count, child, out);
    case 2:
        return MPI_Type_vector(count, length, stride, child, out);
    case 3:
        return MPI_Type_create_hvector(count, length, bytes, child, out);
    case 4:
        return MPI_Type_indexed(l.n, l.len, l.disp, child, out);
    case 5:
        return MPI_Type_create_hindexed(l.n, l.len, l.bytes, child, out);
    case 6:
        return MPI_Type_create_indexed_block(l.n, length, l.disp, child, out);
    case 7:
        return MPI_Type_create_hindexed_block(l.n, length, l.bytes, child, out);
    case 9:
        return subarray(0, child, out);
    case 10:
        return darray(0, child, out);
    case 11:
        return MPI_Type_create_resized(child, some(-40, 40), some(0, 120), out);
    case 12:
        return MPI_Type_contiguous_c(count, child, out);
    case 13:
        return MPI_Type_vector_c(count, length, stride, child, out);
    case 14:
        return MPI_Type_create_hvector_c(count, length, bytes, child, out);
    case 15:
        return MPI_Type_indexed_c(l.n, l.big_len, l.big_disp, child, out);
    case 16:
        return MPI_Type_create_hindexed_c(l.n, l.big_len, l.big_bytes, child, out);
    case 17:
        return MPI_Type_create_indexed_block_c(l.n, length, l.big_disp, child, out);
    case 18:
        return MPI_Type_create_hindexed_block_c(l.n, length, l.big_bytes, child, out);
    case 20:
        return subarray(1, child, out);
    case 21:
        return darray(1, child, out);
    default:
        return MPI_Type_create_resized_c(child, some(-40, 40), some(0, 120), out);
    }
}

static struct made fortran(void)
{
    struct made m = {MPI_DATATYPE_NULL, malloc(sizeof(MPI_Datatype)), 1, 0};
    int kind = some(0, 2);

    if (kind == 0)
        MPI_Type_create_f90_real(some(0, 1) ? 6 : 15, MPI_UNDEFINED, &m.type);
    else if (kind == 1)
        MPI_Type_create_f90_complex(some(0, 1) ? 6 : 15, MPI_UNDEFINED, &m.type);
    else
        MPI_Type_create_f90_integer(some(0, 1) ? 4 : 9, &m.type);
    m.bases[0] = m.type;
    return m;
}

static struct made structure(int large, int depth)
{
    struct list l;
    struct made parts[LIST], m = {MPI_DATATYPE_NULL, NULL, 0, 0};
    MPI_Datatype types[LIST];
    int i, k;
    size_t j;

    random_list(&l);
    for (i = 0; i < l.n; i++) {
        parts[i] = made_random(-1, depth - 1);
        m.hollow |= parts[i].hollow || parts[i].n == 0;
        types[i] = parts[i].type;
        m.n += parts[i].n * (size_t)l.len[i];
    }
    m.bases = malloc((m.n + 1) * sizeof *m.bases);
    for (i = 0, j = 0; i < l.n; i++)
        for (k = 0; k < l.len[i]; k++, j += parts[i].n)
            memcpy(m.bases + j, parts[i].bases, parts[i].n * sizeof *m.bases);
    if (large)
        MPI_Type_create_struct_c(l.n, l.big_len, l.big_bytes, types, &m.type);
    else
        MPI_Type_create_struct(l.n, l.len, l.bytes, types, &m.type);
    for (i = 0; i < l.n; i++)
        made_free(&parts[i]);
    return m;
}

struct made made_random(int which, int depth)
{
    struct made child, m = {MPI_DATATYPE_NULL, NULL, 0, 0};
    MPI_Count size, child_size;
    size_t copies, i;

    if (depth <= 0)
        return base_type();
    if (which < 0)
        which = (int)random_below(MADE_KINDS);
    if (which == 23)
        return fortran();
    if (which == 8 || which == 19)
        return structure(which == 19, depth);
    child = made_random(-1, depth - 1);
    m.hollow = child.hollow || child.n == 0;
    construct(which, child.type, &m.type);
    MPI_Type_size_c(m.type, &size);
    MPI_Type_size_c(child.type, &child_size);
    copies = child_size > 0 ? (size_t)(size / child_size) : 0;
    m.n = copies * child.n;
    m.bases = malloc((m.n + 1) * sizeof *m.bases);
    for (i = 0; i < copies; i++)
        memcpy(m.bases + i * child.n, child.bases, child.n * sizeof *m.bases);
    made_free(&child);
    return m;
}

void made_free(struct made *made)
{
    MPI_Count a, b, c, d;
    int combiner = MPI_COMBINER_NAMED;

    if (made->type != MPI_DATATYPE_NULL)
        MPI_Type_get_envelope_c(made->type, &a, &b, &c, &d, &combiner);
    if (combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
        combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER)
        MPI_Type_free(&made->type);
    free(made->bases);
    made->bases = NULL;
}

int64_t *packed_places(MPI_Datatype type, size_t *n)
{
    MPI_Count size, lb, extent;
    unsigned char *from, *to;
    int64_t *places, i;
    int turn;

    MPI_Type_size_c(type, &size);
    MPI_Type_get_true_extent_c(type, &lb, &extent);
    *n = (size_t)size;
    if (size == 0 || extent > 16 << 20)
        return NULL;
    from = malloc((size_t)extent);
    to = malloc((size_t)size);
    places = calloc((size_t)size, sizeof *places);
    for (turn = 0; turn < 3; turn++) {
        MPI_Count at = 0;

        for (i = 0; i < extent; i++)
            from[i] = (unsigned char)(i >> (8 * turn));
        MPI_Pack_c(from - lb, 1, type, to, size, &at, MPI_COMM_SELF);
        for (i = 0; i < size; i++)
            places[i] |= (int64_t)to[i] << (8 * turn);
    }
    for (i = 0; i < size; i++)
        places[i] += lb;
    free(from);
    free(to);
    return places;
}
