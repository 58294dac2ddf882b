/*
 * When a type is looked at, and by which tier it is planned (src/mpi/typeplan/tiers.h): each threshold from both
 * sides. No MPI is called, and no time is read.
 */
#include <mpi.h>

#include "random_types.h"
#include "suite.h"
#include "tiers_setup.h"

/* What is not known is asked for at the second use of its class, whichever type that is of. */
START_TEST(second_use)
{
    struct espi_type_class c = {.hint = 1, .alive = 1, .size = -1};

    open_budget();
    ck_assert_uint_eq(next(NULL, 0, false), 2);
    ck_assert_uint_eq(next(&c, 0, false), 2);
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, false), 0);
    c.uses = 1;
    ck_assert_uint_eq(next(&c, 0, false), 1);
}
END_TEST

/* Settings off and always ask for nothing that the class knows. */
START_TEST(other_settings)
{
    struct espi_type_class c = counted(1000, 8, 3);

    open_budget();
    for (int state = ESPI_CLASS_NEW; state <= ESPI_CLASS_REFUSED; state++) {
        c.state = (uint8_t)state;
        ck_assert_uint_eq(espi_tiers_next_look(&c, ESPI_MODE_OFF, 0, false), NEVER);
        ck_assert_int_eq(espi_tiers_due(&c, ESPI_MODE_OFF, false), 0);
        ck_assert_uint_eq(espi_tiers_next_look(&c, ESPI_MODE_ALWAYS, 0, false), 1);
        ck_assert_int_eq(espi_tiers_due(&c, ESPI_MODE_ALWAYS, false), 2);
        ck_assert_int_eq(espi_tiers_due(&c, ESPI_MODE_ALWAYS, true), 0);
        ck_assert_uint_eq(espi_tiers_next_look(&c, ESPI_MODE_ALWAYS, 1, false), NEVER);
        ck_assert_uint_eq(espi_tiers_next_look(&c, ESPI_MODE_ALWAYS, 1, true), ESPI_TIERS_AGAIN);
        ck_assert_uint_eq(espi_tiers_next_look(&c, ESPI_MODE_ALWAYS, 1000, true), 1000);
    }
    ck_assert_uint_eq(espi_tiers_next_look(NULL, ESPI_MODE_OFF, 0, false), NEVER);
    ck_assert_uint_eq(espi_tiers_next_look(NULL, ESPI_MODE_ALWAYS, 0, false), 1);
}
END_TEST

/* What was refused stays so. */
START_TEST(refused)
{
    struct espi_type_class c = counted(1 << 20, 1 << 20, 3);

    open_budget();
    c.state = ESPI_CLASS_REFUSED;
    ck_assert_uint_eq(next(&c, 0, false), NEVER);
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, false), 0);
}
END_TEST

/* The first tier is due with the use that pays for it, not one before; and that use is the one that is looked at, but
   for a thirtieth by which what a use loses is rounded. */
START_TEST(first_tier)
{
    open_budget();
    for (int i = 0; i < 2000; i++) {
        int64_t size = 1 + (int64_t)random_below(40000);
        struct espi_type_class c = counted(1 + random_below(5), size, random_below(30000));
        struct espi_type_class later = c;
        uint64_t price = espi_admission_rules(c.numbers), look, n;

        c.dense = later.dense = i % 3 == 0;
        look = next(&c, c.uses, false);
        ck_assert_uint_ge(look, 1);
        for (n = 1; later.uses = later.items = c.uses + n, espi_tiers_due(&later, AUTO, false) == 0; n++)
            ck_assert_uint_lt(lost(&later), price);
        ck_assert_int_eq(espi_tiers_due(&later, AUTO, false), 1);
        ck_assert_uint_ge(lost(&later), price);
        ck_assert_uint_ge(look, espi_tiers_due(&c, AUTO, false) == 0 ? n : 1);
        ck_assert_uint_le(look, espi_tiers_due(&c, AUTO, false) == 0 ? n + n / 30 + 1 : ESPI_TIERS_AGAIN);
    }
}
END_TEST

