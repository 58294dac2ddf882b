/*
 * Uses of types are counted once each in the record of the layout and in the class; plans that nobody uses are
 * forgotten; and which form a call gets. One process, calling what the core's handlers call.
 */
#include <check.h>
#include <mpi.h>
#include <stdatomic.h>
#include <string.h>

#include "clock.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/datatype/decode.h"
#include "mpi/calls/substitute.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/core/thread_state.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/typeplan/type_cache.h"
#include "stats/report.h"
#include "stats/snapshot.h"
#include "suite.h"
#include "type_service.h"

static struct espi_plan *plan_of(MPI_Datatype type)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded d;
    struct espi_plan *plan;

    ck_assert_int_eq(espi_decode(&arena, type, 0, &d), ESPI_OK);
    plan = espi_plan_find(&d);
    espi_arena_release(&arena);
    return plan;
}

/* The record of a layout has each use and each item once, also of those since the last look. */
START_TEST(recorded)
{
    enum { USES = 45, ITEMS = 3 };
    struct espi_stats_type *record;
    struct espi_plan *plan;
    MPI_Datatype type;
    int i;

    start(ESPI_MODE_ALWAYS);
    type = regular_ints(4000);
    for (i = 0; i < USES; i++)
        ck_assert_int_ne(espi_types_better(&own_thread, type, ITEMS, true), type);
    plan = plan_of(type);
    ck_assert_ptr_nonnull(plan);
    record = plan->record;
    espi_plan_release(plan);
    MPI_Type_free(&type);
    ck_assert_uint_eq(atomic_load(&record->uses), USES);
    ck_assert_uint_eq(atomic_load(&record->elements), USES * ITEMS);
    ck_assert_uint_eq(atomic_load(&record->bytes), USES * ITEMS * 24 * sizeof(int));
    type = regular_ints(4000); /* another life, with the same handle as a rule, counts from 0 */
    ck_assert_int_ne(espi_types_better(&own_thread, type, ITEMS, true), type);
    MPI_Type_free(&type);
    ck_assert_uint_eq(atomic_load(&record->uses), USES + 1);
    ck_assert_uint_eq(atomic_load(&record->elements), (USES + 1) * ITEMS);
    espi_types_stop();
}
END_TEST

/* Plans whose types are freed go when there are many of them, the oldest first; those in use stay. */
START_TEST(forgotten)
{
    MPI_Datatype used, type;
    struct espi_plan *plan;
    int i;

    start(ESPI_MODE_ALWAYS);
    used = regular_ints(0);
    ck_assert_int_ne(espi_types_better(&own_thread, used, 1, true), used);
    for (i = 1; i < 200; i++) {
        type = regular_ints(i);
        ck_assert_int_ne(espi_types_better(&own_thread, type, 1, true), type);
        MPI_Type_free(&type);
    }
    type = regular_ints(1);
    ck_assert_ptr_null(plan_of(type));
    MPI_Type_free(&type);
    type = regular_ints(199);
    plan = plan_of(type);
    ck_assert_ptr_nonnull(plan);
    espi_plan_release(plan);
    MPI_Type_free(&type);
    same_places(used, espi_types_better(&own_thread, used, 1, true));
    MPI_Type_free(&used);
    espi_types_stop();
}
END_TEST

/* A class is told of each use once, also by types that end between looks. */
START_TEST(told)
{
    struct espi_type_class *class = NULL;
    MPI_Datatype type;

    start(ESPI_MODE_AUTO);
    for (int life = 1; life <= 3; life++) {
        type = regular_ints(2000);
        for (int i = 0; i < 40; i++) {
            espi_types_better(&own_thread, type, 2, true);
            espi_slot_of(type);
        }
        ck_assert(class == NULL || espi_slot_class(espi_slot_of(type)) == class);
        class = espi_slot_class(espi_slot_of(type));
        espi_types_ending(espi_thread_state(&own_thread), type);
        MPI_Type_free(&type);
        ck_assert_uint_eq(class->uses, 40 * (uint64_t)life);
        ck_assert_uint_eq(class->items, 80 * (uint64_t)life);
        ck_assert(class->ended == (uint64_t)life && class->alive == 0);
    }
    espi_types_stop();
}
END_TEST

