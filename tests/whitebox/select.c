/*
 * The decision for one layout (src/mpi/typeplan/select.h): which types compete and what "clearly faster" is; in
 * select_kept.c what is kept for which purpose, freed, refused by a check and said in the statistics, in
 * select_slice.c layouts that are too large to be measured. Times come from a script (scripted_bench.h), so that
 * each threshold is met from both sides.
 */
#include "select.h"

#include <stdlib.h>

#include "random_types.h"
#include "suite.h"

enum { MIB = 1 << 20 };

MPI_Datatype list;

/* The program's own, the least-cost tree, its chunked forms, the own in chunks; in this order, once each. */
START_TEST(candidates)
{
    static const int64_t chunk[] = {8, 16, 32, 64};
    struct judged d = judge(list, ESPI_MODE_AUTO, 10, false);
    const struct espi_node *best = stand_best(&d);
    MPI_Datatype type;
    int i;

    ck_assert_int_eq(seen.calls, 1);
    ck_assert_int_eq(seen.checks, 0);
    ck_assert_int_eq(seen.n, 7);
    ck_assert_int_eq(seen.count, 10);
    ck_assert_uint_eq(seen.scratch, STAND_SCRATCH);
    ck_assert_uint_eq(seen.budget, 700000 + 60 * 1600);
    ck_assert_int_eq(seen.type[0], list);
    ck_assert(espi_node_equal(seen.tree[0], d.layout.tree));
    ck_assert(best->kind == ESPI_VEC && espi_node_equal(seen.tree[1], best));
    for (i = 0; i < 4; i++)
        ck_assert(espi_node_equal(seen.tree[2 + i], stand_cut(best, chunk[i])));
    ck_assert(espi_node_equal(seen.tree[6], stand_cut(d.layout.tree, 16)));
    for (i = 1; i < seen.n; i++) {
        ck_assert(seen.lb[i] == seen.lb[0] && seen.extent[i] == seen.extent[0]);
        ck_assert(seen.true_lb[i] == seen.true_lb[0] && seen.true_extent[i] == seen.true_extent[0]);
    }
    ck_assert_uint_eq(d.counted[ESPI_COUNT_variants_built], 6);

    type = stand_vector(200); /* is the least-cost tree, and in chunks of 16 the same as that */
    judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert_int_eq(seen.n, 5);
    MPI_Type_free(&type);
    type = stand_list(40); /* chunks of 32 and 64 cut nothing */
    judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert_int_eq(seen.n, 5);
    MPI_Type_free(&type);
    type = stand_vector(10); /* nothing competes, nothing is measured */
    d = judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert_int_eq(seen.calls, 0);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_no_variant], 1);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_no_faster], 0);
    ck_assert_str_eq(d.facts.why, "there was no other form of the type to be measured");
    MPI_Type_free(&type);
}
END_TEST

/* Lists of thousands of chunks, no two alike, are built, too. */
START_TEST(many_chunks)
{
    int *at = malloc(40000 * sizeof *at), found = 0;
    MPI_Datatype type;

    for (int i = 0, next = 0; i < 40000; i++) {
        at[i] = next;
        next += 2 + (int)random_below(20);
    }
    MPI_Type_create_indexed_block(40000, 1, at, MPI_INT, &type);
    MPI_Type_commit(&type);
    struct judged d = judge(type, ESPI_MODE_AUTO, 1, false);
    const struct espi_node *cut = stand_cut(d.layout.tree, 16);
    ck_assert_uint_gt(stand_types(cut, &d), 2000);
    for (int i = 1; i < seen.n; i++)
        found += espi_node_equal(seen.tree[i], cut);
    ck_assert_int_eq(found, 1);
    free(at);
    MPI_Type_free(&type);
}
END_TEST

