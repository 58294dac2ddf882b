/*
 * Long blocks that are read where they lie (src/mpi/exchange/offer.h), one rank playing both ends of a channel: each
 * pair of layouts delivers the same bytes, whether all can be read, nothing, or only the first parts.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "layout/layout.h"
#include "mpi/core/pmpi.h"
#include "mpi/exchange/ends.h"
#include "mpi/exchange/flow.h"
#include "random_types.h"
#include "suite.h"

enum { MOST = 1 << 20, MEMORY = 4 * MOST + 65536, LEAST = 24576 };
enum layout { DENSE, ONE_RUN, LONG_ROWS, MEDIUM_ROWS, SHORT_ROWS, BY_MPI, LAYOUTS };

static struct espi_segment segment;
static struct espi_segment_key key;
static struct espi_channel_end out, in;
static struct espi_arena arena;
static int fetched, may_fetch; /* calls so far, and how many of them succeed */
static bool no_memory;

bool __real_espi_fetch(struct espi_process *process, const struct espi_rows *theirs, const struct espi_rows *ours,
                       int64_t first, int64_t bytes);
bool __wrap_espi_fetch(struct espi_process *process, const struct espi_rows *theirs, const struct espi_rows *ours,
                       int64_t first, int64_t bytes);
bool __wrap_espi_fetch(struct espi_process *process, const struct espi_rows *theirs, const struct espi_rows *ours,
                       int64_t first, int64_t bytes)
{
    return fetched++ < may_fetch && __real_espi_fetch(process, theirs, ours, first, bytes);
}

void *__real_espi_pool_get(size_t size);
void *__wrap_espi_pool_get(size_t size);
void *__wrap_espi_pool_get(size_t size)
{
    return no_memory ? NULL : __real_espi_pool_get(size);
}

static void begin(void)
{
    ck_assert(espi_segment_make(&segment, 2, &key));
    espi_segment_say(&segment, 0, ESPI_SEGMENT_HERE);
    *espi_exchange_process(0) = espi_segment_process(&segment, 0);
    out = espi_segment_channel(&segment, 0, 1);
    in = espi_segment_channel(&segment, 0, 1);
    espi_exchange_fetches = true;
    fetched = 0;
    may_fetch = INT32_MAX;
    no_memory = false;
    memset(&arena, 0, sizeof arena);
}

static void end(void)
{
    espi_exchange_fetches = false;
    espi_segment_close(&segment);
    espi_arena_release(&arena);
}

/* A block of `bytes`, a multiple of 8, in such a layout; `*places`: where each eight of them lie. `*suits`: it may be
   read where it lies, as it was made; a row may be longer than its layout says, as all have the same length. */
static struct espi_exchange_block make_block(enum layout layout, char *memory, int64_t bytes, int64_t *places,
                                             bool *suits)
{
    struct espi_exchange_block b = {.data = memory, .count = 1, .bytes = bytes, .type = MPI_BYTE};
    const struct espi_node *tree;
    char text[100];
    int64_t row = layout == LONG_ROWS     ? 4096 + 8 * (int64_t)random_below(1000)
                  : layout == MEDIUM_ROWS ? 1024 + 8 * (int64_t)random_below(300)
                  : layout == SHORT_ROWS || layout == BY_MPI ? 8 * (1 + (int64_t)random_below(60))
                                                             : bytes;
    int64_t step;

    while (bytes % row != 0) /* the nearest that divides it */
        row = row < bytes ? row + 8 : bytes;
    step = row + 8 * (int64_t)random_below((uint64_t)row / 8);
    const int64_t last = (bytes / row - 1) * step;
    const bool backwards = layout != DENSE && layout != ONE_RUN && random_below(3) == 0;
    for (int64_t i = 0; i < bytes / 8; i++)
        places[i] = (backwards ? last - i * 8 / row * step : i * 8 / row * step) + i * 8 % row;
    b.data += backwards ? last : 0;
    step = backwards ? -step : step;
    b.dense = layout == DENSE;
    *suits = layout != BY_MPI && bytes > LEAST && (row >= 4096 || step == row);
    if (layout == BY_MPI) {
        MPI_Type_create_hvector((int)(bytes / row), (int)row, step, MPI_BYTE, &b.type);
        MPI_Type_commit(&b.type);
    } else if (layout != DENSE) {
        snprintf(text, sizeof text, "vec(%lld,%lld,vec(%lld,8,leaf(MPI_DOUBLE)))", (long long)(bytes / row),
                 (long long)step, (long long)row / 8);
        ck_assert(espi_parse(&arena, text, strlen(text), &tree, NULL) == ESPI_OK);
        ck_assert(espi_pack_compile(&arena, tree, bytes / row * step, &b.pack) == ESPI_OK);
    }
    return b;
}