/* Nothing is planned until all classes together have lost what beginning takes; a class tells what it has lost since
   it was asked last, each time that it has been used twice as often. */
START_TEST(beginning)
{
    struct espi_type_class c = counted(10, 8000, 3), other = counted(1, 8000, 3);
    uint64_t told = 0;

    test_clock_stands();
    espi_admission_start(INT64_C(1) << 34);
    for (other.uses = other.items = 1; lost(&other) < 250000 - lost(&c); other.uses = ++other.items) {
        const bool tells = lost(&other) >= espi_admission_rules(3) && other.uses >= other.retry;
        ck_assert_int_eq(espi_tiers_due(&other, AUTO, false), 0);
        if (tells)
            told = lost(&other);
        ck_assert_uint_eq(other.told, told);
        ck_assert(!tells || other.retry == 2 * other.uses);
    }
    other.uses = other.items = other.retry;
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, false), 0);
    ck_assert_uint_eq(c.told, lost(&c));
    ck_assert_uint_gt(espi_tiers_next_look(&c, AUTO, 1, false), 1);
    ck_assert_int_eq(espi_tiers_due(&other, AUTO, false), 1);
    ck_assert_uint_eq(espi_tiers_next_look(&c, AUTO, 1, false), 1); /* not when it has been used twice as often */
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, false), 1);
}
END_TEST

/* A list of 25,000 displacements pays in a few uses, where messages go past it in parts. */
START_TEST(long_list)
{
    struct espi_type_class c = counted(1, 25000 * 12, 50001);
    uint64_t uses;

    open_budget();
    for (uses = 1; c.uses = c.items = uses, espi_tiers_due(&c, AUTO, false) == 0; uses++)
        ;
    ck_assert_uint_le(uses, 5);
}
END_TEST

/* A type of a class that has paid already is looked at with its first use. Where the budget is used up nothing is
   done, and it is asked for again when there were as many uses more. */
START_TEST(budget_used_up)
{
    struct espi_type_class c = counted(1000000, 8000, 3);

    open_budget();
    ck_assert_uint_eq(next(&c, 0, false), 1);
    ck_assert_uint_eq(next(&c, 1, false), 1);
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, false), 1);
    espi_admission_start(0);
    espi_admission_begins(UINT64_C(1) << 40);
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, false), ESPI_TIERS_DENIED);
    ck_assert_uint_eq(next(&c, 1, false), 1000000);
    ck_assert_uint_eq(next(&c, 0, false), 1000000);
    c.uses = c.items = 1999999;
    open_budget(); /* not even asked */
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, false), ESPI_TIERS_DENIED);
    ck_assert_uint_eq(next(&c, 1, false), 1);
    c.uses = c.items = 2000000;
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, false), 1);
    espi_admission_start(0);
    espi_admission_begins(UINT64_C(1) << 40);
    for (int better = 0; better < 2; better++) {
        c.state = better ? ESPI_CLASS_BETTER : ESPI_CLASS_PLAIN;
        c.tier = 1;
        c.parts = true;
        c.excess_ns = 1000;
        c.retry = 0;
        ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 0);
        ck_assert_uint_eq(next(&c, 5000, better), better ? 5000 : 2000000);
    }
}
END_TEST

/* Dear work has the tenth of the grant, and what was earned. */
START_TEST(dear)
{
    struct espi_type_class c = counted(1000000, 8000, 3);
    const uint64_t price = espi_admission_tree(3, 8000);

    c.state = ESPI_CLASS_PLAIN;
    c.tier = 1;
    c.parts = true;
    c.excess_ns = 1000;
    test_clock_stands();
    espi_admission_start((int64_t)(price / 1000000));
    espi_admission_begins(UINT64_C(1) << 40);
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 0);
    c.retry = 0;
    espi_admission_start((int64_t)(price / 100000) + 1);
    espi_admission_begins(UINT64_C(1) << 40);
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 2);
    c.retry = 0;
    espi_admission_start(0);
    espi_admission_begins(UINT64_C(1) << 40);
    espi_admission_gain(2 * price);
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 2);
}
END_TEST

