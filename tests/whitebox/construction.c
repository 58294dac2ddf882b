/*
 * Which types are told to be made alike (src/mpi/datatype/construction.h): for random datatypes of every combiner,
 * those of equal constructor calls are; where a type passes for another one it has the same tree and bounds; and one
 * changed argument anywhere is seen.
 */
#include <check.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi.h"
#include "mpi/datatype/construction.h"
#include "mpi/datatype/decode.h"
#include "mpi/core/pmpi.h"
#include "random_types.h"
#include "suite.h"

enum { ROUNDS = 300, TYPES = 60 };

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
static int left = -1; /* requests that are granted; -1: all */

static bool refused(void)
{
    if (left > 0)
        left--;
    return left == 0;
}

void *__wrap_malloc(size_t size)
{
    return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refused() ? NULL : __real_calloc(n, size);
}

static bool is_derived(const struct made *m)
{
    int combiner = MPI_COMBINER_NAMED;
    MPI_Count a, b, c, d;

    if (m->type != MPI_DATATYPE_NULL)
        MPI_Type_get_envelope_c(m->type, &a, &b, &c, &d, &combiner);
    return combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
           combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER;
}

/* Handles that MPI returned with contents, and those that were given back. */
static int64_t owed;
static __typeof__(espi_pmpi.Type_get_contents_c) get_contents;
static __typeof__(espi_pmpi.Type_free) free_type;

static int counted_contents(MPI_Datatype type, MPI_Count ints, MPI_Count addrs, MPI_Count counts, MPI_Count types,
                            int *i, MPI_Aint *a, MPI_Count *c, MPI_Datatype *t)
{
    const int code = get_contents(type, ints, addrs, counts, types, i, a, c, t);

    for (MPI_Count k = 0; k < types; k++)
        owed += !espi_is_predefined((uint32_t)t[k]);
    return code;
}

static int counted_free(MPI_Datatype *type)
{
    owed--;
    return free_type(type);
}

static void count(void)
{
    get_contents = espi_pmpi.Type_get_contents_c;
    free_type = espi_pmpi.Type_free;
    espi_pmpi.Type_get_contents_c = counted_contents;
    espi_pmpi.Type_free = counted_free;
}

static void all_given_back(void)
{
    ck_assert_int_eq(owed, 0);
    espi_pmpi.Type_get_contents_c = get_contents;
    espi_pmpi.Type_free = free_type;
}

START_TEST(made_alike)
{
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t from = random_state();
        struct made a = made_random(_i, 3), b;
        random_again(from);
        b = made_random(_i, 3);
        if (is_derived(&a)) {
            struct espi_construction *c = espi_construction_of(a.type);
            ck_assert_msg(c != NULL, "%s, round %d", made_name(_i), round);
            ck_assert_msg(espi_construction_is(c, a.type), "%s, round %d: itself", made_name(_i), round);
            ck_assert_msg(espi_construction_is(c, b.type), "%s, round %d", made_name(_i), round);
            espi_construction_free(c);
        }
        made_free(&a);
        made_free(&b);
    }
}
END_TEST

static bool same_layout(MPI_Datatype a, MPI_Datatype b)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded one, other;
    bool same = espi_decode(&arena, a, 0, &one) == ESPI_OK && espi_decode(&arena, b, 0, &other) == ESPI_OK &&
                one.lb == other.lb && one.extent == other.extent && espi_node_equal(one.tree, other.tree);

    espi_arena_release(&arena);
    return same;
}

/* Small types, so that some are made alike by chance. */
START_TEST(no_others)
{
    int alike = 0, different = 0;

    for (int round = 0; round < 20; round++) {
        struct made made[TYPES];
        struct espi_construction *c[TYPES];
        for (int i = 0; i < TYPES; i++) {
            made[i] = made_random((int)random_below(12), round % 2 + 1);
            c[i] = is_derived(&made[i]) ? espi_construction_of(made[i].type) : NULL;
        }
        for (int i = 0; i < TYPES; i++)
            for (int k = 0; k < TYPES; k++) {
                if (c[i] == NULL || !is_derived(&made[k]) || i == k)
                    continue;
                const bool is = espi_construction_is(c[i], made[k].type);
                alike += is;
                different += !is;
                ck_assert(!is || made[i].n == 0 || same_layout(made[i].type, made[k].type));
            }
        for (int i = 0; i < TYPES; i++) {
            espi_construction_free(c[i]);
            made_free(&made[i]);
        }
    }
    printf("construction: %d pairs made alike by chance, %d not\n", alike, different);
    ck_assert_int_gt(alike, 20);
    ck_assert_int_gt(different, 10000);
}
END_TEST

/* A struct of two subarrays and a list of vectors of doubles or integers, with argument number `changed` changed. */
enum { ARGUMENTS = 24 };
static MPI_Datatype whole(int changed)
{
    int at = 0;
    MPI_Datatype part[4], all, vector, resized;
#define OR(value) ((value) + (changed == at++ ? 1 : 0))
    const int sizes[3] = {OR(9), OR(8), OR(7)}, sub[3] = {OR(3), OR(4), OR(5)}, start[3] = {OR(1), OR(2), OR(0)};
    const int ones[3] = {OR(1), OR(1), OR(2)}, lengths[2] = {OR(1), OR(2)}, places[2] = {OR(0), OR(4)};
    const MPI_Aint disp[3] = {OR(0), OR(8000), OR(16000)}, extent = OR(200);
    const int count = OR(3), stride = OR(5);

    MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_C, MPI_INT, &part[0]);
    MPI_Type_create_subarray(3, sizes, sub, start, OR(0) ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_INT, &part[1]);
    MPI_Type_vector(count, 2, stride, OR(0) ? MPI_LONG : MPI_DOUBLE, &vector);
    MPI_Type_create_resized(vector, 0, extent, &resized);
    MPI_Type_indexed(2, lengths, places, resized, &part[2]);
    MPI_Type_create_struct(3, ones, disp, part, &all);
    MPI_Type_free(&vector);
    MPI_Type_free(&resized);
    for (int i = 0; i < 3; i++)
        MPI_Type_free(&part[i]);
    ck_assert_int_eq(at, ARGUMENTS);
    return all;
}

