/* Times and bytes of candidates (microbench.h): which are wrong, where memory ends; microbench_rounds.c: how long it
   goes on. */
#include <check.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/datatype/decode.h"
#include "mpi/typeplan/microbench.h"
#include "mpi/typeplan/partial_pack_cost.h"
#include "mpi/core/pmpi.h"
#include "microbench.h"
#include "random_types.h"
#include "suite.h"
#include "type_service.h"

enum { PAGE = 4096, MIB = 1 << 20 };

struct espi_pmpi real;
static int messages;

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
    espi_status status = espi_microbench(c, 2, count, scratch, 0);

    if (status == ESPI_OK)
        ck_assert(!c[1].wrong);
    return status;
}

static int no_size(MPI_Datatype type, MPI_Count *size)
{
    (void)type;
    *size = 8;
    return MPI_ERR_TYPE;
}

static int no_extent(MPI_Datatype type, MPI_Count *lb, MPI_Count *extent)
{
    (void)type;
    *lb = 0;
    *extent = 8;
    return MPI_ERR_TYPE;
}

START_TEST(unknown)
{
    MPI_Datatype type = placed(0, 8);

    espi_microbench_start();
    ck_assert_int_eq(measure(type, 1, SCRATCH), ESPI_OK);
    espi_pmpi.Type_size_c = no_size;
    ck_assert_int_eq(measure(type, 1, SCRATCH), ESPI_ERR_MPI);
    espi_pmpi = real;
    espi_pmpi.Type_get_extent_c = no_extent;
    ck_assert_int_eq(measure(type, 1, SCRATCH), ESPI_ERR_MPI);
    espi_pmpi = real;
    espi_pmpi.Type_get_true_extent_c = no_extent;
    ck_assert_int_eq(measure(type, 1, SCRATCH), ESPI_ERR_MPI);
    espi_pmpi = real;
    espi_microbench_stop();
    MPI_Type_free(&type);
}
END_TEST

/* The entries of a type, in the other order. */
static MPI_Datatype reversed(MPI_Datatype type)
{
    size_t n;
    int64_t *place = packed_places(type, &n);
    MPI_Aint *at = malloc(n * sizeof *at);
    MPI_Datatype out;

    for (size_t i = 0; i < n / 8; i++)
        at[i] = (MPI_Aint)place[n - 8 - 8 * i];
    MPI_Type_create_hindexed_block((int)(n / 8), 1, at, MPI_DOUBLE, &out);
    MPI_Type_commit(&out);
    free(place);
    free(at);
    return out;
}

static size_t pages(size_t bytes)
{
    return (bytes + 8191) / PAGE * PAGE;
}

/* Whatever packs or unpacks other bytes than the first is wrong, in every position, and is not timed. */
START_TEST(wrong)
{
    MPI_Datatype own = irregular(200, 1), same = irregular(200, 1), elsewhere = irregular(200, 2);
    MPI_Datatype half = irregular(100, 1), backward = reversed(own);
    struct espi_candidate c[6] = {{.type = own},  {.type = elsewhere}, {.type = same},
                                  {.type = half}, {.type = same},      {.type = backward}};
    int op;

    espi_microbench_start();
    ck_assert_int_eq(espi_microbench(c, 6, 1, SCRATCH, 100000), ESPI_OK);
    ck_assert(!c[0].wrong && c[1].wrong && !c[2].wrong && c[3].wrong && !c[4].wrong && c[5].wrong);
    for (op = 0; op < ESPI_OPERATIONS; op++) {
        ck_assert(c[0].ns[op] > 0 && c[2].ns[op] > 0 && c[4].ns[op] > 0);
        ck_assert(c[1].ns[op] == 0 && c[3].ns[op] == 0 && c[5].ns[op] == 0);
    }
    c[1].type = same; /* what was wrong before may be right now */
    c[0].wrong = true;
    c[1].ns[ESPI_MEASURE_PACK] = 1;
    ck_assert_int_eq(espi_microbench(c, 2, 1, SCRATCH, 100000), ESPI_OK);
    ck_assert(!c[0].wrong && !c[1].wrong && c[0].ns[ESPI_MEASURE_PACK] > 1 && c[1].ns[ESPI_MEASURE_PACK] > 1);
    espi_microbench_stop();
    ck_assert_int_eq(espi_microbench(c, 2, 1, SCRATCH, 100000), ESPI_ERR_MPI);
    MPI_Type_free(&own);
    MPI_Type_free(&same);
    MPI_Type_free(&elsewhere);
    MPI_Type_free(&half);
    MPI_Type_free(&backward);
}
END_TEST

