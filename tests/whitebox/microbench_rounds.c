/*
 * How often candidates are measured, how a sample is taken, and what ends it: by a clock that goes on only in the
 * calls that are measured, by as much as the test says.
 */
#include "microbench.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mpi/datatype/decode.h"
#include "mpi/typeplan/microbench.h"
#include "mpi/typeplan/variants.h"
#include "type_service.h"

enum { TYPES = 4 };

static bool faked;
static uint64_t wall, cpu; /* nanoseconds */

/* In the place of the C library's, for all of the program. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    uint64_t ns = clock == CLOCK_THREAD_CPUTIME_ID ? cpu : wall;

    if (!faked)
        return (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec = (time_t)(ns / 1000000000);
    now->tv_nsec = (long)(ns % 1000000000);
    return 0;
}

static struct paced {
    MPI_Datatype type;
    uint64_t ns[ESPI_OPERATIONS]; /* of a call */
    uint64_t first;               /* of the first messages, if not 0: */
    int firsts, messages, calls;
} paced[TYPES];
static bool idle; /* others have the processor */
static MPI_Datatype fails, fails_later; /* messages of the one, */
static enum espi_operation fails_in;    /* and this of the other after the first time */

static void pace(MPI_Datatype type, enum espi_operation op)
{
    for (int i = 0; i < TYPES; i++) {
        struct paced *p = &paced[i];

        if (p->type != type)
            continue;
        bool first = op == ESPI_MEASURE_PARTIAL && p->messages++ < p->firsts && p->first > 0;
        p->calls += op == fails_in;
        wall += first ? p->first : p->ns[op];
        cpu += idle ? 0 : first ? p->first : p->ns[op];
        return;
    }
}

static bool failing_later(MPI_Datatype type, enum espi_operation op)
{
    int i;

    for (i = 0; i < TYPES - 1 && paced[i].type != type; i++)
        ;
    return type == fails_later && op == fails_in && paced[i].calls > 1;
}

static int paced_pack(const void *from, int count, MPI_Datatype type, void *to, int size, int *at, MPI_Comm comm)
{
    pace(type, ESPI_MEASURE_PACK);
    return failing_later(type, ESPI_MEASURE_PACK) ? MPI_ERR_INTERN
                                                  : real.Pack(from, count, type, to, size, at, comm);
}

static int paced_unpack(const void *from, int size, int *at, void *to, int count, MPI_Datatype type, MPI_Comm comm)
{
    pace(type, ESPI_MEASURE_UNPACK);
    return failing_later(type, ESPI_MEASURE_UNPACK) ? MPI_ERR_INTERN
                                                    : real.Unpack(from, size, at, to, count, type, comm);
}

static int paced_message(const void *from, int n, MPI_Datatype t, int dest, int tag, void *to, int m, MPI_Datatype u,
                         int source, int tag2, MPI_Comm comm, MPI_Status *status)
{
    (void)from, (void)n, (void)dest, (void)tag, (void)to, (void)m, (void)u, (void)source, (void)tag2, (void)comm;
    (void)status;
    pace(t, ESPI_MEASURE_PARTIAL);
    return t == fails ? MPI_ERR_INTERN : MPI_SUCCESS;
}

static struct espi_candidate c[TYPES];

/* The times of the i-th candidate. */
static void calls_take(int i, uint64_t pack, uint64_t unpack, uint64_t partial)
{
    paced[i].ns[ESPI_MEASURE_PACK] = pack;
    paced[i].ns[ESPI_MEASURE_UNPACK] = unpack;
    paced[i].ns[ESPI_MEASURE_PARTIAL] = partial;
}

/* Measures n candidates; gives the messages of the first. */
static int measure(int n, uint64_t budget)
{
    for (int i = 0; i < n; i++) {
        paced[i].messages = paced[i].calls = 0;
        c[i] = (struct espi_candidate){.type = paced[i].type};
    }
    wall = cpu = 1000000;
    espi_pmpi.Pack = paced_pack;
    espi_pmpi.Unpack = paced_unpack;
    espi_pmpi.Sendrecv = paced_message;
    faked = true;
    espi_status status = espi_microbench(c, n, 1, SCRATCH, budget);
    faked = false;
    espi_pmpi = real;
    ck_assert_int_eq(status, ESPI_OK);
    return paced[0].messages;
}

static MPI_Datatype made;

static void begin(void)
{
    made = irregular(20, 1);
    for (int i = 0; i < TYPES; i++)
        MPI_Type_dup(made, &paced[i].type), paced[i].firsts = 1;
    fails = fails_later = MPI_DATATYPE_NULL;
    espi_microbench_start();
}

static void end(void)
{
    espi_microbench_stop();
    for (int i = 0; i < TYPES; i++)
        MPI_Type_free(&paced[i].type);
    MPI_Type_free(&made);
}

