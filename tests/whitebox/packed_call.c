/*
 * Calls that pack programs carry out (src/mpi/packed): what is refused, what happens where memory runs out, where the
 * call is made again after an error, and where an error handler never comes back. Allocations of this program fail
 * when told to (--wrap).
 */
#include <check.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer_pool.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/core/thread_state.h"
#include "mpi/datatype/decode.h"
#include "mpi/packed/packed_call.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/calls/message.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/calls/substitute.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);

static int granted = -1; /* allocations until they fail; negative: they do not */

static bool is_granted(void)
{
    if (granted > 0)
        granted--;
    return granted != 0;
}

void *__wrap_malloc(size_t bytes)
{
    return is_granted() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return is_granted() ? __real_calloc(n, bytes) : NULL;
}

enum { COUNT = 3, SIZE = 24 * sizeof(int), BYTES = COUNT * SIZE, ROOM = 1 << 16, MB = 1 << 20 };

static char data[8 * MB], stream[ROOM];
static MPI_Datatype type; /* 24 integers */
static MPI_Status status;
static MPI_Request request;

static void fill(void *at, size_t bytes, int seed)
{
    for (size_t i = 0; i < bytes; i++)
        ((char *)at)[i] = (char)(seed + (int)i * 7);
}

/* Everything is packed, with as many MiB of buffers. */
static void begin(int mb)
{
    espi_settings_defaults(&espi_settings);
    espi_settings.pack_mb = mb;
    start(ESPI_MODE_AUTO);
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    espi_comm_cache_start(true);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    type = regular_ints(3);
}

static void end(void)
{
    ck_assert_int_eq(atomic_load(&espi_packed_requests), 0);
    MPI_Type_free(&type);
    espi_comm_cache_stop();
    espi_types_stop();
}

/* ---- MPI_Pack, MPI_Unpack ---- */

static bool local(enum espi_fn fn, const espi_word *args, const struct espi_pack *pack)
{
    char before[2][ROOM];
    memcpy(before[0], data, ROOM);
    memcpy(before[1], stream, ROOM);
    bool done = espi_packed_local(&espi_api_rows[fn], args, pack, NULL, false);
    if (!done)
        ck_assert(memcmp(before[0], data, ROOM) == 0 && memcmp(before[1], stream, ROOM) == 0);
    return done;
}

static void refuse(enum espi_fn fn, const espi_word *good, int at, espi_word wrong, const struct espi_pack *pack)
{
    espi_word args[7];
    memcpy(args, good, sizeof args);
    args[at] = wrong;
    ck_assert_msg(!local(fn, args, pack), "%s, argument %d", espi_api_name(fn), at);
}

static void refuse_position(enum espi_fn fn, const espi_word *args, int at, int64_t wrong,
                            const struct espi_pack *pack)
{
    const bool large = espi_api_rows[fn].large;
    if (large)
        *(MPI_Count *)args[at] = wrong;
    else
        *(int *)args[at] = (int)wrong;
    ck_assert_msg(!local(fn, args, pack), "%s, position %lld", espi_api_name(fn), (long long)wrong);
    ck_assert_int_eq(large ? *(MPI_Count *)args[at] : *(int *)args[at], wrong);
}

