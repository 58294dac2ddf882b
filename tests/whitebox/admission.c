/*
 * When a type has earned Espalier's work (src/mpi/typeplan/admission.h, type_class.h): each threshold from both
 * sides, by the rule alone and by uses of types; and what the budget is used up by. One process, calling what the
 * core's handlers call.
 */
#include <check.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi/typeplan/admission.h"
#include "mpi/datatype/decode.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/core/thread_state.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/typeplan/type_cache.h"
#include "stats/snapshot.h"
#include "suite.h"
#include "type_service.h"

static uint64_t counted(enum espi_counter counter)
{
    struct espi_report report = ESPI_REPORT_INIT;
    uint64_t sum;

    ck_assert_int_eq(espi_stats_collect(&report), ESPI_OK);
    sum = report.counter[counter].sum;
    espi_report_release(&report);
    return sum;
}

/* Planned when what may have been saved reaches what planning costs. */
START_TEST(rule)
{
    uint64_t estimate = espi_admission_estimate(2001, 8000);

    ck_assert_uint_eq(estimate, 1000000 + 300 * 2001 + 60 * 8000);
    ck_assert_uint_eq(espi_admission_estimate(0, 40000), 1000000 + 60 * 32768);
    ck_assert_uint_eq(espi_admission_spent(10, 8000, false), 300 + 4000);
    ck_assert_uint_eq(espi_admission_spent(10, 8000, true), 300 + 500);
    ck_assert(!espi_admission_earned(3, UINT64_MAX, estimate));
    ck_assert(espi_admission_earned(4, UINT64_MAX, estimate));
    ck_assert(!espi_admission_earned(1000, estimate - 1, estimate));
    ck_assert(espi_admission_earned(1000, estimate, estimate));
    for (uint64_t each = 1; each < 1000000; each += 1 + each / 2) {
        uint64_t uses = espi_admission_uses(each, estimate);

        ck_assert(espi_admission_earned(uses < 4 ? 4 : uses, each * uses, estimate));
        ck_assert(uses < 2 || !espi_admission_earned(uses, each * (uses - 2), estimate));
    }
    ck_assert_uint_eq(espi_admission_uses(0, 100), 101);
}
END_TEST

/* The grant is for all work, a tenth of it for work that leads to nothing; half of what is saved adds to both. All
   is so large that 1 % of the processor time, even of a test that stood still for a while, is less than `LITTLE`. */
START_TEST(budget)
{
    const uint64_t PART = 10000000000, LITTLE = PART / 5;

    espi_admission_start(100000);
    ck_assert(espi_admission_open(10 * PART) && !espi_admission_open(10 * PART + LITTLE));
    espi_admission_book(9 * PART);
    ck_assert(espi_admission_open(PART) && !espi_admission_open(PART + LITTLE));
    espi_admission_idle(PART); /* of what was booked */
    ck_assert(espi_admission_open(PART) && !espi_admission_open(PART + LITTLE));
    espi_admission_idle(LITTLE);
    ck_assert(!espi_admission_open(0));
    espi_admission_gain(LITTLE);
    ck_assert(!espi_admission_open(0));
    espi_admission_gain(LITTLE);
    ck_assert(espi_admission_open(PART) && !espi_admission_open(PART + 2 * LITTLE));
    espi_admission_start(0);
    ck_assert(!espi_admission_open(LITTLE));
    espi_admission_gain(2 * PART);
    espi_admission_idle(PART);
    ck_assert(espi_admission_open(PART) && !espi_admission_open(PART + LITTLE));
    espi_admission_idle(LITTLE);
    ck_assert(!espi_admission_open(0));
}
END_TEST

/* And 1 % of the processor time, with nothing granted. */
START_TEST(share)
{
    uint64_t begun, spent;

    espi_admission_start(0);
    begun = espi_admission_clock();
    while ((spent = espi_admission_clock() - begun) < 100000000)
        ;
    ck_assert(espi_admission_open(spent / 200) && !espi_admission_open(50 * spent));
    espi_admission_idle(spent / 200);
    ck_assert(espi_admission_open(spent / 200));
    espi_admission_idle(50 * spent);
    ck_assert(!espi_admission_open(0));
}
END_TEST

/* A kind without gaps is known as one: what looks like it and has gaps is of another kind. */
START_TEST(kinds)
{
    static const struct {
        MPI_Aint true_extent, extent;
        bool dense;
    } of[] = {{16, 16, true}, {24, 24, false}, {24, 16, false}, {16, 24, false}, {32, 24, false}, {16, 0, false}};
    struct espi_class_facts kind[sizeof of / sizeof *of];

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        MPI_Aint at[2] = {0, of[i].true_extent - 8};
        MPI_Datatype pair, type;

        MPI_Type_create_hindexed_block(2, 1, at, MPI_DOUBLE, &pair);
        MPI_Type_create_resized(pair, 0, of[i].extent, &type);
        MPI_Type_commit(&type);
        ck_assert(espi_class_of(type, &kind[i]));
        ck_assert_msg(kind[i].size == 16 && kind[i].dense == of[i].dense, "type %zu", i);
        for (size_t k = 0; k < i; k++)
            ck_assert((kind[i].key == kind[k].key) == (of[i].extent == of[k].extent && of[i].extent == 24));
        MPI_Type_free(&pair);
        MPI_Type_free(&type);
    }
}
END_TEST