/* A sample of some 4 us of short calls, 64 at most, is their mean; the first round is of single calls. The least of
   25 samples counts. */
START_TEST(samples)
{
    static const struct {
        uint64_t ns;
        int each;
    } of[] = {{5000, 1}, {4000, 1}, {3999, 2}, {1000, 4}, {63, 63}, {62, 64}, {40, 64}, {0, 64}};

    begin();
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        calls_take(0, 100, 100, of[i].ns);
        ck_assert_int_eq(measure(1, UINT64_MAX / 16), 1 + 24 * of[i].each);
        ck_assert_uint_eq(c[0].ns[ESPI_MEASURE_PARTIAL], of[i].ns + 1);
    }
    calls_take(0, 300, 200, 500);
    paced[0].first = 1500; /* three of them are a sample */
    ck_assert_int_eq(measure(1, UINT64_MAX / 16), 1 + 3 + 23 * 8);
    ck_assert(c[0].ns[ESPI_MEASURE_PACK] == 301 && c[0].ns[ESPI_MEASURE_UNPACK] == 201);
    ck_assert_uint_eq(c[0].ns[ESPI_MEASURE_PARTIAL], 501);
    paced[0].first = 400;
    measure(1, UINT64_MAX / 16);
    ck_assert_uint_eq(c[0].ns[ESPI_MEASURE_PARTIAL], 401);
    paced[0].first = 0;
    end();
}
END_TEST

/* After two rounds those that are behind by a quarter in everything have lost; never the program's own. */
START_TEST(behind)
{
    begin();
    calls_take(0, 9000, 9000, 9000);
    calls_take(1, 4000, 4000, 8000);
    calls_take(2, 5000, 5000, 5000); /* 5001 of 4001 and of 4001 */
    calls_take(3, 9000, 9000, 4000);
    ck_assert_int_eq(measure(4, UINT64_MAX / 16), 25);
    ck_assert_int_eq(paced[1].messages, 25);
    ck_assert_int_eq(paced[2].messages, 2);
    ck_assert_int_eq(paced[3].messages, 25);
    for (int op = 0; op < ESPI_OPERATIONS; op++) {
        uint64_t almost[ESPI_OPERATIONS] = {5000, 5000, 5000};

        almost[op] = 4999;
        calls_take(2, almost[0], almost[1], almost[2]);
        ck_assert_int_eq(measure(4, UINT64_MAX / 16), 25);
        ck_assert_int_eq(paced[2].messages, 25);
    }
    end();
}
END_TEST

/* The thread's own time ends the rounds after the fourth or later, the clock after any. Here the first round takes
   3 us, all others take 12. */
START_TEST(ends)
{
    static const struct {
        uint64_t budget;
        bool idle;
        int rounds;
    } of[] = {{0, false, 1},     {299, false, 1},   {300, false, 2},    {1499, false, 2},  {1500, false, 3},
              {4000, false, 4},  {38999, false, 4}, {39000, false, 5},  {51000, false, 6}, {290999, false, 25},
              {0, true, 1},      {299, true, 1},    {300, true, 2},     {4000, true, 5},   {5099, true, 5},
              {5100, true, 6},   {29000, true, 25}};

    begin();
    calls_take(0, 1000, 1000, 1000);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        idle = of[i].idle;
        ck_assert_msg(measure(1, of[i].budget) == 1 + 4 * (of[i].rounds - 1), "case %zu: %d messages", i,
                      paced[0].messages);
    }
    idle = false;
    end();
}
END_TEST

/* When nobody is ahead of the program's own by half of a twelfth, the fourth round is the last: in packing and
   unpacking together, or in messages. */
START_TEST(hopeless)
{
    static const struct {
        uint64_t pack, unpack, partial;
        int rounds;
    } of[] = {{5999, 5999, 11999, 4}, {5999, 5499, 11999, 4}, {5999, 5498, 11999, 25}, {5498, 5999, 11999, 25},
              {5749, 5749, 11999, 4}, {5748, 5749, 11999, 25}, {5999, 5999, 11499, 4}, {5999, 5999, 11498, 25},
              {9999, 4000, 11999, 4}, {9999, 9999, 4000, 25},  {4000, 4000, 29999, 25}};

    begin();
    calls_take(0, 5999, 5999, 11999); /* of 6000, 6000 and 12000, as samples are rounded */
    calls_take(1, 5999, 5999, 11999);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        calls_take(2, of[i].pack, of[i].unpack, of[i].partial);
        ck_assert_msg(measure(3, UINT64_MAX / 16) == of[i].rounds, "case %zu: %d rounds", i, paced[0].messages);
    }

    /* While the program's own is disturbed the other seems to be ahead. */
    calls_take(2, 5999, 5999, 11999);
    paced[0].first = 13000;
    for (paced[0].firsts = 1; paced[0].firsts < 24; paced[0].firsts++)
        ck_assert_int_eq(measure(3, UINT64_MAX / 16), paced[0].firsts < 4 ? 4 : paced[0].firsts + 1);
    paced[0].first = 0;

    /* Hope is not in who packs wrongly, nor in who fails. */
    MPI_Datatype same = paced[2].type;
    calls_take(2, 100, 100, 100);
    paced[2].type = irregular(20, 2);
    ck_assert_int_eq(measure(3, UINT64_MAX / 16), 4);
    ck_assert(c[2].wrong);
    MPI_Type_free(&paced[2].type);
    paced[2].type = same;
    calls_take(2, 100, 100, 11999);
    fails_later = same;
    for (fails_in = ESPI_MEASURE_PACK; fails_in <= ESPI_MEASURE_UNPACK; fails_in++) {
        ck_assert_int_eq(measure(3, UINT64_MAX / 16), 4);
        ck_assert(!c[2].wrong && c[2].ns[fails_in] == UINT64_MAX);
    }
    end();
}
END_TEST

