/*
 * Which of the ways to move a block is chosen by their times (src/mpi/typeplan/trial.h), and in each place where a
 * rank gives itself data (src/mpi/selfcopy/choice.c). No data are moved.
 */
#include <check.h>

#include "mpi/selfcopy/self_copy.h"
#include "mpi/core/handle_table.h"
#include "random_types.h"
#include "stats/stats.h"
#include "suite.h"

enum { CALL = 1 << ESPI_BY_CALL, LOCAL = 1 << ESPI_BY_LOCAL, COPY = 1 << ESPI_BY_COPY };
enum { HANDLING_NS = 60 }; /* as in trial.c */
enum { HEAD = ESPI_TRIAL_HEAD_START, BOTH = 2 * ESPI_TRIAL_TURNS, STAYS = HEAD + BOTH - 1 }; /* turns in all */

/* The ways take so long, in each of their turns but the first, which takes a hundred times as long. */
static struct espi_trial tried(unsigned ways, uint64_t apart_ns, const uint64_t ns[ESPI_SELFCOPY_WAYS])
{
    struct espi_trial t = {.ways = ways, .apart_ns = apart_ns};
    const bool is_short = apart_ns > 0 && ns[ways & CALL ? ESPI_BY_CALL : ESPI_BY_LOCAL] < ESPI_TRIAL_APART_NS;
    const int n = (is_short ? ESPI_TRIAL_APART_TURNS : ESPI_TRIAL_TURNS) * __builtin_popcount(ways);

    for (int i = 0; i < n; i++) {
        const enum espi_selfcopy_way way = espi_trial_turn(&t);
        ck_assert(!t.decided && ways & 1u << way);
        ck_assert_uint_eq(t.turns[way], (unsigned)i / (unsigned)__builtin_popcount(ways)); /* in turns */
        ck_assert_int_eq(espi_trial_took(&t, way, t.turns[way] == 0 ? 100 * ns[way] : ns[way]), i == n - 1);
    }
    ck_assert(t.decided);
    return t;
}

static void chosen(unsigned ways, uint64_t apart_ns, uint64_t call, uint64_t local, uint64_t copy,
                   enum espi_selfcopy_way way)
{
    const uint64_t ns[ESPI_SELFCOPY_WAYS] = {call, local, copy};
    const struct espi_trial t = tried(ways, apart_ns, ns);
    const uint64_t first = ways & CALL ? call : local;

    ck_assert_msg(t.way == way, "%d in the place of %d for %d, %d, %d", (int)t.way, (int)way, (int)call, (int)local,
                  (int)copy);
    ck_assert_uint_eq(t.saves_ns, way == ESPI_BY_CALL ? 0 : first - ns[way] - HANDLING_NS);
}

/* What is clearly faster is chosen, each limit from both sides. */
START_TEST(trials)
{
    chosen(CALL | COPY, 0, 1000, 0, 500, ESPI_BY_COPY);
    chosen(CALL | COPY, 0, 1000, 0, 2000, ESPI_BY_CALL);
    chosen(CALL | COPY, 0, 8000, 0, 8000 - 1061, ESPI_BY_COPY);
    chosen(CALL | COPY, 0, 8000, 0, 8000 - 1060, ESPI_BY_CALL);
    chosen(CALL | COPY, 0, 100, 0, 30, ESPI_BY_CALL);
    chosen(CALL | COPY, 0, 100, 0, 20, ESPI_BY_COPY);
    chosen(LOCAL | COPY, 300, 0, 1000, 700, ESPI_BY_COPY);
    chosen(LOCAL | COPY, 300, 0, 1000, 701, ESPI_BY_CALL);
    chosen(LOCAL | COPY, 300, 0, ESPI_TRIAL_APART_NS, 1600, ESPI_BY_COPY);
    chosen(CALL | LOCAL | COPY, 0, 9000, 1000, 1100, ESPI_BY_LOCAL);
    chosen(CALL | LOCAL | COPY, 0, 9000, 1100, 1000, ESPI_BY_COPY);
    chosen(CALL | LOCAL | COPY, 0, 1000, 1000, 1100, ESPI_BY_CALL);
}
END_TEST

