/*
 * When trials of ways end, and what their times say (src/mpi/packed/way_trial.h), by programs that are played, as in
 * message_ways.c.
 */
#include "mpi/packed/trial_numbers.h"
#include "random_types.h"
#include "suite.h"
#include "type_service.h"
#include "ways_setup.h"

/* A way that gets no times, as there is no memory for buffers, say, does not keep the trial from its end; nor does
   one that messages went at first, and none can go any more. */
START_TEST(no_times)
{
    const script takes = {[ESPI_WAY_SEND] = {10000, 9000, 8000}};
    struct espi_way_question even = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true),
                             sure = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);
    const uint64_t decided = counted(ESPI_COUNT_ways_decided), timed = counted(ESPI_COUNT_ways_timed);
    int failed_ones = 0;

    begin(true);
    for (int i = 0; i < 400; i++) {
        struct espi_way_turn turn = espi_way_turn(&even);
        failed_ones += turn.group != NULL && turn.way != TYPED;
        now += takes[ESPI_WAY_SEND][turn.way];
        espi_way_turn_end(&turn, turn.way == TYPED);
    }
    ck_assert_int_lt(failed_ones, 200); /* calls that fail say nothing */
    ck_assert_uint_le(counted(ESPI_COUNT_ways_timed), timed + 400 - (uint64_t)failed_ones);
    ck_assert_int_eq(espi_way_of(&even), TYPED);
    ck_assert_uint_eq(counted(ESPI_COUNT_ways_decided), decided + 1);
    begin(true);
    call_once(&even, takes);
    run(&sure, takes, 200);
    ck_assert_uint_eq(counted(ESPI_COUNT_ways_decided), decided + 2);
    ck_assert_int_eq(espi_way_of(&sure), DENSE);
    begin(true); /* cells fail, and dense bytes take longer: packed it goes as these */
    for (int i = 0; i < 400; i++) {
        struct espi_way_turn turn = espi_way_turn(&even);
        now += turn.way == TYPED ? 10000 : 12000;
        espi_way_turn_end(&turn, turn.way != CELLS);
    }
    ck_assert(espi_way_of(&even) == TYPED && espi_way_packed(&even) == DENSE);
}
END_TEST

/* Where most messages can not go as the library would do it, what those take that can still counts; and the trial
   ends also where these come no more. */
START_TEST(few_that_may)
{
    const script takes = {[ESPI_WAY_SEND] = {10000, 14000, 15000}};
    const int64_t sizes[] = {100000, 2 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int each = 2; each <= 4; each++)
            for (int stops = 0; stops < 2; stops++) {
                struct espi_way_question even = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true),
                                         sure = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);
                const uint64_t decided = counted(ESPI_COUNT_ways_decided);
                even.bytes = sure.bytes = sizes[i];
                begin(true);
                for (int k = 0; k < 500; k++)
                    call_once(k % each == 0 && (k < 60 || !stops) ? &even : &sure, takes);
                ck_assert_uint_ge(counted(ESPI_COUNT_ways_decided), decided + 1);
                ck_assert_msg(stops || espi_way_of(&even) == TYPED, "%ld bytes, one of %d: way %d", (long)sizes[i],
                              each, espi_way_of(&even));
            }
}
END_TEST

/* Between nodes what a way takes is more than its least times; and within one the library's is not given up for times
   that it has in the first calls of all. */
START_TEST(not_given_up)
{
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, false);
    int typed = 0;

    begin(true);
    for (int i = 0; i < 2 * TRIAL; i++) {
        const script takes = {[ESPI_WAY_SEND] = {typed % 2 == 0 ? 10000 : 40000, 0, 12000}};
        typed += call_once(&q, takes) == TYPED;
    }
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    q.near = true;
    begin(true);
    for (int i = 0; i < 2 * TRIAL; i++)
        call_once(&q, (script){[ESPI_WAY_SEND] = {i < 8 ? 13000 : 10000, 10000, 14000}});
    ck_assert_int_eq(espi_way_of(&q), TYPED);
}
END_TEST

/* Of ways that were given up none is gone for want of times of the one that is left. */
START_TEST(one_is_left)
{
    const script takes = {[ESPI_WAY_SEND] = {40000, 10000, 40000}};
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true), other = q;
    const uint64_t decided = counted(ESPI_COUNT_ways_decided);

    other.no_cells = true;
    begin(true);
    run(&q, takes, 13);
    run(&other, takes, 400);
    ck_assert_uint_eq(counted(ESPI_COUNT_ways_decided), decided + 1);
    ck_assert_int_eq(espi_way_of(&q), CELLS);
}
END_TEST

