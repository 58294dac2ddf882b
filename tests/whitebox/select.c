/*
 * The decision for one layout (src/mpi/typeplan/select.h): which form wins where, by the model with its usual
 * constants (the clock stands, so that nothing is measured); against a second search through all forms; what is kept,
 * freed, refused by a check, and said in the statistics.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>

#include "clock.h"
#include "mpi/datatype/own_types.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/typeplan/variants.h"
#include "random_types.h"
#include "select_setup.h"
#include "suite.h"

enum { PART = ESPI_ENGINE_PART };
#define AUTO ESPI_MODE_AUTO

/* Whether MPI packs the same bytes by both. */
static bool packs_alike(MPI_Datatype a, MPI_Datatype b)
{
    char data[1000], packed[2][1000] = {{0}};
    int at[2] = {0, 0};

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)random_below(256);
    MPI_Pack(data, 1, a, packed[0], sizeof packed[0], &at[0], MPI_COMM_SELF);
    MPI_Pack(data, 1, b, packed[1], sizeof packed[1], &at[1], MPI_COMM_SELF);
    return at[0] == at[1] && memcmp(packed[0], packed[1], sizeof packed[0]) == 0;
}

/* ---- which form wins ---- */

/* A long list: chunks in messages, by the first tier as by the second; as a whole it is one kernel and stays. */
START_TEST(list_in_chunks)
{
    for (int tier = 1; tier <= 2; tier++) {
        struct decided d = of_auto(irregular_list(14800, 3, MPI_FLOAT), 1, tier);
        ck_assert_int_eq(d.s.better[ESPI_WHOLE], MPI_DATATYPE_NULL);
        ck_assert_int_ne(d.s.better[ESPI_PARTS], MPI_DATATYPE_NULL);
        ck_assert_ptr_nonnull(strstr(d.facts.emission, "in chunks of"));
        ck_assert_str_eq(d.facts.why, "by the model of the library's engine, in messages of several parts");
        ck_assert_uint_eq(d.s.gain_ns[ESPI_WHOLE], 0);
        ck_assert_uint_gt(d.s.gain_ns[ESPI_PARTS], 14800 * 7);
        ck_assert_uint_gt(d.facts.ns_before.partial, 3 * d.facts.ns_after.partial);
        let_go(&d);
    }
    struct decided d = of_auto(irregular_list(100, 3, MPI_FLOAT), 1, 2); /* fits one part */
    ck_assert(!d.facts.improved && d.s.gain_ns[ESPI_PARTS] == 0);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_no_faster], 1);
    d = of_auto(irregular_list(100, 3, MPI_FLOAT), 1000, 2); /* many of them do not */
    ck_assert(d.s.better[ESPI_WHOLE] == MPI_DATATYPE_NULL && d.s.better[ESPI_PARTS] != MPI_DATATYPE_NULL);
    let_go(&d);
}
END_TEST

/* Vectors in vectors that are one vector: no kernel goes through four levels, one through the one they are. */
START_TEST(nested_that_are_one)
{
    const int n[4] = {5, 4, 5, 10};
    const MPI_Aint stride[4] = {16, 5 * 16, 20 * 16, 100 * 16};

    for (int tier = 1; tier <= 2; tier++) {
        struct decided d = of_auto(nested(4, n, stride, MPI_DOUBLE), 1, tier);
        ck_assert_int_ne(d.s.better[ESPI_WHOLE], MPI_DATATYPE_NULL);
        ck_assert_int_eq(d.s.better[ESPI_WHOLE], d.s.better[ESPI_PARTS]);
        const struct espi_node *one = tree_found(d.layout.tree, 0);
        ck_assert(one->kind == ESPI_VEC && one->count == 1000 && one->child->kind == ESPI_LEAF);
        ck_assert(is_built_of(d.s.better[ESPI_WHOLE], one, &d.layout));
        ck_assert_str_eq(d.facts.emission, "the tree as it stands");
        ck_assert_str_eq(d.facts.why, "by the model of the library's engine, when packed as a whole"); /* one part */
        ck_assert_uint_eq(d.s.excess_ns[ESPI_WHOLE], 0);
        let_go(&d);
    }
}
END_TEST