/* With which use a type is planned: when what may be saved by then is what planning costs. Without gaps that takes
   the longer. The eighth use looks at the type, and knows. */
START_TEST(planned_at)
{
    static const struct {
        int stride;
        uint64_t numbers, each, planned;
    } of[] = {{3, 3, 30 + 8000 / 2, 368}, {1, 3, 30 + 8000 / 16, 2795}};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        uint64_t estimate = 1000000 + 300 * of[i].numbers + 60 * 8000;
        struct espi_type_slot *s;
        MPI_Datatype type;

        ck_assert_uint_eq(of[i].planned, estimate / of[i].each + 1);
        start(ESPI_MODE_AUTO);
        MPI_Type_vector(1000, 1, of[i].stride, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        espi_types_committed(espi_thread_state(&own_thread), type);
        s = espi_slot_of(type);
        for (uint64_t uses = 1; uses <= of[i].planned; uses++) {
            ck_assert_ptr_null(atomic_load(&s->plan));
            espi_types_better(&own_thread, type, 1, true);
            ck_assert(uses < 8 || uses == of[i].planned || atomic_load(&s->look) == of[i].planned);
        }
        ck_assert_ptr_nonnull(atomic_load(&s->plan));
        espi_types_ending(espi_thread_state(&own_thread), type);
        MPI_Type_free(&type);
        espi_types_stop();
    }
}
END_TEST

/* A kind has earned a look at its layouts when its types together have, not a use before. */
START_TEST(kind_earns)
{
    struct espi_class_facts kind;
    MPI_Datatype type;
    uint64_t uses, bytes;

    for (int i = 0; i < 2; i++) {
        bool dense = i > 0;
        uint64_t estimate = 1000000 + 300 * 3 + 60 * 8000, each = 30 + 8000 / (dense ? 16 : 2);
        uint64_t most = (estimate - 1) / each; /* uses that have not earned it */

        for (uint64_t before = most - 1; before <= most; before++) {
            start(ESPI_MODE_AUTO);
            MPI_Type_vector(1000, 1, dense ? 1 : 4, MPI_DOUBLE, &type);
            MPI_Type_commit(&type);
            ck_assert(espi_class_of(type, &kind) && kind.dense == dense);
            espi_class_use(kind.key, 1, before, before * 8000, &uses, &bytes);
            uint64_t decoded = counted(ESPI_COUNT_types_decoded);
            espi_types_committed(espi_thread_state(&own_thread), type);
            espi_types_better(&own_thread, type, 1, true);
            ck_assert_uint_eq(counted(ESPI_COUNT_types_decoded) - decoded, before == most);
            espi_types_ending(espi_thread_state(&own_thread), type);
            MPI_Type_free(&type);
            espi_types_stop();
        }
    }
}
END_TEST

/* Looks at layouts of a kind that show nothing better are work that led to nothing; others are not. */
START_TEST(looks_idle)
{
    enum { MANY = 1 << 20, GRANT_MS = 10, GRANT = GRANT_MS * 1000000 };
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_class_facts kind;
    struct espi_decoded d;
    struct espi_plan *plan = NULL;
    uint64_t uses, bytes, took;
    MPI_Datatype type;
    int *at = malloc(MANY * sizeof *at);

    for (int i = 0; i < MANY; i++)
        at[i] = 3 * i;
    MPI_Type_create_indexed_block(MANY, 1, at, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    ck_assert(espi_class_of(type, &kind));
    for (uint64_t gain = 0; gain < 3; gain++) { /* not known; known, as bad; known, and better */
        start(ESPI_MODE_AUTO);
        ck_assert_int_eq(espi_decode(&arena, type, 0, &d), ESPI_OK); /* the first one takes longer */
        if (gain > 0) {
            plan = espi_plan_make(&(struct espi_plan_request){type, &d, ESPI_MODE_ALWAYS, false, 1});
            ck_assert_ptr_nonnull(plan);
            plan->gain_ns = gain - 1;
        }
        espi_class_use(kind.key, 1, 1 << 20, (uint64_t)1 << 43, &uses, &bytes);
        took = counted(ESPI_COUNT_time_decode);
        uint64_t begun = espi_stats_now();
        espi_admission_start(GRANT_MS);
        espi_types_committed(espi_thread_state(&own_thread), type);
        espi_types_better(&own_thread, type, 1, true);
        took = counted(ESPI_COUNT_time_decode) - took;
        ck_assert_uint_gt(took, 0);
        printf("types_earned: a look of %.1f ms\n", 1e-6 * (double)took);
        bool open = espi_admission_open(0);
        begun = espi_stats_now() - begun;
        if (gain < 2 && took > GRANT / 10 + begun / 100) /* too much for nothing */
            ck_assert(!open);
        if (gain == 2 && took < GRANT)
            ck_assert(open);
        espi_types_ending(espi_thread_state(&own_thread), type);
        if (plan != NULL)
            espi_plan_release(plan);
        espi_arena_release(&arena);
        espi_types_stop();
    }
    MPI_Type_free(&type);
    free(at);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "types_earned", rule, budget, share, kinds, planned_at, kind_earns, looks_idle);
}
