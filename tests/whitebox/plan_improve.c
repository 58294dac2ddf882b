/*
 * Plans that are made again for another tier or another count (src/mpi/typeplan/plan_cache.h): what is replaced lives
 * as long as the plan, as a call may be about to use it, and nothing is left over then.
 */
#include <check.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "mpi/core/thread_state.h"
#include "mpi/typeplan/engine_calibrate.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "select_setup.h"
#include "suite.h"
#include "type_service.h"

/* Of lists_that_are_one(): as a whole and in one part that one vector is best, in several parts a form in chunks. */
static struct espi_plan_request ask(MPI_Datatype type, struct espi_decoded *layout, int64_t items, int tier)
{
    ck_assert_int_eq(espi_decode(&arena, type, 0, layout), ESPI_OK);
    return (struct espi_plan_request){
        .type = type, .layout = layout, .mode = ESPI_MODE_AUTO, .count = items, .tier = tier};
}

static MPI_Datatype better(const struct espi_plan *plan, enum espi_purpose purpose)
{
    return atomic_load(&plan->better[purpose]);
}

/* What was handed out before stays valid, and the plan is that of the same layout still. */
START_TEST(replaced)
{
    MPI_Datatype type = lists_that_are_one(), first, before[ESPI_PURPOSES];
    struct espi_decoded layout;
    struct espi_plan_request request = ask(type, &layout, 1, 2);
    struct espi_plan *plan = espi_plan_make(&request);

    ck_assert_ptr_nonnull(plan);
    ck_assert(plan->tier == 2 && plan->count == 1 && plan->size == 3200);
    first = better(plan, ESPI_WHOLE);
    ck_assert(first != MPI_DATATYPE_NULL && better(plan, ESPI_PARTS) == first && alive_types() == 1);
    const struct espi_stats_type *record = plan->record;
    uint64_t gain = plan->gain_ns[ESPI_PARTS];

    request = ask(type, &layout, 100, 2);
    espi_plan_improve(plan, &request);
    ck_assert(plan->tier == 2 && plan->count == 100 && plan->record == record);
    ck_assert(plan->gain_ns[ESPI_PARTS] > gain && better(plan, ESPI_PARTS) != first);
    ck_assert(is_alive(first));
    for (int p = 0; p < ESPI_PURPOSES; p++) {
        before[p] = better(plan, (enum espi_purpose)p);
        ck_assert(before[p] != MPI_DATATYPE_NULL && is_alive(before[p]));
        same_places(type, before[p]);
    }
    same_places(type, first);
    ck_assert_ptr_eq(espi_plan_find(&layout), plan);
    espi_plan_release(plan);
    espi_plan_release(plan);
    ck_assert(is_alive(first)); /* the plan waits for another type of its layout */
    espi_plans_stop();
    ck_assert_int_eq(alive_types(), 0);
    real.Type_free(&type);
}
END_TEST

/* However often: what there is no room to remember is not replaced. */
START_TEST(often)
{
    MPI_Datatype type = lists_that_are_one(), had[40];
    struct espi_decoded layout;
    struct espi_plan_request request = ask(type, &layout, 1, 2);
    struct espi_plan *plan = espi_plan_make(&request);

    for (int i = 0; i < 20; i++) {
        had[2 * i] = better(plan, ESPI_WHOLE);
        had[2 * i + 1] = better(plan, ESPI_PARTS);
        request = ask(type, &layout, i % 2 ? 1 : 100 + i, 1 + i % 2);
        plan->last_short.count = 1;
        espi_plan_improve(plan, &request);
        ck_assert(plan->tier == request.tier && plan->count == request.count);
        ck_assert_int_eq(plan->last_short.count, 0); /* what short messages save is worked out again */
        for (int k = 0; k < 2 * i + 2; k++)
            ck_assert(had[k] == MPI_DATATYPE_NULL || is_alive(had[k]));
        for (int p = 0; p < ESPI_PURPOSES; p++)
            if (better(plan, (enum espi_purpose)p) != MPI_DATATYPE_NULL)
                same_places(type, better(plan, (enum espi_purpose)p));
    }
    ck_assert_int_lt(alive_types(), 10);
    espi_plan_release(plan);
    espi_plans_stop();
    ck_assert_int_eq(alive_types(), 0);
    real.Type_free(&type);
}
END_TEST

