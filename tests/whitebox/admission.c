/*
 * When a type has earned Espalier's work (src/mpi/typeplan/admission.h): the estimates, the budget and what it is
 * used up by, and with which use a type is read back (tiers.c has the rest). The clock is set by the test. One
 * process, calling what the core's handlers call.
 */
#include <check.h>
#include <mpi.h>

#include "clock.h"
#include "mpi/core/thread_state.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/type_cache.h"
#include "suite.h"
#include "type_service.h"

/* What is asked before work is done: each estimate from both sides. */
START_TEST(rule)
{
    uint64_t estimate = espi_admission_estimate(2001, 8000);

    ck_assert_uint_eq(estimate, 60000 + 200 * 2001 + 12 * 8000);
    ck_assert_uint_eq(espi_admission_estimate(0, 40000), 60000 + 12 * 32768);
    ck_assert_uint_eq(espi_admission_tree(2001, 8000), 1000000 + 300 * 2001 + 500 * 8000);
    ck_assert_uint_eq(espi_admission_tree(0, 40000), 1000000 + 500 * 32768);
    ck_assert_uint_eq(espi_admission_rules(0), 2500);
    ck_assert_uint_eq(espi_admission_rules(25000), 2500 + 40 * 25000);
    ck_assert_uint_eq(espi_admission_spent(10, 8000, false), 300 + 4000);
    ck_assert_uint_eq(espi_admission_spent(10, 8000, true), 300 + 500);
    ck_assert_uint_eq(espi_admission_walked(10, 80000, 1000), 0);
    ck_assert_uint_eq(espi_admission_walked(10, 80010, 1000), 8 * 1000 * 10);
    ck_assert_uint_eq(espi_admission_walked(0, 1000000, 1000), 0);
    ck_assert(!espi_admission_earned(3, 8 * estimate - 1, estimate));
    ck_assert(espi_admission_earned(4, 8 * estimate - 1, estimate));
    ck_assert(!espi_admission_earned(1, 8 * estimate - 1, estimate));
    ck_assert(espi_admission_earned(1, 8 * estimate, estimate));
    ck_assert(!espi_admission_earned(1000, estimate - 1, estimate));
    ck_assert(espi_admission_earned(1000, estimate, estimate));
}
END_TEST

/* What planning took lately is in its price, less what the numbers of lists explain; what took very long counts as
   eight times the mean, and a start forgets it. */
START_TEST(as_it_took)
{
    espi_admission_learns = true;
    espi_admission_start(10);
    espi_admission_made(0, 2500);
    espi_admission_made(100, 2500 + 40 * 100);
    espi_admission_made(100, 0);
    ck_assert_uint_eq(espi_admission_rules(0), 2500); /* at least */
    espi_admission_made(100, 10500 + 40 * 100);
    ck_assert_uint_eq(espi_admission_rules(0), 2500 - 312 + 1312);
    ck_assert_uint_eq(espi_admission_rules(10), 3500 + 40 * 10);
    espi_admission_made(0, UINT64_C(1) << 60);
    ck_assert_uint_eq(espi_admission_rules(0), 3500 - 437 + 3500);
    for (int i = 0; i < 100; i++)
        espi_admission_made(0, 20000);
    ck_assert_uint_ge(espi_admission_rules(0), 19900);
    ck_assert_uint_le(espi_admission_rules(0), 20000);
    for (int i = 0; i < 100; i++)
        espi_admission_made(0, 0);
    ck_assert_uint_eq(espi_admission_rules(0), 2500);
    espi_admission_made(0, 9999);
    espi_admission_start(10);
    ck_assert_uint_eq(espi_admission_rules(0), 2500);
}
END_TEST

/* The grant is for all work, a tenth of it for work that leads to nothing; half of what is saved adds to both. */
START_TEST(budget)
{
    const uint64_t PART = 1000000;

    test_clock_stands();
    espi_admission_start(10);
    ck_assert(espi_admission_open(10 * PART) && !espi_admission_open(10 * PART + 1));
    espi_admission_book(9 * PART);
    ck_assert(espi_admission_open(PART) && !espi_admission_open(PART + 1));
    espi_admission_idle(PART); /* of what was booked */
    ck_assert(espi_admission_open(PART) && !espi_admission_open(PART + 1));
    espi_admission_idle(2);
    ck_assert(!espi_admission_open(0));
    espi_admission_gain(3);
    ck_assert(!espi_admission_open(0));
    espi_admission_gain(1);
    ck_assert(espi_admission_open(PART + 2) && !espi_admission_open(PART + 3));
    espi_admission_start(0);
    ck_assert(espi_admission_open(0) && !espi_admission_open(1));
    espi_admission_gain(2 * PART);
    espi_admission_idle(PART);
    ck_assert(espi_admission_open(PART) && !espi_admission_open(PART + 1));
    espi_admission_idle(1);
    ck_assert(!espi_admission_open(0));
}
END_TEST