/* Each bad argument alone; with the same ones otherwise, and the last place there is, the call is carried out. */
START_TEST(refused)
{
    static const enum espi_fn fns[] = {ESPI_FN_Pack, ESPI_FN_Pack_c, ESPI_FN_Unpack, ESPI_FN_Unpack_c};
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded layout;
    const struct espi_pack *pack;

    begin(1);
    ck_assert_int_eq(espi_decode(&arena, type, 0, &layout), ESPI_OK);
    ck_assert_int_eq(espi_pack_compile(&arena, layout.tree, layout.extent, &pack), ESPI_OK);
    ck_assert_int_eq(espi_pack_size(pack), SIZE);
    for (int i = 0; i < 4; i++) {
        const bool packing = i < 2, large = i % 2;
        const int data_at = packing ? 0 : 3, count_at = packing ? 1 : 4, stream_at = packing ? 3 : 0;
        const int size_at = packing ? 4 : 1, place_at = packing ? 5 : 2;
        int place = 0;
        MPI_Count place_c = 0;
        espi_word args[7];
        args[data_at] = (espi_word)data;
        args[count_at] = COUNT;
        args[packing ? 2 : 5] = (espi_word)type;
        args[stream_at] = (espi_word)stream;
        args[size_at] = BYTES + 10;
        args[place_at] = large ? (espi_word)&place_c : (espi_word)&place;
        args[6] = MPI_COMM_SELF;
        refuse(fns[i], args, data_at, 0, pack);
        refuse(fns[i], args, stream_at, 0, pack);
        refuse(fns[i], args, place_at, 0, pack);
        refuse(fns[i], args, size_at, BYTES - 1, pack);
        refuse(fns[i], args, size_at, 0, pack);
        refuse(fns[i], args, size_at, (espi_word)-1, pack);
        refuse(fns[i], args, count_at, COUNT + 1, pack);
        if (large) {
            refuse(fns[i], args, count_at, (espi_word)(INT64_MAX / SIZE + 1), pack);
            refuse_position(fns[i], args, place_at, INT64_MAX, pack);
            refuse_position(fns[i], args, place_at, INT64_MIN, pack);
        }
        refuse_position(fns[i], args, place_at, 11, pack);
        refuse_position(fns[i], args, place_at, -1, pack);
        refuse_position(fns[i], args, place_at, INT32_MAX, pack);
        fill(data, ROOM, i);
        place = 10;
        place_c = 10;
        ck_assert(local(fns[i], args, pack));
        ck_assert_int_eq(large ? place_c : place, BYTES + 10);
    }
    espi_arena_release(&arena);
    end();
}
END_TEST

/* ---- messages ---- */

struct call {
    struct espi_substitution d;
    espi_word args[12], changed[12];
};

static void start_call(struct call *c, enum espi_fn fn, int count)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    *c = (struct call){.args = {(espi_word)data, (espi_word)count, type, 0, 1, MPI_COMM_SELF}};
    if (row->args > 6)
        c->args[6] = row->kind & (ESPI_NONBLOCKING | ESPI_PERSISTENT) ? (espi_word)&request : (espi_word)&status;
    memcpy(c->changed, c->args, sizeof c->changed);
    c->d = (struct espi_substitution){.thread = &own_thread, .thread_state = espi_thread_state(&own_thread),
                                      .row = row, .args = c->args, .changed = c->changed};
    espi_substitute_begin(&c->d);
}

static bool is_packed(const struct call *c)
{
    return c->changed[2] == (espi_word)MPI_PACKED && c->changed[0] != c->args[0];
}

static bool is_untouched(const struct call *c)
{
    return memcmp(c->args, c->changed, sizeof c->args) == 0;
}

/* A call for which there is no memory is left as it is, and counted; the next one is packed. */
START_TEST(no_memory)
{
    static const enum espi_fn fns[] = {ESPI_FN_Send,   ESPI_FN_Recv,      ESPI_FN_Bsend,    ESPI_FN_Isend,
                                       ESPI_FN_Irecv,  ESPI_FN_Send_init, ESPI_FN_Recv_init, ESPI_FN_Bsend_init,
                                       ESPI_FN_Ibsend};
    enum { CALLS = sizeof fns / sizeof *fns, BLOCKING = 3 };
    struct call c;

    begin(1);
    start_call(&c, ESPI_FN_Send, 1); /* plans the type */
    ck_assert(is_packed(&c));
    espi_substitute_end(&c.d, MPI_ERR_OTHER);
    for (int i = 0; i < CALLS; i++)
        for (int room = 0; room < (i < BLOCKING ? 1 : 2); room++) {
            uint64_t left = counted(ESPI_COUNT_left_no_buffer);
            uint64_t packed = counted(ESPI_COUNT_calls_packed);
            espi_pool_release();
            granted = room;
            start_call(&c, fns[i], COUNT);
            granted = -1;
            ck_assert(is_untouched(&c));
            espi_substitute_end(&c.d, MPI_ERR_OTHER);
            ck_assert_uint_eq(counted(ESPI_COUNT_left_no_buffer), left + 1);
            ck_assert_uint_eq(counted(ESPI_COUNT_calls_packed), packed);
            ck_assert_int_eq(spare_bytes(), MB);
            start_call(&c, fns[i], COUNT);
            ck_assert(is_packed(&c));
            espi_substitute_end(&c.d, MPI_ERR_OTHER);
            ck_assert_int_eq(spare_bytes(), MB);
        }
    end();
}
END_TEST

