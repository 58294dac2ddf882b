/*
 * When a type is looked at, and by which tier it is planned (src/mpi/typeplan/tiers.h): each threshold from both
 * sides, and the promise of rent or buy, by programs that are played through: what they lose and what Espalier's work
 * takes is about twice what would have been best, never more. No MPI is called, and no time is read: what work takes
 * is the script's.
 */
#include <mpi.h>
#include <stdio.h>

#include "base/settings.h"
#include "clock.h"
#include "mpi/typeplan/admission.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/typeplan/tiers.h"
#include "random_types.h"
#include "suite.h"

enum { AUTO = ESPI_MODE_AUTO, PART = ESPI_ENGINE_PART };
#define NEVER UINT64_MAX

static uint64_t next(const struct espi_type_class *c, uint64_t made, bool planned)
{
    return espi_tiers_next_look(c, AUTO, made, planned);
}

static void open_budget(void)
{
    test_clock_stands();
    espi_admission_start(INT64_C(1) << 34);
}

/* A class that was counted: `uses` uses of one item. */
static struct espi_type_class counted(uint64_t uses, int64_t size, uint64_t numbers)
{
    return (struct espi_type_class){.hint = 1, .uses = uses, .items = uses, .alive = 1,
                                    .state = ESPI_CLASS_COUNTED, .size = size, .numbers = numbers};
}

/* What its uses are estimated to have lost. */
static uint64_t lost(const struct espi_type_class *c)
{
    return espi_admission_spent(c->uses, c->items * (uint64_t)c->size, c->dense) +
           espi_admission_walked(c->uses, c->items * (uint64_t)c->size, c->numbers);
}

/* What a use of one item of such a class is estimated to lose. */
static uint64_t each_of(const struct espi_type_class *c)
{
    return espi_admission_spent(1, (uint64_t)c->size, c->dense) +
           espi_admission_walked(1, (uint64_t)c->size, c->numbers);
}

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
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 0);
    c.retry = 0;
    espi_admission_start((int64_t)(price / 100000) + 1);
    ck_assert_int_eq(espi_tiers_due(&c, AUTO, true), 2);
    c.retry = 0;
    espi_admission_start(0);
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

/* ---- programs ---- */

/* One class. The native form loses `lost[0]` in each use against the best conceivable one, the first tier's form
   `lost[1]`, the second's none. Finding them takes `price`, reading back a type whose plan is known takes `look`. */
struct program {
    int64_t size;
    uint64_t numbers, lost[3], price[3], look;
};

struct played {
    uint64_t uses, loss, work, looks, best;
    int tier; /* in the end */
};

/* What would have been best, knowing all of the program before: nothing, the first tier, or both at once. */
static uint64_t best_of(const struct program *p, const uint64_t *uses, int lives)
{
    uint64_t least = NEVER;

    for (int tier = 0; tier < 3; tier++) {
        uint64_t sum = tier == 0 ? 0 : p->price[tier];
        for (int i = 0; i < lives; i++) {
            uint64_t native = uses[i] * p->lost[0], bought = p->look + uses[i] * p->lost[tier];
            sum += tier == 0 || native < bought ? native : bought;
        }
        least = sum < least ? sum : least;
    }
    return least;
}

/* As type_cache.c does it. The i-th type of the class is used `uses[i]` times. */
static struct played play(const struct program *p, const uint64_t *uses, int lives)
{
    struct espi_type_class c = {.hint = 1, .size = -1};
    struct played out = {0};

    for (int i = 0; i < lives; i++) {
        uint64_t made = 0, untold = 0, look;
        bool planned = false;
        c.alive = 1;
        look = next(&c, 0, false);
        for (uint64_t n = 0; n < uses[i]; n++) {
            out.uses++;
            if (++untold >= look) {
                c.uses += untold, c.items += untold, made += untold;
                untold = 0;
                out.looks++;
                if (c.state == ESPI_CLASS_NEW)
                    c.state = ESPI_CLASS_COUNTED, c.size = p->size, c.numbers = p->numbers;
                int tier = espi_tiers_due(&c, AUTO, planned);
                ck_assert_int_ge(tier, 0);
                if (tier > 0) {
                    out.work += tier > c.tier ? p->price[tier] - (tier == 2 ? p->look : 0) : 0;
                    out.work += p->look;
                    c.tier = (uint8_t)(tier > c.tier ? tier : c.tier);
                    c.state = ESPI_CLASS_BETTER;
                    c.parts = p->size > PART;
                    c.gain_ns = p->lost[0] - p->lost[c.tier];
                    c.excess_ns = p->lost[c.tier];
                    c.look_ns = p->look;
                    planned = true;
                }
                look = next(&c, made, planned);
            }
            out.loss += p->lost[planned ? c.tier : 0];
        }
        c.uses += untold, c.items += untold, made += untold;
        espi_tiers_ended(&c, made);
        c.alive = 0;
    }
    out.tier = c.tier;
    out.best = best_of(p, uses, lives);
    return out;
}