/* For dear work there is a tenth of the grant, and what was saved. */
START_TEST(dear)
{
    const uint64_t PART = 1000000;

    test_clock_stands();
    espi_admission_start(10);
    ck_assert(espi_admission_open_dear(PART) && !espi_admission_open_dear(PART + 1));
    espi_admission_book(PART);
    ck_assert(espi_admission_open_dear(0) && !espi_admission_open_dear(1));
    espi_admission_gain(8 * PART);
    ck_assert(espi_admission_open_dear(4 * PART) && !espi_admission_open_dear(4 * PART + 1));
    espi_admission_idle(5 * PART + 1); /* nothing at all then */
    ck_assert(!espi_admission_open_dear(0) && !espi_admission_open(0));
}
END_TEST

/* And 1 % of the time that has passed, as far as the process had a processor; of what threads had together no more
   than what has passed. */
START_TEST(share)
{
    const uint64_t SECOND = 1000000000;

    test_clock_stands();
    test_clock.cpu = 0;
    espi_admission_start(0);
    test_clock_passes(SECOND, SECOND);
    ck_assert(espi_admission_open(SECOND / 100) && !espi_admission_open(SECOND / 100 + 1));
    test_clock_passes(SECOND, 0); /* others had it */
    ck_assert(espi_admission_open(SECOND / 100) && !espi_admission_open(SECOND / 100 + 1));
    test_clock_passes(0, SECOND);
    ck_assert(espi_admission_open(SECOND / 50) && !espi_admission_open(SECOND / 50 + 1));
    test_clock_passes(0, 3 * SECOND); /* four threads */
    ck_assert(espi_admission_open(SECOND / 50) && !espi_admission_open(SECOND / 50 + 1));
    espi_admission_idle(SECOND / 50);
    ck_assert(espi_admission_open(SECOND / 50));
    espi_admission_idle(1);
    ck_assert(!espi_admission_open(0));
}
END_TEST

/* Planning begins in a process when uses have lost what that takes. */
START_TEST(beginning)
{
    espi_admission_start(10);
    ck_assert(!espi_admission_begins(0) && !espi_admission_begins(249000) && !espi_admission_begins(999));
    ck_assert(espi_admission_begins(1) && espi_admission_begins(0));
    espi_admission_start(10);
    ck_assert(!espi_admission_begins(249999) && espi_admission_begins(1));
}
END_TEST

/* Work is booked by the time of the thread that does it. */
START_TEST(by_the_clock)
{
    uint64_t begun;

    test_clock_stands();
    begun = espi_admission_clock();
    test_clock_passes(1000, 7);
    ck_assert_uint_eq(espi_admission_clock() - begun, 7);
}
END_TEST

/* ---- types that are used ---- */

/* A vector that was seen made. */
static MPI_Datatype vector(int n, int stride)
{
    MPI_Datatype type;
    const espi_word args[5] = {n, 1, stride, MPI_DOUBLE, (espi_word)&type};

    MPI_Type_vector(n, 1, stride, MPI_DOUBLE, &type);
    note_made(ESPI_FN_Type_vector, args);
    MPI_Type_commit(&type);
    espi_types_committed(espi_thread_state(&own_thread), type);
    return type;
}

static void free_seen(MPI_Datatype *type)
{
    espi_types_ending(espi_thread_state(&own_thread), *type);
    MPI_Type_free(type);
}

static uint64_t each_of(int n, int stride)
{
    return espi_admission_spent(1, 8 * (uint64_t)n, stride == 1);
}

/* With which use a type is read back: when what may be saved by then is what that costs; without gaps that takes the
   longer. Which of its types are used makes no difference to a class. */