/* Where two times are all that there are, one that was disturbed says nothing. */
START_TEST(disturbed)
{
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true);
    bool disturbs = false;

    q.bytes = 20 << 20;
    begin(true);
    for (int i = 0; i < TRIAL; i++) {
        struct espi_way_turn turn = espi_way_turn(&q);
        now += turn.way != TYPED ? 13000 : disturbs ? 14000 : 10000;
        disturbs = turn.way == TYPED && !disturbs;
        espi_way_turn_end(&turn, true);
    }
    ck_assert_int_eq(espi_way_of(&q), TYPED);
}
END_TEST

/* What makes every other message late is the way's own between nodes, where a peer acknowledges late, say; within a
   node what makes some of them late is not. And what disturbs one call counts nowhere. */
START_TEST(late_by_turns)
{
    static const int64_t sizes[] = {LONG, 2 << 20, 20 << 20};

    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++)
        for (int near = 0; near < 2; near++) {
            struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_BLOCKS, near);
            int typed = 0, dense = 0; /* one after the other; in all */
            q.bytes = sizes[size];
            begin(true);
            have_cells = false;
            for (int i = 0; i < TRIAL; i++) {
                struct espi_way_turn turn = espi_way_turn(&q);
                typed = turn.way == TYPED ? typed + 1 : 0;
                dense += turn.way == DENSE;
                now += turn.way == DENSE                             ? 10500 + 90000 * (dense == 3)
                       : typed > 0 && typed % (near ? 3 : 2) == 0 ? 26000
                                                                     : 10000;
                espi_way_turn_end(&turn, true);
            }
            ck_assert_msg(espi_way_of(&q) == (near ? TYPED : DENSE), "%ld bytes, %s: %d", (long)q.bytes,
                          near ? "near" : "far", espi_way_of(&q));
        }
}
END_TEST

/* And a trial between nodes is priced by what it took, late messages too: the next one comes when that is a small
   part of the time. */
START_TEST(price_of_late)
{
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_BLOCKS, false);
    const uint64_t decided = counted(ESPI_COUNT_ways_decided);
    int typed = 0, all = 0;

    q.bytes = 1800000;
    begin(true);
    for (int i = 0; i < 3 * AGAIN; i++) {
        struct espi_way_turn turn = espi_way_turn(&q);
        typed = turn.way == TYPED ? typed + 1 : 0;
        all += turn.way == TYPED;
        now += typed == 0 ? 15000 : typed % 2 == 0 ? 42000 : 16000;
        espi_way_turn_end(&turn, true);
    }
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    ck_assert_uint_eq(counted(ESPI_COUNT_ways_decided), decided + 1);
    ck_assert_int_lt(all, 20);
}
END_TEST

/* Calls until the trial that comes, or goes on, is at its end. */
static int calls_to_decide(const struct espi_way_question *q, const script takes)
{
    const uint64_t decided = counted(ESPI_COUNT_ways_decided);
    int n = 0;

    for (; counted(ESPI_COUNT_ways_decided) == decided; n++)
        call_once(q, takes);
    return n;
}