/* With a better form known, a new type of the class has it at once if such types usually are used often enough; else
   when it has been itself. */
START_TEST(types_of_better)
{
    struct espi_type_class c = counted(0, 8000, 3);

    open_budget();
    c.state = ESPI_CLASS_BETTER;
    c.tier = 2;
    c.gain_ns = 100;
    c.look_ns = 1000;
    c.recognized = ESPI_TIERS_PROVED;
    ck_assert_uint_eq(next(&c, 0, false), 10); /* nothing is known of how often */
    ck_assert_uint_eq(next(&c, 9, false), 1);
    c.ended = 10;
    c.uses = 10 * 20 - 1;
    ck_assert_uint_eq(next(&c, 0, false), 10);
    c.uses = 10 * 20;
    ck_assert_uint_eq(next(&c, 0, false), 1);
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, false), 2);
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 0);
    ck_assert_uint_eq(next(&c, 1, true), ESPI_TIERS_AGAIN);
    c.tier = 1;
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, false), 1);
    c.gain_ns = 0; /* better, but not for the usual count */
    ck_assert_uint_eq(next(&c, 0, false), 1000);
}
END_TEST

/* What the last types were used for decides, as soon as one has ended, and not the mean. */
START_TEST(what_the_last_were_used_for)
{
    struct espi_type_class c = counted(1000000, 8000, 3);

    open_budget();
    c.ended = 10;
    espi_tiers_ended(&c, 1000); /* not known to have a better form */
    c.state = ESPI_CLASS_BETTER;
    c.gain_ns = 100;
    c.look_ns = 1000;
    c.recognized = ESPI_TIERS_PROVED;
    ck_assert_uint_eq(next(&c, 0, false), 1);
    espi_tiers_ended(&c, 9);
    ck_assert_uint_eq(next(&c, 0, false), 10);
    for (int i = 0; i < 1000; i++)
        espi_tiers_ended(&c, 10);
    ck_assert_uint_eq(next(&c, 0, false), 1);
    ck_assert_uint_eq(c.ended, 1012);
    for (int i = 0; i < 4; i++, espi_tiers_ended(&c, 1))
        ck_assert_uint_eq(next(&c, 0, false), 1);
    c.uses = 0; /* nor the mean, where as many were as were not */
    ck_assert_uint_eq(next(&c, 0, false), 10);
    for (int i = 0; i < 1000; i++)
        espi_tiers_ended(&c, 1);
    for (int i = 0; i < 4; i++, espi_tiers_ended(&c, 10))
        ck_assert_uint_eq(next(&c, 0, false), 10);
    espi_tiers_ended(&c, 10);
    ck_assert_uint_eq(next(&c, 0, false), 1);
}
END_TEST

/* What it takes to recognize a type is a guess until some were; where mostly other types come it stays one. */
START_TEST(to_be_proved)
{
    struct espi_type_class c = counted(1000, 8000, 3);

    open_budget();
    c.state = ESPI_CLASS_BETTER;
    c.tier = 1;
    c.gain_ns = 100;
    espi_tiers_looked(&c, 5000, 40000);
    for (int i = 0; i < ESPI_TIERS_PROVED; i++) {
        ck_assert_uint_eq(next(&c, 0, false), 1);
        espi_tiers_looked(&c, 2000 - 1000 * (uint64_t)i, 0);
    }
    ck_assert_uint_eq(next(&c, 0, false), 10);
    c.recognized = 0;
    espi_tiers_looked(&c, 5000, 40000);
    ck_assert_uint_eq(next(&c, 0, false), 1);
    espi_tiers_looked(&c, 5000, 40000);
    espi_tiers_looked(&c, 5000, 40000);
    ck_assert_uint_eq(next(&c, 0, false), 400);
}
END_TEST