START_TEST(read_at)
{
    static const struct {
        int n, stride;
        uint64_t read;
    } of[] = {{1000, 3, 2}, {1000, 1, 5}, {10, 3, 38}, {10, 1, 75}};

    test_clock_stands();
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const uint64_t each = each_of(of[i].n, of[i].stride), price = espi_admission_rules(3);

        ck_assert_uint_eq(of[i].read, (price - 1) / each + 1 > 2 ? (price - 1) / each + 1 : 2);
        for (uint64_t life = 1; life <= of[i].read + 1; life += 1 + life / 3) { /* uses of each type */
            MPI_Datatype type = MPI_DATATYPE_NULL;
            start(ESPI_MODE_AUTO);
            uint64_t before = counted(ESPI_COUNT_types_decoded);
            /* What is used once by the first type of a class is not known of. */
            for (uint64_t uses = 1; uses <= of[i].read + (life == 1); uses++) {
                ck_assert_msg(counted(ESPI_COUNT_types_decoded) == before, "type %zu before use %d", i, (int)uses);
                if ((uses - 1) % life == 0) {
                    if (type != MPI_DATATYPE_NULL)
                        free_seen(&type);
                    type = vector(of[i].n, of[i].stride);
                }
                espi_types_better(&own_thread, type, 1, true);
            }
            ck_assert_uint_eq(counted(ESPI_COUNT_types_decoded) - before, 1);
            free_seen(&type);
            espi_types_stop();
        }
    }
}
END_TEST

/* Once a layout is found to be best as it is, no type of its class is looked at, nor is the budget asked. */
START_TEST(settled)
{
    MPI_Datatype type;

    test_clock_stands();
    start(ESPI_MODE_AUTO);
    type = vector(3000, 1);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(espi_types_better(&own_thread, type, 1, true), type);
    free_seen(&type);
    uint64_t decoded = counted(ESPI_COUNT_types_decoded), left = counted(ESPI_COUNT_left_not_better);
    for (int i = 0; i < 100; i++) {
        type = vector(3000, 1);
        espi_types_better(&own_thread, type, 1, true);
        free_seen(&type);
    }
    ck_assert_uint_eq(counted(ESPI_COUNT_types_decoded), decoded);
    ck_assert_uint_eq(counted(ESPI_COUNT_left_not_better) - left, 100);
    espi_types_stop();
}
END_TEST

/* Types made like one that could not be planned are not planned either, and are counted so; but one keeps the plan it
   has. */
START_TEST(refused)
{
    for (int planned = 0; planned < 2; planned++) {
        test_clock_stands();
        start(ESPI_MODE_AUTO);
        MPI_Datatype type = vector(3000, 1 + planned);
        for (int i = 0; i < 100; i++)
            espi_types_better(&own_thread, type, 1, true);
        struct espi_type_slot *slot = espi_slot_of(type);
        struct espi_type_class *class = espi_slot_class(slot);
        struct espi_plan *plan = atomic_load(&slot->plan);
        ck_assert(class != NULL && (plan != NULL) == planned);
        class->state = ESPI_CLASS_REFUSED;
        if (planned) {
            atomic_store(&slot->look, 0);
            espi_types_better(&own_thread, type, 1, true);
            ck_assert(slot->plan == plan && slot->settled == ESPI_NOT_SETTLED);
        }
        free_seen(&type);
        for (int unknown = 0; unknown < 2; unknown++) { /* of which class it is, when it begins */
            const uint64_t before = counted(ESPI_COUNT_left_unplanned), decoded = counted(ESPI_COUNT_types_decoded);
            type = vector(3000, 1 + planned);
            slot = espi_slot_of(type);
            ck_assert_int_eq(slot->settled, ESPI_SETTLED_UNPLANNED);
            if (unknown) {
                atomic_store(&slot->settled, ESPI_NOT_SETTLED);
                slot->how = class->hint;
                atomic_store(&slot->look, 0);
            }
            ck_assert_int_eq(espi_types_better(&own_thread, type, 1, true), type);
            ck_assert(espi_slot_class(slot) == class && slot->settled == ESPI_SETTLED_UNPLANNED);
            ck_assert_uint_eq(counted(ESPI_COUNT_left_unplanned), before + 1);
            ck_assert_uint_eq(counted(ESPI_COUNT_types_decoded), decoded);
            free_seen(&type);
        }
        espi_types_stop();
    }
}
END_TEST

/* Reading back what shows nothing better is work that led to nothing, and booked by the clock; where something is
   better it is booked alone. */
START_TEST(looks_idle)
{
    test_clock_stands();
    for (int better = 0; better < 2; better++) {
        MPI_Datatype type;
        start(ESPI_MODE_AUTO);
        espi_admission_start(3000);
        espi_admission_begins(UINT64_C(1) << 40);
        type = better ? irregular(20000, 1) : vector(100000, 1);
        if (better)
            espi_types_committed(espi_thread_state(&own_thread), type);
        test_clock.each = 100000000;
        for (int i = 0; i < 5; i++)
            espi_types_better(&own_thread, type, 1, false);
        test_clock.each = 0;
        ck_assert_int_eq(espi_types_better(&own_thread, type, 1, false) != type, better);
        ck_assert(!espi_admission_open(3000000000u));
        ck_assert_int_eq(espi_admission_open(0), better);
        free_seen(&type);
        espi_types_stop();
    }
}
END_TEST