/* Where ranks share memory they begin trials together: one of them is ahead of the other, or follows it. */
START_TEST(together)
{
    enum { SIZE = 16, NEXT = ESPI_TRIAL_SIZES + SIZE, FEW = 4, YOUNG = ESPI_TRIAL_YOUNG }; /* of messages of LONG */
    static const unsigned char rank[] = {1};
    const script takes = {[ESPI_WAY_SEND] = {10000, 9000, 9500}};
    atomic_uchar said[3 * ESPI_TRIAL_SIZES] = {0}, *own = &said[SIZE], *other = &said[NEXT];
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true), far = q, any = q;

    q.others = rank;
    q.n_others = 1;
    begin(true);
    espi_trial_numbers_share(said, 0);
    run(&q, takes, FEW);
    ck_assert_int_eq(*own, 1 | YOUNG);
    call_once(&q, takes);
    ck_assert_int_eq(*own, 1);
    const int whole = FEW + 1 + calls_to_decide(&q, takes);

    begin(true); /* the other one has just begun, too, or begins now */
    *other = 1 | YOUNG;
    ck_assert_int_eq(calls_to_decide(&q, takes), whole);
    ck_assert_int_eq(*own, 1);

    begin(true); /* the other one comes late: all begins again */
    *other = 0;
    run(&q, takes, whole - 1);
    *other = 2 | YOUNG;
    ck_assert_int_eq(calls_to_decide(&q, takes), whole);
    ck_assert_int_eq(*own, 2);
    run(&q, takes, 10);
    ck_assert_int_eq(gone[CELLS], 10);
    *other = 1; /* behind */
    run(&q, takes, 10);
    ck_assert_int_eq(gone[CELLS], 10);
    *other = 4; /* ahead, long before this one would begin */
    ck_assert_int_eq(calls_to_decide(&q, takes), whole);
    ck_assert_int_eq(*own, 4);
    *other = 0; /* not known, as of a rank that was never there */
    run(&q, takes, AGAIN - whole - 1);
    ck_assert_int_eq(*own, 4);
    run(&q, takes, AGAIN * 4); /* its own time has come */
    ck_assert_int_eq(*own, 5);

    begin(true); /* this one comes late */
    *other = 3;
    call_once(&q, takes);
    ck_assert_int_eq(*own, 4 | YOUNG);
    begin(true); /* and so late that the others do not begin again for it */
    *other = 100;
    call_once(&q, takes);
    ck_assert_int_eq(*own, 100 | YOUNG);
    *other = 127;
    ck_assert_int_eq(calls_to_decide(&q, takes), whole);
    ck_assert_int_eq(*own, 127);
    *other = 3; /* numbers go round, and 0 is none */
    call_once(&q, takes);
    ck_assert_int_eq(*own, 3 | YOUNG);
    begin(true);
    *other = 127;
    calls_to_decide(&q, takes);
    calls_to_decide(&q, takes);
    ck_assert_int_eq(*own, 1);

    begin(true); /* who is far ahead for ever does not keep it from its end */
    *other = 1;
    for (int i = 0, decided = (int)counted(ESPI_COUNT_ways_decided);
         (int)counted(ESPI_COUNT_ways_decided) == decided; i++) {
        ck_assert_int_lt(i, 6 * whole);
        if (i % (whole / 2) == 0)
            *other = (unsigned char)(*other + 2);
        call_once(&q, takes);
    }

    far.near = false; /* between nodes, or of ranks that are not known, nothing is read */
    far.others = rank;
    far.n_others = 1;
    begin(true);
    *own = 0;
    *other = 9;
    run(&far, takes, 10);
    ck_assert_int_eq(*own, 0);
    call_once(&any, takes);
    ck_assert_int_eq(*own, 1);
    for (int i = 0; i < 3 * ESPI_TRIAL_SIZES; i++)
        ck_assert(i == SIZE || i == NEXT || said[i] == 0);
    espi_trial_numbers_share(NULL, 0);
    run(&q, takes, 10);
    ck_assert_int_eq(*own, 1);
}
END_TEST

/* Of some ranks the latest one counts, whatever numbers they begin with. */
START_TEST(latest)
{
    enum { RANKS = 5, SIZE = 31 };
    static const unsigned char ranks[] = {3, 1, 4};
    atomic_uchar said[RANKS * ESPI_TRIAL_SIZES] = {0};

    ck_assert_int_eq(espi_trial_latest(SIZE, ranks, 3), 0);
    espi_trial_numbers_share(said, 2);
    ck_assert_int_eq(espi_trial_latest(SIZE, ranks, 3), 0);
    for (int base = 1; base <= ESPI_TRIAL_NUMBERS; base++)
        for (int late = 0; late < 3; late++) {
            for (int i = 0; i < 3; i++)
                said[ranks[i] * ESPI_TRIAL_SIZES + SIZE] =
                    (unsigned char)((base - 1 + (i == late ? 20 : i)) % ESPI_TRIAL_NUMBERS + 1);
            ck_assert_int_eq(espi_trial_latest(SIZE, ranks, 3), (base + 19) % ESPI_TRIAL_NUMBERS + 1);
        }
    said[4 * ESPI_TRIAL_SIZES + SIZE] = 0;
    espi_trial_say(SIZE, 77);
    ck_assert_int_eq(said[2 * ESPI_TRIAL_SIZES + SIZE], 77);
    ck_assert(espi_trial_is_later(1, 127) && !espi_trial_is_later(127, 1) && !espi_trial_is_later(5, 5));
    ck_assert(!espi_trial_is_later(0, 100) && espi_trial_is_later(5 | ESPI_TRIAL_YOUNG, 4));
    espi_trial_numbers_share(NULL, 0);
}
END_TEST

/* Messages that a trial has found to be the library's are seen, until another trial is due, or the other rank is
   ahead; others are not. */
