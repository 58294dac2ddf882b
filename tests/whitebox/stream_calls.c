/*
 * Which messages that a pack program carries out are sent as one item of a type that goes cell by cell
 * (src/mpi/packed/stream_type.h), in the general way and the short one: of which form, with what in them, and that
 * types and buffers are back when the calls are over.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>

#include "mpi/core/pmpi.h"
#include "mpi/packed/packed_call.h"
#include "mpi/packed/packed_persistent.h"
#include "mpi/reduce/reduce.h"
#include "mpi/calls/message.h"
#include "stream_setup.h"

/* What a message in cells has in use: its stream, and the place behind it. */
enum { ROOM = BYTES + 1 };

static void start_call(struct call *c, enum espi_fn fn, int count)
{
    start_call_of(type, c, fn, count);
}

static bool is_in_cells(const struct call *c, int bytes)
{
    ck_assert(c->changed[0] != c->args[0]);
    ck_assert(in_cells(c->changed[1], c->changed[2], bytes, ESPI_STREAM_SPLIT) ||
              as_bytes(c->changed[1], c->changed[2], bytes));
    return c->changed[2] != (espi_word)MPI_PACKED;
}

/* The bytes of a message as MPI would pack them now. */
static char *packed(const void *data, int count, MPI_Datatype of)
{
    static char stream[BYTES];
    int at = 0;

    ck_assert_int_eq(MPI_Pack(data, count, of, stream, BYTES, &at, MPI_COMM_SELF), MPI_SUCCESS);
    ck_assert_int_eq(at, BYTES);
    return stream;
}