/* The end of all plans frees them for types that live on, which say "the program's own" from then on. */
START_TEST(stopped)
{
    MPI_Datatype type = lists_that_are_one();
    struct espi_decoded layout;
    struct espi_plan_request request = ask(type, &layout, 1, 2);
    struct espi_plan *plan = espi_plan_make(&request);

    request = ask(type, &layout, 100, 2);
    espi_plan_improve(plan, &request);
    espi_plans_stop();
    ck_assert_int_eq(alive_types(), 0);
    ck_assert(better(plan, ESPI_WHOLE) == MPI_DATATYPE_NULL && better(plan, ESPI_PARTS) == MPI_DATATYPE_NULL);
    espi_plan_release(plan);
    real.Type_free(&type);
}
END_TEST

/* A plan that makes room for others takes along what was replaced in it. */
START_TEST(evicted)
{
    enum { MANY = 200 };
    MPI_Datatype type = lists_that_are_one();
    struct espi_decoded layout;
    struct espi_plan_request request = ask(type, &layout, 1, 2);
    struct espi_plan *plan = espi_plan_make(&request);

    request = ask(type, &layout, 100, 2);
    espi_plan_improve(plan, &request);
    espi_plan_release(plan);
    ck_assert_int_ge(alive_types(), 2);
    for (int i = 0; i < MANY; i++) {
        MPI_Datatype other;
        MPI_Type_vector(5 + i, 1, 3, MPI_DOUBLE, &other);
        other = committed(other);
        struct espi_decoded more;
        struct espi_plan_request next = ask(other, &more, 1, 1);
        plan = espi_plan_make(&next);
        espi_plan_release(plan);
        real.Type_free(&other);
    }
    ck_assert_ptr_null(espi_plan_find(&layout));
    ck_assert_int_eq(alive_types(), 0); /* the others are best as they are */
    espi_plans_stop();
    real.Type_free(&type);
}
END_TEST

/* In the service: planned for one item, and used for a hundred then, a type is planned for that; a call that was
   about to use what it had can. */
START_TEST(outgrown)
{
    MPI_Datatype type = lists_that_are_one(), first, now;

    start(ESPI_MODE_AUTO);
    espi_types_committed(espi_thread_state(&own_thread), type);
    for (int i = 0; i < 10000; i++) /* until the second tier is paid for */
        first = espi_types_better(&own_thread, type, 1, false);
    ck_assert_int_ne(first, type);
    ck_assert_int_eq(espi_types_better(&own_thread, type, 100, false), first);
    now = espi_types_better(&own_thread, type, 100, false);
    ck_assert(now != first && now != type && is_alive(first));
    same_places(type, first);
    same_places(type, now);
    ck_assert_int_eq(espi_types_better(&own_thread, type, 100, false), now);
    espi_types_ending(espi_thread_state(&own_thread), type);
    ck_assert(is_alive(first) && is_alive(now));
    real.Type_free(&type);
    espi_types_stop();
    ck_assert_int_eq(alive_types(), 0);
}
END_TEST

/* First row and first column of a matrix, as one list, which is a struct of a block and a vector. */
static MPI_Datatype row_and_column(int row)
{
    enum { N = 1000 };
    int lengths[N], places[N];
    MPI_Datatype type;

    for (int i = 0; i < N; i++) {
        lengths[i] = i == 0 ? row : 1;
        places[i] = i * row;
    }
    real.Type_indexed(N, lengths, places, MPI_INT, &type);
    real.Type_commit(&type);
    return type;
}

