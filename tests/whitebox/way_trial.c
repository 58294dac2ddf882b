/*
 * When trials of ways end, and what their times say (src/mpi/packed/way_trial.h), by programs that are played, as in
 * message_ways.c.
 */
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

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "whitebox/way_trial", no_times, few_that_may, disturbed, late_by_turns,
                     price_of_late);
}