/* These are what was sent. */
static void receive(const char *expected)
{
    static char stream[BYTES];

    ck_assert_int_eq(MPI_Recv(stream, BYTES, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ck_assert(memcmp(stream, expected, BYTES) == 0);
}

/* Makes the request as the call says. */
static void send_in_cells(const struct call *c, bool persistent)
{
    (persistent ? MPI_Send_init : MPI_Isend)((void *)c->changed[0], 1, (MPI_Datatype)c->changed[2], 0, 1,
                                             MPI_COMM_SELF, &request);
}

/* A call that completes or frees the request. */
static void complete(enum espi_fn fn, espi_next next)
{
    espi_word args[2] = {(espi_word)&request, (espi_word)MPI_STATUS_IGNORE};

    ck_assert_int_eq((int)espi_packed_complete(&own_thread, fn, args, next, espi_reduce_complete), MPI_SUCCESS);
}

static void wait_for_it(void)
{
    complete(ESPI_FN_Wait, (espi_next)PMPI_Wait);
}

static const struct {
    enum espi_fn fn;
    bool in_cells;
} messages[] = {{ESPI_FN_Send, true},       {ESPI_FN_Ssend, true},      {ESPI_FN_Rsend, true},
                {ESPI_FN_Send_init, true},  {ESPI_FN_Ssend_init, true}, {ESPI_FN_Rsend_init, true},
                {ESPI_FN_Isend, true},      {ESPI_FN_Issend, true},     {ESPI_FN_Irsend, true},
                {ESPI_FN_Send_c, true},     {ESPI_FN_Isend_c, true},    {ESPI_FN_Bsend, false},
                {ESPI_FN_Ibsend, false},    {ESPI_FN_Bsend_init, false}, {ESPI_FN_Recv, false},
                {ESPI_FN_Irecv, false},     {ESPI_FN_Recv_init, false}, {ESPI_FN_Sendrecv_replace, false}};

/* Long messages that are sent, and that MPI does not copy first, where there are cells at all. They have a place more
   than bytes. */
START_TEST(general)
{
    struct call c;

    begin();
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        for (int way = 0; way < 3; way++) { /* closed, short, long */
            const int count = way == 1 ? FEW : COUNT, bytes = count * (int)SIZE;
            if (way == 0)
                espi_stream_types_close();
            start_call(&c, messages[i].fn, count);
            const bool cells = is_in_cells(&c, bytes);
            const int64_t used = MB - spare_bytes();
            ck_assert_msg(cells == (way == 2 && messages[i].in_cells), "%s, way %d", espi_api_name(messages[i].fn),
                          way);
            ck_assert(cells ? used == ROOM : used >= bytes);
            espi_substitute_end(&c.d, MPI_ERR_OTHER);
            if (way == 0)
                start_cells();
            ck_assert(all_are_back());
        }
    end();
}
END_TEST

static void start_it(void)
{
    const espi_word started[1] = {(espi_word)&request};

    espi_packed_start(ESPI_FN_Start, started);
    MPI_Start(&request);
}

static void free_it(void)
{
    complete(ESPI_FN_Request_free, (espi_next)PMPI_Request_free);
}

/* We need the type until there is a request, MPI until that is over: it counts so long. What a persistent one sends
   is the program's at each start, from the first byte to the last. */
START_TEST(requests)
{
    struct call c;

    begin();
    for (int large = 0; large < 2; large++) {
        start_call(&c, large ? ESPI_FN_Isend_c : ESPI_FN_Isend, COUNT);
        ck_assert(is_in_cells(&c, BYTES));
        send_in_cells(&c, false);
        espi_substitute_end(&c.d, MPI_SUCCESS);
        espi_stream_types_give_back();
        ck_assert_int_ne(held_types(), 0);
        receive(packed(from, COUNT, type));
        wait_for_it();
        ck_assert(all_are_back());
    }
    start_call(&c, ESPI_FN_Send_init, COUNT);
    ck_assert(is_in_cells(&c, BYTES));
    send_in_cells(&c, true);
    espi_substitute_end(&c.d, MPI_SUCCESS);
    espi_stream_types_give_back();
    ck_assert_int_ne(held_types(), 0);
    for (int cycle = 0; cycle < 3; cycle++) {
        from[0] = (char)cycle;
        from[COUNT * extent - 1] = (char)(cycle + 100);
        start_it();
        receive(packed(from, COUNT, type));
        wait_for_it();
        ck_assert_int_eq(spare_bytes(), MB - ROOM);
    }
    free_it();
    ck_assert(all_are_back());
    end();
}
END_TEST

/* Data that stand in the program's memory as one run are sent from there: in a row, as the place behind them is the
   program's. A packed message of their size has the other form. */
START_TEST(standing)
{
    enum { BEGINS = 20 };
    const int length = BYTES, at = BEGINS;
    static char before[sizeof from];
    MPI_Datatype bytes, run;
    struct call c;

    begin();
    MPI_Type_indexed(1, &length, &at, MPI_BYTE, &bytes);
    MPI_Type_create_resized(bytes, 0, 2 * BYTES, &run);
    MPI_Type_free(&bytes);
    MPI_Type_commit(&run);
    espi_types_committed(thread_state, run);
    use_once(run, 1);
    memcpy(before, from, sizeof from);
    for (int i = 0; i < 8; i++) {
        const bool stands = i % 2, persistent = i / 2 % 2;
        const int count = stands ? 1 : COUNT;
        start_call_of(stands ? run : type, &c, persistent ? ESPI_FN_Send_init : ESPI_FN_Isend, count);
        if (stands) {
            ck_assert(c.changed[0] == (espi_word)(from + BEGINS));
            ck_assert(in_cells(c.changed[1], c.changed[2], BYTES, ESPI_STREAM_IN_ROW));
        } else {
            ck_assert(is_in_cells(&c, BYTES));
        }
        ck_assert_int_eq(spare_bytes(), stands ? MB : MB - ROOM);
        send_in_cells(&c, persistent);
        espi_substitute_end(&c.d, MPI_SUCCESS);
        for (int cycle = 0; cycle < 1 + persistent; cycle++) {
            if (persistent)
                start_it();
            receive(packed(from, count, stands ? run : type));
            wait_for_it();
        }
        if (persistent)
            free_it();
        ck_assert_int_eq(spare_bytes(), MB);
    }
    ck_assert(memcmp(before, from, sizeof from) == 0);
    ck_assert(all_are_back());
    MPI_Type_free(&run);
    end();
}
END_TEST

/* Where there is a buffer for the bytes, but not for the place behind them, the call is left as it is, and the type
   is given back. */
START_TEST(no_buffer)
{
    static const enum espi_fn fns[] = {ESPI_FN_Send, ESPI_FN_Isend, ESPI_FN_Send_init};
    struct call c;

    begin();
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++)
        for (int lacks = 0; lacks < 2; lacks++) {
            const int64_t held = MB - ROOM + lacks;
            void *buffer = espi_packed_buffer(held);
            ck_assert_ptr_nonnull(buffer);
            start_call(&c, fns[i], COUNT);
            ck_assert(lacks ? memcmp(c.args, c.changed, sizeof c.args) == 0 : is_in_cells(&c, BYTES));
            espi_substitute_end(&c.d, MPI_ERR_OTHER);
            espi_packed_buffer_back(buffer, held);
            ck_assert(all_are_back());
        }
    end();
}
END_TEST

static int (*real_pack)(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);

/* Its last byte is another. */
static int pack_otherwise(const void *data, int count, MPI_Datatype of, void *stream, int size, int *at,
                          MPI_Comm comm)
{
    const int result = real_pack(data, count, of, stream, size, at, comm);

    ((char *)stream)[*at - 1] ^= 1;
    return result;
}

/* Under ESPALIER_CHECK the bytes are compared as MPI packs them, and only then the last one moves: where they differ,
   MPI's are sent, that one included. */
START_TEST(checked)
{
    struct call c;

    begin();
    real_pack = espi_pmpi.Pack;
    espi_settings.check = 1;
    for (int persistent = 0; persistent < 2; persistent++)
        for (int differs = 0; differs < 2; differs++) {
            const uint64_t passed = counted(ESPI_COUNT_checks_passed), failed = counted(ESPI_COUNT_checks_failed);
            espi_pmpi.Pack = differs ? pack_otherwise : real_pack;
            start_call(&c, persistent ? ESPI_FN_Send_init : ESPI_FN_Isend, COUNT);
            ck_assert(is_in_cells(&c, BYTES));
            send_in_cells(&c, persistent);
            espi_substitute_end(&c.d, MPI_SUCCESS);
            if (persistent)
                start_it();
            espi_pmpi.Pack = real_pack;
            char *expected = packed(from, COUNT, type);
            expected[BYTES - 1] ^= (char)differs;
            receive(expected);
            wait_for_it();
            if (persistent)
                free_it();
            ck_assert_uint_eq(counted(ESPI_COUNT_checks_passed), passed + !differs);
            ck_assert_uint_eq(counted(ESPI_COUNT_checks_failed), failed + (uint64_t)differs);
            ck_assert(all_are_back());
        }
    end();
}
END_TEST

/* The short way; a call that is made again with the program's arguments gives its type back before. */
START_TEST(short_way)
{
    static const enum espi_fn fns[] = {ESPI_FN_Send, ESPI_FN_Ssend, ESPI_FN_Isend, ESPI_FN_Recv};
    struct espi_message m;

    begin();
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++)
        for (int wrong = 0; wrong < 2; wrong++) {
            const struct espi_api_row *row = &espi_api_rows[fns[i]];
            const bool nonblocking = fns[i] == ESPI_FN_Isend;
            const espi_word args[7] = {(espi_word)from, COUNT, type, 0, 1, MPI_COMM_SELF,
                                       nonblocking ? (espi_word)&request : (espi_word)&status};
            espi_word changed[7];
            memcpy(changed, args, sizeof args);
            ck_assert(espi_message_begin(&m, thread_state, row, args, changed));
            if (fns[i] == ESPI_FN_Recv)
                ck_assert(as_bytes(changed[1], changed[2], BYTES));
            else
                ck_assert(in_cells(changed[1], changed[2], BYTES, ESPI_STREAM_SPLIT));
            ck_assert_int_eq(spare_bytes(), MB - (fns[i] == ESPI_FN_Recv ? BYTES : ROOM));
            if (!nonblocking || wrong) {
                ck_assert(espi_message_end(&m, changed, wrong ? MPI_ERR_TYPE : MPI_ERR_OTHER) == wrong);
                ck_assert(all_are_back());
                continue;
            }
            MPI_Isend((void *)changed[0], 1, (MPI_Datatype)changed[2], 0, 1, MPI_COMM_SELF, &request);
            ck_assert(!espi_message_end(&m, changed, MPI_SUCCESS));
            espi_stream_types_give_back();
            ck_assert_int_ne(held_types(), 0);
            receive(packed(from, COUNT, type));
            wait_for_it();
            ck_assert(all_are_back());
        }
    end();
}
END_TEST