static MPI_Datatype faulty = MPI_DATATYPE_NULL; /* for which one of MPI's functions does not do what it says */
static enum { NOTHING_PACKED, OTHERS_UNPACKED, NOTHING_UNPACKED, PACK_FAILS, UNPACK_FAILS, FAULTS } fault;
static const void *packed_from;
static void *unpacked_to;
static size_t apart_by; /* these two */

static int pack_of(const void *from, int count, MPI_Datatype type, void *to, int size, int *at, MPI_Comm comm)
{
    if (packed_from == NULL)
        packed_from = from;
    /* What a candidate has unpacked is packed again with the program's own. */
    if (fault == NOTHING_PACKED && faulty != MPI_DATATYPE_NULL && from == unpacked_to)
        return MPI_SUCCESS;
    int code = real.Pack(from, count, type, to, size, at, comm);
    return type == faulty && fault == PACK_FAILS ? MPI_ERR_INTERN : code;
}

static int unpack_of(const void *from, int size, int *at, void *to, int count, MPI_Datatype type, MPI_Comm comm)
{
    MPI_Aint lb, extent;

    if (packed_from != NULL) { /* else it fills what is packed */
        unpacked_to = to;
        apart_by = (size_t)labs((char *)to - (const char *)packed_from);
    }
    if (type == faulty && fault == NOTHING_UNPACKED)
        return MPI_SUCCESS;
    int code = real.Unpack(from, size, at, to, count, type, comm);
    if (type == faulty && fault == OTHERS_UNPACKED) {
        MPI_Type_get_true_extent(type, &lb, &extent);
        ((char *)to)[lb] ^= 1;
    }
    return type == faulty && fault == UNPACK_FAILS ? MPI_ERR_INTERN : code;
}

/* Both directions are looked at, and what another candidate did does not stand for this one's. */
START_TEST(faults)
{
    MPI_Datatype own = irregular(20, 1), good = irregular(20, 1), bad = irregular(20, 1);
    struct espi_candidate c[3] = {{.type = own}, {.type = good}, {.type = bad}};

    espi_microbench_start();
    espi_pmpi.Pack = pack_of;
    espi_pmpi.Unpack = unpack_of;
    for (fault = 0; fault < FAULTS; fault++) {
        faulty = bad;
        packed_from = unpacked_to = NULL;
        ck_assert_int_eq(espi_microbench(c, 3, 1, SCRATCH, 0), ESPI_OK);
        ck_assert_msg(c[2].wrong && c[1].wrong == (fault == NOTHING_PACKED), "fault %d", fault);
        faulty = own;
        packed_from = unpacked_to = NULL;
        ck_assert_int_eq(espi_microbench(c, 3, 1, SCRATCH, 0),
                         fault == PACK_FAILS || fault == UNPACK_FAILS ? ESPI_ERR_MPI : ESPI_OK);
    }
    faulty = MPI_DATATYPE_NULL;
    espi_microbench_stop();
    MPI_Type_free(&own);
    MPI_Type_free(&good);
    MPI_Type_free(&bad);
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

    espi_microbench_start();
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        MPI_Datatype type = placed(of[i].lb, of[i].extent);
        size_t reach = (size_t)labs(of[i].extent) * (size_t)(of[i].count - 1) + 8;
        size_t needed = 2 * pages(reach) + 2 * pages(8 * (size_t)of[i].count);

        espi_pmpi.Pack = pack_of;
        espi_pmpi.Unpack = unpack_of;
        packed_from = unpacked_to = NULL;
        ck_assert_msg(measure(type, of[i].count, needed) == ESPI_OK, "type %zu", i);
        espi_pmpi = real;
        ck_assert_msg(unpacked_to != NULL && apart_by >= reach, "type %zu", i);
        ck_assert_msg(measure(type, of[i].count, needed - 1) == ESPI_ERR_LIMIT, "type %zu", i);
        MPI_Type_free(&type);
    }
    espi_microbench_stop();
}
END_TEST