/* Among the constructors of MPI; buckets at a stride are dear without index buckets. */
START_TEST(constructors)
{
    MPI_Datatype type;
    MPI_Aint at[30];
    int len[30], i;

    for (i = 0; i < 30; i++) {
        at[i] = 1000 * i;
        len[i] = 2 + (i * i + i / 3) % 9;
    }
    MPI_Type_create_hindexed(30, len, at, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    struct judged d = judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert_int_gt(seen.n, 1);
    ck_assert_int_eq(stand_best(&d)->kind, ESPI_IDXBUC);
    ck_assert_int_eq(d.facts.cost_after, espi_cost(stand_best(&d), &espi_costs_default));
    MPI_Type_free(&type);
}
END_TEST

/* What a round of measurements may take grows with the data up to 32 KiB. */
START_TEST(budgets)
{
    static const struct {
        int n;
        uint64_t ns;
    } of[] = {{4095, 700000 + 60 * 32760}, {4096, 700000 + 60 * 32768}, {5000, 700000 + 60 * 32768}};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        MPI_Datatype type = stand_vector(of[i].n);

        judge(type, ESPI_MODE_AUTO, 1, false);
        ck_assert_uint_eq(seen.budget, of[i].ns);
        MPI_Type_free(&type);
    }
}
END_TEST

/* Packed and unpacked as a whole: a twelfth less in all, and not more in any of both. */
START_TEST(whole)
{
    static const struct {
        uint64_t pack, unpack;
        int wins;
    } of[] = {{600, 600, 0}, {550, 550, 0}, {550, 549, 1}, {600, 499, 1}, {601, 1, 0}, {499, 600, 1}, {1, 601, 0},
              {1, 1, 1}, {0, 0, 1}};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        all_alike();
        times(1, of[i].pack, of[i].unpack, 5000); /* in parts it is slower: not asked for */
        struct wins w = wins(list, 11);
        ck_assert_msg(w.whole == of[i].wins && w.parts == 0 && w.gain == 0, "case %zu", i);
        w = wins(list, 10);
        ck_assert_msg(w.whole == of[i].wins && w.parts == of[i].wins, "case %zu", i);
    }
    /* Of a thousand, rounded down: 83. */
    times(0, 500, 500, 1000);
    times(1, 500, 417, 1000);
    ck_assert_int_eq(wins(list, 1).whole, 0);
    times(1, 500, 416, 1000);
    ck_assert_int_eq(wins(list, 1).whole, 1);
}
END_TEST

/* Sent in parts: the same, of that alone, where the data do not fit one part. */
START_TEST(parts)
{
    static const struct {
        uint64_t partial;
        int wins;
    } of[] = {{1200, 0}, {1100, 0}, {1099, 1}, {1, 1}, {1201, 0}};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        all_alike();
        times(1, 5000, 5000, of[i].partial);
        struct wins w = wins(list, 11);
        ck_assert_msg(w.parts == of[i].wins && w.whole == 0, "case %zu", i);
        ck_assert_uint_eq(w.gain, of[i].wins ? (1200 - of[i].partial) / 2 : 0);
        w = wins(list, 10);
        ck_assert(w.parts == 0 && w.whole == 0 && w.gain == 0);
    }
}
END_TEST

/* 16 KiB are one part, one byte more is not. */
START_TEST(one_part)
{
    MPI_Datatype type[2] = {stand_vector(2048), stand_far(16385, 2, MPI_CHAR)};

    all_alike();
    times(1, 100, 100, 1200);
    times(2, 5000, 5000, 100);
    ck_assert_int_eq(wins(type[0], 1).parts, 1);
    ck_assert_int_eq(wins(type[0], 2).parts, 2);
    ck_assert_int_eq(wins(type[1], 1).parts, 2);
    ck_assert_int_eq(wins(type[1], 1).whole, 1);
    MPI_Type_free(&type[0]);
    MPI_Type_free(&type[1]);
}
END_TEST