/* MPI_Sendrecv: the side that is sent. Where the other one gets no buffer both are left, and it gives back what it
   has. */
START_TEST(both_ways)
{
    struct espi_message m;

    begin();
    const espi_word args[12] = {(espi_word)from, COUNT, type, 0, 1, (espi_word)onto, COUNT, type, 0, 1,
                                MPI_COMM_SELF, (espi_word)MPI_STATUS_IGNORE};
    espi_word changed[12];
    const int64_t held = MB - ROOM - BYTES + 1;
    void *buffer = espi_packed_buffer(held);
    ck_assert_ptr_nonnull(buffer);
    memcpy(changed, args, sizeof args);
    ck_assert(!espi_message_begin(&m, thread_state, &espi_api_rows[ESPI_FN_Sendrecv], args, changed));
    espi_packed_buffer_back(buffer, held);
    ck_assert(all_are_back());
    memcpy(changed, args, sizeof args);
    ck_assert(espi_message_begin(&m, thread_state, &espi_api_rows[ESPI_FN_Sendrecv], args, changed));
    ck_assert(in_cells(changed[1], changed[2], BYTES, ESPI_STREAM_SPLIT));
    ck_assert(as_bytes(changed[6], changed[7], BYTES));
    ck_assert_int_eq(spare_bytes(), MB - ROOM - BYTES);
    const int result = MPI_Sendrecv((void *)changed[0], 1, (MPI_Datatype)changed[2], 0, 1, (void *)changed[5], BYTES,
                                    MPI_PACKED, 0, 1, MPI_COMM_SELF, (MPI_Status *)changed[11]);
    ck_assert_int_eq(result, MPI_SUCCESS);
    ck_assert(!espi_message_end(&m, changed, result));
    ck_assert(all_are_back());
    static char sent[BYTES];
    memcpy(sent, packed(from, COUNT, type), BYTES);
    ck_assert(memcmp(packed(onto, COUNT, type), sent, BYTES) == 0);
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "stream_calls", general, requests, standing, no_buffer, checked, short_way,
                     both_ways);
}
