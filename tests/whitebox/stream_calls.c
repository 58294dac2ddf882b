/*
 * Which calls that a pack program carries out send their stream as one item of a type that goes cell by cell
 * (src/mpi/packed/stream_type.h), and that the types are back when the calls are over: messages in the general way
 * and the short one, and collective calls, for which the communicator is told to have two ranks.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/datatype/own_types.h"
#include "mpi/packed/packed_persistent.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/packed/stream_type.h"
#include "mpi/reduce/reduce.h"
#include "mpi/typeplan/collective.h"
#include "mpi/typeplan/message.h"
#include "mpi/typeplan/substitute.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

/* Items and bytes of messages that go in cells, and of ones that fit into one. */
enum { SIZE = 24 * sizeof(int), COUNT = 100, BYTES = COUNT * SIZE, FEW = 85, FEW_BYTES = FEW * SIZE, PEERS = 2 };

static char from[1 << 18], onto[1 << 18];
static MPI_Datatype type; /* 24 integers */
static struct espi_thread_state *thread_state;
static MPI_Request request;
static MPI_Status status;

static void look_up(void)
{
    ck_assert(espi_comm_look(&thread_state->comm, MPI_COMM_SELF));
    thread_state->comm.peers = thread_state->comm.in = thread_state->comm.out = PEERS;
    thread_state->comm.near = ESPI_NEAR_ALL;
}

struct call {
    struct espi_substitution d;
    espi_word args[12], changed[12];
};

static void start_call(struct call *c, enum espi_fn fn, int count)
{
    const struct espi_api_row *row = &espi_api_rows[fn];

    *c = (struct call){.args = {(espi_word)from, (espi_word)count, type, 0, 1, MPI_COMM_SELF}};
    if (row->args == 7)
        c->args[6] = row->kind & (ESPI_NONBLOCKING | ESPI_PERSISTENT) ? (espi_word)&request : (espi_word)&status;
    if (fn == ESPI_FN_Sendrecv_replace) {
        const espi_word args[] = {(espi_word)from, (espi_word)count, type, 0, 1, 0, 1, MPI_COMM_SELF,
                                  (espi_word)&status};
        memcpy(c->args, args, sizeof args);
    }
    memcpy(c->changed, c->args, sizeof c->changed);
    c->d = (struct espi_substitution){.thread = &own_thread, .thread_state = thread_state, .row = row,
                                      .args = c->args, .changed = c->changed};
    espi_substitute_begin(&c->d);
}

static void begin(void)
{
    struct call c;

    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    espi_type_service.one_node = true;
    espi_comm_cache_start(true);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    type = regular_ints(3);
    thread_state = espi_thread_state(&own_thread);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7 + i / 512);
    espi_own_types_close(); /* no better type is made, so that all is packed from the first use on */
    start_call(&c, ESPI_FN_Send, 3 * COUNT);
    ck_assert_int_eq(c.changed[2], MPI_PACKED);
    espi_substitute_end(&c.d, MPI_SUCCESS);
    espi_own_types_open(true);
    look_up();
    atomic_store(&espi_slot_of(type)->look, 1000);
    ck_assert_int_eq(held_types(), 0);
    start_cells();
}

static void end(void)
{
    ck_assert_int_eq(atomic_load(&espi_packed_requests), 0);
    MPI_Type_free(&type);
    thread_state->comm = (struct espi_comm_facts){.comm = MPI_COMM_NULL};
    espi_comm_cache_stop();
    espi_types_stop();
}

/* Whether MPI is given one item of a type of ours that has so many bytes. */
static bool in_cells(espi_word count, espi_word seen, int bytes)
{
    int size = 0;

    return seen != (espi_word)MPI_PACKED && seen != (espi_word)type && count == 1 &&
           MPI_Type_size((MPI_Datatype)seen, &size) == MPI_SUCCESS && size == bytes;
}

static bool as_bytes(espi_word count, espi_word seen, int bytes)
{
    return seen == (espi_word)MPI_PACKED && count == (espi_word)bytes;
}

/* Whether no type is out or under way: what is in no call is freed. */
static bool all_are_back(void)
{
    espi_stream_types_give_back();
    return held_types() == 0;
}

/* ---- messages ---- */