/* A struct in which lists stand that are one vector: one kernel in the place of steps. */
START_TEST(struct_that_is_one)
{
    struct decided d = of_auto(lists_that_are_one(), 1, 2);
    ck_assert_int_eq(d.layout.tree->kind, ESPI_STRUC);
    ck_assert_int_ne(d.s.better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    ck_assert(is_built_of(d.s.better[ESPI_WHOLE], tree_found(d.layout.tree, 0), &d.layout));
    let_go(&d);
}
END_TEST

/* What has no gaps is left alone, in parts and as a whole, of any size; so is one vector that fits a part. */
START_TEST(contiguous)
{
    for (int n = 1; n <= 1 << 22; n *= 8) {
        MPI_Datatype type;
        MPI_Type_contiguous(n, MPI_DOUBLE, &type);
        struct decided d = of_auto(committed(type), 1, 1 + n % 2);
        ck_assert(!d.facts.improved && d.s.made_of.types == 0 && d.s.gain_ns[ESPI_PARTS] == 0 && commits == 0);
        ck_assert(d.s.excess_ns[ESPI_WHOLE] == 0 && d.s.excess_ns[ESPI_PARTS] == 0); /* and never looked at again */
        d = of_auto(nested(3, (int[]){n, 2, 4}, (MPI_Aint[]){8, 8 * n, 16 * n}, MPI_DOUBLE), 3, 1 + n % 2);
        ck_assert(!d.facts.improved && d.s.gain_ns[ESPI_PARTS] == 0 && commits == 0);
        MPI_Type_vector(1 + n % 999, 1, 3, MPI_DOUBLE, &type);
        d = of_auto(committed(type), 1, 1);
        ck_assert(!d.facts.improved && d.s.made_of.types == 0 && d.s.gain_ns[ESPI_PARTS] == 0 && commits == 0);
        ck_assert_uint_eq(d.s.excess_ns[ESPI_WHOLE], 0);
    }
}
END_TEST

/* Subarrays are kernels as a whole. In parts what is better is the better the smaller the rows are. */
START_TEST(subarrays)
{
    struct decided d = of_auto(subarray(12, 10, 1), 1, 1);

    ck_assert(!d.facts.improved);
    d = of_auto(subarray(100, 98, 1), 1, 1);
    ck_assert_int_eq(d.s.better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    ck_assert_uint_eq(d.s.gain_ns[ESPI_WHOLE], 0);
    let_go(&d);
}
END_TEST

/* At random, by another search: the fastest of all forms, if it is clearly faster than the program's own. */
START_TEST(the_fastest)
{
    static const struct {
        int64_t chunk; /* 0: blocks of copies, these; -1: as it stands */
        enum espi_copies copies;
        bool own;
    } form[] = {{-1, 0, false},  {0, ESPI_COPIES_INNERMOST, false}, {0, ESPI_COPIES_OUTERMOST, false},
                {0, ESPI_COPIES_ALL, false}, {8, 0, false}, {16, 0, false}, {32, 0, false}, {64, 0, false},
                {128, 0, false}, {0, ESPI_COPIES_ALL, true}, {16, 0, true}, {64, 0, true}};
    const struct espi_engine engine = ESPI_ENGINE_USUAL;
    int better = 0, left = 0;

    for (int i = 0; i < 400; i++) {
        int64_t items = 1 + (int64_t)random_below(i % 2 ? 5 : 20000);
        int tier = 1 + i % 2;
        MPI_Datatype type;
        if (i % 3 == 0)
            type = irregular_list(10 + (int)random_below(6000), 1 + (int)random_below(4), MPI_INT);
        else if (i % 3 == 1)
            type = subarray(30, 2 + (int)random_below(28), 0);
        else
            type = nested(3, (int[]){1 + (int)random_below(40), 3, 1 + (int)random_below(40)},
                          (MPI_Aint[]){16, 800, 2400 + 8 * (MPI_Aint)random_below(2)}, MPI_DOUBLE);
        struct decided d = of_auto(type, items, tier);
        const struct espi_node *own = d.layout.tree, *from[2] = {tree_found(own, tier), own}, *win = NULL;
        for (int p = 0; p < ESPI_PURPOSES; p++) {
            bool parts = p == ESPI_PARTS && own->size * items > PART;
            double before = espi_engine_cost(&engine, own, items, parts), least = before;
            win = NULL;
            for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
                const struct espi_node *tree = from[form[k].own];
                if ((form[k].chunk > 0 && espi_variant_chunked(&arena, tree, form[k].chunk, &tree) != ESPI_OK) ||
                    (form[k].chunk == 0 && espi_variant_copies(&arena, tree, form[k].copies, &tree) != ESPI_OK))
                    continue;
                double ns = tree == own ? before : espi_engine_cost(&engine, tree, items, parts);
                if (ns < least && ns + 30 + before / 32 <= before)
                    least = ns, win = tree;
            }
            ck_assert_int_eq(win == NULL, d.s.better[p] == MPI_DATATYPE_NULL);
            ck_assert(win == NULL || is_built_of(d.s.better[p], win, &d.layout));
            ck_assert_double_eq_tol((double)d.s.gain_ns[p], before - least, 1.5);
            double excess = least - espi_engine_least(&engine, own, items, parts);
            ck_assert_double_eq_tol((double)d.s.excess_ns[p], excess < least / 8 ? 0 : excess, 1.5);
            better += win != NULL;
            left += win == NULL;
        }
        let_go(&d);
        espi_arena_release(&arena);
    }
    ck_assert(better > 100 && left > 100);
}
END_TEST

/* ---- what is kept ---- */

/* Both purposes have their own form where two are best; the statistics say what messages have. */
START_TEST(recorded)
{
    char text[500];
    struct decided d = of_auto(regular_list(20000), 1, 2);

    espi_print(d.layout.tree, 12, text, sizeof text);
    ck_assert_str_eq(d.facts.before, text);
    espi_print(tree_found(d.layout.tree, 0), 12, text, sizeof text);
    ck_assert_str_eq(d.facts.after, text);
    ck_assert_int_eq(d.facts.cost_before, espi_cost(d.layout.tree, &espi_costs_default));
    ck_assert_int_eq(d.facts.cost_after, espi_cost(tree_found(d.layout.tree, 0), &espi_costs_default));
    ck_assert(d.facts.exact && d.facts.entries == 20000 && d.facts.size == 160000);
    ck_assert_uint_gt(d.facts.ns_before.partial, d.facts.ns_after.partial);
    ck_assert_uint_eq(d.facts.ns_before.pack, d.facts.ns_before.unpack);
    ck_assert(d.counted[ESPI_COUNT_types_planned] == 1 && d.counted[ESPI_COUNT_types_improved] == 1);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_no_faster], 0);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_variants_built], 2);
    ck_assert_int_ne(d.s.better[ESPI_WHOLE], d.s.better[ESPI_PARTS]);
    let_go(&d);
    d = of_auto(regular_list(100), 1, 2);
    ck_assert_str_eq(d.facts.why, espi_counter_table[ESPI_COUNT_plan_no_faster].help);
    ck_assert(d.facts.emission == NULL && d.counted[ESPI_COUNT_types_improved] == 0);
}
END_TEST