/* Whoever stands first stays unless it is beaten by a 33rd. */
START_TEST(among_them)
{
    all_alike();
    times(1, 330, 330, 1200);
    times(2, 330, 310, 1200);
    ck_assert_int_eq(wins(list, 1).whole, 1);
    times(2, 330, 309, 1200);
    ck_assert_int_eq(wins(list, 1).whole, 2);
    times(3, 309, 311, 1200); /* 620, as the second may ask for, of 639 */
    ck_assert_int_eq(wins(list, 1).whole, 2);
    times(3, 309, 310, 1200);
    ck_assert_int_eq(wins(list, 1).whole, 3);
    times(6, 100, 100, 1200);
    ck_assert_int_eq(wins(list, 1).whole, 6);
}
END_TEST

/* Whoever packs other bytes never wins, and is counted; without times of the program's own nothing is known. */
START_TEST(excluded)
{
    struct judged d;

    all_alike();
    times(1, 100, 100, 100);
    times(2, 200, 200, 200);
    script.wrong[1] = true;
    ck_assert_int_eq(wins(list, 1).whole, 2);
    ck_assert_int_eq(wins(list, 11).parts, 2);
    script.wrong[6] = true;
    d = judge(list, ESPI_MODE_AUTO, 1, false);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_failed], 2);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_passed], 0);
    stand_free(&d, NULL);
    script.wrong[1] = script.wrong[6] = false;
    times(1, 0, 100, 100);
    times(0, 0, 600, 1200);
    ck_assert(wins(list, 11).whole == 0 && wins(list, 11).parts == 1);
    times(1, 100, 0, 100);
    times(0, 600, 0, 1200);
    ck_assert(wins(list, 11).whole == 0 && wins(list, 11).parts == 1);
    times(0, 600, 600, 0);
    times(1, 100, 100, 0);
    ck_assert(wins(list, 11).whole == 1 && wins(list, 11).parts == 0);
}
END_TEST

/* Half of what sender and receiver save, each for itself; of the purpose that the count of items is about. */
START_TEST(gains)
{
    all_alike();
    times(2, 501, 303, 1001);
    ck_assert_uint_eq(wins(list, 10).gain, (600 - 501) / 2 + (600 - 303) / 2);
    ck_assert_uint_eq(wins(list, 11).gain, (1200 - 1001) / 2);
    times(2, 501, 303, 1200);
    ck_assert_uint_eq(wins(list, 11).gain, 0);
}
END_TEST

/* A typical use is measured, as far as 1 MiB of data and an extent of 16 MiB go; one item always. */
START_TEST(items)
{
    static const struct {
        int n;
        MPI_Aint extent;
        int64_t count;
        int measured;
    } of[] = {{200, 4800, 1, 1}, {200, 4800, 0, 1}, {200, 4800, -5, 1}, {200, 4800, 655, 655}, {200, 4800, 656, 655},
              {200, 0, INT64_MAX, 655}, {200, MIB, 16, 16}, {200, MIB, 17, 16}, {200, -MIB, 17, 16},
              {200, MIB + 1, 17, 15}, {200, 17 * MIB, 3, 1}, {131072, 1, 2, 1}, {65536, 1, 3, 2}, {140000, 1, 3, 1},
              {200, INT64_MIN, 3, 1}};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        MPI_Datatype made = stand_vector(of[i].n), type;

        MPI_Type_create_resized(made, 0, of[i].extent, &type);
        MPI_Type_commit(&type);
        judge(type, ESPI_MODE_AUTO, of[i].count, false);
        ck_assert_int_eq(seen.calls, 1);
        ck_assert_msg(seen.count == of[i].measured, "case %zu: %d", i, seen.count);
        MPI_Type_free(&made);
        MPI_Type_free(&type);
    }
}
END_TEST

static void begin(void)
{
    stand_begin();
    list = stand_list(200);
}

static void end(void)
{
    MPI_Type_free(&list);
}

int main(int argc, char **argv)
{
    const TTest *const tests[] = {candidates, many_chunks, constructors, budgets, whole, parts, one_part, among_them,
                                  excluded, gains, items};
    TCase *all = types_case(tests, sizeof tests / sizeof *tests);

    types_judge_kept(all);
    types_judge_slices(all);
    tcase_add_checked_fixture(all, begin, end);
    return types_run(argc, argv, "types_judge", all);
}