/* Too many constructors inside of each other to be decoded. */
static MPI_Datatype nested(void)
{
    MPI_Datatype type, outer;

    MPI_Type_vector(3, 2, 4, MPI_INT, &type);
    for (int i = 0; i < 300; i++) {
        MPI_Type_contiguous(1, type, &outer);
        MPI_Type_free(&type);
        type = outer;
    }
    MPI_Type_commit(&type);
    espi_types_committed(espi_thread_state(&own_thread), type);
    return type;
}

/* A layout that is not decoded has a record, which names it and why, and counts its uses: none is said to wait for
   more. */
START_TEST(named)
{
    enum { USES = 9, ITEMS = 2 };
    struct espi_report report = ESPI_REPORT_INIT;
    const struct espi_report_type *found = NULL;
    const char *why = espi_counter_table[ESPI_COUNT_plan_unsupported].help;
    MPI_Datatype type, again;

    start(ESPI_MODE_ALWAYS);
    type = nested();
    for (int i = 0; i < USES; i++)
        ck_assert_int_eq(espi_types_better(&own_thread, type, ITEMS, true), type);
    ck_assert_uint_eq(counted(ESPI_COUNT_left_unplanned), USES);
    again = nested();
    ck_assert_int_eq(espi_types_better(&own_thread, again, ITEMS, true), again);
    ck_assert_uint_eq(counted(ESPI_COUNT_left_unplanned), USES + 1);
    ck_assert_uint_eq(counted(ESPI_COUNT_plan_unsupported), 2); /* each is tried there */
    espi_types_ending(espi_thread_state(&own_thread), again);
    MPI_Type_free(&again);
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    ck_assert_int_eq(espi_stats_collect(&report), ESPI_OK);
    for (size_t i = 0; i < report.types; i++)
        if (report.type[i].facts.why != NULL && strcmp(report.type[i].facts.why, why) == 0)
            found = &report.type[i];
    ck_assert_ptr_nonnull(found);
    ck_assert_ptr_nonnull(strstr(found->facts.before, "not decoded: MPI_Type_contiguous"));
    ck_assert(!found->facts.improved && found->facts.size == 24 && found->facts.entries == -1);
    ck_assert(found->uses == USES + 1 && found->elements == (USES + 1) * ITEMS);
    ck_assert_uint_eq(found->bytes, (USES + 1) * ITEMS * 24);
    espi_report_release(&report);
    espi_types_stop();
}
END_TEST

/* The type that a call gets in the place of its `send` type. */
static MPI_Datatype substituted(enum espi_fn fn, const espi_word *args, int send)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    espi_word changed[ESPI_MAX_ARGS];
    struct espi_substitution d = {.thread = &own_thread,
                                  .thread_state = espi_thread_state(&own_thread),
                                  .row = row,
                                  .args = args,
                                  .changed = changed};
    MPI_Datatype type;

    memcpy(changed, args, row->args * sizeof *args);
    espi_substitute_begin(&d);
    type = row->typed[0].shape == ESPI_SHAPE_W ? *(const MPI_Datatype *)changed[send] : (MPI_Datatype)changed[send];
    espi_substitute_end(&d, MPI_SUCCESS);
    return type;
}

/* MPI goes through a type as a whole where a rank gives itself data and the other side is dense, in one-sided
   calls, and in MPI_Allgatherv of less than 512 KiB in all, on three ranks 80 KiB; in parts in messages, and where
   neither side is dense. */
