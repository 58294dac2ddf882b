/*
 * Decode and emit against MPI itself: for random datatypes of every combiner, the flattened tree must name the bytes
 * that packing takes, in its order, with the base types of the construction; and what is emitted from the tree must
 * pack the same bytes with the same bounds.
 */
#include <check.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/datatype/decode.h"
#include "mpi/datatype/emit.h"
#include "mpi/core/pmpi.h"
#include "random_types.h"
#include "suite.h"

enum { ROUNDS = 400 };

static int ndecoded, nempty, nwrong, nhollow;

/* The bytes of one base type at `disp`, in the order in which they are packed. */
static size_t base_places(espi_base base, int64_t disp, int64_t *out)
{
    size_t n = espi_base_info(base)->size, i;
    bool gap = espi_base_handle(base) == MPI_SHORT_INT;

    for (i = 0; i < n; i++)
        out[i] = disp + (int64_t)i + (gap && i >= sizeof(short) ? (int64_t)(sizeof(int) - sizeof(short)) : 0);
    return n;
}

/* `places` may be NULL (no data). */
static void compare(const struct espi_node *tree, const struct made *m, const int64_t *places, size_t n,
                    const char *what)
{
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    size_t i, k, at = 0;
    int64_t one[64];

    ck_assert_int_eq(espi_flatten(tree, 0, 1 << 22, &map), ESPI_OK);
    ck_assert_msg(map.n == m->n, "%s: %zu entries, not %zu", what, map.n, m->n);
    for (i = 0; i < map.n; i++) {
        size_t bytes = base_places(map.base[i], map.disp[i], one);

        ck_assert_msg(espi_base_handle(map.base[i]) == m->bases[i], "%s: entry %zu has base %s", what, i,
                      espi_base_info(map.base[i])->name);
        for (k = 0; k < bytes; k++, at++)
            ck_assert_msg(at < n && places[at] == one[k], "%s: byte %zu at %lld, not %lld", what, at,
                          (long long)one[k], at < n ? (long long)places[at] : -1LL);
    }
    ck_assert_uint_eq(at, n);
    espi_typemap_release(&map);
}

/* MPICH 4.0.2 reports true bounds that are too wide for some types with empty parts; such a type is left alone. */
static bool true_bounds_right(MPI_Datatype type, const int64_t *places, size_t n)
{
    MPI_Count lb, extent;
    int64_t least, most;
    size_t i;

    if (n == 0)
        return true;
    least = most = places[0];
    for (i = 1; i < n; i++) {
        least = places[i] < least ? places[i] : least;
        most = places[i] > most ? places[i] : most;
    }
    MPI_Type_get_true_extent_c(type, &lb, &extent);
    return lb == least && lb + extent == most + 1;
}

/* Not to be packed, so only the entries and the bounds can be compared. */
static void hollow_type(const struct made *m)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_typemap map = ESPI_TYPEMAP_INIT;
    struct espi_decoded d;
    espi_status status;
    size_t i;

    status = espi_decode(&arena, m->type, 0, &d);
    ck_assert(status == ESPI_OK || status == ESPI_ERR_UNSUPPORTED);
    if (status == ESPI_OK) {
        ck_assert_int_eq(espi_flatten(d.tree, 0, 1 << 22, &map), ESPI_OK);
        ck_assert_uint_eq(map.n, m->n);
        for (i = 0; i < map.n; i++)
            ck_assert(espi_base_handle(map.base[i]) == m->bases[i]);
        espi_typemap_release(&map);
        nhollow++;
    }
    espi_arena_release(&arena);
}