/* What is in use is bounded; a message that is longer than all there is goes by the library. */
START_TEST(too_much)
{
    struct call c[2];

    begin(1);
    start_call(&c[0], ESPI_FN_Send, MB / SIZE);
    ck_assert(is_packed(&c[0]));
    start_call(&c[1], ESPI_FN_Recv, MB / SIZE - 1);
    ck_assert(is_untouched(&c[1]));
    espi_substitute_end(&c[1].d, MPI_ERR_OTHER);
    espi_substitute_end(&c[0].d, MPI_SUCCESS);
    start_call(&c[1], ESPI_FN_Recv, MB / SIZE + 1);
    ck_assert(is_untouched(&c[1]));
    espi_substitute_end(&c[1].d, MPI_ERR_OTHER);
    ck_assert_int_eq(spare_bytes(), MB);
    end();
}
END_TEST

/* MPI_Sendrecv, the short way: neither side is packed, one, the other, both. */
START_TEST(both_ways)
{
    const struct espi_api_row *row = &espi_api_rows[ESPI_FN_Sendrecv];
    struct espi_thread_state *thread_state = espi_thread_state(&own_thread);
    struct espi_message message;
    struct call c;

    begin(1);
    ck_assert(espi_message_is(row));
    start_call(&c, ESPI_FN_Send, 1); /* plans the type */
    ck_assert(is_packed(&c));
    espi_substitute_end(&c.d, MPI_ERR_OTHER);
    for (int which = 0; which < 4; which++) {
        const MPI_Datatype types[2] = {which & 1 ? type : MPI_INT, which & 2 ? type : MPI_INT};
        espi_word args[12] = {(espi_word)data,   COUNT, types[0], 0, 5, (espi_word)stream, COUNT, types[1], 0, 5,
                              MPI_COMM_SELF, (espi_word)MPI_STATUS_IGNORE};
        espi_word changed[12];
        memcpy(changed, args, sizeof args);
        fill(data, ROOM, which);
        fill(stream, ROOM, 0);
        ck_assert(espi_message_begin(&message, thread_state, row, args, changed) == (which != 0));
        if (which == 0)
            continue;
        ck_assert_int_eq(changed[2], which & 1 ? MPI_PACKED : MPI_INT);
        ck_assert_int_eq(changed[7], which & 2 ? MPI_PACKED : MPI_INT);
        int result = MPI_Sendrecv((void *)changed[0], (int)changed[1], (MPI_Datatype)changed[2], 0, 5,
                                  (void *)changed[5], (int)changed[6], (MPI_Datatype)changed[7], 0, 5, MPI_COMM_SELF,
                                  (MPI_Status *)changed[11]);
        if (which == 3) {
            ck_assert_int_eq(result, MPI_SUCCESS);
            ck_assert(!espi_message_end(&message, changed, result));
            char packed[2][BYTES];
            for (int i = 0, at = 0; i < 2; i++, at = 0)
                MPI_Pack(i ? stream : data, COUNT, type, packed[i], BYTES, &at, MPI_COMM_SELF);
            ck_assert(memcmp(packed[0], packed[1], BYTES) == 0);
        } else {
            espi_message_end(&message, changed, result);
        }
        ck_assert_int_eq(spare_bytes(), MB);
    }
    end();
}
END_TEST