/* How many turns in all it takes where each way always takes as long. */
static int turns_of(unsigned ways, bool copy_stays, const uint64_t ns[ESPI_SELFCOPY_WAYS])
{
    struct espi_trial t = {.ways = ways, .copy_stays = copy_stays};
    int n = 0;

    while (!t.decided) {
        const enum espi_selfcopy_way way = espi_trial_turn(&t);
        espi_trial_took(&t, way, ns[way]);
        n++;
    }
    return n;
}

/* Long uses are tried twice each where the copy is far ahead, or is to stay; each limit from both sides. */
START_TEST(long_uses)
{
    ck_assert_int_eq(turns_of(CALL | COPY, false, (const uint64_t[]){30003, 0, 20000}), 4);
    ck_assert_int_eq(turns_of(CALL | COPY, false, (const uint64_t[]){30000, 0, 20000}), BOTH);
    ck_assert_int_eq(turns_of(CALL | COPY, false, (const uint64_t[]){20000, 0, 90000}), BOTH);
    ck_assert_int_eq(turns_of(CALL | COPY, false, (const uint64_t[]){90000, 0, 19999}), BOTH);
    ck_assert_int_eq(turns_of(CALL | LOCAL | COPY, false, (const uint64_t[]){90000, 30003, 20000}), 6);
    ck_assert_int_eq(turns_of(CALL | LOCAL | COPY, false, (const uint64_t[]){90000, 20001, 20000}),
                     3 * ESPI_TRIAL_TURNS);
    ck_assert_int_eq(turns_of(CALL | COPY, true, (const uint64_t[]){32000, 0, 34020}), HEAD + 3);
    ck_assert_int_eq(turns_of(CALL | COPY, true, (const uint64_t[]){32000, 0, 34021}), STAYS);
    ck_assert_int_eq(turns_of(CALL | COPY, true, (const uint64_t[]){20000, 0, 20000}), HEAD + 3);
    ck_assert_int_eq(turns_of(CALL | COPY, true, (const uint64_t[]){1000000, 0, 1062520}), HEAD + 1);
    ck_assert_int_eq(turns_of(CALL | COPY, true, (const uint64_t[]){1000000, 0, 1062521}), STAYS);
    ck_assert_int_eq(turns_of(CALL | COPY, true, (const uint64_t[]){999999, 0, 1000000}), HEAD + 3);
    ck_assert_int_eq(turns_of(CALL | COPY, false, (const uint64_t[]){9000000, 0, 1000000}), 4);
    ck_assert_int_eq(turns_of(CALL | COPY, true, (const uint64_t[]){20000, 0, 19999}), STAYS);
}
END_TEST

/* Once it is chosen: a sample that was disturbed changes nothing, and seven in a row do not; eight do. */
START_TEST(samples)
{
    struct espi_trial t = tried(CALL | COPY, 0, (const uint64_t[]){1000, 0, 500});

    ck_assert(!espi_trial_took(&t, ESPI_BY_COPY, 600));
    ck_assert_uint_eq(t.saves_ns, 400 - HANDLING_NS);
    ck_assert(!espi_trial_took(&t, ESPI_BY_COPY, 1000000));
    ck_assert_uint_eq(t.saves_ns, 400 - HANDLING_NS);
    ck_assert(!espi_trial_took(&t, ESPI_BY_CALL, 1200)); /* no less than in its turns */
    ck_assert(!espi_trial_took(&t, ESPI_BY_COPY, 600));
    ck_assert_uint_eq(t.saves_ns, 400 - HANDLING_NS);
    ck_assert(!espi_trial_took(&t, ESPI_BY_CALL, 900)); /* it was cold in its turns */
    ck_assert(!espi_trial_took(&t, ESPI_BY_CALL, 950));
    ck_assert(!espi_trial_took(&t, ESPI_BY_COPY, 600));
    ck_assert_uint_eq(t.saves_ns, 300 - HANDLING_NS);
    for (int i = 0; i < 7; i++)
        ck_assert(!espi_trial_took(&t, ESPI_BY_COPY, 1001));
    ck_assert_uint_eq(t.saves_ns, 0);
    ck_assert(!espi_trial_took(&t, ESPI_BY_COPY, 1000));
    for (int i = 0; i < 7; i++)
        ck_assert(!espi_trial_took(&t, ESPI_BY_COPY, 1001));
    ck_assert(t.decided);
    ck_assert(espi_trial_took(&t, ESPI_BY_COPY, 1001));
    ck_assert(!t.decided);
    ck_assert_int_eq(espi_trial_turn(&t), ESPI_BY_CALL);
    t = tried(CALL | LOCAL | COPY, 0, (const uint64_t[]){1000, 800, 500});
    for (int i = 0; i < 20; i++)
        ck_assert(!espi_trial_took(&t, ESPI_BY_LOCAL, 5000)); /* late, too */
}
END_TEST