static void one_type(int which, int depth)
{
    struct made m = made_random(which, depth);
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded d;
    struct espi_emitted e;
    MPI_Count lb, extent;
    int64_t *places, *again;
    size_t n, k, i;
    espi_status status;

    if (m.hollow) {
        hollow_type(&m);
        made_free(&m);
        return;
    }
    MPI_Type_commit(&m.type);
    places = packed_places(m.type, &n);
    if (places == NULL && n > 0) {
        made_free(&m);
        return;
    }
    status = espi_decode(&arena, m.type, 0, &d);
    if (!true_bounds_right(m.type, places, n)) {
        ck_assert_int_eq(status, ESPI_ERR_UNSUPPORTED);
        nwrong++;
        espi_arena_release(&arena);
        free(places);
        made_free(&m);
        return;
    }
    ck_assert_msg(status == ESPI_OK, "%s: decode: %s", made_name(which), espi_status_text(status));
    MPI_Type_get_extent_c(m.type, &lb, &extent);
    ck_assert_int_eq(d.lb, lb);
    ck_assert_int_eq(d.extent, extent);
    compare(d.tree, &m, places, n, made_name(which));
    ndecoded++;
    status = espi_emit(d.tree, d.lb, d.extent, 100000, &e);
    if (n == 0) {
        ck_assert_int_eq(status, ESPI_ERR_UNSUPPORTED);
        ck_assert(e.type == MPI_DATATYPE_NULL);
        nempty++;
    } else {
        ck_assert_msg(status == ESPI_OK, "%s: emit: %s", made_name(which), espi_status_text(status));
        ck_assert_msg(espi_same_bounds(m.type, e.type), "%s: bounds differ", made_name(which));
        again = packed_places(e.type, &k);
        ck_assert_uint_eq(n, k);
        for (i = 0; i < n; i++)
            ck_assert_msg(places[i] == again[i], "%s: emitted: byte %zu at %lld, not %lld", made_name(which), i,
                          (long long)again[i], (long long)places[i]);
        free(again);
        /* The signature, read back by decoding the emitted type. */
        status = espi_decode(&arena, e.type, 0, &d);
        ck_assert_int_eq(status, ESPI_OK);
        compare(d.tree, &m, places, n, "emitted");
        MPI_Type_free(&e.type);
    }
    free(places);
    espi_arena_release(&arena);
    made_free(&m);
}

START_TEST(every_combiner)
{
    int i;

    for (i = 0; i < ROUNDS; i++)
        one_type(_i, 1 + i % 2);
}
END_TEST

START_TEST(nested)
{
    int i;

    for (i = 0; i < 10 * ROUNDS; i++)
        one_type(-1, 2 + i % 2);
    printf("types_decode: %d types decoded and emitted, %d of them without data; %d left alone because of MPI's "
           "bounds; %d "
           "more with empty parts\n",
           ndecoded, nempty, nwrong, nhollow);
}
END_TEST

/* A type made by hand, so that a fault in the random ones can not hide. */
START_TEST(known)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded d;
    MPI_Datatype inner, type;
    char text[200];

    MPI_Type_create_resized(MPI_INT, -4, 12, &inner);
    MPI_Type_indexed(3, (int[]){2, 0, 1}, (int[]){5, 9, -1}, inner, &type);
    ck_assert_int_eq(espi_decode(&arena, type, 0, &d), ESPI_OK);
    espi_print(d.tree, 0, text, sizeof text);
    ck_assert_str_eq(text, "idxbuc(2,12,<60,-12>,<2,1>,leaf(MPI_INT))");
    ck_assert_int_eq(d.lb, -16);
    ck_assert_int_eq(d.extent, 96);
    /* 1 + 3 + 3 numbers are in it and 2 in the type inside. */
    ck_assert_int_eq(espi_decode(&arena, type, 8, &d), ESPI_ERR_LIMIT);
    ck_assert_int_eq(espi_decode(&arena, type, 9, &d), ESPI_OK);
    MPI_Type_free(&type);
    MPI_Type_free(&inner);
    /* In units of an extent of 0 all blocks stand at 0. */
    MPI_Type_create_resized(MPI_INT, 0, 0, &inner);
    MPI_Type_create_indexed_block(3, 1, (int[]){5, 9, -1}, inner, &type);
    ck_assert_int_eq(espi_decode(&arena, type, 0, &d), ESPI_OK);
    espi_print(d.tree, 0, text, sizeof text);
    ck_assert_str_eq(text, "idx(3,<0,0,0>,leaf(MPI_INT))");
    MPI_Type_free(&type);
    MPI_Type_free(&inner);
    ck_assert_int_eq(espi_decode(&arena, MPI_LB, 0, &d), ESPI_ERR_UNSUPPORTED);
    espi_arena_release(&arena);
}
END_TEST

/* A struct of parts of one type is a list, as the library makes it; of others, with parts of no items or not, it is
   a struct. */
