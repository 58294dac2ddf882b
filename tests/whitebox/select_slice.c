/* Layouts too large for the scratch memory: judged by a slice from their start, then built as the slice's winners. */
#include "select.h"

#include <stdlib.h>

enum { MIB = 1 << 20, HALF = 2200 };

static const char chunks_of_16[] = "lists and vectors in chunks of 16 blocks",
                  own_in_chunks[] = "the program's own tree, lists and vectors in chunks of 16 blocks",
                  by_slice[] = "a slice of it was measured faster so";

/* 4400 doubles over 22 MB, as a list; the slice is the half of it, more than one part of a message. */
static MPI_Datatype wide(void)
{
    MPI_Aint at[2 * HALF];
    MPI_Datatype type;

    for (int i = 0; i < 2 * HALF; i++)
        at[i] = 5000 * i;
    MPI_Type_create_hindexed_block(2 * HALF, 1, at, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Up to a reach of 16 MiB and 8 MiB of data the program's own type is measured. The slice has 256 KiB of data and
   one entry more; half of that, and again, where it reaches too far, but not less than 16 entries. */
START_TEST(lengths)
{
    static const struct {
        int n;
        MPI_Aint stride;
        bool chars, doubles;
        int entries, candidates; /* of the slice; 0 entries: no slice */
    } of[] = {
        {70, 243148, false, false, 0, 4},         /* 16 MiB */
        {70, 243149, false, false, 35, 3},
        {141, 243148, false, false, 70, 4},       /* a slice of 16 MiB */
        {141, 243149, false, false, 35, 3},
        {MIB, 15, false, true, 0, 5},             /* 8 MiB of data */
        {MIB + 1, 15, false, true, 32769, 5},
        {2 * MIB + 1, 7, false, false, 65537, 5},
        {70, -243149, false, false, 35, 3},
        {9 * MIB, -2, true, false, 262145, 5},
        {32, MIB, false, false, 16, 1},           /* too few to cut */
        {31, MIB + MIB / 16, false, false, -1, 0}, /* too few for a slice */
        {16, 2 * MIB, false, false, -1, 0},
        {15, 2 * MIB, false, false, -1, 0},
    };

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        MPI_Datatype base = of[i].chars ? MPI_CHAR : of[i].doubles ? MPI_DOUBLE : MPI_INT;
        MPI_Datatype type = stand_far(of[i].n, of[i].stride, base);
        struct judged d = judge(type, ESPI_MODE_AUTO, 5, false);

        bool compared = of[i].candidates > 1;

        ck_assert_msg(seen.calls == compared, "case %zu", i);
        ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_too_large], of[i].entries < 0);
        ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_no_faster], compared);
        ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_no_variant], of[i].candidates == 1);
        if (compared) {
            ck_assert_msg(seen.n == of[i].candidates, "case %zu: %d candidates", i, seen.n);
            ck_assert((seen.type[0] == type) == (of[i].entries == 0));
        }
        if (compared && of[i].entries > 0) {
            ck_assert_msg(seen.tree[0]->entries == of[i].entries, "case %zu: %d entries", i,
                          (int)seen.tree[0]->entries);
            ck_assert_int_eq(seen.count, 1);
            ck_assert(seen.lb[0] == seen.true_lb[0] && seen.extent[0] == seen.true_extent[0]);
            ck_assert_int_le(seen.true_extent[0], 16 * MIB);
        }
        MPI_Type_free(&type);
    }
}
END_TEST