START_TEST(left)
{
    enum { SIZE = 16 };
    const script takes = {[ESPI_WAY_SEND] = {9900, 10000, 9950}}; /* so that the next trial comes soon */
    const script packed = {[ESPI_WAY_SEND] = {10000, 9000, 9900}};
    static const unsigned char rank[] = {1};
    atomic_uchar said[2 * ESPI_TRIAL_SIZES] = {0};
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true), far = q, receive = q;
    bool found = false;

    far.near = false;
    receive.call = ESPI_WAY_RECEIVE;
    begin(true);
    ck_assert(!espi_way_is_left(&q, &found)); /* nothing is known */
    const int whole = calls_to_decide(&q, takes);
    ck_assert(!espi_way_is_left(&far, &found));
    for (int i = whole + 1; i < AGAIN; i++)
        ck_assert_msg(espi_way_is_left(i % 2 == 0 ? &q : &receive, &found) && found == (i % 2 == 0), "message %d", i);
    ck_assert(!espi_way_is_left(&q, &found));
    calls_to_decide(&q, takes); /* with that one the next trial begins */
    ck_assert(espi_way_is_left(&q, &found));

    begin(true);
    espi_trial_numbers_share(said, 0);
    q.others = rank;
    q.n_others = 1;
    calls_to_decide(&q, takes);
    ck_assert(espi_way_is_left(&q, &found));
    said[ESPI_TRIAL_SIZES + SIZE] = said[SIZE] + 1;
    ck_assert(!espi_way_is_left(&q, &found));
    espi_trial_numbers_share(NULL, 0);
    ck_assert(espi_way_is_left(&q, &found));

    begin(true);
    calls_to_decide(&q, packed);
    ck_assert(!espi_way_is_left(&q, &found));
    begin(false); /* nothing is tried */
    ck_assert(!espi_way_is_left(&q, &found));
}
END_TEST

/* Ranks that begin trials together wait longer after one in which slower ways took much: a 256th of the messages that
   follow, not a 64th. */
START_TEST(dear_together)
{
    enum { PART = 256 };
    const script dear = {[ESPI_WAY_SEND] = {10000, 14900, 14900}};
    static const unsigned char rank[] = {1};
    atomic_uchar said[2 * ESPI_TRIAL_SIZES] = {0};
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true);
    const uint64_t decided = counted(ESPI_COUNT_ways_decided);
    int slower = 0, wait = 0;

    begin(true);
    espi_trial_numbers_share(said, 0);
    q.others = rank;
    q.n_others = 1;
    while (counted(ESPI_COUNT_ways_decided) == decided)
        slower += call_once(&q, dear) != TYPED;
    while (wait < 1 << 17 && call_once(&q, dear) == TYPED)
        wait++;
    ck_assert_int_gt(slower, 0);
    ck_assert_int_gt(wait, slower * 0.45 * PART);
    ck_assert_int_lt(wait, slower * 0.55 * PART * 4);
    espi_trial_numbers_share(NULL, 0);
}
END_TEST

/* Two ranks' short messages come to be packed at different times; their turns begin together all the same: who is to
   wait as yet does not where the other begins, and who comes late is followed. Both sides take as many turns. */
START_TEST(short_together)
{
    enum { SIZE = 10, FEW = 10, YOUNG = ESPI_TRIAL_YOUNG };
    static const unsigned char rank[] = {1};
    const script takes = {[ESPI_WAY_SEND] = {0, 0, 1000, 1300}, [ESPI_WAY_RECEIVE] = {0, 0, 2000, 2300}};
    atomic_uchar said[2 * ESPI_TRIAL_SIZES] = {0}, *own = &said[SIZE], *other = &said[ESPI_TRIAL_SIZES + SIZE];
    struct espi_way_question send = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);
    int turns[2];

    send.bytes = 2000;
    send.no_cells = send.told = true;
    send.others = rank;
    send.n_others = 1;
    struct espi_way_question receive = send;
    receive.call = ESPI_WAY_RECEIVE;
    for (int young = 0; young < 2; young++) {
        begin(true);
        memset(said, 0, sizeof said);
        espi_trial_numbers_share(said, 0);
        run(&send, takes, FEW);
        *other = young ? 1 | YOUNG : 1;
        call_once(&send, takes);
        ck_assert_int_eq(*own, young ? 1 | YOUNG : 0);
    }
    turns[0] = 1 + calls_to_decide(&send, takes);
    for (int young = 1; young >= 0; young--) {
        *other = (*own & ESPI_TRIAL_NUMBERS) + 1;
        *other |= young ? YOUNG : 0;
        call_once(young ? &send : &receive, takes);
        ck_assert_int_eq(*own, young ? *other : (*other + 1) | YOUNG);
        turns[1] = 1 + calls_to_decide(young ? &send : &receive, takes);
        ck_assert_int_eq(turns[1], turns[0]);
    }
    espi_trial_numbers_share(NULL, 0);
}
END_TEST