static bool is_in_cells(const struct call *c, int bytes)
{
    ck_assert(c->changed[0] != c->args[0]);
    ck_assert(in_cells(c->changed[1], c->changed[2], bytes) || as_bytes(c->changed[1], c->changed[2], bytes));
    return c->changed[2] != (espi_word)MPI_PACKED;
}

/* What was sent is there, and in the order of the type. */
static void receive(int bytes, int count)
{
    static char stream[BYTES], expected[BYTES];
    int at = 0;

    ck_assert_int_eq(MPI_Recv(stream, bytes, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Pack(from, count, type, expected, BYTES, &at, MPI_COMM_SELF);
    ck_assert(at == bytes && memcmp(stream, expected, (size_t)bytes) == 0);
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

/* Long messages that are sent, and that MPI does not copy first, where there are cells at all. */
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
            ck_assert_msg(is_in_cells(&c, bytes) == (way == 2 && messages[i].in_cells), "%s, way %d",
                          espi_api_name(messages[i].fn), way);
            espi_substitute_end(&c.d, MPI_ERR_OTHER);
            if (way == 0)
                start_cells();
            ck_assert(all_are_back());
        }
    end();
}
END_TEST

/* We need the type until there is a request, MPI until that is over: it counts so long. */
START_TEST(requests)
{
    struct call c;

    begin();
    for (int large = 0; large < 2; large++) {
        start_call(&c, large ? ESPI_FN_Isend_c : ESPI_FN_Isend, COUNT);
        ck_assert(is_in_cells(&c, BYTES));
        MPI_Isend((void *)c.changed[0], 1, (MPI_Datatype)c.changed[2], 0, 1, MPI_COMM_SELF, &request);
        espi_substitute_end(&c.d, MPI_SUCCESS);
        ck_assert(!all_are_back());
        receive(BYTES, COUNT);
        wait_for_it();
        ck_assert(all_are_back());
    }
    start_call(&c, ESPI_FN_Send_init, COUNT);
    ck_assert(is_in_cells(&c, BYTES));
    MPI_Send_init((void *)c.changed[0], 1, (MPI_Datatype)c.changed[2], 0, 1, MPI_COMM_SELF, &request);
    espi_substitute_end(&c.d, MPI_SUCCESS);
    ck_assert(!all_are_back());
    const espi_word started[1] = {(espi_word)&request};
    for (int cycle = 0; cycle < 2; cycle++) {
        from[0] = (char)cycle;
        espi_packed_start(ESPI_FN_Start, started);
        MPI_Start(&request);
        receive(BYTES, COUNT);
        wait_for_it();
    }
    complete(ESPI_FN_Request_free, (espi_next)PMPI_Request_free);
    ck_assert(all_are_back());
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
                ck_assert(in_cells(changed[1], changed[2], BYTES));
            if (!nonblocking || wrong) {
                ck_assert(espi_message_end(&m, changed, wrong ? MPI_ERR_TYPE : MPI_ERR_OTHER) == wrong);
                ck_assert(all_are_back());
                continue;
            }
            MPI_Isend((void *)changed[0], 1, (MPI_Datatype)changed[2], 0, 1, MPI_COMM_SELF, &request);
            ck_assert(!espi_message_end(&m, changed, MPI_SUCCESS));
            ck_assert(!all_are_back());
            receive(BYTES, COUNT);
            wait_for_it();
            ck_assert(all_are_back());
        }
    end();
}
END_TEST

/* MPI_Sendrecv: the side that is sent. */
START_TEST(both_ways)
{
    struct espi_message m;

    begin();
    const espi_word args[12] = {(espi_word)from, COUNT, type, 0, 1, (espi_word)onto, COUNT, type, 0, 1,
                                MPI_COMM_SELF, (espi_word)MPI_STATUS_IGNORE};
    espi_word changed[12];
    memcpy(changed, args, sizeof args);
    ck_assert(espi_message_begin(&m, thread_state, &espi_api_rows[ESPI_FN_Sendrecv], args, changed));
    ck_assert(in_cells(changed[1], changed[2], BYTES));
    ck_assert(as_bytes(changed[6], changed[7], BYTES));
    const int result = MPI_Sendrecv((void *)changed[0], 1, (MPI_Datatype)changed[2], 0, 1, (void *)changed[5], BYTES,
                                    MPI_PACKED, 0, 1, MPI_COMM_SELF, (MPI_Status *)changed[11]);
    ck_assert_int_eq(result, MPI_SUCCESS);
    ck_assert(!espi_message_end(&m, changed, result));
    ck_assert(all_are_back());
    static char packed[2][BYTES];
    for (int i = 0, at = 0; i < 2; i++, at = 0)
        MPI_Pack(i ? onto : from, COUNT, type, packed[i], BYTES, &at, MPI_COMM_SELF);
    ck_assert(memcmp(packed[0], packed[1], BYTES) == 0);
    end();
}
END_TEST

