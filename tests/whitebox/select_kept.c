/* What is kept for which purpose, freed, refused by a check and said in the statistics. */
#include "select.h"

#include "mpi/typeplan/admission.h"

enum { MIB = 1 << 20 };

static const char as_it_stands[] = "the tree as it stands",
                  chunks_of_8[] = "lists and vectors in chunks of 8 blocks",
                  own_in_chunks[] = "the program's own tree, lists and vectors in chunks of 16 blocks";

/* One for each purpose, everything else is freed (judge() sees to that); the statistics say which and why. */
START_TEST(kept)
{
    struct judged d;

    all_alike();
    times(1, 100, 110, 1200);
    times(2, 700, 100, 90);
    d = judge(list, ESPI_MODE_AUTO, 11, false);
    ck_assert(d.j.better[ESPI_WHOLE] == seen.type[1] && d.j.better[ESPI_PARTS] == seen.type[2]);
    ck_assert_uint_eq(d.j.types, stand_types(seen.tree[1], &d) + stand_types(seen.tree[2], &d));
    ck_assert_str_eq(d.facts.emission, chunks_of_8);
    ck_assert_str_eq(d.facts.why, "measured faster in messages and packed as a whole");
    ck_assert(d.facts.improved && d.facts.exact);
    ck_assert_uint_eq(d.facts.ns_before.pack, 600);
    ck_assert_uint_eq(d.facts.ns_before.partial, 1200);
    ck_assert(d.facts.ns_after.pack == 700 && d.facts.ns_after.unpack == 100 && d.facts.ns_after.partial == 90);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_types_improved], 1);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_no_faster], 0);
    stand_free(&d, NULL);

    times(2, 600, 600, 1200);
    d = judge(list, ESPI_MODE_AUTO, 11, false);
    ck_assert(d.j.better[ESPI_WHOLE] == seen.type[1] && d.j.better[ESPI_PARTS] == MPI_DATATYPE_NULL);
    ck_assert_str_eq(d.facts.emission, as_it_stands);
    ck_assert_str_eq(d.facts.why, "measured faster when packed as a whole");
    ck_assert(d.facts.ns_after.pack == 100 && d.facts.ns_after.unpack == 110 && d.facts.ns_after.partial == 1200);
    stand_free(&d, NULL);

    times(1, 600, 600, 1200);
    times(6, 600, 601, 100);
    d = judge(list, ESPI_MODE_AUTO, 11, false);
    ck_assert(d.j.better[ESPI_WHOLE] == MPI_DATATYPE_NULL && d.j.better[ESPI_PARTS] == seen.type[6]);
    ck_assert_str_eq(d.facts.emission, own_in_chunks);
    ck_assert_str_eq(d.facts.why, "measured faster in messages");
    stand_free(&d, NULL);

    times(6, 100, 100, 100);
    d = judge(list, ESPI_MODE_AUTO, 11, false);
    ck_assert(d.j.better[ESPI_WHOLE] == seen.type[6] && d.j.better[ESPI_PARTS] == seen.type[6]);
    ck_assert_uint_eq(d.j.types, stand_types(seen.tree[6], &d));
    stand_free(&d, NULL);

    all_alike();
    d = judge(list, ESPI_MODE_AUTO, 11, false);
    ck_assert(d.j.types == 0 && d.facts.emission == NULL && !d.facts.improved);
    ck_assert_str_eq(d.facts.why, "no variant was measured clearly faster");
    ck_assert_uint_eq(d.facts.ns_after.unpack, 600);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_no_faster], 1);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_types_improved], 0);
}
END_TEST

/* Under ESPALIER_CHECK what is refused is not kept, and saves nothing. */
START_TEST(checked)
{
    struct judged d;

    all_alike();
    times(1, 100, 100, 1200);
    times(2, 600, 600, 90);
    d = judge(list, ESPI_MODE_AUTO, 11, true);
    ck_assert_int_eq(seen.checks, 2);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_passed], 2);
    ck_assert(d.j.better[ESPI_WHOLE] == seen.type[1] && d.j.better[ESPI_PARTS] == seen.type[2]);
    stand_free(&d, NULL);
    script.refused = 1;
    d = judge(list, ESPI_MODE_AUTO, 11, true);
    ck_assert(d.j.better[ESPI_WHOLE] == MPI_DATATYPE_NULL && d.j.better[ESPI_PARTS] == seen.type[2]);
    ck_assert_uint_eq(d.j.types, stand_types(seen.tree[2], &d));
    ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_failed], 1);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_passed], 1);
    ck_assert_uint_eq(d.j.gain_ns, (1200 - 90) / 2);
    stand_free(&d, NULL);
    script.refused = 3;
    d = judge(list, ESPI_MODE_AUTO, 11, true);
    ck_assert(d.j.better[ESPI_WHOLE] == MPI_DATATYPE_NULL && d.j.better[ESPI_PARTS] == MPI_DATATYPE_NULL);
    ck_assert_uint_eq(d.j.gain_ns, 0);
    ck_assert(!d.facts.improved);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_unsupported], 1);
    script.check_status = ESPI_ERR_LIMIT; /* too large to be packed here: its entries were compared */
    d = judge(list, ESPI_MODE_AUTO, 11, true);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_passed], 2);
    stand_free(&d, NULL);
}
END_TEST