static void done_with(struct espi_exchange_block *b)
{
    if (b->type != MPI_BYTE)
        MPI_Type_free(&b->type);
}

/* Sends one to the other; steps of both ends come in any order. What the receiver's end says. `*read`: it was read
   where it lies. */
static int carry(const struct espi_exchange_block *from, const struct espi_exchange_block *to, bool *read)
{
    struct espi_flow sent, received;

    espi_flow_send(&sent, &out, from, false);
    espi_flow_receive(&received, &in, to);
    for (int idle = 0; !sent.through || !received.through; idle++) {
        ck_assert_int_lt(idle, 10000);
        if (random_below(2) == 0 ? !sent.through && espi_flow_writes(&sent)
                                 : !received.through && espi_flow_reads(&received))
            idle = 0;
    }
    *read = received.fetched;
    ck_assert_int_eq(espi_flow_end(&sent), MPI_SUCCESS);
    return espi_flow_end(&received);
}

/* A block of one layout to one of another, of `wanted` <= bytes. What the receiver is told. `*read`: as carry;
   `*suits`: it may be. */
static int try_pair(enum layout one, enum layout other, int64_t bytes, int64_t wanted, bool *read, bool *suits)
{
    bool any;
    char *from = malloc(MEMORY), *to = malloc(MEMORY), *expected = malloc(MEMORY);
    int64_t *places = malloc(sizeof *places * MOST / 8), *onto = malloc(sizeof *onto * MOST / 8);
    struct espi_exchange_block b[2] = {make_block(one, from, bytes, places, suits),
                                       make_block(other, to, wanted, onto, &any)};

    const uint64_t salt = random_below(UINT64_C(1) << 32);
    for (uint64_t i = 0; i < MEMORY; i++)
        from[i] = (char)((i + salt) * 0x9e3779b97f4a7c15u >> 56);
    memset(to, 1, MEMORY);
    memset(expected, 1, MEMORY);
    for (int64_t i = 0; i < wanted / 8; i++)
        memcpy(expected + onto[i], from + places[i], 8);
    const int told = carry(&b[0], &b[1], read);
    ck_assert_msg(memcmp(to, expected, MEMORY) == 0, "layouts %d and %d, %lld bytes", one, other, (long long)bytes);
    done_with(&b[0]);
    done_with(&b[1]);
    free(from);
    free(to);
    free(expected);
    free(places);
    free(onto);
    return told;
}

/* Those that suit are read, and others are not; shorter ones never are. */
START_TEST(each_pair)
{
    static const int64_t bytes[] = {LEAST - 8, LEAST, LEAST + 8, 131072, 262144, 262152, 393216, 1000 * 1000};
    bool read, suits;

    for (int one = 0; one < LAYOUTS; one++)
        for (int other = 0; other < LAYOUTS; other++)
            for (size_t i = 0; i < sizeof bytes / sizeof *bytes + 2; i++) {
                const int64_t n = i < sizeof bytes / sizeof *bytes ? bytes[i]
                                                                   : 8 * (1 + (int64_t)random_below(MOST / 8 - 1));
                ck_assert_int_eq(try_pair(one, other, n, n, &read, &suits), MPI_SUCCESS);
                ck_assert_int_eq(read, suits);
            }
    espi_exchange_fetches = false;
    ck_assert_int_eq(try_pair(DENSE, DENSE, MOST, MOST, &read, &suits), MPI_SUCCESS);
    ck_assert(!read);
}
END_TEST

/* Reading fails at first, or in the middle: all goes through the slots, and so do later blocks. */
START_TEST(not_readable)
{
    bool read, suits;

    for (int other = 0; other < LAYOUTS; other++)
        for (int may = 0; may < 4; may++) {
            fetched = 0;
            may_fetch = may;
            ck_assert_int_eq(try_pair(LONG_ROWS, other, MOST, MOST, &read, &suits), MPI_SUCCESS);
            ck_assert(!read);
            ck_assert_int_eq(fetched, may + 1);
            ck_assert_int_eq(try_pair(DENSE, other, MOST, MOST, &read, &suits), MPI_SUCCESS);
            ck_assert_int_eq(fetched, may + 1); /* nothing is offered any more */
            ck_assert(out.refused);
            out.refused = false;
        }
}
END_TEST

