/*
 * Predefined operations on derived datatypes against a plain fold in rank order: every operation x base type x layout
 * x call, gaps kept. Erroneous MPI without Espalier (the driver runs it under the preload).
 * Arguments: all|elements (only the base types themselves: correct MPI anywhere) and a share K: one case of K, chosen
 * by the seed (ranks that outnumber the processors take milliseconds for each call); and a factor on the number of
 * copies. ESPALIER_TEST_SEED sets the seed. Prints `N passed, N failed` on rank 0.
 */
#include "reduce_elements.h"

#include <stdio.h>
#include <stdlib.h>

static const struct base bases[] = {
#define X(type, kind, size, second, second_size, ops) {#type, type, kind, size, second, second_size, ops},
    BASES(X)
#undef X
};
static const struct operation operations[] = {
#define X(op, class) {#op, op, class},
    OPERATIONS(X)
#undef X
};

static int rank, size;
static unsigned seed = 1;
static long passed, failed, number;
static long share = 1;  /* one case of so many is run */
static int factor = 1;  /* times as many copies */

/* ---- layouts: `disp` lists where the elements of one copy stand, in units of the base type's extent ---- */

enum layout { ELEMENT, DENSE, SHIFTED, STRIDED, INDEXED, TRIANGULAR, STRUCTURE, PERMUTED, LAYOUTS };
static const char *const layout_names[] = {"element", "dense", "shifted", "strided", "indexed", "triangular",
                                           "struct", "permuted"};

struct made {
    MPI_Datatype type;
    int64_t disp[64], each; /* elements of one copy */
    int64_t extent;         /* in units of the base type's extent */
};

static struct made make(enum layout which, MPI_Datatype base)
{
    struct made m = {MPI_DATATYPE_NULL, {0}, 0, 0};
    MPI_Datatype t;
    MPI_Aint lb, unit;
    MPI_Type_get_extent(base, &lb, &unit);
    switch (which) {
    case ELEMENT: /* the base type itself: what holds without Espalier, too */
        m.type = base;
        m.each = m.extent = 1;
        return m;
    case DENSE:
        MPI_Type_contiguous(6, base, &m.type);
        for (int i = 0; i < 6; i++)
            m.disp[m.each++] = i;
        m.extent = 6;
        break;
    case SHIFTED: { /* dense, but not from the buffer's address on */
        int d = 3;
        MPI_Type_create_indexed_block(1, 4, &d, base, &t);
        MPI_Type_create_resized(t, 0, 4 * unit, &m.type);
        MPI_Type_free(&t);
        for (int i = 0; i < 4; i++)
            m.disp[m.each++] = 3 + i;
        m.extent = 4;
        break;
    }
    case STRIDED:
        MPI_Type_vector(4, 2, 5, base, &t);
        MPI_Type_create_resized(t, 0, 20 * unit, &m.type);
        MPI_Type_free(&t);
        for (int i = 0; i < 8; i++)
            m.disp[m.each++] = i / 2 * 5 + i % 2;
        m.extent = 20;
        break;
    case INDEXED: {
        int len[3] = {1, 3, 2}, at[3] = {9, 1, 5};
        MPI_Type_indexed(3, len, at, base, &t);
        MPI_Type_create_resized(t, 0, 11 * unit, &m.type);
        MPI_Type_free(&t);
        for (int b = 0; b < 3; b++)
            for (int i = 0; i < len[b]; i++)
                m.disp[m.each++] = at[b] + i;
        m.extent = 11;
        break;
    }
    case TRIANGULAR: { /* the upper triangle, with the diagonal, of a 5 x 5 matrix by rows */
        int len[5], at[5];
        for (int i = 0; i < 5; i++) {
            len[i] = 5 - i;
            at[i] = 6 * i;
            for (int k = 0; k < len[i]; k++)
                m.disp[m.each++] = at[i] + k;
        }
        MPI_Type_indexed(5, len, at, base, &m.type);
        m.extent = 25;
        break;
    }
    case STRUCTURE: {
        int len[2] = {2, 1};
        MPI_Aint at[2] = {0, 4 * unit};
        MPI_Datatype types[2] = {base, base};
        MPI_Type_create_struct(2, len, at, types, &t);
        MPI_Type_create_resized(t, 0, 7 * unit, &m.type);
        MPI_Type_free(&t);
        m.disp[0] = 0, m.disp[1] = 1, m.disp[2] = 4, m.each = 3;
        m.extent = 7;
        break;
    }
    default: { /* no gap, but the order of the type map is not that of memory */
        int at[4] = {3, 1, 0, 2};
        MPI_Type_create_indexed_block(4, 1, at, base, &m.type);
        for (int i = 0; i < 4; i++)
            m.disp[m.each++] = at[i];
        m.extent = 4;
    }
    }
    MPI_Type_commit(&m.type);
    return m;
}

