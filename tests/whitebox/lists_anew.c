/*
 * Lists that a program makes anew, each time another one (src/mpi/typeplan/tiers.h): what their families learn, by
 * programs that are played through. No MPI is called, and no time is read: what work takes is the script's.
 */
#include <mpi.h>

#include "base/settings.h"
#include "clock.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/tiers.h"
#include "suite.h"

enum { AUTO = ESPI_MODE_AUTO };

static uint64_t next(const struct espi_type_class *c, uint64_t made, bool planned)
{
    return espi_tiers_next_look(c, AUTO, made, planned);
}

static void open_budget(void)
{
    test_clock_stands();
    espi_admission_start(INT64_C(1) << 34);
    espi_admission_begins(UINT64_C(1) << 40);
}

/* A program that makes another list in each life, so that each is a class of its own: `uses` uses, of which each
   gains `gain` from the look on, and planning takes `price` nanoseconds. Lives in which a list was planned; `first`:
   of these, those in which that was with the second use. */
static int play_lists(uint64_t gain, uint64_t price, uint64_t uses, int lives, int *first)
{
    struct espi_type_family family = {.key = 1};
    int planned = 0;

    *first = 0;
    for (int i = 0; i < lives; i++) {
        struct espi_type_class c = {.hint = 1, .size = -1, .alive = 1};
        uint64_t made = 0, untold = 0, look = next(&c, 0, false);
        bool has = false;
        for (uint64_t n = 0; n < uses; n++)
            if (++untold >= look) {
                c.uses += untold, c.items += untold, made += untold;
                untold = 0;
                if (c.state == ESPI_CLASS_NEW)
                    c.state = ESPI_CLASS_COUNTED, c.size = 4000, c.numbers = 1000, c.family = &family;
                if (espi_tiers_due(&c, AUTO, has) > 0) {
                    has = true;
                    planned++;
                    *first += made == 2;
                    c.tier = 1;
                    c.state = gain > 0 ? ESPI_CLASS_BETTER : ESPI_CLASS_PLAIN;
                    c.gain_ns = gain;
                    espi_tiers_looked(&c, price / 2, price);
                    espi_tiers_learnt(&c);
                }
                look = next(&c, made, has);
            }
        c.uses += untold, c.items += untold, made += untold;
        espi_tiers_ended(&c, made);
    }
    return planned;
}

/* Other lists each time are planned, and at once, where that pays in each life; where it does not, hardly ever. */
START_TEST(other_lists)
{
    enum { LIVES = 1000 };
    int first;

    open_budget();
    ck_assert_int_eq(play_lists(500, 30000, 80, LIVES, &first), LIVES);
    ck_assert_int_ge(first, LIVES - 2);
    ck_assert_int_le(play_lists(500, 30000, 40, LIVES, &first), 2);
    ck_assert_int_le(play_lists(0, 30000, 200, LIVES, &first), 2);
    ck_assert_int_eq(play_lists(0, 30000, 2000, LIVES, &first), LIVES); /* a family is no proof */
}
END_TEST

/* What a look at the next type takes is what it took to plan one where most were of new layouts. */
START_TEST(new_layouts)
{
    struct espi_type_class c = {.hint = 1, .uses = 100, .items = 100, .alive = 1, .state = ESPI_CLASS_BETTER,
                                .size = 4000, .numbers = 1000, .gain_ns = 100, .tier = 1};

    c.recognized = ESPI_TIERS_PROVED;
    espi_tiers_looked(&c, 1000, 5000); /* the first of its class is new anyway */
    ck_assert_uint_eq(next(&c, 0, false), 10);
    espi_tiers_looked(&c, 1000, 6000);
    ck_assert_uint_eq(next(&c, 0, false), 50);
    espi_tiers_looked(&c, 1000, 0);
    ck_assert_uint_eq(next(&c, 0, false), 10);
    espi_tiers_looked(&c, 500, 0);
    ck_assert_uint_eq(next(&c, 0, false), 5);
}
END_TEST

/* A family learns what was found last, also where that is less than was thought; nothing of a process's first
   plan. */
START_TEST(learnt)
{
    struct espi_type_family family = {.key = 1};
    struct espi_type_class c = {.hint = 1, .alive = 1, .state = ESPI_CLASS_BETTER, .size = 4000, .numbers = 1000,
                                .gain_ns = 700, .make_ns = 9000, .cold = true, .family = &family};

    espi_tiers_learnt(&c);
    ck_assert_uint_eq(family.make_ns, 0);
    ck_assert_uint_eq(family.gain_ns, 0);
    c.cold = false;
    espi_tiers_learnt(&c);
    ck_assert_uint_eq(family.make_ns, 9000);
    ck_assert_uint_eq(family.gain_ns, 700);
    c.state = ESPI_CLASS_PLAIN;
    espi_tiers_learnt(&c);
    ck_assert_uint_eq(family.gain_ns, 0);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "lists_anew", other_lists, new_layouts, learnt);
}
