/*
 * Which way long messages go (src/mpi/packed/message_ways.h), by programs that are played: what a message takes is
 * the script's, by way and call. When trials end, and what
 * times say: way_trial.c. Nonblocking calls: message_batches.c.
 */
#include "random_types.h"
#include "suite.h"
#include "type_service.h"
#include "ways_setup.h"

/* The fastest of three, whichever that is, in the middle of noise. Between nodes there are two. */
START_TEST(fastest)
{
    for (int best = 0; best < ESPI_WAY_CHOICES; best++)
        for (int near = best == CELLS; near < 2; near++) {
            struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_BOTH, near);
            int cells = 0;
            begin(true);
            for (int i = 0; i < TRIAL; i++) {
                script takes = {{0}};
                for (int way = 0; way < ESPI_WAY_CHOICES; way++)
                    takes[ESPI_WAY_BOTH][way] =
                        10000 + 1000 * (way != best) + random_below(300) + 30000 * (i % 7 == 0);
                cells += call_once(&q, takes) == CELLS;
            }
            ck_assert_int_eq(espi_way_of(&q), best);
            ck_assert_int_eq(cells > 0, near);
            run(&q, (script){{0}}, AGAIN / 2);
            ck_assert_int_eq(gone[best], AGAIN / 2);
        }
}
END_TEST

/* Trials of long messages take fewer calls. */
START_TEST(long_ones)
{
    static const struct {
        int64_t bytes;
        bool near;
        int least, most;
    } is[] = {{LONG, true, 3 * TIMES, TRIAL}, {(64 << 10) - 1, false, 2 * TIMES, TRIAL},
              {64 << 10, false, 16, 32},      {1 << 20, true, 15, 24},
              {1 << 20, false, 16, 32},       {(16 << 20) - 1, true, 15, 24},
              {16 << 20, true, 6, 12},        {16 << 20, false, 8, 16}};

    for (size_t i = 0; i < sizeof is / sizeof *is; i++)
        for (int best = 0; best < ESPI_WAY_CHOICES; best += is[i].near ? 1 : DENSE) {
            struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_BLOCKS, is[i].near);
            int calls = 0;
            q.bytes = is[i].bytes;
            begin(true);
            const uint64_t decided = counted(ESPI_COUNT_ways_decided);
            for (; counted(ESPI_COUNT_ways_decided) == decided; calls++) {
                script takes = {{0}};
                for (int way = 0; way < ESPI_WAY_CHOICES; way++)
                    takes[ESPI_WAY_BLOCKS][way] = 100000 + 10000 * (way != best) + random_below(3000);
                call_once(&q, takes);
            }
            ck_assert_msg(calls >= is[i].least && calls <= is[i].most, "%zu: %d calls", i, calls);
            ck_assert_int_eq(espi_way_of(&q), best);
        }
}
END_TEST

/* A way that is far slower is gone twice, after the calls that are not counted, one that is slower by a fifth four
   times. */
START_TEST(given_up)
{
    const uint64_t takes[] = {40000, 12000};

    for (int i = 0; i < 2; i++) {
        struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true);
        begin(true);
        run(&q, (script){[ESPI_WAY_SEND] = {10000, 11000, takes[i]}}, TRIAL);
        ck_assert_int_eq(gone[DENSE], WARM + (i == 0 ? 2 : 4));
        ck_assert_int_ge(gone[CELLS], TIMES);
        ck_assert_int_eq(espi_way_of(&q), TYPED);
    }
}
END_TEST

/* But not for what sending alone takes: a message may be sent at once and wait at the other end. */
START_TEST(left_to_receiving)
{
    const script takes = {[ESPI_WAY_SEND] = {6500, 1100, 8800}, [ESPI_WAY_RECEIVE] = {9700, 16300, 9300}};
    struct espi_way_question send = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true),
                             receive = question(ESPI_WAYS_EVEN, ESPI_WAY_RECEIVE, true);

    begin(true);
    to_and_fro(&send, &receive, takes);
    ck_assert_int_eq(espi_way_of(&send), TYPED);
    ck_assert_int_eq(espi_way_of(&receive), TYPED);
    begin(true); /* also where much is sent before something is received */
    for (int i = 0; i < 2 * TRIAL; i++)
        call_once(i / 24 % 2 == 0 ? &send : &receive, takes);
    ck_assert_int_eq(espi_way_of(&send), TYPED);
    ck_assert_int_eq(espi_way_of(&receive), TYPED);
}
END_TEST

