/*
 * Turns of the library's way among calls through shared memory (src/mpi/exchange/turns.h): which calls of a
 * communicator they are, and what is told by them.
 */
#include <stdlib.h>

#include "mpi/exchange/turns.h"
#include "random_types.h"
#include "suite.h"

enum { CALLS = 10000, RUN = 4 };

static bool due[CALLS];

static int count_calls(MPI_Comm comm, int from, int to)
{
    int librarys = 0;

    for (int i = from; i < to; i++)
        librarys += due[i] = espi_exchange_is_librarys_turn(comm);
    return librarys;
}

static void begin(bool all)
{
    ck_assert(espi_exchange_turns_make());
    espi_exchange_turns_start(all);
}

/* Runs of four, the first of them early, all of them few. */
START_TEST(rare)
{
    MPI_Comm comm;
    int runs = 0;

    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    begin(true);
    ck_assert_int_eq(count_calls(comm, 0, 7), 0);
    ck_assert_int_eq(count_calls(comm, 7, 7 + RUN), RUN);
    ck_assert_int_le(count_calls(comm, 7 + RUN, 100), RUN);
    ck_assert_int_le(count_calls(comm, 100, 1000), 2 * RUN);
    count_calls(comm, 1000, CALLS);
    for (int i = 1; i < CALLS; i++)
        if (due[i] && !due[i - 1]) {
            int end = i;
            while (end < CALLS && due[end])
                end++;
            ck_assert_int_eq(end - i, RUN);
            runs++;
        }
    ck_assert_int_ge(runs, 7);
    ck_assert_int_le(runs, 9);
    espi_exchange_turns_stop();
    MPI_Comm_free(&comm);
}
END_TEST

/* In a cycle of so many calls each is the library's now and then. */
START_TEST(cycles)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    begin(true);
    count_calls(comm, 0, CALLS);
    for (int place = 0; place < _i; place++) {
        int turns = 0;
        for (int i = place; i < CALLS; i += _i)
            turns += due[i];
        ck_assert_int_gt(turns, 0);
    }
    espi_exchange_turns_stop();
    MPI_Comm_free(&comm);
}
END_TEST

/* Each communicator has a number of its own, which neither a copy of it has nor the next one of its handle; what
   others are called meanwhile is nothing to it. */
START_TEST(each_by_itself)
{
    MPI_Comm comm[2], copy;

    MPI_Comm_dup(MPI_COMM_SELF, &comm[0]);
    MPI_Comm_dup(MPI_COMM_SELF, &comm[1]);
    begin(true);
    ck_assert_int_eq(count_calls(comm[0], 0, 7), 0);
    MPI_Comm_dup(comm[0], &copy);
    ck_assert_int_eq(count_calls(copy, 0, 7), 0);
    MPI_Comm_free(&copy);
    ck_assert_int_eq(count_calls(comm[1], 0, 7), 0);
    ck_assert(espi_exchange_is_librarys_turn(comm[0]));
    ck_assert(espi_exchange_is_librarys_turn(comm[1]));
    MPI_Comm_free(&comm[0]);
    MPI_Comm_dup(MPI_COMM_SELF, &comm[0]);
    ck_assert_int_eq(count_calls(comm[0], 0, 7), 0);
    ck_assert(espi_exchange_is_librarys_turn(comm[0]));
    espi_exchange_turns_stop();
    ck_assert(!espi_exchange_is_librarys_turn(comm[1]));
    begin(false);
    ck_assert_int_eq(count_calls(comm[1], 0, CALLS), 0);
    espi_exchange_turns_stop();
    MPI_Comm_free(&comm[0]);
    MPI_Comm_free(&comm[1]);
}
END_TEST

/* By the middle times, of which a call in turn is somewhat too long. */
START_TEST(saves)
{
    struct espi_exchange_kind *kind = espi_exchange_kind(1001);

    ck_assert_ptr_nonnull(kind);
    ck_assert_ptr_eq(espi_exchange_kind(1001), kind);
    ck_assert(espi_exchange_kind_saves(kind) < 0);
    for (int i = 0; i < 100; i++)
        espi_exchange_took(kind, false, i % 10 == 0 ? 900000 : 9000 + 10 * (uint64_t)(i % 10));
    ck_assert(espi_exchange_kind_saves(kind) < 0);
    for (int i = 0; i < RUN; i++)
        espi_exchange_took(kind, true, i == 0 ? 5000000 : 30000);
    ck_assert(espi_exchange_kind_saves(kind) > 20500 && espi_exchange_kind_saves(kind) < 21000);
    for (int i = 0; i < 100; i++) /* the cores have come nearer to each other */
        espi_exchange_took(kind, true, 10000);
    ck_assert(espi_exchange_kind_saves(kind) > 500 && espi_exchange_kind_saves(kind) < 1000);
    espi_exchange_took(kind, true, 5000);
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
            espi_exchange_took(kind, false, 1000000 + random_below(300000));
        for (int i = 0; i < CALLS_BEFORE; i++)
            espi_exchange_took(kind, true, 1000000 + random_below(300000));
        said += espi_exchange_kind_saves(kind) > 0;
    }
    ck_assert_int_lt(said, ROUNDS / 50);
}
END_TEST

/* What comes before it is known is told then; nothing twice, and no more than may be. */
START_TEST(rest)
{
    struct espi_exchange_kind *kind = espi_exchange_kind(1003);

    for (int i = 0; i < 20; i++) {
        espi_exchange_took(kind, false, 10000);
        ck_assert_uint_eq(espi_exchange_kind_rest(kind, 1000, 50000), 0);
    }
    for (int i = 0; i < RUN; i++)
        espi_exchange_took(kind, true, 20100); /* 10 us more, and what is in no cache */
    ck_assert_uint_eq(espi_exchange_kind_rest(kind, 1000, 50000), 21 * 9000);
    ck_assert_uint_eq(espi_exchange_kind_rest(kind, 1000, 50000), 9000);
    ck_assert_uint_eq(espi_exchange_kind_rest(kind, 1000, 4000), 3000);
    ck_assert_uint_eq(espi_exchange_kind_rest(kind, 12000, 50000), 0);
    ck_assert_uint_eq(espi_exchange_kind_rest(kind, 0, 50000), 10000);
}
END_TEST

/* There is room for some, which stay what they are. */
START_TEST(many_kinds)
{
    enum { TRIED = 100 };
    struct espi_exchange_kind *kind[TRIED];
    int n = 0;

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
    TCase *tests = types_case((const TTest *const[]){rare, each_by_itself, saves, saves_in_noise, rest,
                                                      many_kinds}, 6);

    tcase_add_loop_test(tests, cycles, 1, 13);
    return types_run(argc, argv, "exchange_turns", tests);
}