/* As on one of Intel's processors, or on none. */
static bool fetches;
struct espi_engine __real_espi_engine(void);
struct espi_engine __wrap_espi_engine(void);
struct espi_engine __wrap_espi_engine(void)
{
    struct espi_engine engine = __real_espi_engine();

    engine.fetches = fetches;
    return engine;
}

/* Forms are looked for of a long list in which there are strides, whatever its program saves; and the library goes
   through this one as fast, so that a message which fits one part is not packed. But where rows are longer than 2 kB,
   and the processor is Intel's, the list stays, and only MPI_Pack is packed (engine_cost.c). */
START_TEST(strides_in_a_list)
{
    for (int i = 0; i < 4; i++) {
        const int row = i % 2 == 0 ? 500 : 1000;
        MPI_Datatype type = row_and_column(row);
        struct espi_decoded layout;
        fetches = i / 2 == 1;
        struct espi_plan_request request = ask(type, &layout, 1, 1);
        const bool hidden = row == 1000 && fetches;
        request.packing = ESPI_MODE_AUTO;
        request.one_node = true;
        struct espi_plan *plan = espi_plan_make(&request);
        ck_assert(!plan->forms_pending && (better(plan, ESPI_WHOLE) == MPI_DATATYPE_NULL) == hidden);
        const bool even = espi_pack_message_is_even(plan->pack, 1, plan->engine_ns[ESPI_PARTS]);
        ck_assert(row < 1000 || plan->packed_ns[ESPI_PACK_MESSAGE] == (even ? ESPI_PACK_TO_BE_TRIED : 0));
        ck_assert(!hidden || plan->packed_ns[ESPI_PACK_LOCAL] > 0);
        if (!hidden)
            same_places(type, better(plan, ESPI_WHOLE));
        espi_plan_release(plan);
        espi_plans_stop();
        ck_assert_int_eq(alive_types(), 0);
        real.Type_free(&type);
    }
}
END_TEST

/* What is told as the reason is what the plan was decided by. */
static void says_what_is_saved(const struct espi_plan *plan)
{
    char each[64];

    snprintf(each, sizeof each, "it saves %" PRIu64 " ns in a call that packs, ", plan->packed_ns[ESPI_PACK_LOCAL]);
    ck_assert_msg(strstr(plan->record->facts.why, each) != NULL, "%s", plan->record->facts.why);
    snprintf(each, sizeof each, " %" PRIu64 " ns in a message", plan->packed_ns[ESPI_PACK_MESSAGE]);
    ck_assert_msg(strstr(plan->record->facts.why, each) != NULL, "%s", plan->record->facts.why);
}

/* A long list that its pack program is far better for has no other form at first, and has one when it is asked for.
   One without a program has it at once, and so has tier 2; a short one is best as it is. */
START_TEST(packing_alone)
{
    struct espi_decoded layout;

    for (int what = 0; what < 4; what++) {
        MPI_Datatype type = irregular_list(what == 1 ? 60 : 10000, 1, MPI_FLOAT);
        struct espi_plan_request request = ask(type, &layout, what == 1 ? 100 : 1, what == 2 ? 2 : 1);
        request.packing = what == 3 ? ESPI_MODE_OFF : ESPI_MODE_AUTO;
        request.one_node = true;
        struct espi_plan *plan = espi_plan_make(&request);
        ck_assert_int_eq(plan->forms_pending, what == 0);
        ck_assert_int_eq(better(plan, ESPI_PARTS) == MPI_DATATYPE_NULL, what < 2);
        ck_assert(what == 0 ? plan->packed_ns[ESPI_PACK_MESSAGE] > 0 : what < 3 || plan->pack == NULL);
        if (what == 0) {
            const uint64_t packed = plan->packed_ns[ESPI_PACK_MESSAGE];
            ck_assert_str_eq(plan->record->facts.emission, "a pack program");
            says_what_is_saved(plan);
            ck_assert_int_eq(alive_types(), 0);
            request = ask(type, &layout, 1, 1);
            request.packing = ESPI_MODE_AUTO;
            request.one_node = request.forms = true;
            espi_plan_improve(plan, &request);
            ck_assert(!plan->forms_pending && better(plan, ESPI_PARTS) != MPI_DATATYPE_NULL);
            ck_assert(plan->gain_ns[ESPI_PARTS] > 0 && plan->packed_ns[ESPI_PACK_MESSAGE] < packed);
            ck_assert_ptr_nonnull(strstr(plan->record->facts.emission, ", and a pack program"));
            same_places(type, better(plan, ESPI_PARTS));
        }
        espi_plan_release(plan);
        espi_plans_stop();
        ck_assert_int_eq(alive_types(), 0);
        real.Type_free(&type);
    }
}
END_TEST

