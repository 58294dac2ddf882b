/*
 * Turns of both ways among calls through shared memory (src/mpi/exchange/turns.h): which calls of a kind they
 * are, on what ranks agree, and what is told by them.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/exchange/flow.h"
#include "mpi/exchange/side.h"
#include "mpi/exchange/turns.h"
#include "random_types.h"
#include "suite.h"

enum { CALLS = 10000, RUN = 4, FEWEST = 3 };
#define LIBRARYS ESPI_TURN_LIBRARYS
#define SHARED ESPI_TURN_SHARED

static enum espi_exchange_turn wanted[CALLS];

/* How many of these calls are wanted to be the library's. */
static int count_turns(struct espi_exchange_kind *kind, int from, int to)
{
    int librarys = 0;

    for (int i = from; i < to; i++) {
        wanted[i] = espi_exchange_turn_wanted(kind);
        librarys += wanted[i] == LIBRARYS;
    }
    return librarys;
}

/* Four of either way, the first of them early, all of them few; whatever other kinds there are meanwhile. */
START_TEST(rare)
{
    struct espi_exchange_kind *kind, *other;
    int runs = 0;

    espi_exchange_turns_start(true);
    kind = espi_exchange_kind(1);
    other = espi_exchange_kind(2);
    ck_assert_int_eq(count_turns(kind, 0, 7), 0);
    ck_assert_int_eq(count_turns(other, 7, 14), 0);
    ck_assert_int_eq(count_turns(kind, 7, 7 + RUN), RUN);
    ck_assert_int_le(count_turns(kind, 7 + RUN, 100), RUN);
    ck_assert_int_le(count_turns(kind, 100, 1000), 2 * RUN);
    count_turns(kind, 1000, CALLS);
    for (int i = 1; i < CALLS; i++)
        if (wanted[i] == LIBRARYS && wanted[i - 1] != LIBRARYS) {
            ck_assert_int_eq(wanted[i - 1], ESPI_TURN_NONE);
            for (int k = 0; k < 2 * RUN; k++)
                ck_assert_int_eq(wanted[i + k], k < RUN ? LIBRARYS : SHARED);
            ck_assert_int_eq(wanted[i + 2 * RUN], ESPI_TURN_NONE);
            runs++;
        }
    ck_assert_int_eq(runs, 8); /* 8, 32, 128, 512, and each 2,048 */
    for (int life = 0; life < 2; life++) { /* they are counted anew, with the library's first at the eighth */
        espi_exchange_turns_start(true);
        ck_assert_int_eq(count_turns(espi_exchange_kind(1), 0, 8), 1);
        if (life == 0)
            espi_exchange_turns_start(false);
    }
}
END_TEST

/* ---- agreeing ---- */

enum { OTHERS = 3, ROOM = 4096 };
static struct espi_channel *channel[2][OTHERS]; /* to them, and from them */
static struct espi_channel_end here[2][OTHERS], there[2][OTHERS], *ends[2][OTHERS];

static void open_channels(void)
{
    for (int way = 0; way < 2; way++)
        for (int i = 0; i < OTHERS; i++) {
            free(channel[way][i]);
            channel[way][i] = aligned_alloc(64, espi_channel_size(ROOM));
            memset(channel[way][i], 0, espi_channel_size(ROOM));
            here[way][i] = there[way][i] = (struct espi_channel_end){.channel = channel[way][i], .room = ROOM};
            ends[way][i] = &here[way][i];
        }
}

enum { CALL = 77 };

static void other_says(int i, int64_t total, uint64_t read, uint64_t call)
{
    const uint64_t said[2] = {read, call};

    memcpy(espi_channel_write(&there[1][i], sizeof said), said, sizeof said);
    espi_channel_written(&there[1][i], total);
}

static int64_t word(enum espi_exchange_turn turn)
{
    return ESPI_FLOW_ASKS - (int64_t)turn;
}

static int words_to(int i)
{
    int64_t total;
    int n = 0;

    for (; espi_channel_has_piece(&there[0][i], &total); n++) {
        ck_assert(total <= ESPI_FLOW_ASKS);
        espi_channel_read(&there[0][i]);
    }
    return n;
}

enum odd { NOTHING_ODD, ANOTHER_TURN, A_BLOCK, HAS_READ_LESS, ANOTHER_CALL, NOTHING_COMES, A_BLOCK_LATER, ASKS_AGAIN,
           ODDITIES };