/* ---- collective calls ---- */

static int counts[PEERS], places[PEERS], bytes_to[PEERS];
static MPI_Count many[PEERS];
static MPI_Aint far[PEERS];
static MPI_Datatype types[PEERS];

static void set_counts(int first, int second)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(type, &lb, &extent);
    counts[0] = first;
    counts[1] = second;
    for (int i = 0; i < PEERS; i++) {
        many[i] = counts[i];
        places[i] = i * counts[0];
        far[i] = bytes_to[i] = places[i] * (int)extent;
        types[i] = type;
    }
}

/* What MPI is to do, by the short way; `args` as the program has them. */
struct collective {
    espi_word changed[ESPI_MAX_ARGS];
    struct espi_collective c;
};

static void start_collective(struct collective *c, enum espi_fn fn, const espi_word *args)
{
    look_up();
    memcpy(c->changed, args, espi_api_rows[fn].args * sizeof *args);
    ck_assert_msg(espi_collective_course(&c->c, thread_state, &espi_api_rows[fn], args, c->changed) ==
                      ESPI_COURSE_PACKED, "%s", espi_api_name(fn));
}

static void end_collective(struct collective *c)
{
    espi_collective_end(&c->c, MPI_ERR_OTHER);
    ck_assert(all_are_back());
}

/* Calls with one count for all blocks. */
static void one_count(enum espi_fn fn, int count, bool sent_in_cells)
{
    const espi_word args[] = {(espi_word)from, (espi_word)count, type, (espi_word)onto, (espi_word)count, type,
                              MPI_COMM_SELF, (espi_word)&request};
    const int bytes = count * (int)SIZE;
    struct collective c;

    for (int closed = 0; closed < 2; closed++) {
        if (closed)
            espi_stream_types_close();
        start_collective(&c, fn, args);
        ck_assert_msg(sent_in_cells && !closed ? in_cells(c.changed[1], c.changed[2], bytes)
                                               : as_bytes(c.changed[1], c.changed[2], bytes),
                      "%s of %d", espi_api_name(fn), count);
        ck_assert(as_bytes(c.changed[4], c.changed[5], bytes));
        end_collective(&c);
    }
    start_cells();
}

START_TEST(alltoall)
{
    begin();
    one_count(ESPI_FN_Alltoall, COUNT, true);
    one_count(ESPI_FN_Alltoall_c, COUNT, true);
    one_count(ESPI_FN_Ialltoall, COUNT, true);
    one_count(ESPI_FN_Neighbor_alltoall, COUNT, true);
    one_count(ESPI_FN_Alltoall, FEW, false);
    one_count(ESPI_FN_Neighbor_alltoall, FEW, false);
    one_count(ESPI_FN_Neighbor_allgather, COUNT, false);
    end();
}
END_TEST

/* What is sent from where it is received keeps its form, as both are one argument; so does one side that is only
   received. */