START_TEST(each_argument)
{
    MPI_Datatype type = whole(-1), other = whole(-1);
    struct espi_construction *c = espi_construction_of(type);

    ck_assert(espi_construction_is(c, other));
    MPI_Type_free(&other);
    for (int i = 0; i < ARGUMENTS; i++) {
        other = whole(i);
        ck_assert_msg(!espi_construction_is(c, other), "argument %d", i);
        MPI_Type_free(&other);
    }
    espi_construction_free(c);
    MPI_Type_free(&type);
}
END_TEST

/* Parts that are one type, or several of the same construction. */
START_TEST(parts_in_common)
{
    MPI_Datatype one, twin, odd, common, apart, mixed, predefined;
    const int ones[2] = {1, 1};
    const MPI_Aint disp[2] = {0, 100};
    struct espi_construction *c;

    MPI_Type_vector(3, 1, 2, MPI_INT, &one);
    MPI_Type_vector(3, 1, 2, MPI_INT, &twin);
    MPI_Type_vector(3, 1, 3, MPI_INT, &odd);
    MPI_Type_create_struct(2, ones, disp, (MPI_Datatype[]){one, one}, &common);
    MPI_Type_create_struct(2, ones, disp, (MPI_Datatype[]){one, twin}, &apart);
    MPI_Type_create_struct(2, ones, disp, (MPI_Datatype[]){one, odd}, &mixed);
    MPI_Type_create_struct(2, ones, disp, (MPI_Datatype[]){one, MPI_INT}, &predefined);
    c = espi_construction_of(apart);
    ck_assert(espi_construction_is(c, apart) && espi_construction_is(c, common));
    ck_assert(!espi_construction_is(c, mixed) && !espi_construction_is(c, predefined));
    espi_construction_free(c);
    c = espi_construction_of(common);
    ck_assert(espi_construction_is(c, common) && !espi_construction_is(c, mixed));
    espi_construction_free(c);
    c = espi_construction_of(predefined);
    ck_assert(espi_construction_is(c, predefined) && !espi_construction_is(c, common));
    espi_construction_free(c);
    MPI_Type_free(&one);
    MPI_Type_free(&twin);
    MPI_Type_free(&odd);
    MPI_Type_free(&common);
    MPI_Type_free(&apart);
    MPI_Type_free(&mixed);
    MPI_Type_free(&predefined);
}
END_TEST

static MPI_Datatype struct_of(int n)
{
    MPI_Datatype part[100], all;
    int ones[100];
    MPI_Aint disp[100];

    for (int i = 0; i < n; i++) {
        MPI_Type_vector(2, 1, 2 + i, MPI_INT, &part[i]);
        ones[i] = 1;
        disp[i] = 1000 * i;
    }
    MPI_Type_create_struct(n, ones, disp, part, &all);
    for (int i = 0; i < n; i++)
        MPI_Type_free(&part[i]);
    return all;
}

static MPI_Datatype list_of(int n)
{
    int *places = malloc((size_t)n * sizeof *places);
    MPI_Datatype list;

    for (int i = 0; i < n; i++)
        places[i] = 2 * i;
    MPI_Type_create_indexed_block(n, 1, places, MPI_INT, &list);
    free(places);
    return list;
}

/* At most as many parts and bytes as the header says. */
START_TEST(limits)
{
    struct espi_construction *c;
    MPI_Datatype type = struct_of(63);

    c = espi_construction_of(type);
    ck_assert(c != NULL && espi_construction_is(c, type));
    espi_construction_free(c);
    MPI_Type_free(&type);
    type = struct_of(64);
    ck_assert(espi_construction_of(type) == NULL);
    MPI_Type_free(&type);
    type = list_of(1000000);
    c = espi_construction_of(type);
    ck_assert(c != NULL && espi_construction_is(c, type));
    espi_construction_free(c);
    MPI_Type_free(&type);
    type = list_of(1100000);
    ck_assert(espi_construction_of(type) == NULL);
    MPI_Type_free(&type);
}
END_TEST

/* Each request in turn is refused. */
START_TEST(memory_is_short)
{
    MPI_Datatype type = whole(-1), list = list_of(20000);
    struct espi_construction *c = NULL, *of_list = espi_construction_of(list);
    int granted = 0;

    do {
        left = ++granted;
        c = espi_construction_of(type);
        left = -1;
    } while (c == NULL);
    ck_assert_int_gt(granted, 5);
    ck_assert(espi_construction_is(c, type));
    left = 1;
    const bool is = espi_construction_is(of_list, list);
    left = -1;
    ck_assert(!is && espi_construction_is(of_list, list));
    espi_construction_free(c);
    espi_construction_free(of_list);
    MPI_Type_free(&type);
    MPI_Type_free(&list);
}
END_TEST

int main(int argc, char **argv)
{
    const TTest *const tests[] = {no_others, each_argument, parts_in_common, limits, memory_is_short};
    TCase *all = types_case(tests, sizeof tests / sizeof *tests);
    tcase_add_loop_test(all, made_alike, 0, MADE_KINDS);
    tcase_add_checked_fixture(all, count, all_given_back);
    return types_run(argc, argv, "construction", all);
}