/* The calls after a change are not counted: cells that were used a moment ago take half as long. */
START_TEST(warm)
{
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true);
    enum espi_message_way before = DENSE;
    int others = 0;

    begin(true);
    for (int i = 0; i < TRIAL; i++) {
        const script cold = {[ESPI_WAY_SEND] = {9000, 16000, 10000}}, hot = {[ESPI_WAY_SEND] = {9000, 8000, 10000}};
        before = call_once(&q, before == CELLS && others++ % 64 != 63 ? hot : cold);
    }
    ck_assert_int_eq(espi_way_of(&q), CELLS);
}
END_TEST

/* What sending leaves to receiving counts; and what comes seldom counts as seldom. */
START_TEST(both_sides)
{
    const script takes = {[ESPI_WAY_SEND] = {13000, 9000, 10800}, [ESPI_WAY_RECEIVE] = {10000, 14000, 10200}};
    struct espi_way_question send = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true),
                             receive = question(ESPI_WAYS_EVEN, ESPI_WAY_RECEIVE, true);

    begin(true);
    to_and_fro(&send, &receive, takes);
    ck_assert_int_eq(espi_way_of(&send), DENSE);
    ck_assert_int_eq(espi_way_of(&receive), DENSE);
    begin(true); /* hardly anything is received */
    for (int i = 0; i < 4 * TRIAL; i++) {
        call_once(&send, takes);
        if (i % 10 == 0)
            call_once(&receive, takes);
    }
    ck_assert_int_eq(espi_way_of(&send), CELLS);
}
END_TEST

/* Where nothing is clearly faster all stays as it is, but that between nodes it is dense bytes that stay at first. */
START_TEST(stays)
{
    const script a_little = {[ESPI_WAY_SEND] = {10000, 9800, 9750}},
                 clearly = {[ESPI_WAY_SEND] = {10000, 9800, 9600}};
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, false);

    begin(true);
    run(&q, a_little, TRIAL);
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    begin(true);
    run(&q, (script){[ESPI_WAY_SEND] = {9600, 10000, 10000}}, TRIAL);
    ck_assert_int_eq(espi_way_of(&q), TYPED);
    run(&q, (script){[ESPI_WAY_SEND] = {9800, 9700, 9600}}, 2 * AGAIN);
    ck_assert_int_eq(espi_way_of(&q), TYPED);
    q.near = true;
    begin(true);
    run(&q, a_little, TRIAL);
    ck_assert_int_eq(espi_way_of(&q), TYPED);
    q.near = q.packs = true; /* the models say that packing is faster */
    begin(true);
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    run(&q, (script){[ESPI_WAY_SEND] = {9800, 10000, 10000}}, TRIAL);
    ck_assert_int_eq(espi_way_of(&q), TYPED);
    q.near = q.packs = false;
    begin(true);
    run(&q, clearly, TRIAL);
    ck_assert_int_eq(espi_way_of(&q), DENSE);
}
END_TEST

/* Within a node the library's way stays at first where another saves less than one part in 16, which its cold caches
   may make; the second trial says whether it does. */
START_TEST(first_trial)
{
    const script some = {[ESPI_WAY_SEND] = {10000, 9450, 9700}}, more = {[ESPI_WAY_SEND] = {10000, 9300, 9700}};
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true);

    for (int packs = 0; packs < 2; packs++) {
        q.packs = packs;
        begin(true);
        run(&q, more, TRIAL);
        ck_assert_int_eq(espi_way_of(&q), CELLS);
        begin(true);
        run(&q, some, TRIAL);
        ck_assert_int_eq(espi_way_of(&q), TYPED);
        run(&q, some, 2 * AGAIN);
        ck_assert_int_eq(espi_way_of(&q), CELLS);
    }
}
END_TEST