/* Slices of the program's own tree and of the least-cost tree compete, with the bounds that their data have. */
START_TEST(candidates)
{
    static const int64_t chunk[] = {8, 16, 32, 64};
    MPI_Datatype all = wide(), type;
    MPI_Aint lb = 1000;
    struct judged d;
    int i;

    MPI_Type_create_hindexed_block(1, 1, &lb, all, &type);
    MPI_Type_commit(&type);
    d = judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert_int_eq(seen.n, 7);
    ck_assert_uint_eq(seen.scratch, STAND_SCRATCH);
    ck_assert_uint_eq(seen.budget, 700000 + 60 * 8 * HALF);
    for (i = 0; i < seen.n; i++) {
        ck_assert(seen.lb[i] == 1000 && seen.extent[i] == 5000 * (HALF - 1) + 8);
        ck_assert(seen.true_lb[i] == seen.lb[i] && seen.true_extent[i] == seen.extent[i]);
        ck_assert_int_eq(seen.tree[i]->entries, HALF);
    }
    const struct espi_node *own = NULL, *best = NULL;
    ck_assert_int_eq(espi_node_slice(&stand_arena, d.layout.tree, 0, HALF, 0, &own), ESPI_OK);
    ck_assert_int_eq(espi_node_slice(&stand_arena, stand_best(&d), 0, HALF, 0, &best), ESPI_OK);
    ck_assert(espi_node_equal(seen.tree[0], own) && espi_node_equal(seen.tree[1], best));
    ck_assert(!espi_node_equal(own, best));
    for (i = 0; i < 4; i++)
        ck_assert(espi_node_equal(seen.tree[2 + i], stand_cut(best, chunk[i])));
    ck_assert(espi_node_equal(seen.tree[6], stand_cut(own, 16)));
    MPI_Type_free(&all);
    MPI_Type_free(&type);
}
END_TEST

START_TEST(kept)
{
    MPI_Datatype type = wide();
    struct judged d;

    all_alike();
    times(1, 100, 100, 1200);
    times(3, 600, 600, 101);
    d = judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert(stand_is(d.j.better[ESPI_WHOLE], stand_best(&d), &d));
    ck_assert(stand_is(d.j.better[ESPI_PARTS], stand_cut(stand_best(&d), 16), &d));
    ck_assert_uint_eq(d.j.types, stand_types(stand_best(&d), &d) + stand_types(stand_cut(stand_best(&d), 16), &d));
    ck_assert_uint_eq(d.j.gain_ns, 2 * ((1200 - 101) / 2)); /* the whole is two slices */
    ck_assert_str_eq(d.facts.emission, chunks_of_16);
    ck_assert_str_eq(d.facts.why, by_slice);
    ck_assert(d.facts.improved && d.facts.ns_after.partial == 101);
    stand_free(&d, NULL);

    times(3, 50, 50, 101);
    d = judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert(d.j.better[ESPI_WHOLE] == d.j.better[ESPI_PARTS]);
    ck_assert(stand_is(d.j.better[ESPI_PARTS], stand_cut(stand_best(&d), 16), &d));
    ck_assert_uint_eq(d.j.types, stand_types(stand_cut(stand_best(&d), 16), &d));
    stand_free(&d, NULL);

    all_alike();
    times(6, 700, 600, 100);
    d = judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert_int_eq(d.j.better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    ck_assert(stand_is(d.j.better[ESPI_PARTS], stand_cut(d.layout.tree, 16), &d));
    ck_assert_str_eq(d.facts.emission, own_in_chunks);
    stand_free(&d, NULL);

    times(6, 100, 600, 5000);
    d = judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert_int_eq(d.j.better[ESPI_PARTS], MPI_DATATYPE_NULL);
    ck_assert(stand_is(d.j.better[ESPI_WHOLE], stand_cut(d.layout.tree, 16), &d));
    stand_free(&d, NULL);

    all_alike();
    d = judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert(d.j.types == 0 && d.j.gain_ns == 0 && !d.facts.improved);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_no_faster], 1);
    MPI_Type_free(&type);
}
END_TEST

/* As often as the slice fits the layout. */
START_TEST(gain)
{
    MPI_Datatype type = stand_far(2 * MIB, 16, MPI_DOUBLE);

    all_alike();
    times(1, 600, 600, 200); /* chunks of 8: the tree as it stands is the program's own */
    struct judged d = judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert_uint_eq(d.j.gain_ns, 2 * MIB / 32769 * 500);
    stand_free(&d, NULL);
    MPI_Type_free(&type);
}
END_TEST