/* What uses of a class are found to save takes the place of what was thought. */
START_TEST(found_to_save)
{
    struct espi_type_class c = counted(1000, 8000, 3);

    open_budget();
    espi_tiers_saved(&c, 51); /* nothing better is known of it */
    ck_assert_uint_eq(c.gain_ns, 0);
    c.state = ESPI_CLASS_BETTER;
    c.gain_ns = 100;
    c.look_ns = 1000;
    c.recognized = ESPI_TIERS_PROVED;
    ck_assert_uint_eq(next(&c, 0, false), 10);
    espi_tiers_saved(&c, 51);
    ck_assert_uint_eq(next(&c, 0, false), 20);
    espi_tiers_saved(&c, 0); /* that is not known of the last one */
    ck_assert_uint_eq(next(&c, 0, false), 20);
    espi_tiers_saved(&c, 1); /* what was better is not any more: few are looked at, and those used very often */
    ck_assert_uint_eq(c.gain_ns, 50);
    for (int i = 0; i < 96; i++) {
        c.ended = (uint64_t)i / 2;
        c.alive = (uint32_t)(i + 1) / 2;
        ck_assert_uint_eq(next(&c, 0, false), i % 48 < 3 ? 1 : 1000);
    }
    c.recognized = 0; /* what a look takes is to be known all the same */
    ck_assert_uint_eq(next(&c, 0, false), 1);
    c.recognized = ESPI_TIERS_PROVED;
    c.ended = 0;
    espi_tiers_saved(&c, 51);
    ck_assert_uint_eq(next(&c, 0, false), 20);
}
END_TEST

/* The second tier is due when what the best form would have saved has paid for it, once, and never where nothing can
   be better than what is in use. */
START_TEST(second_tier)
{
    struct espi_type_class c = counted(0, 40000, 1000);
    const uint64_t price = espi_admission_tree(1000, 40000), uses = (price + 699) / 700;

    open_budget();
    c.tier = 1;
    c.parts = true;
    for (int state = ESPI_CLASS_PLAIN; state <= ESPI_CLASS_BETTER; state++) {
        c.state = (uint8_t)state;
        c.excess_ns = 700;
        c.uses = c.items = uses - 1;
        ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 0);
        ck_assert_uint_eq(next(&c, uses - 1, state == ESPI_CLASS_BETTER), 1);
        c.uses = c.items = uses - 11;
        ck_assert_uint_eq(next(&c, 1, state == ESPI_CLASS_BETTER), 11);
        c.uses = c.items = uses;
        ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 2);
        c.tier = 2;
        ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 0);
        c.tier = 1;
        c.excess_ns = 0;
        ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 0);
        ck_assert_uint_eq(next(&c, 1, state == ESPI_CLASS_BETTER),
                          state == ESPI_CLASS_BETTER ? (uint64_t)ESPI_TIERS_AGAIN : NEVER);
    }
}
END_TEST

/* What is best as it is in one part of a message is planned once more when uses become longer than that. */
START_TEST(outgrown)
{
    struct espi_type_class c = counted(100, PART / 2, 3);

    open_budget();
    c.state = ESPI_CLASS_PLAIN;
    c.tier = 2;
    c.items = 2 * c.uses;
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 0);
    ck_assert_uint_eq(next(&c, 0, false), ESPI_TIERS_AGAIN);
    c.items += 1 + c.uses / (PART / 2); /* more than a part, by a byte */
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 2);
    c.parts = true; /* it has been */
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 0);
    ck_assert_uint_eq(next(&c, 0, false), NEVER);
    c.parts = false;
    c.size = PART + 1; /* one item already is */
    ck_assert_uint_eq(next(&c, 0, false), NEVER);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "tiers", second_use, other_settings, refused, first_tier, beginning, long_list,
                     budget_used_up,
                     dear, types_of_better, what_the_last_were_used_for, to_be_proved, found_to_save, second_tier,
                     outgrown);
}