/* Planned again a layout is one still, and one reason, or one gain. */
START_TEST(counted_once)
{
    MPI_Datatype list = regular_list(20000), small = regular_list(100);

    for (int was_better = 0; was_better < 2; was_better++) {
        struct espi_plan_request request = {.mode = AUTO, .again = true, .was_better = was_better};
        struct decided d = decide(list, request);
        ck_assert_uint_eq(d.counted[ESPI_COUNT_types_planned], 0);
        ck_assert_uint_eq(d.counted[ESPI_COUNT_types_improved], !was_better);
        let_go(&d);
        d = decide(small, request);
        ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_no_faster] + d.counted[ESPI_COUNT_types_planned], 0);
    }
    real.Type_free(&small);
    real.Type_free(&list);
}
END_TEST

static bool is_same(const struct espi_selection *a, const struct espi_selection *b)
{
    bool same = a->improved == b->improved && a->forms_pending == b->forms_pending;

    for (int p = 0; p < ESPI_PURPOSES; p++)
        same = same && (a->better[p] == MPI_DATATYPE_NULL) == (b->better[p] == MPI_DATATYPE_NULL) &&
               a->gain_ns[p] == b->gain_ns[p] && a->excess_ns[p] == b->excess_ns[p] &&
               a->engine_ns[p] == b->engine_ns[p];
    for (int p = 0; p < ESPI_PACKABLES; p++)
        same = same && a->packed_ns[p] == b->packed_ns[p];
    return same;
}