/* ---- calls ---- */

enum call { REDUCE, ALLREDUCE, SCAN, EXSCAN, BLOCK, SCATTER, LOCAL, CALLS };
static const char *const call_names[] = {"Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter_block",
                                         "Reduce_scatter", "Reduce_local"};
enum form { PLAIN, LARGE, NONBLOCKING, PERSISTENT, FORMS };
static const char *const form_names[] = {"", "_c", "nonblocking", "persistent"};

static MPI_Comm comm;

static void finish(MPI_Request *request, enum form form)
{
    if (form == NONBLOCKING) {
        int flag = 0;
        if (seed % 2)
            MPI_Wait(request, MPI_STATUS_IGNORE);
        else
            while (!flag)
                MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    } else if (form == PERSISTENT) {
        MPI_Status status;
        MPI_Start(request);
        MPI_Waitall(1, request, &status);
        MPI_Request_free(request);
    }
}

/* n copies of the type (per rank, for the scattering calls, unless `counts`). */
static void run(enum call call, enum form form, const void *in, void *out, int n, const int *counts,
                MPI_Datatype type, MPI_Op op, int root)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Count large[64];
    for (int i = 0; counts && i < size; i++)
        large[i] = counts[i];
    if (call == LOCAL) {
        form == LARGE ? MPI_Reduce_local_c(in, out, n, type, op) : MPI_Reduce_local(in, out, n, type, op);
        return;
    }
#define CASE(CALL, NAME, INAME, COUNTS, LARGE_COUNTS, ...)                                        \
    case CALL:                                                                                    \
        if (form == PLAIN)                                                                        \
            MPI_##NAME(in, out, COUNTS, type, op, __VA_ARGS__);                                   \
        else if (form == LARGE)                                                                   \
            MPI_##NAME##_c(in, out, LARGE_COUNTS, type, op, __VA_ARGS__);                         \
        else if (form == NONBLOCKING)                                                             \
            MPI_##INAME(in, out, COUNTS, type, op, __VA_ARGS__, &request);                        \
        else                                                                                      \
            MPI_##NAME##_init(in, out, COUNTS, type, op, __VA_ARGS__, info, &request);            \
        break
    switch (call) {
        CASE(REDUCE, Reduce, Ireduce, n, n, root, comm);
        CASE(ALLREDUCE, Allreduce, Iallreduce, n, n, comm);
        CASE(SCAN, Scan, Iscan, n, n, comm);
        CASE(EXSCAN, Exscan, Iexscan, n, n, comm);
        CASE(BLOCK, Reduce_scatter_block, Ireduce_scatter_block, n, n, comm);
        CASE(SCATTER, Reduce_scatter, Ireduce_scatter, counts, large, comm);
    default:
        break;
    }
    finish(&request, form);
}

/* ---- one case ---- */