/* All others ask for the same and say yes, or one of them does otherwise. */
START_TEST(agreed)
{
    const enum espi_exchange_turn turn = _i % 2 == 0 ? LIBRARYS : SHARED, another = _i % 2 == 0 ? SHARED : LIBRARYS;
    const int64_t yes = word(ESPI_TURN_NONE);

    for (enum odd odd = NOTHING_ODD; odd < ODDITIES; odd++)
        for (int who = 0; who < OTHERS; who++) {
            const bool in_first = odd >= ANOTHER_TURN && odd <= NOTHING_COMES;
            open_channels();
            for (int i = 0; i < OTHERS; i++) { /* each has got and read a piece before */
                espi_channel_write(&here[0][i], 0);
                espi_channel_written(&here[0][i], 8);
                espi_channel_read(&there[0][i]);
                const enum odd does = i == who ? odd : NOTHING_ODD;
                if (does != NOTHING_COMES)
                    other_says(i, does == ANOTHER_TURN ? word(another) : does == A_BLOCK ? 800 : word(turn),
                               does != HAS_READ_LESS, CALL + (does == ANOTHER_CALL));
                if (!in_first)
                    other_says(i, does == A_BLOCK_LATER ? 800 : does == ASKS_AGAIN ? word(turn) : yes, 1, CALL);
            }
            ck_assert(espi_exchange_turn_agreed(turn, ends[0], ends[1], OTHERS, CALL) == (odd == NOTHING_ODD));
            for (int i = 0; i < OTHERS; i++) {
                int64_t total;
                ck_assert_int_eq(words_to(i), in_first ? 1 : 2);
                ck_assert(odd != NOTHING_ODD || !espi_channel_has_piece(&here[1][i], &total)); /* taken out */
                ck_assert(odd == NOTHING_ODD || odd == NOTHING_COMES || i != who ||
                          espi_channel_has_piece(&here[1][i], &total));
            }
        }
}
END_TEST

/* Where one has not read what it got before nobody is asked. */
START_TEST(unread)
{
    open_channels();
    espi_channel_write(&here[0][1], 0);
    espi_channel_written(&here[0][1], 8);
    ck_assert(!espi_exchange_turn_agreed(LIBRARYS, ends[0], ends[1], OTHERS, CALL));
    ck_assert_int_eq(words_to(0) + words_to(2), 0);
}
END_TEST

/* Who does not ask receives its block all the same. */
START_TEST(passed_over)
{
    char data[100];
    struct espi_exchange_block block = {.data = data, .count = sizeof data, .bytes = sizeof data, .dense = true};
    struct espi_flow flow;

    open_channels();
    other_says(0, word(LIBRARYS), 0, CALL);
    other_says(0, word(ESPI_TURN_NONE), 0, CALL);
    espi_flow_receive(&flow, &here[1][0], &block);
    ck_assert(espi_flow_reads(&flow) && espi_flow_reads(&flow));
    ck_assert(!flow.through);
    ck_assert(!espi_flow_reads(&flow));
    memset(espi_channel_write(&there[1][0], sizeof data), 'x', sizeof data);
    espi_channel_written(&there[1][0], sizeof data);
    ck_assert(espi_flow_reads(&flow));
    ck_assert(flow.through);
    ck_assert_int_eq(espi_flow_end(&flow), MPI_SUCCESS);
    ck_assert(data[0] == 'x' && data[99] == 'x');
}
END_TEST

/* ---- what is told ---- */

/* By the middle times, of which a call in turn is somewhat too long. */
START_TEST(saves)
{
    struct espi_exchange_kind *kind = espi_exchange_kind(1001);

    ck_assert_ptr_nonnull(kind);
    ck_assert_ptr_eq(espi_exchange_kind(1001), kind);
    ck_assert(espi_exchange_kind_saves(kind) < 0);
    for (int i = 0; i < 100; i++)
        espi_exchange_took(kind, SHARED, i % 10 == 0 ? 900000 : 9000 + 10 * (uint64_t)(i % 10));
    ck_assert(espi_exchange_kind_saves(kind) < 0);
    for (int i = 0; i < RUN; i++) {
        ck_assert(i >= FEWEST || espi_exchange_kind_saves(kind) < 0); /* one that was disturbed says nothing */
        espi_exchange_took(kind, LIBRARYS, i == 0 ? 5000000 : 30000);
    }
    ck_assert(espi_exchange_kind_saves(kind) > 20500 && espi_exchange_kind_saves(kind) < 21000);
    for (int i = 0; i < 100; i++) /* the cores have come nearer to each other */
        espi_exchange_took(kind, LIBRARYS, 10000);
    ck_assert(espi_exchange_kind_saves(kind) > 500 && espi_exchange_kind_saves(kind) < 1000);
    espi_exchange_took(kind, LIBRARYS, 5000);
    ck_assert(espi_exchange_kind_saves(kind) == 0);
}
END_TEST

