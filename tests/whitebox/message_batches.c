/*
 * Which way long nonblocking messages go (src/mpi/packed/message_ways.h): all that are under way at a time are one
 * batch, by programs that are played.
 */
#include "random_types.h"
#include "suite.h"
#include "type_service.h"
#include "ways_setup.h"

/* An exchange of `n` messages each way by nonblocking calls, of which each post and the completion take as long as
   the script says; `between`: what the program does meanwhile, which is not timed. */
static enum espi_message_way exchange(int n, const script takes, uint64_t between)
{
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_BATCH, true);
    enum espi_message_way way = ESPI_WAY_TYPED;
    unsigned batch = 0;

    for (int i = 0; i < 2 * n; i++) {
        struct espi_way_turn turn = espi_way_turn(&q);
        ck_assert(i == 0 || (turn.way == way && turn.batch == batch));
        way = turn.way;
        batch = turn.batch;
        espi_way_batch_joined(turn.batch);
        now += takes[ESPI_WAY_BATCH][way];
        espi_way_turn_end(&turn, true);
    }
    now += between;
    if (batch != 0)
        ck_assert_uint_eq(espi_way_batch, batch);
    for (int i = 0; i < 2 * n; i++) { /* MPI_Wait, one after the other */
        now += takes[ESPI_WAY_BATCH][way];
        espi_way_batch_left(batch);
        espi_way_batch_took(takes[ESPI_WAY_BATCH][way]);
    }
    ck_assert_uint_eq(espi_way_batch, 0);
    return way;
}

START_TEST(batches)
{
    const script takes = {[ESPI_WAY_BATCH] = {10000, 9000, 8000}};
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_BATCH, true);

    begin(true);
    for (int i = 0; i < TRIAL; i++)
        exchange(3, takes, 5000 + 100000 * (uint64_t)(i % 2));
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    ck_assert(espi_way_saves(&q) > 3990 && espi_way_saves(&q) < 4010); /* posted and completed, of each message */
    ck_assert_int_eq(exchange(3, takes, 0), DENSE);
}
END_TEST

/* A blocking call in the middle is a turn of its own, and messages of another group are none of the batch. */
START_TEST(among_others)
{
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_BATCH, true), other = q;

    begin(true);
    struct espi_way_turn turn = espi_way_turn(&q);
    espi_way_batch_joined(turn.batch);
    espi_way_turn_end(&turn, true);
    other.bytes = 4 * LONG;
    struct espi_way_turn second = espi_way_turn(&other);
    ck_assert(second.group == NULL && second.batch == 0 && second.way == TYPED);
    espi_way_batch_joined(second.batch);
    espi_way_turn_end(&second, true);
    other.call = ESPI_WAY_SEND;
    second = espi_way_turn(&other);
    ck_assert(second.group != NULL && second.batch == 0);
    espi_way_turn_end(&second, true);
    ck_assert_uint_eq(espi_way_batch, turn.batch);
    espi_way_batch_left(turn.batch + 1); /* of an older one, say */
    espi_way_batch_took(100);
    ck_assert_uint_eq(espi_way_batch, turn.batch);
    espi_way_batch_left(turn.batch);
    espi_way_batch_took(100);
    ck_assert_uint_eq(espi_way_batch, 0);
}
END_TEST

/* A batch that something has gone wrong with says nothing; one that never ends is given up, and so are they all. */
START_TEST(spoilt)
{
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_BATCH, true);
    struct espi_way_turn turn;
    int timed = 0;

    begin(true);
    turn = espi_way_turn(&q);
    espi_way_batch_joined(turn.batch);
    espi_way_turn_end(&turn, false);
    ck_assert_uint_eq(espi_way_batch, 0);
    espi_way_batch_left(turn.batch);
    for (int i = 0; i < 10000; i++) {
        turn = espi_way_turn(&q);
        timed += turn.group != NULL;
        espi_way_batch_joined(turn.batch);
        espi_way_turn_end(&turn, true);
    }
    ck_assert_int_gt(timed, 4000);
    ck_assert_int_lt(timed, 10000);
    ck_assert_int_eq(espi_way_of(&q), TYPED);
}
END_TEST

/* A message that stays under way for good keeps no others from their trial. */
START_TEST(stays_under_way)
{
    const script takes = {[ESPI_WAY_BATCH] = {10000, 9000, 8000}};
    struct espi_way_question q = question(ESPI_WAYS_EVEN, ESPI_WAY_BATCH, true), once = q;
    struct espi_way_turn turn;

    begin(true);
    once.bytes = 4 * LONG;
    turn = espi_way_turn(&once);
    espi_way_batch_joined(turn.batch);
    espi_way_turn_end(&turn, true);
    ck_assert_uint_eq(espi_way_batch, turn.batch);
    for (int i = 0; i < 4097; i++) {
        struct espi_way_turn other = espi_way_turn(&q);
        espi_way_batch_joined(other.batch);
        espi_way_turn_end(&other, true);
        espi_way_batch_left(other.batch);
        espi_way_batch_took(1);
    }
    for (int i = 0; i < TRIAL; i++)
        exchange(3, takes, 0);
    ck_assert_int_eq(espi_way_of(&q), DENSE);
    begin(true); /* nor does one keep the calls timed that ask for others again and again */
    turn = espi_way_turn(&once);
    espi_way_batch_joined(turn.batch);
    espi_way_turn_end(&turn, true);
    for (int i = 0; i < 100000; i++)
        espi_way_batch_took(1);
    ck_assert_uint_eq(espi_way_batch, 0);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "message_batches", batches, among_others, spoilt, stays_under_way);
}