/* Neither side is packed where there is a buffer, or memory, for one of two. */
START_TEST(room_for_one)
{
    const struct espi_api_row *row = &espi_api_rows[ESPI_FN_Sendrecv];
    enum { BOTH, ONE_BUFFER, ONE_ALLOCATION, WAYS };
    struct espi_message message;
    struct call c;

    begin(1);
    start_call(&c, ESPI_FN_Send, 1); /* plans the type */
    ck_assert(is_packed(&c));
    espi_substitute_end(&c.d, MPI_ERR_OTHER);
    for (int way = 0; way < WAYS; way++) {
        const espi_word args[12] = {(espi_word)data, COUNT, type, 0, 5, (espi_word)stream, COUNT, type, 0, 5,
                                    MPI_COMM_SELF, (espi_word)MPI_STATUS_IGNORE};
        espi_word changed[12];
        memcpy(changed, args, sizeof changed);
        const int64_t held = way == ONE_BUFFER ? MB - BYTES - 1 : 8;
        void *buffer = espi_packed_buffer(held);
        ck_assert_ptr_nonnull(buffer);
        espi_pool_release();
        granted = way == ONE_ALLOCATION ? 1 : -1;
        bool done = espi_message_begin(&message, espi_thread_state(&own_thread), row, args, changed);
        granted = -1;
        ck_assert_int_eq(done, way == BOTH);
        if (done)
            espi_message_end(&message, changed, MPI_ERR_OTHER);
        espi_packed_buffer_back(buffer, held);
        ck_assert_int_eq(spare_bytes(), MB);
    }
    end();
}
END_TEST

static MPI_Count asked_room;

static int small_room(MPI_Count count, MPI_Datatype of, MPI_Comm comm, MPI_Count *size)
{
    (void)count;
    (void)of;
    (void)comm;
    *size = asked_room;
    return MPI_SUCCESS;
}

/* Where the program's buffer may be smaller than what would be put there, it is the library's. */
START_TEST(buffered)
{
    static const enum espi_fn fns[] = {ESPI_FN_Bsend, ESPI_FN_Ibsend, ESPI_FN_Bsend_init, ESPI_FN_Send};
    struct call c;

    begin(1);
    int (*const real)(MPI_Count, MPI_Datatype, MPI_Comm, MPI_Count *) = espi_pmpi.Pack_size_c;
    espi_pmpi.Pack_size_c = small_room;
    for (int i = 0; i < 4; i++)
        for (int lacks = 0; lacks < 2; lacks++) {
            uint64_t left = counted(ESPI_COUNT_left_no_buffer);
            asked_room = BYTES - lacks;
            start_call(&c, fns[i], COUNT);
            ck_assert(lacks && i < 3 ? is_untouched(&c) : is_packed(&c));
            ck_assert_uint_eq(counted(ESPI_COUNT_left_no_buffer), left + (lacks && i < 3));
            espi_substitute_end(&c.d, MPI_ERR_OTHER);
            ck_assert_int_eq(spare_bytes(), MB);
        }
    espi_pmpi.Pack_size_c = real;
    end();
}
END_TEST

/* A call that is made again with the program's arguments has received in the program's buffer: nothing is unpacked
   there, and its buffer is given back. */
START_TEST(repeated)
{
    static const enum espi_fn fns[] = {ESPI_FN_Send, ESPI_FN_Recv, ESPI_FN_Isend, ESPI_FN_Irecv, ESPI_FN_Send_init,
                                       ESPI_FN_Recv_init};
    enum { CALLS = sizeof fns / sizeof *fns };
    char before[ROOM];
    struct call c;

    begin(1);
    for (int i = 0; i < CALLS; i++) {
        start_call(&c, fns[i], COUNT);
        ck_assert(is_packed(&c));
        memset((void *)c.changed[0], 0x5a, BYTES);
        ck_assert(!espi_substitute_repeat(&c.d, MPI_ERR_TRUNCATE));
        ck_assert(espi_substitute_repeat(&c.d, MPI_ERR_TAG));
        fill(data, ROOM, i);
        memcpy(before, data, ROOM);
        request = MPI_REQUEST_NULL;
        MPI_Status_set_elements(&status, MPI_BYTE, BYTES);
        espi_substitute_end(&c.d, MPI_SUCCESS);
        ck_assert(memcmp(before, data, ROOM) == 0);
        ck_assert_int_eq(spare_bytes(), MB);
        ck_assert_int_eq(atomic_load(&espi_packed_requests), 0);
    }
    end();
}
END_TEST