START_TEST(struct_of_one)
{
    static const struct {
        int n, lengths[4];
        MPI_Aint at[4];
        MPI_Datatype types[4];
        const char *is;
    } of[] = {
        {2, {1, 1}, {0, 16}, {MPI_INT, MPI_INT}, "idx(2,<0,16>,leaf(MPI_INT))"},
        {3, {2, 0, 1}, {40, 8, -4}, {MPI_INT, MPI_INT, MPI_INT}, "idxbuc(2,4,<40,-4>,<2,1>,leaf(MPI_INT))"},
        {1, {3}, {8}, {MPI_INT}, "idx(1,<8>,vec(3,4,leaf(MPI_INT)))"},
        {2, {1, 1}, {0, 16}, {MPI_INT, MPI_FLOAT}, "struc(2,<0,16>,<leaf(MPI_INT),leaf(MPI_FLOAT)>)"},
        {3, {1, 1, 1}, {0, 16, 24}, {MPI_INT, MPI_INT, MPI_FLOAT},
         "struc(3,<0,16,24>,<leaf(MPI_INT),leaf(MPI_INT),leaf(MPI_FLOAT)>)"},
        {3, {1, 0, 1}, {0, 16, 24}, {MPI_INT, MPI_FLOAT, MPI_INT}, "struc(2,<0,24>,<leaf(MPI_INT),leaf(MPI_INT)>)"},
    };

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct espi_arena arena = ESPI_ARENA_INIT;
        struct espi_decoded d;
        MPI_Datatype type;
        char text[200];
        MPI_Type_create_struct(of[i].n, of[i].lengths, of[i].at, of[i].types, &type);
        ck_assert_int_eq(espi_decode(&arena, type, 0, &d), ESPI_OK);
        espi_print(d.tree, 0, text, sizeof text);
        ck_assert_str_eq(text, of[i].is);
        MPI_Type_free(&type);
        espi_arena_release(&arena);
    }
}
END_TEST

/* MPI_LB and MPI_UB, as programs from before MPI-2 bound their types: what EPOCH makes of a part of an array. */
START_TEST(markers)
{
    static const char is[] = "vec(3,800,struc(1,<0>,<vec(4,80,vec(2,8,leaf(MPI_DOUBLE)))>))",
                      outer[] = "struc(1,<1600>,<vec(3,800,struc(1,<0>,<vec(4,80,vec(2,8,leaf(MPI_DOUBLE)))>))>)";
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded d;
    MPI_Datatype rows, plane, planes, part, types[3] = {MPI_LB, MPI_DATATYPE_NULL, MPI_UB};
    MPI_Aint at[3] = {0, 0, 800};
    const int lengths[3] = {1, 1, 1};
    struct espi_emitted e;
    int64_t *places, *again;
    size_t n, k;
    char text[200];

    MPI_Type_vector(4, 2, 10, MPI_DOUBLE, &rows);
    types[1] = rows;
    MPI_Type_create_struct(3, lengths, at, types, &plane);
    MPI_Type_contiguous(3, plane, &planes);
    ck_assert_int_eq(espi_decode(&arena, planes, 0, &d), ESPI_OK);
    espi_print(d.tree, 0, text, sizeof text);
    ck_assert_str_eq(text, is);
    ck_assert(d.lb == 0 && d.extent == 2400);
    types[1] = planes;
    at[0] = -80;
    at[1] = 1600;
    at[2] = 8000;
    MPI_Type_create_struct(3, lengths, at, types, &part);
    ck_assert_int_eq(espi_decode(&arena, part, 0, &d), ESPI_OK);
    espi_print(d.tree, 0, text, sizeof text);
    ck_assert_str_eq(text, outer);
    ck_assert(d.lb == -80 && d.extent == 8080);
    MPI_Type_commit(&part);
    ck_assert_int_eq(espi_emit(d.tree, d.lb, d.extent, 100, &e), ESPI_OK);
    places = packed_places(part, &n);
    again = packed_places(e.type, &k);
    ck_assert_uint_eq(n, 3 * 4 * 2 * sizeof(double));
    ck_assert_uint_eq(k, n);
    ck_assert(memcmp(places, again, n * sizeof *places) == 0);
    free(places);
    free(again);
    MPI_Type_free(&e.type);
    MPI_Type_free(&part);
    MPI_Type_free(&planes);
    MPI_Type_free(&plane);
    MPI_Type_free(&rows);
    MPI_Type_create_struct(3, lengths, at, (MPI_Datatype[]){MPI_UB, MPI_UB, MPI_LB}, &part); /* bounds of nothing */
    ck_assert_int_eq(espi_decode(&arena, part, 0, &d), ESPI_OK);
    ck_assert_int_eq(d.tree->entries, 0);
    MPI_Type_free(&part);
    espi_arena_release(&arena);
}
END_TEST