/* Doubtful messages have groups of their own, whatever their size, and say of their trials what is theirs to say. */
START_TEST(groups_of_sizes)
{
    enum { COLD_SHORT = 128 };
    static const unsigned char rank[] = {0};
    const script takes = {[ESPI_WAY_SEND] = {0, 0, 1000, 1300}};
    atomic_uchar said[2 * ESPI_TRIAL_SIZES] = {0};
    struct espi_way_question q = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);
    int began = 0;

    q.no_cells = q.doubtful = true;
    q.others = rank;
    q.n_others = 1;
    for (q.bytes = 4; q.bytes <= 8192; q.bytes += 52) {
        begin(true);
        memset(said, 0, sizeof said);
        espi_trial_numbers_share(said, 1);
        run(&q, takes, COLD_SHORT + 1);
        for (int i = 0; i < ESPI_TRIAL_SIZES; i++) {
            ck_assert_int_eq(said[i], 0);
            began += said[ESPI_TRIAL_SIZES + i] != 0;
        }
    }
    ck_assert_int_eq(began, 158);
    espi_trial_numbers_share(NULL, 0);
}
END_TEST

/* After packed ones the first of the program's type take less than they do in the long run, which is what is told: by
   two runs of them, or one where packing is far better, in which both kinds of calls have it to its end. */
START_TEST(own_in_the_long_run)
{
    enum { FIRST = 5, LEAST_RUN = 8, LONGEST_RUN = 11 };
    static const uint64_t own[] = {14000, 60000};

    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const uint64_t decided = counted(ESPI_COUNT_ways_decided);
        int made[2] = {0}, in_run[2] = {0};
        begin(true);
        for (int n = 0; n < TRIAL; n++)
            for (int call = ESPI_WAY_SEND; call <= ESPI_WAY_RECEIVE; call++) {
                struct espi_way_question q = question(ESPI_WAYS_SURE, (enum espi_way_call)call, true);
                q.told = true;
                struct espi_way_turn turn = espi_way_turn(&q);
                in_run[call] = turn.way == OWN ? in_run[call] + 1 : 0;
                made[call] += turn.way == OWN;
                now += turn.way != OWN ? 10000 : in_run[call] > FIRST ? own[i] : own[i] * 2 / 3;
                espi_way_turn_end(&turn, true);
            }
        ck_assert_uint_eq(counted(ESPI_COUNT_ways_decided), decided + 1);
        for (int call = ESPI_WAY_SEND; call <= ESPI_WAY_RECEIVE; call++) {
            const struct espi_way_question q = {
                .open = ESPI_WAYS_SURE, .call = (enum espi_way_call)call, .near = true, .bytes = LONG, .told = true};
            const double saves = espi_way_saves_in_all(&q), is = (double)own[i] - 10000;
            const int runs = i == 0 ? 2 : 1;
            ck_assert_msg(saves > 0.99 * is && saves < 1.01 * is, "%g saved, not %g", saves, is);
            ck_assert(made[call] >= runs * LEAST_RUN && made[call] <= runs * LONGEST_RUN);
        }
    }
}
END_TEST

/* Of calls that come half as often one run of the program's type is enough, so that they count. */
START_TEST(own_of_few)
{
    enum { SENDS = 60 };
    const script takes = {[ESPI_WAY_SEND] = {0, 10000, 11000, 13000}, [ESPI_WAY_RECEIVE] = {0, 10000, 11000, 13000}};
    struct espi_way_question send = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true),
                             receive = question(ESPI_WAYS_SURE, ESPI_WAY_RECEIVE, true);
    const uint64_t decided = counted(ESPI_COUNT_ways_decided);

    send.told = receive.told = true;
    begin(true);
    for (int i = 0; i < 3 * SENDS / 2; i++)
        call_once(i % 3 == 2 ? &receive : &send, takes);
    ck_assert(counted(ESPI_COUNT_ways_decided) == decided + 1);
    ck_assert(espi_way_saves_in_all(&send) > 2900 && espi_way_saves_in_all(&receive) > 2900);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "whitebox/way_trial", no_times, few_that_may, not_given_up, one_is_left, disturbed,
                     late_by_turns, price_of_late, together, latest, left, dear_together, short_together,
                     groups_of_sizes, own_in_the_long_run, own_of_few);
}