/* Without statistics no form is looked for where none could be clearly faster, and what is decided is the same. */
START_TEST(silent)
{
    enum { TYPES = 24 };
    int unsought = 0, packed = 0, formed = 0;

    for (int i = 0; i < TYPES; i++) {
        MPI_Datatype type;
        if (i % 3 == 0)
            MPI_Type_vector(1 + i / 2, 1 + i % 4, 7, i % 2 == 0 ? MPI_DOUBLE : MPI_CHAR, &type);
        else if (i % 6 == 1)
            type = regular_list(2000 * i);
        else if (i % 3 == 1)
            MPI_Type_create_indexed_block(3, 1 + i, (const int[]){0, 30, 90}, MPI_INT, &type);
        else
            MPI_Type_create_subarray(2, (const int[]){i, i}, (const int[]){1 + i / 2, 1}, (const int[]){0, 1},
                                     MPI_ORDER_C, MPI_DOUBLE, &type);
        type = i % 6 == 1 ? type : committed(type);
        for (int64_t items = 1; items <= 64; items *= 8) {
            struct espi_plan_request request = {.mode = AUTO, .count = items, .tier = 1, .one_node = i % 2 != 0};
            struct decided told, untold;
            struct espi_decoded layout;
            ck_assert_int_eq(espi_decode(&arena, type, 0, &layout), ESPI_OK);
            ck_assert_int_eq(espi_pack_compile(&arena, layout.tree, layout.extent, &request.pack), ESPI_OK);
            told = decide(type, request);
            request.silent = true;
            untold = decide(type, request);
            ck_assert_msg(is_same(&told.s, &untold.s), "type %d, %d items", i, (int)items);
            ck_assert(told.facts.before != NULL && untold.facts.before == NULL);
            unsought += told.counted[ESPI_COUNT_plan_no_variant] > 0 && untold.counted[ESPI_COUNT_plan_no_faster] > 0;
            packed += told.s.improved;
            formed += told.s.better[ESPI_WHOLE] != MPI_DATATYPE_NULL;
            let_go(&told);
            let_go(&untold);
        }
        real.Type_free(&type);
    }
    ck_assert_msg(unsought > 0 && packed > 0 && formed > 0, "%d, %d and %d", unsought, packed, formed);
}
END_TEST