/* Processors go farther away: what is best changes, and is noticed; in the long run hardly any message is a turn. */
START_TEST(again)
{
    const script near = {[ESPI_WAY_SEND] = {10000, 4000, 9000}}, far = {[ESPI_WAY_SEND] = {10000, 12000, 9000}};
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true);
    const uint64_t decided = counted(ESPI_COUNT_ways_decided), reversed = counted(ESPI_COUNT_ways_reversed),
                   timed = counted(ESPI_COUNT_ways_timed);
    int others;

    begin(true);
    run(&q, near, TRIAL);
    ck_assert_int_eq(espi_way_of(&q), CELLS);
    ck_assert_uint_ge(counted(ESPI_COUNT_ways_timed), timed + TIMES);
    ck_assert_uint_le(counted(ESPI_COUNT_ways_timed), timed + TRIAL);
    ck_assert_uint_eq(counted(ESPI_COUNT_ways_decided), decided + 1);
    ck_assert_uint_eq(counted(ESPI_COUNT_ways_reversed), reversed);
    run(&q, far, 4 * AGAIN + TRIAL);
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    ck_assert_uint_eq(counted(ESPI_COUNT_ways_reversed), reversed + 1);
    run(&q, far, 20 * AGAIN_MOST);
    others = gone[TYPED] + gone[CELLS];
    ck_assert_int_gt(others, 0);
    ck_assert_int_lt(others, 20 * AGAIN_MOST / 500);
    run(&q, near, AGAIN_MOST + TRIAL);
    ck_assert_int_eq(espi_way_of(&q), CELLS);
    ck_assert_uint_eq(counted(ESPI_COUNT_ways_reversed), reversed + 2);
}
END_TEST

/* Within a node the first bytes go through cells and are not timed: as the library does it, where that is open. What
   they say of other messages, and of those between nodes, is nothing. */
START_TEST(cold_cells)
{
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true), sure = q, far = q;
    const script takes = {[ESPI_WAY_SEND] = {10000, 9000, 4000}};
    const uint64_t timed = counted(ESPI_COUNT_ways_timed);

    q.packs = true; /* which is what nonblocking collective calls go by, as they are not tried */
    sure.open = ESPI_WAYS_SURE;
    far.near = false;
    begin_cold(true);
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    for (int i = 0; i < (COLD / 2 + LONG - 1) / LONG; i++) {
        ck_assert_int_eq(call_once(&q, takes), TYPED);
        have_cells = i > 0;
        ck_assert_int_eq(call_once(&sure, takes), i > 0 ? CELLS : DENSE);
        have_cells = true;
    }
    ck_assert_uint_eq(counted(ESPI_COUNT_ways_timed), timed);
    run(&q, takes, TRIAL);
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    begin_cold(true);
    run(&far, takes, TRIAL);
    ck_assert_int_eq(espi_way_of(&far), DENSE);
    ck_assert_int_gt(gone[DENSE], TIMES);
}
END_TEST

/* What a trial has lost by messages that went slower ways is a small part of what follows, however much that is. */
START_TEST(dear_trials)
{
    enum { PART = 64, MANY = 100000 };
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, false);
    int lost = 0, typed = 0, dense = 0;

    begin(true);
    for (int i = 0; i < 2 * TRIAL + 3 * AGAIN / 2 + MANY; i++) {
        /* mostly it takes thrice as long, but not always, so that it is not given up */
        const script dear = {[ESPI_WAY_SEND] = {10000, 0, dense % 5 == 0 ? 10000 : 30000}};
        const bool is_dense = call_once(&q, dear) == DENSE;
        dense += is_dense;
        if (i < 2 * TRIAL)
            continue;
        ck_assert_int_eq(espi_way_of(&q), TYPED);
        typed += !is_dense && typed == i - 2 * TRIAL;
        lost += is_dense;
    }
    ck_assert_int_gt(typed, 3 * AGAIN / 2); /* a trial of less cost would be made by then */
    ck_assert_int_gt(lost, 0);
    ck_assert_int_lt(lost * 1.6, 1.1 * MANY / PART);
}
END_TEST