/* An error handler that jumps leaves the call for good. What it had stays in use, and nothing more. */
START_TEST(left)
{
    struct call c;

    begin(1);
    const int64_t all = spare_bytes();
    start_call(&c, ESPI_FN_Recv, COUNT);
    ck_assert(is_packed(&c));
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(spare_bytes(), all - BYTES);
        start_call(&c, i % 2 ? ESPI_FN_Send : ESPI_FN_Recv, COUNT);
        ck_assert(is_packed(&c));
        espi_substitute_end(&c.d, MPI_ERR_OTHER);
    }
    end();
}
END_TEST

/* ---- plans ---- */

/* With a program where packing is on, without one where it is off. */
START_TEST(planned)
{
    for (int mode = ESPI_MODE_OFF; mode <= ESPI_MODE_ALWAYS; mode++) {
        struct espi_arena arena = ESPI_ARENA_INIT;
        struct espi_decoded layout;
        MPI_Datatype own;
        begin(1);
        MPI_Type_vector(30 + mode, 1, 3, MPI_INT, &own);
        MPI_Type_commit(&own);
        ck_assert_int_eq(espi_decode(&arena, own, 0, &layout), ESPI_OK);
        struct espi_plan_request ask = {.type = own, .layout = &layout, .mode = ESPI_MODE_AUTO, .count = 1,
                                        .packing = (enum espi_mode)mode, .tier = 1};
        struct espi_plan *plan = espi_plan_make(&ask);
        ck_assert_ptr_nonnull(plan);
        ck_assert_int_eq(plan->pack != NULL, mode != ESPI_MODE_OFF);
        espi_plan_release(plan);
        MPI_Type_free(&own);
        espi_arena_release(&arena);
        end();
    }
}
END_TEST

/* Wherever memory runs out there is a plan or none, and what it says can be used. */
START_TEST(planned_without_memory)
{
    int plans = 0;

    begin(1);
    for (int n = 0; n < 60; n++) {
        struct espi_arena arena = ESPI_ARENA_INIT;
        struct espi_decoded layout;
        MPI_Datatype own;
        MPI_Type_vector(100 + n, 1, 3, MPI_INT, &own);
        MPI_Type_commit(&own);
        ck_assert_int_eq(espi_decode(&arena, own, 0, &layout), ESPI_OK);
        struct espi_plan_request ask = {.type = own, .layout = &layout, .mode = ESPI_MODE_OFF, .count = 1,
                                        .packing = ESPI_MODE_ALWAYS, .tier = 1};
        granted = n;
        struct espi_plan *plan = espi_plan_make(&ask);
        granted = -1;
        if (plan != NULL && plan->pack != NULL) {
            int position = 0;
            char expected[ROOM];
            plans++;
            espi_pack_run(plan->pack, data, 1, stream);
            MPI_Pack(data, 1, own, expected, ROOM, &position, MPI_COMM_SELF);
            ck_assert(position == plan->size && memcmp(expected, stream, (size_t)position) == 0);
        }
        if (plan != NULL)
            espi_plan_release(plan);
        MPI_Type_free(&own);
        espi_arena_release(&arena);
    }
    ck_assert_int_gt(plans, 0);
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "packed_call", refused, no_memory, too_much, both_ways, room_for_one, buffered,
                     repeated, planned, planned_without_memory, left);
}