/* A list that is a matrix column by column, or an irregular one, of n x n doubles. */
static MPI_Datatype listed(int n, bool columns)
{
    static int at[64 * 64];
    MPI_Datatype type;

    for (int i = 0; i < n * n; i++)
        at[i] = columns ? i % n * 128 + i / n : i * 3 + i * i % 7 / 4;
    real.Type_create_indexed_block(n * n, 1, at, MPI_DOUBLE, &type);
    real.Type_commit(&type);
    return type;
}

/* What the program packs, and unpacks where there was nothing. */
static void packs(const struct espi_pack *pack, const double *from, double *stream, double *to, size_t doubles)
{
    espi_pack_run(pack, from, 1, stream);
    memset(to, 0, doubles * sizeof *to);
    espi_unpack_run(pack, stream, to, 1);
}

/* The second tier compiles the program again from its tree where that is faster: the same bytes, and the first
   program stays for whom uses it. Nothing is measured of the new one yet; and it stays when the plan is made for
   another count, or by the first tier. */
START_TEST(program_again)
{
    enum { N = 64, SPAN = 3 * N * N };
    static double from[SPAN], stream[2][SPAN], to[2][SPAN];

    for (int i = 0; i < SPAN; i++)
        from[i] = i + 1;
    for (int columns = 0; columns < 2; columns++) {
        MPI_Datatype type = listed(N, columns);
        struct espi_decoded layout;
        struct espi_plan_request request = ask(type, &layout, 1, 1);
        request.packing = ESPI_MODE_AUTO;
        request.one_node = true;
        const uint64_t before = counted(ESPI_COUNT_programs_exact);
        struct espi_plan *plan = espi_plan_make(&request);
        const struct espi_pack *first = plan->pack;
        const uint64_t improved = counted(ESPI_COUNT_types_improved);
        ck_assert(first != NULL && !plan->exact);
        packs(first, from, stream[0], to[0], SPAN);
        for (int i = 0; i < 100; i++)
            espi_packed_move(&plan->times, false, plan->pack, from, 1, stream[0]);
        ck_assert_int_gt(atomic_load(&plan->times.window[0].rest), 0);
        atomic_store(&plan->times.reversed, 1);

        for (int i = 0; i < 3; i++) {
            request = ask(type, &layout, i == 1 ? 3 : 1, i == 2 ? 1 : 2);
            request.packing = ESPI_MODE_AUTO;
            request.one_node = true;
            espi_plan_improve(plan, &request);
            ck_assert_int_eq(plan->exact, columns);
            ck_assert_int_eq(plan->pack != first, columns);
            ck_assert_int_eq(atomic_load(&plan->times.reversed), !columns);
            ck_assert_int_eq(atomic_load(&plan->times.window[0].rest) == 0, columns);
            ck_assert_int_eq(counted(ESPI_COUNT_programs_exact) - before, columns);
        }
        ck_assert_int_eq(counted(ESPI_COUNT_types_improved), improved); /* it is one layout */
        ck_assert(!columns ||
                  espi_pack_cost(plan->pack, 1).warm_ns < 0.8 * espi_pack_cost(first, 1).warm_ns);
        packs(plan->pack, from, stream[1], to[1], SPAN);
        ck_assert_int_eq(espi_pack_size(plan->pack), N * N * (int)sizeof(double));
        ck_assert_mem_eq(stream[0], stream[1], N * N * sizeof(double));
        ck_assert_mem_eq(to[0], to[1], sizeof to[0]);
        packs(first, from, stream[0], to[0], SPAN);
        ck_assert_mem_eq(stream[0], stream[1], N * N * sizeof(double));
        espi_plan_release(plan);
        espi_plans_stop();
        ck_assert_int_eq(alive_types(), 0);
        real.Type_free(&type);
    }
}
END_TEST