/* Ranks whose trials end at different messages, as their times differ, begin the next one with the same. */
START_TEST(in_step)
{
    const script takes[2] = {{[ESPI_WAY_SEND] = {10000, 9000, 9500}}, {[ESPI_WAY_SEND] = {10000, 9000, 13600}}};
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true);
    int ended[2], began[2];

    for (int rank = 0; rank < 2; rank++) {
        const uint64_t decided = counted(ESPI_COUNT_ways_decided);
        int n = 1;
        begin(true);
        for (; call_once(&q, takes[rank]) != CELLS || counted(ESPI_COUNT_ways_decided) == decided; n++)
            ;
        ended[rank] = n;
        while (call_once(&q, takes[rank]) == CELLS)
            n++;
        began[rank] = n;
    }
    ck_assert_int_ne(ended[0], ended[1]);
    ck_assert_int_eq(began[0], began[1]);
    ck_assert_int_ge(began[0], AGAIN - 1); /* with a run of another way, or of the one that is gone anyhow */
    ck_assert_int_le(began[0], AGAIN + 12);
}
END_TEST

/* Also ranks of which one has given a way up, or goes another way than the others: runs come in the same order. */
START_TEST(same_runs)
{
    enum { CALLS = 100 };
    const script takes[2] = {{[ESPI_WAY_BLOCKS] = {10000, 9000, 10300}}, {[ESPI_WAY_BLOCKS] = {9000, 10000, 13600}}};
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_BLOCKS, true);
    static enum espi_message_way went[2][CALLS];
    int tried = 0;

    for (int rank = 0; rank < 2; rank++) {
        begin(true);
        for (int i = 0; i < CALLS; i++)
            went[rank][i] = call_once(&q, takes[rank]);
        ck_assert_int_eq(espi_way_of(&q), rank == 0 ? CELLS : TYPED);
    }
    for (int i = 0; i < CALLS; i++)
        if (went[0][i] == DENSE) { /* rank 1 has given that up */
            tried++;
        } else if (went[0][i] != went[1][i]) {
            ck_assert_msg(went[0][i] == CELLS && went[1][i] == TYPED, "call %d", i); /* as each has decided */
        } else {
            tried++;
        }
    ck_assert_int_gt(tried, 45);
}
END_TEST

/* Messages of other sizes and other places have choices of their own; all layouts have one. */
START_TEST(groups)
{
    const script fast_cells = {[ESPI_WAY_SEND] = {10000, 4000, 9000}},
                 fast_dense = {[ESPI_WAY_SEND] = {10000, 9000, 4000}},
                 fast_typed = {[ESPI_WAY_SEND] = {4000, 9000, 8000}};
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true), other = q;

    begin(true);
    run(&q, fast_cells, TRIAL);
    other.near = false;
    run(&other, fast_dense, TRIAL);
    ck_assert_int_eq(espi_way_of(&q), CELLS);
    ck_assert_int_eq(espi_way_of(&other), DENSE);
    other = q;
    other.bytes = 2 * LONG;
    ck_assert_int_eq(espi_way_of(&other), TYPED);
    other = q;
    other.open = ESPI_WAYS_SURE;
    ck_assert_int_eq(espi_way_of(&other), CELLS);
    other.bytes = INT64_C(1) << 40; /* has one, too */
    run(&other, fast_cells, TRIAL);
    ck_assert_int_eq(espi_way_of(&other), CELLS);
    begin(true);
    run(&q, fast_typed, TRIAL);
    other = q;
    other.open = ESPI_WAYS_SURE; /* is packed all the same: the better way of packed ones is known */
    ck_assert_int_eq(espi_way_of(&q), TYPED);
    ck_assert(espi_way_of(&other) != TYPED && espi_way_packed(&other) == espi_way_of(&other));
}
END_TEST

/* Where there is nothing to choose nothing is timed: no types for cells; another thread leads. */
START_TEST(no_choice)
{
    struct espi_way_question q = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);
    struct espi_way_turn turn;

    begin(true);
    q.bytes = 16 * KB;
    ck_assert_int_eq(espi_way_of(&q), CELLS);
    q.bytes++;
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    begin(true);
    have_cells = false;
    turn = espi_way_turn(&q);
    ck_assert(turn.group == NULL && turn.way == DENSE);
    q.bytes = 12 * KB;
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    begin(false);
    q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true);
    turn = espi_way_turn(&q);
    ck_assert(turn.group == NULL && turn.way == TYPED);
    espi_way_turn_end(&turn, true);
    /* What only the models say is not done to messages where it can not be tried. */
    q.packs = true;
    q.bytes = 64 * KB;
    for (int led = 0; led < 2; led++) {
        if (led)
            suite_another_leads(true);
        q.call = ESPI_WAY_SEND;
        ck_assert_int_eq(espi_way_of(&q), led ? TYPED : DENSE);
        q.call = ESPI_WAY_BLOCKS;
        ck_assert_int_eq(espi_way_of(&q), DENSE);
    }
    suite_another_leads(false);
}
END_TEST