/* What is done now goes on for some uses, as without a trial. */
START_TEST(first_turn)
{
    for (int stays = 0; stays < 2; stays++) {
        struct espi_trial t = {.ways = CALL | COPY, .copy_stays = stays};
        for (int i = 0; i < 9; i++) {
            ck_assert_int_eq(espi_trial_turn(&t), (stays && i < HEAD) || i % 2 == 1 ? ESPI_BY_COPY : ESPI_BY_CALL);
            espi_trial_took(&t, espi_trial_turn(&t), 1000);
        }
    }
}
END_TEST

/* A copy that stays as it is hardly slower is not tried again for that. */
START_TEST(stays)
{
    for (int slow = 0; slow < 2; slow++) {
        struct espi_trial t = {.ways = CALL | COPY, .copy_stays = true};
        while (!t.decided)
            espi_trial_took(&t, espi_trial_turn(&t), 2000);
        ck_assert_int_eq(t.way, ESPI_BY_COPY);
        for (int i = 0; i < 7; i++)
            ck_assert(!espi_trial_took(&t, ESPI_BY_COPY, slow ? 2146 : 2145));
        ck_assert_int_eq(espi_trial_took(&t, ESPI_BY_COPY, slow ? 2146 : 2145), slow);
    }
}
END_TEST

/* What is done for good where a copy takes so long, and what it is held against. */
static enum espi_selfcopy_way decided(enum espi_selfcopy_place place, uint64_t other_ns, uint64_t copy_ns)
{
    static const unsigned mark_of[ESPI_SELF_PLACES] = {[ESPI_SELF_ALONE] = ESPI_PAIRED_COPIED,
                                                       [ESPI_SELF_APART] = ESPI_PAIRED_APART,
                                                       [ESPI_SELF_LATE] = ESPI_PAIRED_LATE,
                                                       [ESPI_SELF_SHARED] = ESPI_PAIRED_APART};
    struct espi_selfcopy_plan plan = {.timed = true, .bytes = ESPI_SELFCOPY_APART_LEAST};
    unsigned tried = 0;

    for (int i = 0; i < (place == ESPI_SELF_SHARED ? STAYS : BOTH); i++) {
        const struct espi_selfcopy_turn turn = espi_selfcopy_turn(&plan, place);
        ck_assert(turn.timed);
        tried |= 1u << turn.way;
        espi_selfcopy_took(&plan, place, turn.way, turn.way == ESPI_BY_COPY ? copy_ns : other_ns);
    }
    ck_assert_uint_eq(tried, COPY | (place == ESPI_SELF_APART || place == ESPI_SELF_LATE ? LOCAL : CALL));
    ck_assert_int_eq(espi_selfcopy_is_decided(&plan, place), espi_selfcopy_turn(&plan, place).way != ESPI_BY_CALL);
    ck_assert_uint_eq(atomic_load(&plan.marks), espi_selfcopy_is_decided(&plan, place) ? mark_of[place]
                                                                                        : ESPI_PAIRED_LEFT);
    return espi_selfcopy_turn(&plan, place).way;
}

/* Where both ways are ours the copy stays unless the other is clearly faster; elsewhere it has to be. */
START_TEST(places)
{
    ck_assert_int_eq(decided(ESPI_SELF_ALONE, 9000, 8900), ESPI_BY_CALL);
    ck_assert_int_eq(decided(ESPI_SELF_ALONE, 9000, 7000), ESPI_BY_COPY);
    ck_assert_int_eq(decided(ESPI_SELF_APART, 9000, 8900), ESPI_BY_CALL);
    ck_assert_int_eq(decided(ESPI_SELF_APART, 3000, 2100), ESPI_BY_COPY);
    ck_assert_int_eq(decided(ESPI_SELF_LATE, 3000, 2100), ESPI_BY_CALL); /* others would wait for it */
    ck_assert_int_eq(decided(ESPI_SELF_LATE, 3000, 1900), ESPI_BY_COPY);
    ck_assert_int_eq(decided(ESPI_SELF_SHARED, 9000, 8900), ESPI_BY_COPY);
    ck_assert_int_eq(decided(ESPI_SELF_SHARED, 9000, 9500), ESPI_BY_COPY);
    ck_assert_int_eq(decided(ESPI_SELF_SHARED, 9000, 9700), ESPI_BY_CALL);
}
END_TEST