/* Calls that wait for other things take one time or another, whichever way they go. */
START_TEST(saves_in_noise)
{
    enum { ROUNDS = 2000, CALLS_BEFORE = 12 };
    struct espi_exchange_kind *kind = espi_exchange_kind(1002);
    int said = 0;

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CALLS_BEFORE; i++)
            espi_exchange_took(kind, SHARED, 1000000 + random_below(300000));
        for (int i = 0; i < CALLS_BEFORE; i++)
            espi_exchange_took(kind, LIBRARYS, 1000000 + random_below(300000));
        said += espi_exchange_kind_saves(kind) > 0;
    }
    ck_assert_int_lt(said, ROUNDS / 50);
}
END_TEST

/* What comes before it is known is told then; nothing twice. */
START_TEST(rest)
{
    struct espi_exchange_kind *kind = espi_exchange_kind(1003);

    for (int i = 0; i < 20; i++)
        ck_assert_uint_eq(espi_exchange_kind_rest(kind, 1000), 0);
    for (int i = 0; i < RUN; i++)
        espi_exchange_took(kind, LIBRARYS, 20100); /* 10 us more, and what is in no cache */
    for (int i = 0; i < FEWEST; i++) {
        ck_assert_uint_eq(espi_exchange_kind_rest(kind, 1000), 0);
        espi_exchange_took(kind, SHARED, 10000);
    }
    ck_assert_uint_eq(espi_exchange_kind_rest(kind, 1000), (21 + FEWEST) * 9000);
    ck_assert_uint_eq(espi_exchange_kind_rest(kind, 1000), 9000);
    ck_assert(espi_exchange_kind_takes_back(kind, 1000) == 0);
    ck_assert_uint_eq(espi_exchange_kind_rest(kind, 12000), 0);
    ck_assert_uint_eq(espi_exchange_kind_rest(kind, 0), 10000);
    ck_assert(espi_exchange_kind_takes_back(kind, 1500) == 1500); /* of the 2,000 that were too much */
    ck_assert(espi_exchange_kind_takes_back(kind, 1500) == 500);
    ck_assert(espi_exchange_kind_takes_back(kind, 1500) == 0);
}
END_TEST

/* Each type of a side gives back the same part of what it was credited with in the call, and no more. */
START_TEST(taken_back)
{
    static struct espi_exchange_side side;
    struct espi_stats_type *const records[2] = {espi_stats_type(0x5a5a5a01), espi_stats_type(0x5a5a5a02)};
    uint64_t before[2];

    side.n_held = 2;
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_nonnull(records[i]);
        espi_bump(&records[i]->saved_ps[ESPI_SAVED_ALONE], 100000);
        before[i] = atomic_load(&records[i]->saved_ps[ESPI_SAVED_ALONE]);
        side.credit[i] = (struct espi_exchange_credit){records[i], 4000 * (uint64_t)(i + 1)};
    }
    espi_exchange_side_take_back(&side, 0.25);
    for (int i = 0; i < 2; i++)
        ck_assert_uint_eq(atomic_load(&records[i]->saved_ps[ESPI_SAVED_ALONE]), before[i] - 1000 * (uint64_t)(i + 1));
}
END_TEST

/* There is room for some, which stay what they are. */
START_TEST(many_kinds)
{
    enum { TRIED = 100 };
    struct espi_exchange_kind *kind[TRIED];
    int n = 0;

    espi_exchange_turns_start(true);
    for (int i = 0; i < TRIED; i++)
        kind[i] = espi_exchange_kind(UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)i);
    while (n < TRIED && kind[n] != NULL)
        n++;
    ck_assert_int_gt(n, 15);
    for (int i = 0; i < TRIED; i++) {
        ck_assert_ptr_eq(espi_exchange_kind(UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)i), kind[i]);
        ck_assert(i < n || kind[i] == NULL);
        for (int k = 0; k < i && i < n; k++)
            ck_assert_ptr_ne(kind[k], kind[i]);
    }
}
END_TEST

int main(int argc, char **argv)
{
    TCase *tests = types_case((const TTest *const[]){rare, unread, passed_over, saves, saves_in_noise,
                                                      rest, taken_back, many_kinds}, 8);

    tcase_add_loop_test(tests, agreed, 0, 2);
    return types_run(argc, argv, "exchange_turns", tests);
}