START_TEST(one_side)
{
    const espi_word in_place[] = {(espi_word)MPI_IN_PLACE, 0, 0, (espi_word)onto, COUNT, 0, MPI_COMM_SELF};
    const espi_word received[] = {(espi_word)from, BYTES, MPI_BYTE, (espi_word)onto, COUNT, 0, MPI_COMM_SELF};
    const espi_word sent[] = {(espi_word)from, COUNT, 0, (espi_word)onto, BYTES, MPI_BYTE, MPI_COMM_SELF};
    espi_word args[7];
    struct call whole;
    struct collective c;

    begin();
    memcpy(args, received, sizeof args);
    args[5] = (espi_word)type;
    start_collective(&c, ESPI_FN_Alltoall, args);
    ck_assert(as_bytes(c.changed[4], c.changed[5], BYTES) && c.changed[2] == (espi_word)MPI_BYTE);
    end_collective(&c);
    memcpy(args, sent, sizeof args);
    args[2] = (espi_word)type;
    start_collective(&c, ESPI_FN_Alltoall, args);
    ck_assert(in_cells(c.changed[1], c.changed[2], BYTES) && c.changed[5] == (espi_word)MPI_BYTE);
    end_collective(&c);
    whole = (struct call){.args = {in_place[0], 0, 0, in_place[3], in_place[4], (espi_word)type, in_place[6]}};
    memcpy(whole.changed, whole.args, sizeof whole.args);
    whole.d = (struct espi_substitution){.thread = &own_thread, .thread_state = thread_state,
                                           .row = &espi_api_rows[ESPI_FN_Alltoall], .args = whole.args,
                                           .changed = whole.changed};
    look_up();
    espi_substitute_begin(&whole.d);
    ck_assert(whole.changed[3] != whole.args[3] && as_bytes(whole.changed[4], whole.changed[5], BYTES));
    espi_substitute_end(&whole.d, MPI_ERR_OTHER);
    ck_assert(all_are_back());
    end();
}
END_TEST

/* Block i as MPI sees it: one item, or bytes. */
static void check_block(const struct collective *c, const struct espi_buffer_args *typed, int i, bool large,
                        bool sent_in_cells)
{
    const espi_word count = large ? (espi_word)((const MPI_Count *)c->changed[typed->count])[i]
                                  : (espi_word)((const int *)c->changed[typed->count])[i];
    const espi_word seen = (espi_word)((const MPI_Datatype *)c->changed[typed->type])[i];
    const int bytes = counts[i] * (int)SIZE;

    ck_assert(sent_in_cells ? in_cells(count, seen, bytes) : as_bytes(count, seen, bytes));
}

/* Of blocks with types of their own the long ones that are sent; places count bytes for all of them. */
static void own_types(enum espi_fn fn, bool wide, bool large)
{
    const espi_word n = large ? (espi_word)many : (espi_word)counts, at = wide ? (espi_word)far : (espi_word)bytes_to;
    const espi_word args[] = {(espi_word)from, n, at, (espi_word)types, (espi_word)onto, n, at, (espi_word)types,
                              MPI_COMM_SELF, (espi_word)&request};
    static const int each[][PEERS] = {{COUNT, COUNT}, {FEW, COUNT}, {COUNT, FEW}, {COUNT, COUNT + 7}, {FEW, FEW},
                                      {0, COUNT}};
    struct collective c;

    for (size_t k = 0; k < sizeof each / sizeof *each; k++) {
        const struct espi_buffer_args *typed = espi_api_rows[fn].typed;
        set_counts(each[k][0], each[k][1]);
        start_collective(&c, fn, args);
        for (int i = 0; i < PEERS; i++) {
            check_block(&c, &typed[0], i, large, each[k][i] >= COUNT);
            check_block(&c, &typed[1], i, large, false);
            const void *where = (const void *)c.changed[2];
            ck_assert_int_eq(wide ? ((const MPI_Aint *)where)[i] : ((const int *)where)[i],
                             i * each[k][0] * (int)SIZE);
        }
        end_collective(&c);
    }
}

START_TEST(alltoallw)
{
    begin();
    own_types(ESPI_FN_Alltoallw, false, false);
    own_types(ESPI_FN_Alltoallw_c, true, true);
    own_types(ESPI_FN_Ialltoallw, false, false);
    own_types(ESPI_FN_Neighbor_alltoallw, true, false);
    end();
}
END_TEST

/* One type for blocks of different lengths: bytes. */
START_TEST(alltoallv)
{
    const espi_word args[] = {(espi_word)from, (espi_word)counts, (espi_word)places, 0, (espi_word)onto,
                              (espi_word)counts, (espi_word)places, 0, MPI_COMM_SELF};
    espi_word own[9];
    struct collective c;

    begin();
    set_counts(COUNT, COUNT);
    memcpy(own, args, sizeof own);
    own[3] = own[7] = (espi_word)type;
    start_collective(&c, ESPI_FN_Alltoallv, own);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < PEERS; i++)
            ck_assert(as_bytes((espi_word)((const int *)c.changed[1 + 4 * side])[i], c.changed[3 + 4 * side], BYTES));
    end_collective(&c);
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "stream_calls", general, requests, short_way, both_ways, alltoall, one_side,
                     alltoallw, alltoallv);
}