/* In the service: uses that no program serves get a better type after some, whether there are others or not. */
START_TEST(forms_when_used)
{
    for (int others = 0; others < 2; others++) {
        MPI_Datatype type = irregular_list(10000, 1, MPI_FLOAT), now = type;
        int until = 0;

        start(ESPI_MODE_AUTO);
        espi_type_service.packing = ESPI_MODE_AUTO;
        espi_type_service.one_node = true;
        espi_types_committed(espi_thread_state(&own_thread), type);
        for (int i = 0; i < 100; i++) {
            struct espi_way way = espi_types_way(&own_thread, type, 1, false, ESPI_PACK_MESSAGE);
            ck_assert_int_eq(way.type, type);
            if (way.packed != NULL)
                espi_plan_release(way.packed);
            ck_assert(i < 50 || way.packed != NULL);
        }
        for (; until < 100 && now == type; until++) {
            now = espi_types_better(&own_thread, type, 1, false);
            if (others) {
                struct espi_way way = espi_types_way(&own_thread, type, 1, false, ESPI_PACK_MESSAGE);
                if (way.packed != NULL)
                    espi_plan_release(way.packed);
            }
        }
        ck_assert(until > 10 && until < 30);
        same_places(type, now);
        espi_types_ending(espi_thread_state(&own_thread), type);
        real.Type_free(&type);
        espi_types_stop();
    }
}
END_TEST

/* A class for which nothing but a pack program is better, and none of whose uses one has done so far: the next type
   of it is left alone. */
START_TEST(of_no_use)
{
    for (int served = 0; served < 2; served++) {
        MPI_Datatype type = irregular_list(200, 2, MPI_DOUBLE);
        start(ESPI_MODE_AUTO);
        espi_type_service.packing = ESPI_MODE_AUTO;
        espi_type_service.one_node = true;
        for (int life = 0; life < 2; life++) {
            struct espi_type_slot *slot;
            int uses = 0;
            espi_types_committed(espi_thread_state(&own_thread), type);
            slot = espi_slot_of(type);
            while (slot->plan == NULL && ++uses < 1000)
                espi_types_blocks_way(&own_thread, type, 1, true, ESPI_PACK_NOT, 1, 1);
            ck_assert_int_eq(slot->plan != NULL, life == 0 || served);
            espi_slot_class(slot)->packs = served;
            espi_slot_class(slot)->passed = ESPI_CLASS_PASSED_MOST;
            ck_assert_int_eq(espi_slot_class(slot)->state == ESPI_CLASS_PLAIN, life == 1 && !served);
            espi_types_ending(espi_thread_state(&own_thread), type);
        }
        real.Type_free(&type);
        espi_types_stop();
    }
}
END_TEST

/* Single doubles, which the engine goes through as fast as the program, are packed where the library would stage
   them, and nowhere else; where other uses prevail, their types are left alone. */
