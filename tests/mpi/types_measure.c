/* Times and bytes of candidates (measure.h): which are wrong, where memory ends, how long it goes on. */
#include <check.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi/decode.h"
#include "mpi/measure.h"
#include "mpi/model.h"
#include "mpi/real.h"
#include "types_run.h"
#include "types_service.h"

enum { PAGE = 4096, MIB = 1 << 20, SCRATCH = 64 << 20 };

static struct espi_real real;
static int packs, messages;
static double first_packs, every_message; /* seconds that a faked call takes more */

/* A double at `lb`, its bounds 0 and `extent`; committed. */
static MPI_Datatype placed(MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype moved, type;

    MPI_Type_create_hindexed_block(1, 1, &lb, MPI_DOUBLE, &moved);
    MPI_Type_create_resized(moved, 0, extent, &type);
    MPI_Type_free(&moved);
    MPI_Type_commit(&type);
    return type;
}

static espi_status measure(MPI_Datatype type, int count, size_t scratch)
{
    struct espi_candidate c[2] = {{.type = type}, {.type = type}};
    espi_status status = espi_measure(c, 2, count, scratch, 0);

    if (status == ESPI_OK)
        ck_assert(!c[1].wrong);
    return status;
}

static size_t pages(size_t bytes)
{
    return (bytes + 8191) / PAGE * PAGE;
}

/* Whatever packs or unpacks other bytes than the first is wrong, in every position, and is not timed. */
START_TEST(wrong)
{
    MPI_Datatype own = irregular(200, 1), same = irregular(200, 1), elsewhere = irregular(200, 2);
    MPI_Datatype half = irregular(100, 1);
    struct espi_candidate c[5] = {{.type = own}, {.type = elsewhere}, {.type = same}, {.type = half}, {.type = same}};
    int op;

    espi_measure_start();
    ck_assert_int_eq(espi_measure(c, 5, 1, SCRATCH, 100000), ESPI_OK);
    ck_assert(!c[0].wrong && c[1].wrong && !c[2].wrong && c[3].wrong && !c[4].wrong);
    for (op = 0; op < ESPI_OPERATIONS; op++) {
        ck_assert(c[0].ns[op] > 0 && c[2].ns[op] > 0 && c[4].ns[op] > 0);
        ck_assert(c[1].ns[op] == 0 && c[3].ns[op] == 0);
    }
    c[1].type = same; /* what was wrong before may be right now */
    ck_assert_int_eq(espi_measure(c, 2, 1, SCRATCH, 100000), ESPI_OK);
    ck_assert(!c[1].wrong);
    espi_measure_stop();
    ck_assert_int_eq(espi_measure(c, 2, 1, SCRATCH, 100000), ESPI_ERR_MPI);
    MPI_Type_free(&own);
    MPI_Type_free(&same);
    MPI_Type_free(&elsewhere);
    MPI_Type_free(&half);
}
END_TEST

/* The memory asked for is what the items reach over, twice, and their data, twice; nothing outside is touched,
   wherever the items lie. */
START_TEST(room)
{
    static const struct {
        MPI_Aint lb, extent;
        int count;
    } of[] = {{0, 8, 1}, {0, 8, 1000}, {1 << 30, 8, 3}, {-(1 << 30), 24, 3}, {0, MIB, 5}, {0, -MIB, 5},
              {1 << 30, -MIB, 5}, {4, 0, 7}};

    espi_measure_start();
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        MPI_Datatype type = placed(of[i].lb, of[i].extent);
        size_t reach = (size_t)labs(of[i].extent) * (size_t)(of[i].count - 1) + 8;
        size_t needed = 2 * pages(reach) + 2 * pages(8 * (size_t)of[i].count);

        ck_assert_msg(measure(type, of[i].count, needed) == ESPI_OK, "type %zu", i);
        ck_assert_msg(measure(type, of[i].count, needed - 1) == ESPI_ERR_LIMIT, "type %zu", i);
        MPI_Type_free(&type);
    }
    espi_measure_stop();
}
END_TEST

START_TEST(too_large)
{
    MPI_Datatype type;

    espi_measure_start();
    MPI_Type_create_hvector(1 << 28, 1, 0, MPI_INT, &type); /* 1 GiB of data in 4 bytes */
    MPI_Type_commit(&type);
    ck_assert_int_eq(measure(type, 4, SIZE_MAX / 4), ESPI_ERR_LIMIT);
    MPI_Type_free(&type);
    type = placed(0, (MPI_Aint)1 << 62);
    ck_assert_int_eq(measure(type, 4, SCRATCH), ESPI_ERR_LIMIT);
    ck_assert_int_eq(measure(type, 2, SCRATCH), ESPI_ERR_LIMIT);
    MPI_Type_free(&type);
    espi_measure_stop();
}
END_TEST

