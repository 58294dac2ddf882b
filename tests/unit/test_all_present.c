/* Whether all ranks run under Espalier (src/job/all_present.c). */
#include <check.h>
#include <config.h>
#include <stdio.h>
#include <string.h>

#include "all_present_job.h"
#include "random.h"
#include "runner.h"

START_TEST(all_present)
{
    for (int number = 1; number <= 5; number++) {
        begin();
        barriers = number;
        for (int i = 0; i < RANKS; i++) /* the first time counts */
            ranks[i].again = true;
        run(RANKS);
        for (int i = 0; i < RANKS; i++) {
            ck_assert(ranks[i].all && !ranks[i].other && ranks[i].on_node && ranks[i].heard);
            ck_assert(ranks[i].local == (number > 1) && ranks[i].known == (number > 2));
            ck_assert_int_eq(ranks[i].met, number > 2);
            ck_assert_int_le(ranks[i].gets, number == 1 ? RANKS + 2 : i == 0 ? RANKS : 1);
        }
    }
    for (int number = 1; number <= 4; number++) { /* few ranks ask a barrier earlier */
        begin();
        barriers = number;
        for (int i = 0; i < FEW; i++)
            ranks[i].here = ranks[i].size = FEW;
        run(FEW);
        for (int i = 0; i < FEW; i++) {
            ck_assert(ranks[i].all && !ranks[i].other && ranks[i].on_node && ranks[i].heard);
            ck_assert(ranks[i].local == (number > 1) && ranks[i].known == (number > 1));
            ck_assert_int_eq(ranks[i].met, number > 1);
            ck_assert_int_eq(ranks[i].gets, FEW);
        }
    }
    begin();
    barriers = 0; /* nothing could be put in time */
    run(RANKS);
    check_alone(RANKS);
    ck_assert_int_eq(have_met(), 0);
    begin();
    speaks = false;
    run(RANKS);
    ck_assert_int_eq(have_met(), 0);
}
END_TEST

START_TEST(one_absent)
{
    for (barriers = 1; barriers <= 3; barriers++)
        for (int absent = 0; absent < RANKS; absent++) {
            const int number = barriers;
            begin();
            barriers = number;
            if (absent % 2)
                ranks[absent].no_wire = true;
            else
                ranks[absent].absent = true;
            run(RANKS);
            check_alone(RANKS);
            for (int i = 0; i < RANKS; i++)
                ck_assert(ranks[i].heard == (i != absent) && !ranks[i].other);
            ck_assert(ranks[absent].local && ranks[absent].gets == 0);
        }
}
END_TEST

/* One that does not know where the others are; or on another node. */
START_TEST(nodes)
{
    static const int here[] = {-1, 1, RANKS - 1, RANKS + 1, 2};
    for (int one = 0; one < RANKS; one++) {
        begin();
        ranks[one].here = here[one];
        run(RANKS);
        for (int i = 0; i < RANKS; i++)
            ck_assert(ranks[i].all && !ranks[i].on_node);
    }
}
END_TEST

START_TEST(settings)
{
    static const size_t lengths[] = {1, 199, 200, 201, 399, 400, 401, 799, 800, 801, 4001, ESPI_ALL_PRESENT_TEXT};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int number = 1; number <= 3; number++) {
            begin();
            barriers = number;
            ranks[0].length = lengths[l];
            for (size_t i = 0; i < sizeof ranks[0].text; i++)
                ranks[0].text[i] = (char)random_in(0, 255);
            ranks[1].hash = random_next() | 8; /* not 5 */
            ranks[2].hash = 5 | 1ull << 63;
            if (l % 2)
                ranks[3].hash = ESPI_ALL_PRESENT_DEFAULTS;
            run(RANKS);
            for (int i = 0; i < RANKS; i++) {
                ck_assert(ranks[i].all && ranks[i].other == (i == 1 || i == 2 || (i == 3 && l % 2)));
                if (ranks[i].other) {
                    ck_assert_uint_eq(ranks[i].settings_length, lengths[l]);
                    ck_assert_mem_eq(ranks[i].settings, ranks[0].text, lengths[l]);
                }
            }
        }
}
END_TEST

/* One whose library comes to its barrier late says nothing more, settings that it has announced included. */
START_TEST(late)
{
    begin();
    barriers = 1;
    ranks[0].late = true;
    ranks[0].length = 801; /* more than one piece */
    run(RANKS);
    for (int i = 1; i < RANKS; i++)
        ck_assert(!ranks[i].all && !ranks[i].other);
}
END_TEST

