/*
 * Messages that are far better packed, beside others, in trials (src/mpi/packed/message_ways.h): what they take in
 * turns of the library's way, and turns of the program's type where what is saved is to be told. Programs are played.
 */
#include <math.h>

#include "random_types.h"
#include "suite.h"
#include "type_service.h"
#include "ways_setup.h"

/* The first run of the program's type beside two other ways; ns that a packed call costs outside of turns, one that
   sends or receives, and one that does both. */
enum { RUN_OF_OWN = 10, PACKED_CALL = 30, PACKED_BOTH = 500 };

/* Packed ones in the turns of the library's way go as they do when that is chosen for the others. */
START_TEST(one_side_only)
{
    const script takes = {[ESPI_WAY_SEND] = {0, 10000, 20000}, [ESPI_WAY_RECEIVE] = {12000, 13000, 12500}},
                 typed = {[ESPI_WAY_SEND] = {0, 19000, 20000}, [ESPI_WAY_RECEIVE] = {2000, 13000, 12500}};
    struct espi_way_question send = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true),
                             receive = question(ESPI_WAYS_EVEN, ESPI_WAY_RECEIVE, true);

    begin(true);
    to_and_fro(&send, &receive, takes);
    ck_assert_int_eq(espi_way_of(&receive), CELLS);
    ck_assert_int_eq(espi_way_of(&send), CELLS);
    begin(true);
    to_and_fro(&send, &receive, typed);
    ck_assert_int_eq(espi_way_of(&receive), TYPED);
    ck_assert_int_eq(espi_way_of(&send), CELLS);
}
END_TEST

/* But where some of such calls can go the library's way, packed ones say nothing of it. */
START_TEST(some_of_them)
{
    const script takes = {[ESPI_WAY_SEND] = {30000, 10000, 12000}};
    struct espi_way_question even = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true),
                             sure = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);

    begin(true);
    for (int i = 0; i < TRIAL; i++)
        call_once(i % 3 == 0 ? &even : &sure, takes);
    ck_assert_int_eq(espi_way_of(&even), CELLS);
    ck_assert(espi_way_saves(&even) > 19900 && espi_way_saves(&even) < 20100);
}
END_TEST

/* Where it is to be told some go as the program's type; that is never chosen, and not gone again before the next
   trial. Others have no such turns, but what they save is known where both are there. */
START_TEST(told)
{
    static const uint64_t own[] = {50000, 9000, 1000, 12500};

    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const script takes = {[ESPI_WAY_SEND] = {0, 10000, 12000, own[i]},
                              [ESPI_WAY_RECEIVE] = {own[i], 10000, 12000, own[i]}};
        struct espi_way_question send = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true),
                                 receive = question(ESPI_WAYS_EVEN, ESPI_WAY_RECEIVE, true);
        begin(true);
        run(&send, takes, TRIAL);
        ck_assert_int_eq(gone[OWN], 0);
        ck_assert(espi_way_saves_in_all(&send) < 0);
        begin(true);
        send.told = true;
        run(&send, takes, TRIAL);
        ck_assert(i > 0 ? gone[OWN] >= TIMES : gone[OWN] == RUN_OF_OWN);
        ck_assert_int_eq(espi_way_of(&send), CELLS);
        ck_assert(espi_way_saves(&send) < 0);
        const double saves = espi_way_saves_in_all(&send), is = own[i] > 10000 ? (double)own[i] - 10000 : 0;
        ck_assert_msg(saves > is - 50 && saves < is + 50, "%g saved, not %g", saves, is);
        run(&send, takes, AGAIN / 2);
        ck_assert_int_eq(gone[OWN], 0);
        begin(true);
        to_and_fro(&send, &receive, takes);
        const double received = own[i] > 10000 ? (double)own[i] - 10000 : 0;
        ck_assert(espi_way_saves_in_all(&receive) > received - 50 && espi_way_saves_in_all(&receive) < received + 50);
        ck_assert_int_eq(espi_way_of(&receive), own[i] > 9000 ? CELLS : TYPED);
    }
}
END_TEST