/* Types in types, as deep as the decoder follows and deeper. */
START_TEST(deep)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded d;
    MPI_Datatype type, inner;
    int depth;

    MPI_Type_contiguous(1, MPI_INT, &type);
    for (depth = 1; depth < 300; depth++) {
        inner = type;
        MPI_Type_contiguous(1, inner, &type);
        MPI_Type_free(&inner);
        if (depth == 200)
            ck_assert_int_eq(espi_decode(&arena, type, 0, &d), ESPI_OK);
    }
    ck_assert_int_eq(espi_decode(&arena, type, 0, &d), ESPI_ERR_UNSUPPORTED);
    MPI_Type_free(&type);
    espi_arena_release(&arena);
}
END_TEST

/* Each level names the one inside twice, by two handles: taken one by one, a million types. */
START_TEST(doubled)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded d;
    MPI_Datatype type, inner[2];

    MPI_Type_contiguous(1, MPI_CHAR, &type);
    for (int depth = 0; depth < 20; depth++) {
        inner[0] = type;
        MPI_Type_dup(inner[0], &inner[1]);
        MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, (MPI_Aint)1 << depth}, inner, &type);
        MPI_Type_free(&inner[0]);
        MPI_Type_free(&inner[1]);
    }
    ck_assert_int_eq(espi_decode(&arena, type, 10000, &d), ESPI_OK);
    ck_assert_int_eq(d.tree->entries, 1 << 20);
    MPI_Type_free(&type);
    espi_arena_release(&arena);
}
END_TEST

/* A difference in any of the bounds is one. */
START_TEST(bounds)
{
    static const struct {
        MPI_Aint lb, extent, at;
        int n;
    } of[] = {{0, 32, 4, 2}, {0, 32, 8, 2}, {-4, 32, 4, 2}, {0, 36, 4, 2}, {0, 32, 4, 3}};
    enum { TYPES = sizeof of / sizeof *of };
    MPI_Datatype type[TYPES], moved;
    int i, k;

    for (i = 0; i < TYPES; i++) {
        MPI_Type_create_hindexed(1, &of[i].n, &of[i].at, MPI_INT, &moved);
        MPI_Type_create_resized(moved, of[i].lb, of[i].extent, &type[i]);
        MPI_Type_free(&moved);
    }
    for (i = 0; i < TYPES; i++)
        for (k = 0; k < TYPES; k++)
            ck_assert_int_eq(espi_same_bounds(type[i], type[k]), i == k);
    for (i = 0; i < TYPES; i++)
        MPI_Type_free(&type[i]);
}
END_TEST

START_TEST(limited)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    const struct espi_node *leaf, *sub[3], *tree;
    int64_t disp[3] = {0, 64, 128};
    struct espi_emitted e;

    ck_assert_int_eq(espi_node_leaf(&arena, espi_base_of_handle(MPI_INT), &leaf), ESPI_OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(espi_node_vec(&arena, 2 + i, 8, leaf, &sub[i]), ESPI_OK);
    ck_assert_int_eq(espi_node_struc(&arena, 3, disp, sub, &tree), ESPI_OK);
    ck_assert_int_eq(espi_emit(tree, 0, 200, 3, &e), ESPI_ERR_LIMIT);
    ck_assert(e.type == MPI_DATATYPE_NULL);
    ck_assert_int_eq(espi_emit(tree, 0, 200, 5, &e), ESPI_OK);
    ck_assert_uint_eq(e.types, 5);
    MPI_Type_free(&e.type);
    espi_arena_release(&arena);
}
END_TEST