START_TEST(too_large)
{
    static const MPI_Aint extent[] = {(MPI_Aint)1 << 62, -((MPI_Aint)1 << 62), INT64_MAX - 15, INT64_MAX - 4096,
                                      -INT64_MAX, INT64_MIN},
                          apart[] = {-((MPI_Aint)1 << 62), ((MPI_Aint)1 << 62) - 16};
    MPI_Datatype type, far;

    espi_microbench_start();
    MPI_Type_create_hvector(1 << 28, 1, 0, MPI_INT, &type); /* 1 GiB of data in 4 bytes */
    MPI_Type_commit(&type);
    ck_assert_int_eq(measure(type, 4, SIZE_MAX / 4), ESPI_ERR_LIMIT);
    ck_assert_int_eq(measure(type, 1, SIZE_MAX / 4), ESPI_ERR_LIMIT);
    MPI_Type_free(&type);
    for (size_t i = 0; i < sizeof extent / sizeof *extent; i++) { /* sums of them are too large for 64 bits */
        type = placed(0, extent[i]);
        ck_assert_int_eq(measure(type, 4, SCRATCH), ESPI_ERR_LIMIT);
        ck_assert_int_eq(measure(type, 3, SCRATCH), ESPI_ERR_LIMIT);
        ck_assert_int_eq(measure(type, 2, SCRATCH), ESPI_ERR_LIMIT);
        MPI_Type_free(&type);
    }
    type = placed(0, (MPI_Aint)1 << 58); /* as asked for, but there is no such memory */
    ck_assert_int_eq(measure(type, 2, SIZE_MAX / 4), ESPI_ERR_MEMORY);
    MPI_Type_free(&type);
    MPI_Type_create_hindexed_block(2, 1, apart, MPI_DOUBLE, &far);
    MPI_Type_create_resized(far, 0, 8, &type);
    MPI_Type_commit(&type);
    ck_assert_int_eq(measure(type, 1, SCRATCH), ESPI_ERR_LIMIT);
    ck_assert_int_eq(measure(type, 2, SCRATCH), ESPI_ERR_LIMIT);
    MPI_Type_free(&far);
    MPI_Type_free(&type);
    espi_microbench_stop();
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

    espi_microbench_start();
    ck_assert_int_eq(measure(type, 2, SCRATCH), ESPI_OK);
    before = virtual_pages();
    for (int i = 0; i < 40; i++)
        ck_assert_int_eq(measure(type, 2, SCRATCH), ESPI_OK);
    after = virtual_pages();
    ck_assert_int_lt((after - before) * sysconf(_SC_PAGESIZE), 400L * MIB);
    espi_microbench_stop();
    MPI_Type_free(&type);
}
END_TEST

static int multiple(int *level)
{
    *level = MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

static int counted_message(const void *from, int n, MPI_Datatype t, int dest, int tag, void *to, int m,
                           MPI_Datatype u, int source, int tag2, MPI_Comm comm, MPI_Status *status)
{
    messages++;
    return real.Sendrecv(from, n, t, dest, tag, to, m, u, source, tag2, comm, status);
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
    espi_pmpi.Query_thread = multiple;
    espi_pmpi.Sendrecv = counted_message;
    messages = 0;
    espi_microbench_start();
    ck_assert_int_eq(espi_microbench(c, 3, 1, SCRATCH, 0), ESPI_OK);
    ck_assert_int_eq(messages, 0);
    ck_assert_uint_eq(c[0].ns[ESPI_MEASURE_PARTIAL], c[0].ns[ESPI_MEASURE_PACK] + c[0].ns[ESPI_MEASURE_UNPACK] +
                                                         2 * espi_partial_pack_cost(d.tree, 1));
    ck_assert_uint_gt(espi_partial_pack_cost(d.tree, 1), 0);
    ck_assert_uint_gt(espi_partial_pack_cost(d.tree, 3), espi_partial_pack_cost(d.tree, 1));
    ck_assert(c[1].ns[ESPI_MEASURE_PACK] > 0 && c[1].ns[ESPI_MEASURE_PARTIAL] == 0);
    ck_assert(c[2].wrong && c[2].ns[ESPI_MEASURE_PARTIAL] == 0);
    ck_assert_int_eq(espi_microbench(c, 1, 3, SCRATCH, 0), ESPI_OK);
    ck_assert_uint_eq(c[0].ns[ESPI_MEASURE_PARTIAL], c[0].ns[ESPI_MEASURE_PACK] + c[0].ns[ESPI_MEASURE_UNPACK] +
                                                         2 * espi_partial_pack_cost(d.tree, 3));
    espi_microbench_stop();
    espi_pmpi = real;
    MPI_Type_free(&type);
    MPI_Type_free(&other);
    espi_arena_release(&arena);
}
END_TEST

static void restore(void)
{
    if (real.Pack == NULL)
        real = espi_pmpi;
    espi_pmpi = real;
}

int main(int argc, char **argv)
{
    const TTest *const tests[] = {wrong, faults, unknown, room, too_large, given_back, nothing_sent};
    TCase *all = types_case(tests, sizeof tests / sizeof *tests);

    types_measure_rounds(all);
    tcase_add_checked_fixture(all, restore, NULL);
    return types_run(argc, argv, "types_measure", all);
}