/* What could not be measured or built is left alone, for the reason there is. */
START_TEST(failures)
{
    static const struct {
        espi_status status;
        enum espi_counter counted;
    } of[] = {{ESPI_ERR_MEMORY, ESPI_COUNT_plan_no_memory}, {ESPI_ERR_LIMIT, ESPI_COUNT_plan_too_large},
              {ESPI_ERR_MPI, ESPI_COUNT_plan_mpi_error}, {ESPI_ERR_OVERFLOW, ESPI_COUNT_plan_unsupported}};
    struct judged d;

    all_alike();
    times(1, 1, 1, 1);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        script.status = of[i].status;
        d = judge(list, ESPI_MODE_AUTO, 1, false);
        ck_assert_uint_eq(d.counted[of[i].counted], 1);
        ck_assert(!d.facts.improved && d.j.gain_ns == 0);
        ck_assert_str_eq(d.facts.why, espi_counter_table[of[i].counted].help);
    }
    script.status = ESPI_OK;
    script.failing_commit = 2; /* chunks of 8 can not be built, all others can */
    d = judge(list, ESPI_MODE_AUTO, 1, false);
    ck_assert_int_eq(seen.n, 6);
    ck_assert(espi_node_equal(seen.tree[1], stand_best(&d)));
    ck_assert(espi_node_equal(seen.tree[2], stand_cut(stand_best(&d), 16)));
    stand_free(&d, NULL);
    script.failing_commit = 0;
    script.smaller = true; /* none has the bounds of the program's own */
    d = judge(list, ESPI_MODE_AUTO, 1, false);
    ck_assert_int_eq(seen.calls, 0);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_variants_built], 0);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_unsupported], 1);
}
END_TEST

START_TEST(always)
{
    struct judged d = judge(list, ESPI_MODE_ALWAYS, 1, false);
    MPI_Datatype type;

    ck_assert(seen.calls == 0 && seen.checks == 0);
    ck_assert(d.j.better[ESPI_WHOLE] != MPI_DATATYPE_NULL && d.j.better[ESPI_PARTS] == d.j.better[ESPI_WHOLE]);
    ck_assert(stand_is(d.j.better[ESPI_WHOLE], stand_best(&d), &d));
    ck_assert_uint_eq(d.j.types, stand_types(stand_best(&d), &d));
    ck_assert_uint_eq(d.j.gain_ns, 0);
    ck_assert_str_eq(d.facts.emission, as_it_stands);
    ck_assert_str_eq(d.facts.why, "costs fewer words");
    stand_free(&d, NULL);

    type = stand_vector(200); /* as cheap as its least-cost tree */
    d = judge(type, ESPI_MODE_ALWAYS, 1, false);
    ck_assert_int_eq(d.j.better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    ck_assert_int_eq(d.j.better[ESPI_PARTS], MPI_DATATYPE_NULL);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_no_cheaper], 1);
    MPI_Type_free(&type);

    script.smaller = true;
    d = judge(list, ESPI_MODE_ALWAYS, 1, false);
    ck_assert_int_eq(d.j.better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_unsupported], 1);
}
END_TEST

/* Other entries within the same bounds are found by reading the substitute back, other bytes by packing them. */
START_TEST(always_checked)
{
    struct judged d = judge(list, ESPI_MODE_ALWAYS, 1, true);
    MPI_Aint at[200];
    int i;

    ck_assert_int_eq(seen.checks, 1);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_passed], 1);
    stand_free(&d, NULL);
    script.refused = 1;
    d = judge(list, ESPI_MODE_ALWAYS, 1, true);
    ck_assert_int_eq(d.j.better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_failed], 1);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_unsupported], 1);
    script.refused = 0;
    for (i = 0; i < 200; i++)
        at[i] = 24 * i + (i == 100) * 8;
    MPI_Type_create_hindexed_block(200, 1, at, MPI_DOUBLE, &script.instead);
    MPI_Type_commit(&script.instead);
    d = judge(list, ESPI_MODE_ALWAYS, 1, true);
    ck_assert_int_eq(d.j.better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_failed], 1);
    ck_assert_int_eq(seen.checks, 0);
    MPI_Type_free(&script.instead);
    script.instead = MPI_DATATYPE_NULL;
}
END_TEST