/* Copies at a negative stride are a vector with the blocks that they are of: no contiguous type for each. */
START_TEST(backwards)
{
    static const char text[] = "idxbuc(1,-24,<264>,<12>,vec(2,8,leaf(MPI_DOUBLE)))";
    struct espi_arena arena = ESPI_ARENA_INIT;
    const struct espi_node *tree;
    struct espi_parse_error error;
    struct espi_emitted e;
    MPI_Datatype list;
    int64_t *places, *same;
    size_t n, k;
    int at[12];

    for (int i = 0; i < 12; i++)
        at[i] = 33 - 3 * i;
    MPI_Type_create_indexed_block(12, 2, at, MPI_DOUBLE, &list);
    MPI_Type_commit(&list);
    ck_assert_int_eq(espi_parse(&arena, text, strlen(text), &tree, &error), ESPI_OK);
    ck_assert_int_eq(espi_emit(tree, 0, 280, 10, &e), ESPI_OK);
    ck_assert_uint_eq(e.types, 2);
    places = packed_places(list, &n);
    same = packed_places(e.type, &k);
    ck_assert(n == k && memcmp(places, same, n * sizeof *places) == 0);
    free(places);
    free(same);
    MPI_Type_free(&e.type);
    MPI_Type_free(&list);
    espi_arena_release(&arena);
}
END_TEST

/* Counts and block lengths beyond int, of types that no memory could hold: what MPI says of the emitted type, and
   the tree read back from it. INT_MAX itself is the last that the calls with int are given. */
START_TEST(large)
{
    static const char *const texts[] = {
        "vec(2147483647,8,leaf(MPI_INT))",
        "vec(2147483648,8,leaf(MPI_INT))",
        "vec(2147483647,4,leaf(MPI_INT))",
        "vec(5000000000,4,leaf(MPI_INT))",
        "vec(3,40000000000,vec(2147483647,4,leaf(MPI_INT)))",
        "vec(3,40000000000,vec(5000000000,4,leaf(MPI_INT)))",
        "idx(2,<0,40000000000>,vec(2147483647,4,leaf(MPI_INT)))",
        "idx(2,<0,40000000000>,vec(5000000000,4,leaf(MPI_INT)))",
        "idxbuc(2,4,<0,40000000000>,<1,2147483647>,leaf(MPI_INT))",
        "idxbuc(2,4,<0,40000000000>,<1,5000000000>,leaf(MPI_INT))",
        "idxbuc(2,12,<-40,90000000000>,<5000000000,1>,leaf(MPI_INT))",
        "idxbuc(2,-4,<0,-40000000000>,<5000000000,1>,leaf(MPI_INT))",
        "struc(2,<0,40000000000>,<leaf(MPI_DOUBLE),vec(2147483647,4,leaf(MPI_INT))>)",
        "struc(2,<0,40000000000>,<leaf(MPI_DOUBLE),vec(5000000000,4,leaf(MPI_INT))>)",
    };
    struct espi_arena arena = ESPI_ARENA_INIT;
    const struct espi_node *tree;
    struct espi_parse_error error;
    struct espi_emitted e;
    struct espi_decoded d;
    MPI_Count size, lb, extent;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert_int_eq(espi_parse(&arena, texts[i], strlen(texts[i]), &tree, &error), ESPI_OK);
        ck_assert_msg(espi_emit(tree, tree->true_lb, 90000000000, 100, &e) == ESPI_OK, "%s", texts[i]);
        MPI_Type_size_c(e.type, &size);
        MPI_Type_get_true_extent_c(e.type, &lb, &extent);
        ck_assert_msg(size == tree->size, "%s: %lld bytes", texts[i], (long long)size);
        ck_assert_msg(lb == tree->true_lb && lb + extent == tree->true_ub, "%s: %lld to %lld", texts[i],
                      (long long)lb, (long long)(lb + extent));
        ck_assert_msg(espi_decode(&arena, e.type, 0, &d) == ESPI_OK, "%s", texts[i]);
        ck_assert_msg(d.tree->size == tree->size && d.tree->entries == tree->entries, "%s: read back", texts[i]);
        MPI_Type_free(&e.type);
        espi_arena_release(&arena);
    }
}
END_TEST

int main(int argc, char **argv)
{
    const TTest *const tests[] = {known, struct_of_one, markers, deep, doubled, bounds, limited, large};
    TCase *all = types_case(tests, sizeof tests / sizeof *tests);
    tcase_add_loop_test(all, every_combiner, 0, MADE_KINDS);
    tcase_add_test(all, nested);
    tcase_add_test(all, backwards);
    return types_run(argc, argv, "types_decode", all);
}