START_TEST(always)
{
    const struct espi_plan_request request = {.mode = ESPI_MODE_ALWAYS};
    const struct espi_plan_request checked = {.mode = ESPI_MODE_ALWAYS, .check = true};
    MPI_Datatype list = regular_list(200), type;
    struct decided d = decide(list, request);

    ck_assert_int_ne(d.s.better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    ck_assert_int_eq(d.s.better[ESPI_WHOLE], d.s.better[ESPI_PARTS]);
    ck_assert(is_built_of(d.s.better[ESPI_WHOLE], tree_found(d.layout.tree, 0), &d.layout));
    ck_assert(d.s.gain_ns[ESPI_WHOLE] == 0 && d.s.gain_ns[ESPI_PARTS] == 0 && d.s.made_of.types == 1);
    ck_assert_str_eq(d.facts.emission, "the tree as it stands");
    ck_assert_str_eq(d.facts.why, "costs fewer words");
    let_go(&d);
    MPI_Type_vector(10, 1, 3, MPI_DOUBLE, &type); /* as cheap as its least-cost tree */
    type = committed(type);
    d = decide(type, request);
    ck_assert(!d.facts.improved && d.counted[ESPI_COUNT_plan_no_cheaper] == 1);
    real.Type_free(&type);
    shorter = true;
    d = decide(list, request);
    ck_assert(!d.facts.improved && d.counted[ESPI_COUNT_plan_check_failed] == 1);
    shorter = false;
    d = decide(list, checked);
    ck_assert(d.facts.improved && d.counted[ESPI_COUNT_checks_passed] == 1);
    let_go(&d);
    real.Type_free(&list);
}
END_TEST

/* What can not be built, has other bounds or other data is not kept, and saves nothing. */
START_TEST(refused)
{
    enum { N = 20000 };
    MPI_Datatype list = regular_list(N), half[2], swapped;
    struct espi_plan_request request = {.mode = AUTO, .check = true};
    struct decided d = decide(list, request);

    ck_assert(d.facts.improved && d.counted[ESPI_COUNT_checks_passed] == 2);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_failed], 0);
    let_go(&d);
    MPI_Type_create_hvector(N / 2, 1, 24, MPI_DOUBLE, &half[0]);
    half[1] = half[0];
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){24 * (N / 2), 0}, half, &swapped);
    instead = committed(swapped);
    for (int mode = ESPI_MODE_AUTO; mode <= ESPI_MODE_ALWAYS; mode++) {
        request.mode = (enum espi_mode)mode;
        d = decide(list, request);
        ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_failed], mode == ESPI_MODE_AUTO ? 2 : 1);
        ck_assert(!d.facts.improved && d.s.gain_ns[ESPI_WHOLE] == 0);
        ck_assert(d.s.gain_ns[ESPI_PARTS] == 0 && d.counted[ESPI_COUNT_plan_check_failed] == 1);
    }
    real.Type_free(&instead);
    MPI_Type_free(&half[0]);
    instead = MPI_DATATYPE_NULL;
    request = (struct espi_plan_request){.mode = AUTO};
    shorter = true;
    d = decide(list, request);
    ck_assert(!d.facts.improved && d.s.made_of.types == 0 && d.counted[ESPI_COUNT_variants_built] == 0);
    shorter = false;
    failing = 1;
    d = decide(list, request); /* one of two forms is kept */
    ck_assert(d.s.better[ESPI_WHOLE] != MPI_DATATYPE_NULL && d.s.better[ESPI_PARTS] == MPI_DATATYPE_NULL);
    ck_assert(d.s.gain_ns[ESPI_WHOLE] > 0 && d.s.gain_ns[ESPI_PARTS] == 0);
    let_go(&d);
    d = of_auto(lists_that_are_one(), 1, 2);
    ck_assert(!d.facts.improved && d.counted[ESPI_COUNT_plan_mpi_error] == 1);
    ck_assert_str_eq(d.facts.why, espi_counter_table[ESPI_COUNT_plan_mpi_error].help);
    real.Type_free(&list);
}
END_TEST

/* Forms that there are no low handles for: with gaps they are built of high ones, and without, as MPICH packs those
   short, not at all. */