/* Small blocks stay in calls with other ranks, and are not tried there. */
START_TEST(small)
{
    struct espi_selfcopy_plan plan = {.timed = true, .bytes = ESPI_SELFCOPY_APART_LEAST - 1};
    struct espi_selfcopy_turn turn = espi_selfcopy_turn(&plan, ESPI_SELF_APART);

    ck_assert(turn.way == ESPI_BY_CALL && !turn.timed && turn.marks);
    ck_assert_uint_eq(atomic_load(&plan.marks), ESPI_PAIRED_LEFT);
    turn = espi_selfcopy_turn(&plan, ESPI_SELF_APART);
    ck_assert(turn.way == ESPI_BY_CALL && !turn.timed && !turn.marks);
    ck_assert(!espi_selfcopy_turn(&plan, ESPI_SELF_LATE).timed);
    ck_assert(espi_selfcopy_turn(&plan, ESPI_SELF_ALONE).timed); /* a call that is nothing else is tried */
}
END_TEST

/* A trial that blocks have left for another place does not go on for ever. */
START_TEST(taken_over)
{
    struct espi_selfcopy_plan plan = {.timed = true, .bytes = ESPI_SELFCOPY_APART_LEAST};

    espi_selfcopy_turn(&plan, ESPI_SELF_APART);
    for (int i = 0; i < STAYS; i++) {
        const enum espi_selfcopy_way way = espi_selfcopy_turn(&plan, ESPI_SELF_SHARED).way;
        espi_selfcopy_took(&plan, ESPI_SELF_SHARED, way, way == ESPI_BY_COPY ? 9000 : 1000);
    }
    ck_assert_uint_eq(atomic_load(&plan.marks), ESPI_PAIRED_LEFT);
}
END_TEST

/* Where statistics are wanted, and only there, what is copied goes by MPI's way now and then: what copies are said to
   save is then told by times of that way when it is warm, too. */
START_TEST(told)
{
    enum { USES = 1024, COLD = 9000, WARM = 4000, COPIES = 3000 };
    struct espi_settings settings;

    espi_settings_defaults(&settings);
    for (int wanted = 0; wanted < 2; wanted++) {
        struct espi_selfcopy_plan plan = {.timed = true, .bytes = 100000};
        const struct espi_selfcopy_choice *choice = &plan.at[ESPI_SELF_ALONE];
        int others = 0;
        settings.summary = wanted;
        espi_stats_open(&(struct espi_stats_run){.settings = &settings, .ranks = 1});
        for (int i = 0; i < BOTH; i++) {
            const enum espi_selfcopy_way way = espi_selfcopy_turn(&plan, ESPI_SELF_ALONE).way;
            espi_selfcopy_took(&plan, ESPI_SELF_ALONE, way, way == ESPI_BY_COPY ? COPIES : COLD);
        }
        ck_assert(espi_selfcopy_is_decided(&plan, ESPI_SELF_ALONE));
        ck_assert_uint_eq(choice->saves_ns, COLD - COPIES - HANDLING_NS);
        for (int i = 0; i < USES; i++) {
            const struct espi_selfcopy_turn turn = espi_selfcopy_turn(&plan, ESPI_SELF_ALONE);
            ck_assert(turn.timed || turn.way == ESPI_BY_COPY);
            others += turn.way == ESPI_BY_CALL;
            if (turn.timed)
                espi_selfcopy_took(&plan, ESPI_SELF_ALONE, turn.way, turn.way == ESPI_BY_COPY ? COPIES : WARM);
        }
        ck_assert_int_eq(others, wanted ? 2 : 0);
        for (int i = 0; i < 64; i++)
            if (espi_selfcopy_turn(&plan, ESPI_SELF_ALONE).timed)
                espi_selfcopy_took(&plan, ESPI_SELF_ALONE, ESPI_BY_COPY, COPIES);
        ck_assert_uint_eq(choice->saves_ns, (wanted ? WARM : COLD) - COPIES - HANDLING_NS);
        espi_stats_reset_run();
    }
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "trial", trials, long_uses, first_turn, samples, stays, places, small,
                     taken_over, told);
}