static long virtual_pages(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long n = -1;

    if (f != NULL) {
        if (fscanf(f, "%ld", &n) != 1)
            n = -1;
        fclose(f);
    }
    return n;
}

START_TEST(given_back)
{
    MPI_Datatype type = placed(0, 24 * MIB);
    long before, after;

    espi_measure_start();
    ck_assert_int_eq(measure(type, 2, SCRATCH), ESPI_OK);
    before = virtual_pages();
    for (int i = 0; i < 40; i++)
        ck_assert_int_eq(measure(type, 2, SCRATCH), ESPI_OK);
    after = virtual_pages();
    ck_assert_int_lt((after - before) * sysconf(_SC_PAGESIZE), 400L * MIB);
    espi_measure_stop();
    MPI_Type_free(&type);
}
END_TEST

static void spin(double seconds)
{
    struct timespec begun, now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((double)(now.tv_sec - begun.tv_sec) + 1e-9 * (double)(now.tv_nsec - begun.tv_nsec) < seconds);
}

static int slow_pack(const void *from, int count, MPI_Datatype type, void *to, int size, int *at, MPI_Comm comm)
{
    if (++packs <= 4)
        spin(first_packs);
    return real.Pack(from, count, type, to, size, at, comm);
}

static int slow_message(const void *from, int n, MPI_Datatype t, int dest, int tag, void *to, int m, MPI_Datatype u,
                        int source, int tag2, MPI_Comm comm, MPI_Status *status)
{
    messages++;
    spin(every_message);
    return real.Sendrecv(from, n, t, dest, tag, to, m, u, source, tag2, comm, status);
}

/* The least of the samples counts; without a budget there is one round; the thread's own time ends the rounds. */
START_TEST(how_long)
{
    MPI_Datatype type = irregular(20, 1);
    struct espi_candidate c = {.type = type};

    espi_measure_start();
    espi_real.Pack = slow_pack;
    espi_real.Sendrecv = slow_message;
    first_packs = 0.01;
    packs = 0;
    ck_assert_int_eq(espi_measure(&c, 1, 1, SCRATCH, 100000000), ESPI_OK);
    ck_assert_int_gt(packs, 6);
    ck_assert_uint_lt(c.ns[ESPI_MEASURE_PACK], 5000000);
    messages = 0;
    ck_assert_int_eq(espi_measure(&c, 1, 1, SCRATCH, 0), ESPI_OK);
    ck_assert_int_eq(messages, 1);
    messages = 0;
    every_message = 0.004;
    ck_assert_int_eq(espi_measure(&c, 1, 1, SCRATCH, 5000000), ESPI_OK);
    ck_assert_int_le(messages, 5);
    every_message = 0;
    espi_real = real;
    espi_measure_stop();
    MPI_Type_free(&type);
}
END_TEST

static int multiple(int *level)
{
    *level = MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

/* Where threads may call MPI nothing is sent; what sending in parts takes is then taken from the model, for those
   whose tree is known and whose bytes are right. */
START_TEST(nothing_sent)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    MPI_Datatype type = irregular(8000, 3), other = irregular(8000, 4);
    struct espi_candidate c[3] = {{.type = type}, {.type = type}, {.type = other}};
    struct espi_decoded d;

    ck_assert_int_eq(espi_decode(&arena, type, 0, &d), ESPI_OK);
    c[0].tree = c[2].tree = d.tree;
    espi_real.Query_thread = multiple;
    espi_real.Sendrecv = slow_message;
    messages = 0;
    espi_measure_start();
    ck_assert_int_eq(espi_measure(c, 3, 1, SCRATCH, 0), ESPI_OK);
    ck_assert_int_eq(messages, 0);
    ck_assert_uint_eq(c[0].ns[ESPI_MEASURE_PARTIAL], c[0].ns[ESPI_MEASURE_PACK] + c[0].ns[ESPI_MEASURE_UNPACK] +
                                                         2 * espi_model_partial(d.tree, 1));
    ck_assert_uint_gt(espi_model_partial(d.tree, 1), 0);
    ck_assert(c[1].ns[ESPI_MEASURE_PACK] > 0 && c[1].ns[ESPI_MEASURE_PARTIAL] == 0);
    ck_assert(c[2].wrong && c[2].ns[ESPI_MEASURE_PARTIAL] == 0);
    espi_measure_stop();
    espi_real = real;
    MPI_Type_free(&type);
    MPI_Type_free(&other);
    espi_arena_release(&arena);
}
END_TEST

static void restore(void)
{
    if (real.Pack == NULL)
        real = espi_real;
    espi_real = real;
}

int main(int argc, char **argv)
{
    const TTest *const tests[] = {wrong, room, too_large, given_back, how_long, nothing_sent};
    TCase *all = types_case(tests, sizeof tests / sizeof *tests);

    tcase_add_checked_fixture(all, restore, NULL);
    return types_run(argc, argv, "types_measure", all);
}