/* Messages that can not go the way whose turn it is go another one, and what sending takes then is not counted; what
   receiving takes is up to the sender, too. */
START_TEST(other_way)
{
    const script takes = {[ESPI_WAY_SEND] = {2000, 3000, 2900}, [ESPI_WAY_RECEIVE] = {9000, 3000, 6000}};
    struct espi_way_question even = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true),
                             sure = question(ESPI_WAYS_SURE, ESPI_WAY_RECEIVE, true);

    begin(true);
    for (int i = 0; i < 2 * TRIAL; i++) {
        struct espi_way_turn turn;
        call_once(&even, takes);
        turn = espi_way_turn(&sure);
        ck_assert_int_ne(turn.way, TYPED);
        now += takes[ESPI_WAY_RECEIVE][turn.group != NULL ? turn.label : turn.way];
        espi_way_turn_end(&turn, true);
    }
    ck_assert_int_eq(espi_way_of(&even), CELLS);
    begin(true);
    for (int i = 0; i < 2 * TRIAL; i++) {
        call_once(&even, takes);
        sure.call = ESPI_WAY_SEND;
        call_once(&sure, (script){[ESPI_WAY_SEND] = {0, 3000, 2900}});
    }
    ck_assert_int_eq(espi_way_of(&even), TYPED);
}
END_TEST

/* Types for cells may be taken away: then a choice of them is none, and comes back with them. */
START_TEST(without_cells)
{
    const script takes = {[ESPI_WAY_SEND] = {10000, 4000, 9000}};
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true);

    begin(true);
    run(&q, takes, TRIAL);
    have_cells = false;
    q.packs = true;
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    have_cells = true;
    ck_assert_int_eq(espi_way_of(&q), CELLS);
    begin(true);
    run(&q, takes, 4); /* in the middle of a trial */
    have_cells = false;
    run(&q, takes, TRIAL);
    ck_assert_int_eq(gone[CELLS], 0);
    /* They may be there, and not for this message. */
    have_cells = true;
    begin(true);
    run(&q, takes, TRIAL);
    ck_assert_int_eq(espi_way_of(&q), CELLS);
    q.no_cells = true;
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    ck_assert_int_eq(espi_way_packed(&q), DENSE);
    begin(true);
    run(&q, takes, TRIAL);
    ck_assert_int_eq(gone[CELLS], 0);
}
END_TEST

/* What a message saves, by the times that were taken. */
START_TEST(saves)
{
    const script takes = {[ESPI_WAY_SEND] = {10000, 4000, 9000}, [ESPI_WAY_RECEIVE] = {6000, 7000, 7000}};
    struct espi_way_question send = question(ESPI_WAYS_EVEN, ESPI_WAY_SEND, true),
                             receive = question(ESPI_WAYS_EVEN, ESPI_WAY_RECEIVE, true),
                             sure = question(ESPI_WAYS_SURE, ESPI_WAY_SEND, true);

    begin(true);
    ck_assert(espi_way_saves(&send) < 0);
    to_and_fro(&send, &receive, takes);
    ck_assert(espi_way_saves(&send) > 5990 && espi_way_saves(&send) < 6010);
    ck_assert(espi_way_saves(&receive) == 0);
    send.bytes /= 2; /* the choice of another group */
    ck_assert(espi_way_saves(&send) < 0);
    ck_assert(espi_way_saves(&sure) < 0); /* the library's way is not known */
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "message_ways", fastest, long_ones, given_up, left_to_receiving, warm, both_sides,
                     stays, first_trial, again, cold_cells, in_step, same_runs, dear_trials, groups, no_choice,
                     other_way, without_cells, saves);
}