/* What MPI fails to do takes for ever. */
START_TEST(failing)
{
    begin();
    calls_take(0, 5000, 5000, 5000);
    calls_take(1, 5000, 5000, 5000);
    fails = paced[1].type;
    measure(2, UINT64_MAX / 16);
    fails = MPI_DATATYPE_NULL;
    ck_assert(!c[1].wrong && c[1].ns[ESPI_MEASURE_PACK] == 5001);
    ck_assert_uint_eq(c[0].ns[ESPI_MEASURE_PARTIAL], 5001);
    ck_assert_uint_eq(c[1].ns[ESPI_MEASURE_PARTIAL], UINT64_MAX);
    end();
}
END_TEST

static int packs_of_last;

static int counting_pack(const void *from, int count, MPI_Datatype type, void *to, int size, int *at, MPI_Comm comm)
{
    packs_of_last += type == paced[1].type;
    return paced_pack(from, count, type, to, size, at, comm);
}

static int multiple(int *level)
{
    *level = MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

/* Where nothing is sent, packing and unpacking alone say who is behind. */
START_TEST(behind_unsent)
{
    begin();
    calls_take(0, 5000, 5000, 0);
    calls_take(1, 9000, 9000, 0);
    espi_pmpi.Query_thread = multiple;
    espi_microbench_start();
    for (int i = 0; i < 2; i++)
        c[i] = (struct espi_candidate){.type = paced[i].type};
    espi_pmpi.Pack = counting_pack;
    espi_pmpi.Unpack = paced_unpack;
    packs_of_last = 0;
    faked = true;
    espi_status status = espi_microbench(c, 2, 1, SCRATCH, UINT64_MAX / 16);
    faked = false;
    espi_pmpi = real;
    ck_assert_int_eq(status, ESPI_OK);
    ck_assert_int_eq(packs_of_last, 1 + 2);
    ck_assert_uint_eq(c[1].ns[ESPI_MEASURE_UNPACK], 9001);
    end();
}
END_TEST

/* There hope may also be in what the model says of messages. */
START_TEST(hopeless_unsent)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    const struct espi_node *cut;
    struct espi_decoded d;
    MPI_Datatype type = irregular(8000, 3);

    ck_assert_int_eq(espi_decode(&arena, type, 0, &d), ESPI_OK);
    ck_assert_int_eq(espi_variant_chunked(&arena, d.tree, 16, &cut), ESPI_OK);
    begin();
    calls_take(0, 5999, 5999, 0);
    calls_take(1, 5999, 5999, 0);
    espi_pmpi.Query_thread = multiple;
    espi_microbench_start();
    const struct {
        const struct espi_node *tree[2];
        int rounds;
    } of[] = {{{d.tree, cut}, 25}, {{d.tree, d.tree}, 4}, {{cut, d.tree}, 4}, {{d.tree, NULL}, 4}, {{NULL, NULL}, 4}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        for (int k = 0; k < 2; k++)
            c[k] = (struct espi_candidate){.type = paced[k].type, .tree = of[i].tree[k]};
        espi_pmpi.Pack = counting_pack;
        espi_pmpi.Unpack = paced_unpack;
        packs_of_last = 0;
        faked = true;
        ck_assert_int_eq(espi_microbench(c, 2, 1, SCRATCH, UINT64_MAX / 16), ESPI_OK);
        faked = false;
        ck_assert_msg(packs_of_last == 1 + of[i].rounds, "case %zu: %d packs", i, packs_of_last);
    }
    espi_pmpi = real;
    end();
    MPI_Type_free(&type);
    espi_arena_release(&arena);
}
END_TEST

void types_measure_rounds(TCase *all)
{
    const TTest *const tests[] = {samples, behind, ends, hopeless, failing, behind_unsent, hopeless_unsent};

    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(all, tests[i]);
}