/* Nor is it gone in the place of a way that was given up. */
START_TEST(told_given_up)
{
    const script takes = {[ESPI_WAY_SEND] = {0, 10000, 40000, 1000}};
    struct espi_way_question q = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);

    begin(true);
    q.told = true;
    const uint64_t decided = counted(ESPI_COUNT_ways_decided);
    int went[ESPI_WAYS] = {0};
    while (counted(ESPI_COUNT_ways_decided) == decided)
        went[call_once(&q, takes)]++;
    ck_assert_int_eq(went[DENSE], WARM + 2);
    ck_assert_int_gt(went[CELLS], went[OWN]);
}
END_TEST

/* Short ones are packed whatever comes, and tried when the cells have been used. */
START_TEST(told_short)
{
    enum { COLD_SHORT = 128 };
    const script takes = {[ESPI_WAY_SEND] = {0, 0, 1000, 700}};
    struct espi_way_question q = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);

    q.bytes = 2000;
    q.no_cells = true;
    begin(true);
    run(&q, takes, 2 * AGAIN);
    ck_assert_int_eq(gone[DENSE], 2 * AGAIN);
    begin(true);
    q.told = true;
    run(&q, takes, COLD_SHORT);
    ck_assert_int_eq(gone[DENSE], COLD_SHORT);
    run(&q, takes, TRIAL);
    ck_assert(gone[OWN] > TIMES_SHORT && gone[OWN] + gone[DENSE] == TRIAL);
    ck_assert(espi_way_is_known(&q) && espi_way_saves_in_all(&q) == 0);
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    /* Also far slower ones, so that ranks are not apart before there are times enough. What packing costs outside of
       turns is no gain. */
    const script slower = {[ESPI_WAY_SEND] = {0, 0, 1000, 3000}};
    begin(true);
    run(&q, slower, COLD_SHORT + TRIAL);
    ck_assert_int_ge(gone[OWN], TIMES_SHORT);
    ck_assert(fabs(espi_way_saves_in_all(&q) - 2000 + PACKED_CALL) < 1);
}
END_TEST

/* Calls that come to be packed later are tried once, too. */
START_TEST(told_short_later)
{
    const script takes = {[ESPI_WAY_SEND] = {0, 0, 1000, 1700}, [ESPI_WAY_RECEIVE] = {0, 0, 2000, 2900}};
    struct espi_way_question send = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true),
                             receive = question(ESPI_WAYS_SURE, ESPI_WAY_RECEIVE, true);

    send.bytes = receive.bytes = 2000;
    send.no_cells = receive.no_cells = send.told = receive.told = true;
    begin(true);
    ck_assert(!espi_way_was_tried(&send));
    run(&send, takes, 2 * TRIAL + TRIAL);
    ck_assert(espi_way_was_tried(&send) && !espi_way_was_tried(&receive));
    ck_assert(espi_way_saves_in_all(&send) > 600 && espi_way_saves_in_all(&receive) < 0);
    run(&send, takes, TRIAL);
    ck_assert_int_eq(gone[OWN], 0);
    call_once(&receive, takes);
    ck_assert(!espi_way_was_tried(&receive)); /* as long as that is going on */
    run(&receive, takes, TRIAL);
    ck_assert(gone[OWN] > 0 && espi_way_was_tried(&receive) && espi_way_was_tried(&send));
    ck_assert(espi_way_saves_in_all(&send) > 600 && espi_way_saves_of_both(&send) == espi_way_saves_in_all(&send));
    ck_assert(espi_way_saves_in_all(&receive) > 800 && espi_way_saves_in_all(&receive) < 1000);
    run(&receive, takes, TRIAL);
    ck_assert_int_eq(gone[OWN], 0);
}
END_TEST