/* What the estimates say is what is: prices as in admission.h, and the native form loses what is thought. */
static struct program random_program(void)
{
    struct program p = {.size = 64 + (int64_t)random_below(80000), .numbers = 3 + random_below(5000)};
    struct espi_type_class c = counted(1, p.size, p.numbers);

    p.price[1] = espi_admission_rules(p.numbers);
    p.price[2] = espi_admission_tree(p.numbers, (uint64_t)p.size);
    p.look = p.price[1] / (2 + random_below(4));
    p.lost[0] = each_of(&c);
    p.lost[1] = random_below(3) == 0 ? 0 : random_below(p.lost[0] / 2);
    return p;
}

/* Types that are used equally often. What was spent is at most twice the best, and what a type or two are used for
   before there is anything to go by. */
START_TEST(rent_or_buy)
{
    enum { LIVES = 3000 };
    static const uint64_t often[] = {1, 2, 3, 10, 40, 300};
    static uint64_t uses[LIVES];
    double worst = 0;
    int seen[3] = {0};

    open_budget();
    for (int i = 0; i < 1500; i++) {
        struct program p = random_program();
        int lives = 1 + (int)random_below(i % 2 ? LIVES : 30);
        uint64_t k = i % 7 == 6 ? 1 + random_below(20000) : often[i % 7];

        lives = k > 300 ? 1 + lives % 20 : lives;
        for (int n = 0; n < lives; n++)
            uses[n] = k;
        struct played done = play(&p, uses, lives);
        double start = (double)(3 * p.lost[0] + 2 * p.look);
        double times = ((double)(done.loss + done.work) - start) / (double)(done.best > 0 ? done.best : 1);
        worst = times > worst ? times : worst;
        seen[done.tier]++;
        ck_assert_msg(times <= 2.2, "%d lives of %ju uses, %ju bytes, %ju numbers: %ju lost, %ju work, best %ju",
                      lives, (uintmax_t)k, (uintmax_t)p.size, (uintmax_t)p.numbers, (uintmax_t)done.loss,
                      (uintmax_t)done.work, (uintmax_t)done.best);
    }
    printf("tiers: at most %.2f times the best; programs that end in tier 0, 1, 2: %d, %d, %d\n", worst, seen[0],
           seen[1], seen[2]);
    ck_assert(seen[0] > 20 && seen[1] > 50 && seen[2] > 50);
}
END_TEST

/* A program that ends at any time has lost no more by Espalier's work than its types could have by themselves. */
START_TEST(never_slower_by_more)
{
    open_budget();
    for (int i = 0; i < 300; i++) {
        struct program p = random_program();
        uint64_t uses = 1 + random_below(3000);
        struct played done = play(&p, &uses, 1);

        ck_assert_uint_le(done.work, p.look + uses * p.lost[0] + (done.tier == 2 ? uses * p.lost[1] : 0));
    }
}
END_TEST

/* Types that are used often and seldom in turns: what is spent on types that then are used once is paid by what
   others have saved. */
START_TEST(changing_lives)
{
    enum { LIVES = 2000 };
    static uint64_t uses[LIVES];

    open_budget();
    for (int i = 0; i < 300; i++) {
        struct program p = random_program();
        uint64_t all = 0;
        int lives = 1 + (int)random_below(LIVES);

        for (int n = 0; n < lives; n++) {
            bool often = i % 3 == 0 ? n < lives / 10 : i % 3 == 1 ? n >= lives / 2 : random_below(4) == 0;
            uses[n] = often ? 1 + random_below(1000) : 1 + random_below(3);
            all += uses[n];
        }
        struct played done = play(&p, uses, lives);
        uint64_t native = all * p.lost[0], saved = native - done.loss;
        ck_assert_uint_le(done.loss + done.work, 2 * done.best + saved / 2 + 3 * p.lost[0] + 2 * p.look);
        ck_assert_uint_le(done.loss + done.work, 2 * native + 2 * p.look);
    }
}
END_TEST

/* Once all is decided looks become rare: their number grows with the logarithm of the uses. */
START_TEST(few_looks)
{
    struct program p = {.size = 40000, .numbers = 1000, .look = 5000};
    struct espi_type_class c = counted(1, p.size, p.numbers);
    uint64_t uses = 10000000;

    open_budget();
    p.price[1] = espi_admission_rules(p.numbers);
    p.price[2] = espi_admission_tree(p.numbers, (uint64_t)p.size);
    p.lost[0] = each_of(&c);
    p.lost[1] = 100;
    ck_assert_uint_le(play(&p, &uses, 1).looks, 40);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "tiers", second_use, other_settings, refused, first_tier, long_list, budget_used_up,
                     dear, types_of_better, what_the_last_were_used_for, second_tier, outgrown, rent_or_buy,
                     never_slower_by_more, changing_lives, few_looks);
}