START_TEST(checked)
{
    MPI_Datatype type = wide();
    struct judged d;

    all_alike();
    times(1, 100, 100, 1200);
    times(2, 600, 600, 100);
    d = judge(type, ESPI_MODE_AUTO, 1, true);
    ck_assert_int_eq(seen.checks, 2);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_passed], 2);
    stand_free(&d, NULL);
    script.refused = 1;
    d = judge(type, ESPI_MODE_AUTO, 1, true);
    ck_assert_int_eq(d.j.better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    ck_assert(stand_is(d.j.better[ESPI_PARTS], stand_cut(stand_best(&d), 8), &d));
    ck_assert_uint_eq(d.j.types, stand_types(stand_cut(stand_best(&d), 8), &d));
    stand_free(&d, NULL);
    script.refused = 3;
    d = judge(type, ESPI_MODE_AUTO, 1, true);
    ck_assert(d.j.better[ESPI_PARTS] == MPI_DATATYPE_NULL && d.j.gain_ns == 0 && !d.facts.improved);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_unsupported], 1);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_failed], 2);
    times(1, 100, 100, 50); /* one for both purposes is looked at again when it was refused */
    script.refused = 1;
    d = judge(type, ESPI_MODE_AUTO, 1, true);
    ck_assert_int_eq(seen.checks, 2);
    ck_assert_int_eq(d.j.better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    ck_assert(stand_is(d.j.better[ESPI_PARTS], stand_best(&d), &d));
    stand_free(&d, &type);
}
END_TEST

/* The beginning of a list of two long vectors is a vector, which is cut; the list is not. */
START_TEST(not_followed)
{
    MPI_Datatype type, strided;
    int len[2] = {MIB, MIB + 7};
    MPI_Aint at[2] = {0, 20 * MIB};
    struct judged d;

    MPI_Type_create_resized(MPI_DOUBLE, 0, 16, &strided);
    MPI_Type_create_hindexed(2, len, at, strided, &type);
    MPI_Type_commit(&type);
    all_alike();
    times(1, 600, 600, 100);
    d = judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert_int_eq(stand_best(&d)->kind, ESPI_IDXBUC);
    ck_assert_int_eq(seen.n, 5);
    ck_assert_int_eq(d.j.better[ESPI_PARTS], MPI_DATATYPE_NULL);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_too_large], 1);
    MPI_Type_free(&strided);
    MPI_Type_free(&type);
}
END_TEST

START_TEST(failures)
{
    static const struct {
        espi_status status;
        enum espi_counter counted;
    } of[] = {{ESPI_ERR_MEMORY, ESPI_COUNT_plan_no_memory}, {ESPI_ERR_LIMIT, ESPI_COUNT_plan_too_large},
              {ESPI_ERR_MPI, ESPI_COUNT_plan_mpi_error}};
    MPI_Datatype type = wide();
    struct judged d;

    all_alike();
    times(1, 1, 1, 1);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        script.status = of[i].status;
        d = judge(type, ESPI_MODE_AUTO, 1, false);
        ck_assert_uint_eq(d.counted[of[i].counted], 1);
        ck_assert(!d.facts.improved && d.j.gain_ns == 0);
    }
    script.status = ESPI_OK;
    script.failing_commit = 1; /* of the slice of the program's own */
    d = judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert_int_eq(seen.calls, 0);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_mpi_error], 1);
    script.failing_commit = 8; /* of the winner, after seven candidates */
    d = judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert_int_eq(seen.n, 7);
    ck_assert_int_eq(d.j.better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    ck_assert_int_ne(d.j.better[ESPI_PARTS], MPI_DATATYPE_NULL); /* the ninth */
    ck_assert(stand_is(d.j.better[ESPI_PARTS], stand_best(&d), &d));
    stand_free(&d, NULL);
    times(1, 1, 1, 1200);
    d = judge(type, ESPI_MODE_AUTO, 1, false);
    ck_assert(!d.facts.improved);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_mpi_error], 1);
    MPI_Type_free(&type);
}
END_TEST

void types_judge_slices(TCase *all)
{
    const TTest *const tests[] = {lengths, candidates, kept, gain, checked, not_followed, failures};

    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(all, tests[i]);
}
