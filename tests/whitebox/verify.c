/*
 * Whether a substitute is what it stands for (src/mpi/typeplan/verify.h): types that describe the same data pass,
 * however they are made; types that differ in one displacement, in their order or in a base type do not, whether the
 * entries show it or the bytes.
 */
#include <check.h>
#include <mpi.h>
#include <stdlib.h>

#include "mpi/core/pmpi.h"
#include "mpi/datatype/decode.h"
#include "mpi/datatype/emit.h"
#include "mpi/typeplan/variants.h"
#include "mpi/typeplan/verify.h"
#include "random_types.h"
#include "suite.h"
#include "type_service.h"

enum { MIB = 1 << 20, N = 200 };

static bool agree(MPI_Datatype original, MPI_Datatype type)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded d;
    bool same;

    ck_assert_int_eq(espi_decode(&arena, original, 0, &d), ESPI_OK);
    same = espi_types_agree(d.tree, original, type);
    espi_arena_release(&arena);
    return same;
}

/* Blocks of one double each. */
static MPI_Datatype blocks(int n, const MPI_Aint *at, MPI_Datatype base)
{
    MPI_Datatype type;

    MPI_Type_create_hindexed_block(n, 1, at, base, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype regular(MPI_Datatype base)
{
    MPI_Datatype type;

    MPI_Type_create_hvector(N, 1, 24, base, &type);
    MPI_Type_commit(&type);
    return type;
}

/* The regular places with some of them changed. */
static MPI_Datatype changed(int first, MPI_Aint by, int second, MPI_Aint too, MPI_Datatype base)
{
    MPI_Aint at[N];

    for (int i = 0; i < N; i++)
        at[i] = 24 * i;
    at[first] += by;
    at[second] += too;
    return blocks(N, at, base);
}

START_TEST(equal)
{
    MPI_Datatype type = regular(MPI_DOUBLE), as_list = changed(0, 0, 0, 0, MPI_DOUBLE);

    ck_assert(agree(type, type));
    ck_assert(agree(type, as_list));
    ck_assert(agree(as_list, type));
    MPI_Type_free(&as_list);
    MPI_Type_free(&type);
}
END_TEST

START_TEST(one_displacement)
{
    MPI_Datatype type = regular(MPI_DOUBLE);

    for (int i = 0; i < N; i += 1 + i / 8)
        for (MPI_Aint by = -8; by <= 8; by += 8) {
            MPI_Datatype like = changed(i, by, i, 0, MPI_DOUBLE);
            ck_assert_msg(agree(type, like) == (by == 0), "displacement %d", i);
            ck_assert_msg(agree(like, type) == (by == 0), "displacement %d", i);
            MPI_Type_free(&like);
        }
    MPI_Type_free(&type);
}
END_TEST

START_TEST(order)
{
    MPI_Datatype type = regular(MPI_DOUBLE);

    for (int i = 0; i + 1 < N; i += 1 + i / 8) {
        MPI_Datatype like = changed(i, 24, i + 1, -24, MPI_DOUBLE); /* two change places */
        ck_assert(!agree(type, like) && !agree(like, type));
        MPI_Type_free(&like);
    }
    MPI_Type_free(&type);
}
END_TEST

/* The same bytes, but of another base type: only the entries tell. And one entry more or less. */
START_TEST(base_type)
{
    MPI_Datatype type = regular(MPI_DOUBLE), like = regular(MPI_INT64_T), type_of[2] = {MPI_DOUBLE, MPI_INT64_T};
    MPI_Aint at[2] = {0, 24 * (N - 1)};
    MPI_Datatype first, mixed;
    int one[2] = {1, 1};

    ck_assert(!agree(type, like) && !agree(like, type));
    MPI_Type_free(&like);
    MPI_Type_create_hvector(N - 1, 1, 24, MPI_DOUBLE, &first);
    type_of[0] = first;
    MPI_Type_create_struct(2, one, at, type_of, &mixed);
    MPI_Type_commit(&mixed);
    ck_assert(!agree(type, mixed) && !agree(mixed, type));
    MPI_Type_free(&mixed);
    MPI_Type_commit(&first);
    ck_assert(!agree(type, first) && !agree(first, type));
    MPI_Type_free(&first);
    MPI_Type_free(&type);
}
END_TEST

/* At random: all forms that are built of a type pass, and none passes for another one. */
START_TEST(random_forms)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    int passed = 0, refused = 0;

    for (int i = 0; i < 300; i++) {
        struct made m = i % 3 == 0 ? (struct made){irregular(40 + i, i), NULL, 1, 0} : made_random(-1, 3);
        const struct espi_node *tree;
        struct espi_decoded d;
        struct espi_emitted e;

        MPI_Type_commit(&m.type);
        if (!m.hollow && m.n > 0 && espi_decode(&arena, m.type, 0, &d) == ESPI_OK) {
            ck_assert_int_eq(espi_variant_chunked(&arena, d.tree, 8, &tree), ESPI_OK);
            ck_assert_int_eq(espi_emit(tree, d.lb, d.extent, 100000, &e), ESPI_OK);
            ck_assert(espi_types_agree(d.tree, m.type, e.type));
            MPI_Type_free(&e.type);
            MPI_Datatype other = irregular(39 + i, i);
            ck_assert(!espi_types_agree(d.tree, m.type, other));
            MPI_Type_free(&other);
            passed++;
        }
        made_free(&m);
        espi_arena_release(&arena);
    }
    for (int i = 0; i < 40; i++) { /* the same number of the same, elsewhere */
        MPI_Datatype one = irregular(50, i), other = irregular(50, i + 1);
        refused += !agree(one, other);
        MPI_Type_free(&one);
        MPI_Type_free(&other);
    }
    ck_assert(passed > 150 && refused == 40);
}
END_TEST

/* Entries that are right, and bytes that are not: what is packed and unpacked is compared, too. */
static int (*real_pack)(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);
static int (*real_unpack)(const void *, int, int *, void *, int, MPI_Datatype, MPI_Comm);
static MPI_Datatype wrong;
static int packs, unpacks;

static int wrong_pack(const void *from, int n, MPI_Datatype type, void *to, int size, int *at, MPI_Comm comm)
{
    int code = real_pack(from, n, type, to, size, at, comm);

    packs++;
    if (type == wrong)
        ((char *)to)[777] ^= 1;
    return code;
}

static int wrong_unpack(const void *from, int size, int *at, void *to, int n, MPI_Datatype type, MPI_Comm comm)
{
    int code = real_unpack(from, size, at, to, n, type, comm);

    unpacks++;
    if (type == wrong)
        ((char *)to)[24 * 77] ^= 1;
    return code;
}

START_TEST(bytes)
{
    MPI_Datatype type = regular(MPI_DOUBLE), like = changed(0, 0, 0, 0, MPI_DOUBLE);

    real_pack = espi_pmpi.Pack;
    real_unpack = espi_pmpi.Unpack;
    espi_pmpi.Pack = wrong_pack;
    wrong = MPI_DATATYPE_NULL;
    ck_assert(agree(type, like) && packs > 1);
    wrong = like;
    ck_assert(!agree(type, like));
    espi_pmpi.Pack = real_pack;
    espi_pmpi.Unpack = wrong_unpack;
    ck_assert(!agree(type, like) && unpacks > 1);
    espi_pmpi.Unpack = real_unpack;
    ck_assert(agree(type, like));
    MPI_Type_free(&like);
    MPI_Type_free(&type);
}
END_TEST

/* Entries are compared up to 4 Mi of them; bytes where types and buffers fit 64 MiB. */
START_TEST(large)
{
    for (int more = 0; more < 2; more++) {
        MPI_Aint at[2] = {0, 4 * MIB + 2 * more};
        MPI_Datatype half, type, swapped;

        MPI_Type_create_hvector(2 * MIB + more, 1, 2, MPI_CHAR, &half);
        type = blocks(2, at, half);
        at[0] = at[1];
        at[1] = 0;
        swapped = blocks(2, at, half);
        ck_assert(agree(type, type));
        ck_assert(!agree(type, swapped)); /* by bytes alone, where there are more */
        MPI_Type_free(&half);
        MPI_Type_free(&type);
        MPI_Type_free(&swapped);
    }
    MPI_Aint at[2] = {0, 70 * MIB};
    MPI_Datatype far = blocks(2, at, MPI_DOUBLE), other;
    ck_assert(agree(far, far)); /* by entries alone */
    at[1] += 8;
    other = blocks(2, at, MPI_DOUBLE);
    ck_assert(!agree(far, other));
    MPI_Type_free(&other);
    MPI_Type_free(&far);
}
END_TEST

/* Data before the buffer's address. */
START_TEST(negative)
{
    MPI_Aint at[3] = {16, -80, -32};
    MPI_Datatype type = blocks(3, at, MPI_DOUBLE), other;

    ck_assert(agree(type, type));
    at[2] += 4;
    other = blocks(3, at, MPI_DOUBLE);
    ck_assert(!agree(type, other));
    MPI_Type_free(&other);
    MPI_Type_free(&type);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "verify", equal, one_displacement, order, base_type, random_forms, bytes, large,
                     negative);
}