/* Entries are read back up to 4 Mi of them. */
START_TEST(check_most)
{
    for (int more = 0; more < 2; more++) {
        MPI_Datatype half = stand_far((2 << 20) + more, 2, MPI_CHAR), type;
        MPI_Aint at[2] = {0, 4 * MIB + 2 * more};
        MPI_Datatype *instead = &script.instead, inner;

        MPI_Type_create_hindexed_block(2, 1, at, half, &type);
        MPI_Type_commit(&type);
        /* The same reach, the same size, another order. */
        at[0] = at[1];
        at[1] = 0;
        MPI_Type_create_hindexed_block(2, 1, at, half, &inner);
        MPI_Type_create_resized(inner, 0, at[0] + 4 * MIB + 2 * more - 1, instead);
        MPI_Type_commit(instead);
        struct judged d = judge(type, ESPI_MODE_ALWAYS, 1, true);
        ck_assert_int_eq(d.layout.tree->entries, (4 << 20) + 2 * more);
        ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_passed], more);
        ck_assert_uint_eq(d.counted[ESPI_COUNT_checks_failed], !more);
        ck_assert_int_eq(seen.checks, more);
        stand_free(&d, &type);
        MPI_Type_free(&half);
        MPI_Type_free(&inner);
        MPI_Type_free(instead);
        *instead = MPI_DATATYPE_NULL;
    }
}
END_TEST

START_TEST(empty)
{
    MPI_Datatype type;
    struct judged d;

    MPI_Type_contiguous(0, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int mode = ESPI_MODE_AUTO; mode <= ESPI_MODE_ALWAYS; mode++) {
        d = judge(type, (enum espi_mode)mode, 1, false);
        ck_assert_uint_eq(d.counted[ESPI_COUNT_plan_unsupported], 1);
        ck_assert(d.facts.after == NULL && d.facts.cost_after == -1 && d.facts.entries == 0);
        ck_assert(seen.calls == 0 && d.j.types == 0 && d.j.better[ESPI_WHOLE] == MPI_DATATYPE_NULL);
    }
    MPI_Type_free(&type);
}
END_TEST

/* What the record of the layout says, and the time that is booked. */
START_TEST(described)
{
    struct judged d;
    char text[500];

    espi_admission_start(0);
    d = judge(list, ESPI_MODE_AUTO, 1, false);
    ck_assert(!espi_admission_open(0));
    espi_print(d.layout.tree, 12, text, sizeof text);
    ck_assert_str_eq(d.facts.before, text);
    espi_print(stand_best(&d), 12, text, sizeof text);
    ck_assert_str_eq(d.facts.after, text);
    ck_assert_int_eq(d.facts.cost_before, espi_cost(d.layout.tree, &espi_costs_default));
    ck_assert_int_eq(d.facts.cost_after, espi_cost(stand_best(&d), &espi_costs_default));
    ck_assert(d.facts.exact && d.facts.entries == 200 && d.facts.size == 1600);
    ck_assert_uint_gt(d.facts.ns_planning, 100000);
    ck_assert_uint_eq(d.counted[ESPI_COUNT_types_planned], 1);
    ck_assert_uint_ge(d.counted[ESPI_COUNT_time_measure], 100000);
    ck_assert_uint_lt(d.counted[ESPI_COUNT_time_measure], d.facts.ns_planning);
    ck_assert(d.counted[ESPI_COUNT_time_emit] > 0 && d.counted[ESPI_COUNT_time_reconstruct] > 0);
    ck_assert_uint_le(d.counted[ESPI_COUNT_time_emit] + d.counted[ESPI_COUNT_time_measure] +
                          d.counted[ESPI_COUNT_time_reconstruct],
                      d.facts.ns_planning);
}
END_TEST

/* Work that led to nothing is booked as such: of a grant of 100 ms a tenth is for it. */
START_TEST(idle)
{
    struct judged d;

    script.takes_ms = 50;
    for (int check = 0; check < 2; check++) {
        all_alike();
        times(1, 100, 110, 1200);
        espi_admission_start(100);
        d = judge(list, ESPI_MODE_AUTO, 1, check > 0);
        ck_assert(d.facts.improved && espi_admission_open(10000000) && !espi_admission_open(99000000));
        stand_free(&d, NULL);
    }
    script.refused = 3; /* found, but kept for neither purpose */
    espi_admission_start(100);
    judge(list, ESPI_MODE_AUTO, 1, true);
    ck_assert(!espi_admission_open(0));
    all_alike();
    espi_admission_start(100);
    judge(list, ESPI_MODE_AUTO, 1, false);
    ck_assert(!espi_admission_open(0));
    script.takes_ms = 1;
    espi_admission_start(100);
    judge(list, ESPI_MODE_AUTO, 1, false);
    ck_assert(espi_admission_open(10000000));
}
END_TEST

void types_judge_kept(TCase *all)
{
    const TTest *const tests[] = {kept,       checked, failures,  always, always_checked,
                                  check_most, empty,   described, idle};

    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(all, tests[i]);
}