static bool check_case(enum call call, enum form form, bool in_place, const struct base *b,
                       const struct operation *o, const struct made *m, int n)
{
    MPI_Aint lb, unit;
    MPI_Type_get_extent(b->type, &lb, &unit);
    int counts[64], total = n, own_count = n, before = 0, root = size / 2;
    if (call == BLOCK)
        total = n * size;
    if (call == SCATTER) {
        total = 0;
        for (int i = 0; i < size; i++) {
            counts[i] = (i + n) % 3 * factor;
            before += i < rank ? counts[i] : 0;
            total += counts[i];
        }
        own_count = counts[rank];
    } else if (call == BLOCK) {
        before = n * rank;
    }
    /* A copy may begin beyond its extent (shifted), so there is room for one more. */
    size_t bytes = (size_t)((total + 2) * (m->extent + 8) * unit);
    unsigned char *in = malloc(bytes), *out = malloc(bytes), *want = malloc(bytes);
    memset(in, 0x5A, bytes);
    memset(out, 0xA5, bytes);
    bool receives = call != REDUCE || rank == root;
    bool place = in_place && call != LOCAL && receives;
    for (int c = 0; c < total; c++)
        for (int64_t k = 0; k < m->each; k++) {
            size_t at = (size_t)((c * m->extent + m->disp[k]) * unit);
            put(b, (place ? out : in) + at, element(b, o->op, seed, rank, c * m->each + k));
            if (call == LOCAL)
                put(b, out + at, element(b, o->op, seed, rank + 1, c * m->each + k));
        }
    memcpy(want, out, bytes);
    int first = 0, last = call == SCAN ? rank : call == EXSCAN ? rank - 1 : size - 1;
    for (int c = 0; c < own_count && receives && last >= 0; c++)
        for (int64_t k = 0; k < m->each; k++) {
            int64_t e = (before + c) * m->each + k;
            struct value v = element(b, o->op, seed, first, e);
            if (call == LOCAL)
                v = fold(b, o->op, element(b, o->op, seed, rank, e), element(b, o->op, seed, rank + 1, e));
            for (int r = 1; r <= last && call != LOCAL; r++)
                v = fold(b, o->op, v, element(b, o->op, seed, r, e));
            put(b, want + (size_t)((c * m->extent + m->disp[k]) * unit), v);
        }
    run(call, form, place ? MPI_IN_PLACE : in, out, call == BLOCK ? n : own_count, counts, m->type, o->op, root);
    bool good = true;
    /* Elements are compared as values (a long double has padding), everything else as bytes. In place, a scattering
       call may leave anything in the elements beyond the result. */
    int compared = place && (call == SCATTER || call == BLOCK) ? own_count : total;
    unsigned char *element_bytes = calloc(1, bytes);
    for (int c = 0; c < total; c++)
        for (int64_t k = 0; k < m->each; k++) {
            size_t at = (size_t)((c * m->extent + m->disp[k]) * unit);
            memset(element_bytes + at, 1, (size_t)unit);
            struct value x = get(b, out + at), y = get(b, want + at);
            if (c < compared && (x.a != y.a || x.b != y.b))
                good = false;
        }
    if (call == EXSCAN && rank == 0)
        good = true; /* undefined there */
    for (size_t i = 0; i < bytes; i++)
        if (!element_bytes[i] && out[i] != want[i])
            good = false;
    free(element_bytes);
    free(in), free(out), free(want);
    return good;
}

int main(int argc, char **argv)
{
    const char *text = getenv("ESPALIER_TEST_SEED");
    seed = text ? (unsigned)strtoul(text, NULL, 0) : 1;
    bool only_elements = argc > 1 && !strcmp(argv[1], "elements");
    if (argc > 2)
        share = strtol(argv[2], NULL, 0);
    if (argc > 3)
        factor = (int)strtol(argv[3], NULL, 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (size_t bi = 0; bi < sizeof bases / sizeof bases[0]; bi++) {
        if (bases[bi].type == MPI_DATATYPE_NULL)
            continue;
        for (int l = 0; l < (only_elements ? 1 : LAYOUTS); l++) {
            struct made m = make((enum layout)l, bases[bi].type);
            for (size_t oi = 0; oi < sizeof operations / sizeof operations[0]; oi++) {
                if (!(operations[oi].class & bases[bi].ops))
                    continue;
                for (int call = 0; call < CALLS; call++)
                    for (int form = 0; form < FORMS; form++) {
                        if (call == LOCAL && form > LARGE)
                            continue;
                        for (int place = 0; place < 2; place++) {
                            /* MPICH 4.0.2 crashes in MPI_Reduce of more than 2 KiB of a base type in place at a root
                               other than 0, and dense types go the way of their base type. */
                            if (factor > 1 && place && call == REDUCE && l <= SHIFTED)
                                continue;
                            if (number++ % share != (long)seed % share)
                                continue;
                            int n = (int)((bi + (size_t)l + oi + (size_t)call) % 4) * factor;
                            bool good = check_case((enum call)call, (enum form)form, place, &bases[bi],
                                                   &operations[oi], &m, n);
                            good ? passed++ : failed++;
                            if (!good && failed < 20)
                                fprintf(stderr, "rank %d: %s %s %s %s %s%s n=%d seed=%u differs\n", rank,
                                        call_names[call], form_names[form], bases[bi].name, operations[oi].name,
                                        layout_names[l], place ? " in place" : "", n, seed);
                        }
                    }
            }
            if (l != ELEMENT)
                MPI_Type_free(&m.type);
        }
    }
    long tally[2] = {passed, failed}, sum[2];
    MPI_Reduce(tally, sum, 2, MPI_LONG, MPI_SUM, 0, comm);
    if (rank == 0)
        printf("seed %u\n%ld passed, %ld failed\n", seed, sum[0], sum[1]);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return failed != 0;
}