START_TEST(high_handles)
{
    const struct espi_plan_request request = {.mode = ESPI_MODE_ALWAYS};
    const int n[2] = {5, 7};
    MPI_Datatype type[2] = {nested(2, n, (MPI_Aint[]){16, 80}, MPI_DOUBLE),
                            nested(2, n, (MPI_Aint[]){8, 40}, MPI_DOUBLE)};

    for (int without = 0; without < 2; without++) {
        espi_own_types_add(without * ESPI_OWN_TYPES_MOST);
        for (int i = 0; i < 2; i++) {
            struct decided d = decide(type[i], request);
            ck_assert_int_eq(d.facts.improved, !without || i == 0);
            ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_no_room], without && i == 1);
            if (d.facts.improved) {
                ck_assert_int_eq(espi_own_types_is_high(d.s.better[ESPI_WHOLE]), without);
                ck_assert(packs_alike(type[i], d.s.better[ESPI_WHOLE]));
            }
            let_go(&d);
        }
        espi_own_types_add(-without * ESPI_OWN_TYPES_MOST);
    }
    real.Type_free(&type[0]);
    real.Type_free(&type[1]);
}
END_TEST

/* T[k+1] is a struct of T[k] and U[k], U[k+1] of U[k] and T[k]: few nodes, and 2^40 ways to them. */
START_TEST(shared_in_turns)
{
    enum { LEVELS = 40 };
    MPI_Datatype both[2], next[2];

    for (int i = 0; i < 2; i++)
        MPI_Type_vector(2, 1 + i, 4, MPI_CHAR, &both[i]);
    for (int k = 0; k < LEVELS; k++) {
        for (int i = 0; i < 2; i++)
            MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 0}, (MPI_Datatype[]){both[i], both[1 - i]},
                                   &next[i]);
        for (int i = 0; i < 2; i++) {
            MPI_Type_free(&both[i]);
            both[i] = next[i];
        }
    }
    for (int tier = 1; tier <= 2; tier++) {
        struct decided d = decide(both[0], (struct espi_plan_request){.mode = AUTO, .tier = tier});
        ck_assert(!d.facts.improved && d.s.made_of.types == 0);
        ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_too_large], 1);
    }
    MPI_Type_free(&both[0]);
    MPI_Type_free(&both[1]);
}
END_TEST

START_TEST(empty)
{
    for (int mode = ESPI_MODE_AUTO; mode <= ESPI_MODE_ALWAYS; mode++) {
        MPI_Datatype type;
        MPI_Type_contiguous(0, MPI_INT, &type);
        type = committed(type);
        struct decided d = decide(type, (struct espi_plan_request){.mode = (enum espi_mode)mode});
        ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_unsupported], 1);
        ck_assert(d.facts.after == NULL && d.facts.cost_after == -1 && d.facts.entries == 0 && !d.facts.improved);
        real.Type_free(&type);
    }
}
END_TEST

/* Work is booked, and what led to nothing as such: of the grant a tenth is for it. */
START_TEST(booked)
{
    for (int better = 0; better < 2; better++) {
        test_clock.each = 100000000;
        espi_admission_start(1500);
        struct decided d = of_auto(better ? regular_list(20000) : regular_list(100), 1, 1);
        test_clock.each = 0;
        ck_assert_int_eq(d.facts.improved, better);
        ck_assert_uint_gt(d.facts.ns_planning, 100000000);
        ck_assert(!espi_admission_open(1500000000)); /* booked */
        ck_assert_int_eq(espi_admission_open(0), better);
        let_go(&d);
    }
}
END_TEST

int main(int argc, char **argv)
{
    const TTest *const tests[] = {list_in_chunks, nested_that_are_one, struct_that_is_one, contiguous, subarrays,
                                  the_fastest,    recorded,            counted_once,       silent,     always,
                                  refused,        high_handles,        shared_in_turns,    empty,      booked};
    TCase *all = types_case(tests, sizeof tests / sizeof *tests);

    tcase_add_checked_fixture(all, begin, end);
    return types_run(argc, argv, "select", all);
}