/* But once only, however often the program goes from one to another. */
START_TEST(told_in_phases)
{
    const script takes = {[ESPI_WAY_SEND] = {0, 0, 1000, 1700}, [ESPI_WAY_BOTH] = {0, 0, 2000, 2900}};
    struct espi_way_question q = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);

    q.bytes = 2000;
    q.no_cells = q.told = true;
    begin(true);
    const uint64_t before = counted(ESPI_COUNT_ways_decided);
    for (int phase = 0; phase < 100; phase++) {
        q.call = phase % 2 ? ESPI_WAY_BOTH : ESPI_WAY_SEND;
        run(&q, takes, 3 * TRIAL);
    }
    const uint64_t trials = counted(ESPI_COUNT_ways_decided) - before;
    ck_assert_msg(trials >= 2 && trials <= 6, "%d", (int)trials); /* those that are due come, too */
    ck_assert(espi_way_saves_in_all(&q) > 880 - PACKED_BOTH);
    q.call = ESPI_WAY_SEND;
    ck_assert(espi_way_saves_in_all(&q) > 600);
}
END_TEST

/* And long ones that are nearly as short know nothing of it. */
START_TEST(told_beside_long)
{
    const script takes = {[ESPI_WAY_SEND] = {30000, 10000, 12000}},
                 taken = {[ESPI_WAY_SEND] = {0, 0, 4000, 4100}};
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true), other = q;

    q.bytes = 10000;
    other = q;
    other.bytes = 8200;
    other.open = ESPI_WAYS_SURE;
    other.no_cells = other.told = true;
    for (int with = 0; with < 2; with++) {
        begin(true);
        for (int i = 0; i < 4 * TRIAL; i++)
            call_once(with && i % 4 != 0 ? &other : &q, with && i % 4 != 0 ? taken : takes);
        ck_assert_int_eq(espi_way_of(&q), CELLS);
        ck_assert(espi_way_saves(&q) > 19900 && espi_way_saves(&q) < 20100);
    }
}
END_TEST

/* Where calls wait for other things it is not known what the way makes. */
START_TEST(told_in_noise)
{
    enum { ROUNDS = 400 };
    struct espi_way_question q = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);
    int said = 0;

    q.told = true;
    for (int round = 0; round < ROUNDS; round++) {
        begin(true);
        for (const uint64_t before = counted(ESPI_COUNT_ways_decided);
             counted(ESPI_COUNT_ways_decided) == before;) {
            script takes = {{0}};
            for (int way = 0; way < ESPI_WAYS; way++)
                takes[ESPI_WAY_SEND][way] = 1000000 + random_below(300000) + 100 * (way == OWN);
            call_once(&q, takes);
        }
        said += espi_way_saves_in_all(&q) > 0;
    }
    ck_assert_int_lt(said, ROUNDS / 20); /* by the difference of middle ones it would be two in five */
}
END_TEST

/* Sends, each with so many calls with dense data that wait for it, and some that turn out to be of another size. */
static void beside_plain(const struct espi_way_question *q, const script takes, int plain)
{
    for (int i = 0; i < TRIAL; i++) {
        const enum espi_message_way way = call_once(q, takes);
        for (int k = 0; k < 3; k++) {
            struct espi_way_turn other = espi_way_plain_turn(q->bytes, q->no_cells);
            now += 1000 * (unsigned)k;
            espi_way_turn_end(&other, false);
        }
        for (int k = 0; k < (plain >= 0 ? plain : i % -plain == 0); k++) { /* or with one in so many */
            struct espi_way_turn turn = espi_way_plain_turn(q->bytes, q->no_cells);
            now += takes[ESPI_WAY_PLAIN][way];
            espi_way_turn_end(&turn, true);
        }
        ck_assert_int_eq(espi_ways_are_watched, !(atomic_load(&espi_hot->plain) & ESPI_PLAIN));
    }
}