/* Rank 0's settings count for those who differ, whoever else is missing. */
START_TEST(settings_without_all)
{
    for (int number = 1; number <= 3; number++) {
        begin();
        barriers = number;
        ranks[1].hash = 6;
        ranks[3].absent = true;
        run(RANKS);
        check_alone(RANKS);
        for (int i = 0; i < RANKS; i++)
            ck_assert(ranks[i].other == (i == 1));
        ck_assert_mem_eq(ranks[1].settings, ranks[0].text, ranks[0].length);
    }
}
END_TEST

START_TEST(defaults)
{
    begin();
    for (int i = 0; i < RANKS; i++)
        if (i != 2)
            ranks[i].hash = ESPI_ALL_PRESENT_DEFAULTS;
    ranks[0].length = 0;
    run(RANKS);
    for (int i = 0; i < RANKS; i++)
        ck_assert(ranks[i].all && ranks[i].other == (i == 2) && ranks[i].settings_length == 0);
}
END_TEST

/* In the store, before rank 0 comes: nothing is taken. */
START_TEST(foreign_settings)
{
    static const char *const numbers[] = {"0", "-1", "99", "99999999999", "x", "2"};
    static const char *const pieces[] = {"zz", "a", "616", "61z"};
    char key[64];
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers + sizeof pieces / sizeof *pieces; n++) {
        const bool number = n < sizeof numbers / sizeof *numbers;
        begin();
        ranks[1].hash = 6;
        ranks[0].size = ranks[1].size = 2;
        ranks[0].here = ranks[1].here = 2;
        put("espalier-settings", number ? numbers[n] : "2");
        for (int i = 0; i < (n == 5 ? 1 : 30) && number; i++) {
            snprintf(key, sizeof key, "espalier-settings-%d", i);
            put(key, "61");
        }
        if (!number) {
            put("espalier-settings-0", "616263646566");
            put("espalier-settings-1", pieces[n - sizeof numbers / sizeof *numbers]);
        }
        ranks[0].length = n == 5 ? 1 : ranks[0].length;
        run(2);
        ck_assert_msg(!ranks[1].other, "case %zu", n);
        ck_assert(ranks[0].all && ranks[1].all);
    }
}
END_TEST

/* Another version of Espalier, or something else, in place of a rank. */
START_TEST(foreign_rank)
{
    static const char *const values[] = {"espalier-world-0.0-0000000000000006-2", "yes", VALUE "0000000000000006-2"};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (int one = 0; one < RANKS; one++) {
            const bool like_us = v == sizeof values / sizeof *values - 1;
            char key[64];
            begin();
            ranks[one].absent = true;
            sprintf(key, "espalier-%d", one);
            put(key, values[v]);
            run(RANKS);
            for (int i = 0; i < RANKS; i++)
                if (i != one)
                    ck_assert_msg(ranks[i].all == like_us, "%s for rank %d", values[v], one);
        }
}
END_TEST

/* What rank 0 puts is refused: it is as if it were not there, for itself, too. */
START_TEST(refused)
{
    for (int number = 1; number <= 3; number++) {
        begin();
        barriers = number;
        refuses = true;
        run(RANKS);
        check_alone(RANKS);
        for (int i = 0; i < RANKS; i++)
            ck_assert(ranks[i].heard && !ranks[i].other);
    }
}
END_TEST

START_TEST(sizes)
{
    begin();
    ranks[0].size = ranks[0].here = 1; /* has nobody to ask */
    run(1);
    ck_assert(ranks[0].all && ranks[0].local && ranks[0].gets == 0 && !ranks[0].heard);
    begin();
    ranks[0].size = -1;
    run(1);
    ck_assert(!ranks[0].heard);
    begin();
    ranks[0].number = RANKS;
    run(1);
    ck_assert(!ranks[0].heard);
    begin();
    ranks[0].length = sizeof ranks[0].text;
    run(RANKS);
    check_alone(RANKS);
    ck_assert(!ranks[0].heard && ranks[1].heard);
}
END_TEST

int main(void)
{
    return RUN_SUITE("test-all-present", 120, setup, teardown, all_present, one_absent, nodes, settings,
                     late, settings_without_all, defaults, foreign_settings, foreign_rank, refused, sizes);
}
