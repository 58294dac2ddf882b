/*
 * The promise of rent or buy (src/mpi/typeplan/tiers.h), by programs that are played through: what they lose and what
 * Espalier's work takes is about twice what would have been best, never more. No MPI is called, and no time is read:
 * what work takes is the script's.
 */
#include <mpi.h>
#include <stdio.h>

#include "random_types.h"
#include "suite.h"
#include "tiers_setup.h"

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
    int first = -1; /* life that is planned */

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
                    first = first < 0 ? i : first;
                    out.work += tier > c.tier ? p->price[tier] - (tier == 2 ? p->look : 0) : 0;
                    out.work += p->look;
                    c.tier = (uint8_t)(tier > c.tier ? tier : c.tier);
                    c.state = ESPI_CLASS_BETTER;
                    c.parts = p->size > PART;
                    c.gain_ns = p->lost[0] - p->lost[c.tier];
                    c.excess_ns = p->lost[c.tier];
                    espi_tiers_looked(&c, p->look, i == first ? p->price[1] : 0);
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

/* Types that are used equally often. What was spent is at most twice the best, what a type or two are used for before
   there is anything to go by, and the looks that prove what looks take. */
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
        double start = (double)(3 * p.lost[0] + (2 + ESPI_TIERS_PROVED) * p.look);
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
        const uint64_t looks = (2 + ESPI_TIERS_PROVED) * p.look;
        ck_assert_uint_le(done.loss + done.work, 2 * done.best + saved / 2 + 3 * p.lost[0] + looks);
        ck_assert_uint_le(done.loss + done.work, 2 * native + looks);
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
    return TYPES_RUN(argc, argv, "tiers_played", rent_or_buy, never_slower_by_more, changing_lives, few_looks);
}