/* What others wait less is told of those that they wait for, at most once of each; and is nothing that chooses. */
START_TEST(told_of_plain)
{
    static const struct {
        int plain;
        uint64_t own;
        double saved;
    } cases[] = {{0, 30000, 5000}, {1, 30000, 25000}, {3, 30000, 25000}, {1, 9000, 4000}, {1, 7000, 2000},
                 {-2, 30000, 15000}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const script takes = {[ESPI_WAY_SEND] = {0, 10000, 11400, 15000},
                              [ESPI_WAY_PLAIN] = {0, 10000, 5000, cases[i].own}};
        struct espi_way_question q = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);
        begin(true);
        beside_plain(&q, takes, cases[i].plain);
        ck_assert(!espi_ways_are_watched);
        begin(true);
        q.told = true;
        struct espi_way_turn before = espi_way_plain_turn(q.bytes, q.no_cells);
        ck_assert_ptr_eq(before.group, NULL);
        call_once(&q, takes);
        ck_assert(espi_ways_are_watched && espi_way_will_be_told(&q));
        beside_plain(&q, takes, cases[i].plain);
        ck_assert(!espi_ways_are_watched && !espi_way_will_be_told(&q));
        ck_assert_int_eq(espi_way_of(&q), CELLS);
        const double saves = espi_way_saves_in_all(&q);
        ck_assert_msg(saves > cases[i].saved - 1000 && saves < cases[i].saved + 1000, "%g saved, not %g", saves,
                      cases[i].saved);
        ck_assert(espi_way_saved_in_all(&q, CELLS) == saves && espi_way_saved_in_all(&q, DENSE) != saves);
    }
}
END_TEST

/* On the rank that receives first such a call waits for a send that is one ahead of its own. */
START_TEST(told_of_plain_ahead)
{
    const script takes = {[ESPI_WAY_SEND] = {0, 10000, 12000, 15000}, [ESPI_WAY_PLAIN] = {0, 10000, 5000, 30000}};
    struct espi_way_question q = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);

    q.told = true;
    for (q.bytes = LONG; q.bytes < 100 << 20; q.bytes *= 16) {
        begin(true);
        call_once(&q, takes);
        for (int i = 0; i < TRIAL; i++) {
            struct espi_way_turn plain = espi_way_plain_turn(q.bytes, false), send = espi_way_turn(&q);
            now += takes[ESPI_WAY_PLAIN][send.way];
            espi_way_turn_end(&plain, true);
            send.begun = now;
            now += takes[ESPI_WAY_SEND][send.way];
            espi_way_turn_end(&send, true);
        }
        const double saves = espi_way_saves_in_all(&q);
        ck_assert_msg(saves > 20000 && saves < 30000, "%ld bytes: %g saved", (long)q.bytes, saves);
    }
}
END_TEST

/* A trial that messages have left does not keep calls from passing unseen; the next turn does. */
START_TEST(watched_no_more)
{
    enum { PASSED_MOST = 4096 };
    const script takes = {[ESPI_WAY_SEND] = {0, 10000, 12000, 15000}};
    struct espi_way_question q = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);

    q.told = true;
    begin(true);
    for (int time = 0; time < 3; time++) {
        call_once(&q, takes);
        for (int i = 0; i < PASSED_MOST; i++) {
            ck_assert(espi_ways_are_watched && !(atomic_load(&espi_hot->plain) & ESPI_PLAIN));
            espi_way_passed_by();
        }
        ck_assert(!espi_ways_are_watched && atomic_load(&espi_hot->plain) & ESPI_PLAIN);
    }
}
END_TEST

/* Of several trials at a time the last one ends it. */
START_TEST(watched_until_the_last)
{
    const script takes = {[ESPI_WAY_SEND] = {0, 10000, 12000, 15000}};
    struct espi_way_question q = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true), other = q;

    q.told = other.told = true;
    other.bytes = 4 * q.bytes;
    begin(true);
    call_once(&q, takes);
    call_once(&other, takes);
    run(&q, takes, TRIAL);
    ck_assert(!espi_way_will_be_told(&q) && espi_ways_are_watched);
    run(&other, takes, TRIAL);
    ck_assert(!espi_ways_are_watched);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "message_told", one_side_only, some_of_them, told, told_given_up, told_short,
                     told_short_later, told_in_phases, told_beside_long, told_of_plain, told_of_plain_ahead,
                     watched_no_more, watched_until_the_last, told_in_noise);
}