/* Uses of a list until it is read back, at most LONG. */
enum { LIST = 20000, LONG = 100 };
static int read_after(int salt)
{
    const uint64_t decoded = counted(ESPI_COUNT_types_decoded);
    MPI_Datatype type = irregular(LIST, salt);
    int uses = 0;

    espi_types_committed(espi_thread_state(&own_thread), type);
    while (uses < LONG && counted(ESPI_COUNT_types_decoded) == decoded) {
        espi_types_better(&own_thread, type, 1, false);
        uses++;
    }
    free_seen(&type);
    return uses;
}

/* What lists of a family take to be planned is what the last ones took, but for the first plan of a process: most of
   that is what is done once, and such a list that comes again does not make it more. */
START_TEST(first_plan)
{
    const uint64_t bytes = (uint64_t)LIST * 3 * sizeof(double), price = espi_admission_rules(LIST + 2),
                   each = espi_admission_spent(1, bytes, false) + espi_admission_walked(1, bytes, LIST + 2);
    const int by_rules = (int)(price / each) + 1;

    test_clock_stands();
    start(ESPI_MODE_AUTO);
    espi_admission_start(INT64_C(1) << 34);
    espi_admission_begins(UINT64_C(1) << 40);
    test_clock.each = 100000000;
    ck_assert_int_eq(read_after(1), by_rules);
    const uint64_t recognized = counted(ESPI_COUNT_types_recognized);
    ck_assert_int_eq(read_after(1), LONG);
    ck_assert_uint_gt(counted(ESPI_COUNT_types_recognized), recognized);
    ck_assert_int_eq(read_after(2), by_rules);
    ck_assert_int_eq(read_after(3), LONG);
    espi_types_stop();
}
END_TEST

/* Uses of a new vector until it is read back. */
static int read_vector_after(int n)
{
    const uint64_t decoded = counted(ESPI_COUNT_types_decoded);
    MPI_Datatype type = vector(n, 3);
    int uses = 0;

    while (counted(ESPI_COUNT_types_decoded) == decoded && uses < 10 * LONG) {
        espi_types_better(&own_thread, type, 1, false);
        uses++;
    }
    free_seen(&type);
    return uses;
}

/* Types of other classes wait longer where planning takes long: but for the first plan of a process, again. */
START_TEST(dear_plans)
{
    test_clock_stands();
    start(ESPI_MODE_AUTO);
    espi_admission_learns = true;
    espi_admission_start(INT64_C(1) << 34);
    espi_admission_begins(UINT64_C(1) << 40);
    test_clock.each = 100000;
    for (int n = 10, last = 0; n < 14; n++) {
        const uint64_t price = espi_admission_rules(3), each = each_of(n, 3);
        ck_assert_int_eq(read_vector_after(n), (int)((price - 1) / each) + 1);
        ck_assert_int_eq(espi_admission_rules(3) > price, n > 10);
        ck_assert_int_ge((int)price, last);
        last = (int)price;
    }
    espi_types_stop();
}
END_TEST

/* Nothing granted, nothing done; what is used up is asked for again some time. */
START_TEST(nothing_granted)
{
    MPI_Datatype type;
    uint64_t decoded;

    test_clock_stands();
    start(ESPI_MODE_AUTO);
    espi_admission_start(0);
    espi_admission_begins(UINT64_C(1) << 40);
    type = vector(100000, 3);
    decoded = counted(ESPI_COUNT_types_decoded);
    for (int i = 0; i < 1000; i++)
        espi_types_better(&own_thread, type, 1, false);
    ck_assert_uint_eq(counted(ESPI_COUNT_types_decoded), decoded);
    test_clock_passes(1000000, 1000000); /* 1 % of it will do for the first tier, not for the second */
    for (int i = 0; i < 1100; i++)
        espi_types_better(&own_thread, type, 1, false);
    ck_assert_uint_eq(counted(ESPI_COUNT_types_decoded) - decoded, 1);
    free_seen(&type);
    espi_types_stop();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "types_earned", rule, as_it_took, budget, dear, share, beginning, by_the_clock,
                     read_at, settled, refused, looks_idle, first_plan, dear_plans, nothing_granted);
}