START_TEST(staged)
{
    static const enum espi_packable uses[] = {ESPI_PACK_MESSAGE, ESPI_PACK_SCHEDULED, ESPI_PACK_STAGED};

    for (size_t k = 0; k < sizeof uses / sizeof *uses; k++) {
        struct espi_way way = {MPI_DATATYPE_NULL, NULL};
        struct espi_type_slot *slot;
        MPI_Datatype type;
        bool hoped = false;
        int made = 0;
        MPI_Type_vector(900, 1, 3, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        start(ESPI_MODE_AUTO);
        espi_type_service.packing = ESPI_MODE_AUTO;
        espi_type_service.one_node = true;
        espi_types_committed(espi_thread_state(&own_thread), type);
        slot = espi_slot_of(type);
        while (way.packed == NULL && made++ < 1000) {
            way = espi_types_blocks_way(&own_thread, type, 1, true, uses[k], 1, 1);
            hoped |= espi_slot_class(slot) != NULL && espi_slot_class(slot)->packs; /* to be tried, but by others */
        }
        ck_assert_int_eq(way.packed != NULL, uses[k] == ESPI_PACK_STAGED);
        ck_assert_int_eq(slot->plan != NULL, uses[k] == ESPI_PACK_STAGED);
        ck_assert_int_eq(hoped, uses[k] == ESPI_PACK_MESSAGE);
        if (way.packed != NULL)
            espi_plan_release(way.packed);
        for (made = 0; slot->plan != NULL && made < 1000; made++) {
            way = espi_types_blocks_way(&own_thread, type, 1, true, ESPI_PACK_SCHEDULED, 1, 1);
            ck_assert_ptr_null(way.packed);
        }
        ck_assert(slot->plan == NULL && espi_slot_class(slot)->state == ESPI_CLASS_PLAIN);
        espi_types_ending(espi_thread_state(&own_thread), type);
        real.Type_free(&type);
        espi_types_stop();
    }
}
END_TEST

/* A few single doubles are packed between nodes, too, in messages and in blocks, as that saves the library's general
   code for types with gaps; but not where packing them costs the same and nothing is saved. */
START_TEST(between_nodes)
{
    static const enum espi_packable uses[] = {ESPI_PACK_MESSAGE, ESPI_PACK_BLOCKS};

    for (size_t k = 0; k < sizeof uses / sizeof *uses; k++) {
        struct espi_way way = {MPI_DATATYPE_NULL, NULL};
        struct espi_type_slot *slot;
        MPI_Datatype type;
        MPI_Type_vector(64, 1, 10, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        start(ESPI_MODE_AUTO);
        espi_type_service.packing = ESPI_MODE_AUTO;
        espi_type_service.one_node = false;
        espi_types_committed(espi_thread_state(&own_thread), type);
        slot = espi_slot_of(type);
        for (int made = 0; way.packed == NULL && made < 1000; made++)
            way = espi_types_blocks_way(&own_thread, type, 1, true, uses[k], 1, 1);
        ck_assert_ptr_nonnull(way.packed);
        ck_assert(way.packed->improved); /* which is what the report says */
        espi_plan_release(way.packed);
        way = espi_types_blocks_way(&own_thread, type, 1, true, ESPI_PACK_SCHEDULED, 1, 1);
        ck_assert_ptr_null(way.packed);
        ck_assert_uint_gt(atomic_load(&slot->plan->record->saved_ps[ESPI_SAVED_ALONE]), 0);
        espi_types_ending(espi_thread_state(&own_thread), type);
        real.Type_free(&type);
        espi_types_stop();
    }
}
END_TEST

int main(int argc, char **argv)
{
    const TTest *const tests[] = {replaced, often, stopped, evicted, outgrown, strides_in_a_list,
                                  packing_alone, forms_when_used, program_again, of_no_use, staged,
                                  between_nodes};
    TCase *all = types_case(tests, sizeof tests / sizeof *tests);

    tcase_add_checked_fixture(all, begin, end);
    return types_run(argc, argv, "plan_improve", all);
}