START_TEST(whole_or_parts)
{
    enum { MANY = 1000 };
    static char from[8], onto[8];
    int count = MANY, many = 24 * MANY, none = 0;
    MPI_Datatype type, whole, parts, dense = MPI_INT;
    struct espi_plan *plan;

    start(ESPI_MODE_ALWAYS);
    espi_comm_cache_start(true);
    type = regular_ints(1000);
    whole = espi_types_better(&own_thread, type, MANY, true);
    plan = plan_of(type);
    ck_assert_ptr_nonnull(plan);
    MPI_Type_dup(whole, &parts);
    MPI_Datatype before = atomic_exchange(&plan->better[ESPI_PARTS], parts);

    const espi_word gather[8] = {(espi_word)from, MANY, type, (espi_word)onto, many, dense, 0, MPI_COMM_SELF};
    espi_word both[8];
    memcpy(both, gather, sizeof both);
    both[4] = MANY, both[5] = type;
    const espi_word scatter[8] = {(espi_word)from, MANY, type, (espi_word)MPI_IN_PLACE, many, dense, 0,
                                  MPI_COMM_SELF};
    const espi_word send[6] = {(espi_word)from, MANY, type, 0, 1, MPI_COMM_SELF};
    const espi_word exchange[12] = {(espi_word)from, MANY, type, 0, 1, (espi_word)onto, many, dense, 0, 1,
                                    MPI_COMM_SELF, (espi_word)MPI_STATUS_IGNORE};
    const espi_word each[9] = {(espi_word)from, (espi_word)&count, (espi_word)&none, (espi_word)&type,
                               (espi_word)onto, (espi_word)&many, (espi_word)&none, (espi_word)&dense, MPI_COMM_SELF};
    ck_assert_int_eq(substituted(ESPI_FN_Gather, gather, 2), whole);
    ck_assert_int_eq(substituted(ESPI_FN_Sendrecv, exchange, 2), whole);
    ck_assert_int_eq(substituted(ESPI_FN_Gather, both, 2), parts);
    ck_assert_int_eq(substituted(ESPI_FN_Scatter, scatter, 2), parts);
    ck_assert_int_eq(substituted(ESPI_FN_Send, send, 2), parts);
    ck_assert_int_eq(substituted(ESPI_FN_Alltoallw, each, 3), whole);
    MPI_Win window;
    MPI_Win_create(onto, sizeof onto, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
    const espi_word put[8] = {(espi_word)from, MANY, type, 0, 0, many, dense, (espi_word)window},
                    get[8] = {(espi_word)from, many, dense, 0, 0, MANY, type, (espi_word)window};
    ck_assert_int_eq(substituted(ESPI_FN_Put, put, 2), whole);
    ck_assert_int_eq(substituted(ESPI_FN_Get, get, 6), whole);
    MPI_Win_free(&window);
    struct espi_comm_facts *facts = &espi_thread_state(&own_thread)->comm;
    ck_assert(espi_comm_look(facts, MPI_COMM_SELF));
    int counts[3] = {100}, places[3] = {0}; /* items of 96 bytes */
    const espi_word gathered[8] = {(espi_word)from, 100, type, (espi_word)onto, (espi_word)counts, (espi_word)places,
                                   type, MPI_COMM_SELF};
    for (int ranks = 2; ranks <= 3; ranks++)
        for (int longer = 0; longer < 2; longer++) {
            facts->peers = facts->in = facts->out = ranks;
            counts[1] = (ranks == 2 ? 512 << 10 : 80 << 10) / 96 - 100 + longer;
            ck_assert_int_eq(substituted(ESPI_FN_Allgatherv, gathered, 2), longer ? parts : whole);
            ck_assert_int_eq(substituted(ESPI_FN_Allgatherv, gathered, 6), longer ? parts : whole);
        }
    facts->comm = MPI_COMM_NULL;

    atomic_store(&plan->better[ESPI_PARTS], before);
    espi_plan_release(plan);
    MPI_Type_free(&parts);
    MPI_Type_free(&type);
    espi_comm_cache_stop();
    espi_types_stop();
}
END_TEST

int main(int argc, char **argv)
{
    test_clock_stands(); /* so that the model has its usual constants */
    return TYPES_RUN(argc, argv, "types_uses", recorded, forgotten, told, named, whole_or_parts);
}