START_TEST(of_another_process)
{
    bool read, suits;

    espi_exchange_process(0)->word++;
    ck_assert_int_eq(try_pair(DENSE, DENSE, MOST, MOST, &read, &suits), MPI_SUCCESS);
    ck_assert(!read && out.refused);
}
END_TEST

START_TEST(cut_off)
{
    static const int64_t wanted[] = {8, 16384, LEAST, LEAST + 8, 262144, MOST - 8};
    bool read, suits;

    for (int one = 0; one < LAYOUTS; one++)
        for (int other = 0; other < LAYOUTS; other++)
            for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
                ck_assert_int_eq(try_pair(one, other, MOST, wanted[i], &read, &suits), MPI_ERR_TRUNCATE);
                ck_assert_int_eq(read, suits);
            }
}
END_TEST

/* Nothing to unpack from but the stack; and what MPI unpacks has none. */
START_TEST(no_room)
{
    bool read, suits;

    no_memory = true;
    ck_assert_int_eq(try_pair(DENSE, SHORT_ROWS, MOST, MOST, &read, &suits), MPI_SUCCESS);
    ck_assert(read && !out.refused);
    for (int64_t bytes = LEAST + 8; bytes <= MOST; bytes += MOST - LEAST - 8) {
        char *memory = malloc(MEMORY);
        int64_t *places = malloc(sizeof *places * MOST / 8);
        struct espi_exchange_block from = make_block(DENSE, memory, bytes, places, &suits),
                                   to = make_block(BY_MPI, memory + MEMORY / 2, bytes, places, &suits);
        ck_assert_int_eq(carry(&from, &to, &read), MPI_ERR_NO_MEM);
        ck_assert(!out.refused);
        done_with(&to);
        free(memory);
        free(places);
    }
}
END_TEST

/* There was no memory for what was to be sent: that is said, and no place of it. */
START_TEST(failed)
{
    char *to = calloc(1, MOST);
    const struct espi_exchange_block none = {.count = MOST, .bytes = MOST, .dense = true, .type = MPI_BYTE},
                                     block = {.data = to, .count = MOST, .bytes = MOST, .dense = true,
                                              .type = MPI_BYTE};
    struct espi_flow sent, received;

    espi_flow_send(&sent, &out, &none, true);
    espi_flow_receive(&received, &in, &block);
    while (!sent.through || !received.through)
        if (!(!sent.through && espi_flow_writes(&sent)))
            espi_flow_reads(&received);
    ck_assert_int_eq(fetched, 0);
    ck_assert(!out.refused);
    ck_assert_int_eq(espi_flow_end(&sent), MPI_ERR_NO_MEM);
    ck_assert_int_eq(espi_flow_end(&received), MPI_ERR_NO_MEM);
    free(to);
}
END_TEST

/* Two for one rank: when the first is refused, the second is not offered. */
START_TEST(two)
{
    char *from = calloc(1, MOST), *to = calloc(2, MOST);
    struct espi_exchange_block b = {.data = from, .count = MOST, .bytes = MOST, .dense = true, .type = MPI_BYTE};
    struct espi_flow sent[2], received[2];

    may_fetch = 0;
    memset(from, 3, MOST);
    for (int i = 0; i < 2; i++)
        espi_flow_send(&sent[i], &out, &b, false);
    for (int i = 0; i < 2; i++) {
        b.data = to + i * MOST;
        espi_flow_receive(&received[i], &in, &b);
    }
    for (int i = 0; i < 2; i++)
        while (!sent[i].through || !received[i].through)
            if (!(!sent[i].through && espi_flow_writes(&sent[i])))
                espi_flow_reads(&received[i]);
    ck_assert_int_eq(fetched, 1);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(espi_flow_end(&sent[i]), MPI_SUCCESS);
        ck_assert_int_eq(espi_flow_end(&received[i]), MPI_SUCCESS);
        ck_assert_int_eq(memcmp(to + i * MOST, from, MOST), 0);
    }
    free(from);
    free(to);
}
END_TEST

int main(int argc, char **argv)
{
    char given = 1, got = 0;
    const struct iovec there = {&given, 1}, here = {&got, 1};

    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1) /* as containers may have it */
        return 77;
    const TTest *const all[] = {each_pair, not_readable, of_another_process, cut_off, no_room, failed, two};
    TCase *tests = types_case(all, sizeof all / sizeof *all);

    tcase_add_checked_fixture(tests, begin, end);
    return types_run(argc, argv, "exchange_offers", tests);
}
