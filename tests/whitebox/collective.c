/*
 * The short way of collective calls (src/mpi/typeplan/collective.h): what is packed and unpacked, what goes as it is
 * and is let pass the next time (src/mpi/core/left_alone.h), what is left to the general way. One process, whose
 * communicator is told to have two ranks; nothing is communicated. Allocations fail when told to (--wrap).
 */
#include <check.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer_pool.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/array_pool.h"
#include "mpi/core/left_alone.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/typeplan/collective.h"
#include "mpi/typeplan/substitute.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
double __wrap_espi_way_saves(const struct espi_way_question *question);
struct espi_way_turn __wrap_espi_way_turn(const struct espi_way_question *question);
struct espi_way_turn __real_espi_way_turn(const struct espi_way_question *question);

static double saves = -1; /* a call with long blocks is measured to save so much */
static bool goes_typed; /* the way of a call with long blocks is the library's */
static bool goes_dense; /* or it is dense bytes */
static struct espi_way_question was; /* what was asked last */

struct espi_way_turn __wrap_espi_way_turn(const struct espi_way_question *question)
{
    was = *question;
    if (goes_dense)
        return (struct espi_way_turn){.way = ESPI_WAY_DENSE};
    return goes_typed ? (struct espi_way_turn){.way = ESPI_WAY_TYPED} : __real_espi_way_turn(question);
}

double __wrap_espi_way_saves(const struct espi_way_question *question)
{
    (void)question;
    return saves;
}

static int granted = -1; /* allocations until they fail; negative: they do not */

void *__wrap_malloc(size_t bytes)
{
    if (granted == 0)
        return NULL;
    granted -= granted > 0;
    return __real_malloc(bytes);
}

enum { PEERS = 2, COUNT = 3, SIZE = 24 * sizeof(int), BLOCK = COUNT * SIZE, ALL = PEERS * BLOCK, MB = 1 << 20 };

static char from[1 << 16], onto[1 << 16];
static MPI_Datatype type; /* 24 integers */
static MPI_Aint extent;
static struct espi_thread_state *thread_state;
static MPI_Request request;

static int counts[PEERS] = {COUNT, COUNT}, places[PEERS] = {0, COUNT}, bytes_to[PEERS];
static MPI_Datatype types[PEERS];

/* A type that messages are packed of has been used. */
static void begin(void)
{
    espi_word args[6] = {(espi_word)from, 1, 0, 0, 1, MPI_COMM_SELF}, changed[6];
    espi_settings_defaults(&espi_settings);
    espi_settings.pack_mb = 1;
    start(ESPI_MODE_AUTO);
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    espi_comm_cache_start(true);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    type = types[0] = types[1] = regular_ints(3);
    MPI_Aint lb;
    MPI_Type_get_extent(type, &lb, &extent);
    bytes_to[1] = (int)(COUNT * extent);
    thread_state = espi_thread_state(&own_thread);
    args[2] = (espi_word)type;
    memcpy(changed, args, sizeof args);
    struct espi_substitution d = {.thread = &own_thread, .thread_state = thread_state,
                                  .row = &espi_api_rows[ESPI_FN_Send], .args = args, .changed = changed};
    espi_substitute_begin(&d);
    ck_assert_int_eq(changed[2], MPI_PACKED);
    espi_substitute_end(&d, MPI_SUCCESS);
    ck_assert(espi_comm_look(&thread_state->comm, MPI_COMM_SELF));
    thread_state->comm.peers = PEERS;
    atomic_store(&espi_slot_of(type)->look, 1000);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7);
    memset(onto, 1, sizeof onto);
}

static void end(void)
{
    ck_assert_int_eq(atomic_load(&espi_packed_requests), 0);
    MPI_Type_free(&type);
    thread_state->comm = (struct espi_comm_facts){.comm = MPI_COMM_NULL};
    espi_comm_cache_stop();
    espi_types_stop();
}

/* Whether all buffers are given back, and none of them twice. */
static bool all_is_back(void)
{
    void *more = espi_packed_buffer(MB + 1), *all = espi_packed_buffer(MB);
    if (more)
        espi_packed_buffer_back(more, MB + 1);
    if (all)
        espi_packed_buffer_back(all, MB);
    return all && !more;
}

struct call {
    espi_word args[ESPI_MAX_ARGS], changed[ESPI_MAX_ARGS];
    struct espi_collective c;
};

static enum espi_course course_of(struct call *call, enum espi_fn fn, const espi_word *args)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    memcpy(call->args, args, row->args * sizeof *args);
    memcpy(call->changed, args, row->args * sizeof *args);
    return espi_collective_course(&call->c, thread_state, row, call->args, call->changed);
}

static bool is_untouched(const struct call *call, enum espi_fn fn)
{
    return memcmp(call->args, call->changed, espi_api_rows[fn].args * sizeof *call->args) == 0;
}

/* What is sent of `from` stands packed; what is received comes to its places in `onto`. */
static void check_packed(enum espi_fn fn, const espi_word *args, int sent, int received)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    struct call call;
    char stream[ALL], unpacked[ALL];
    int at = 0;

    ck_assert_msg(course_of(&call, fn, args) == ESPI_COURSE_PACKED, "%s", espi_api_name(fn));
    if (sent > 0) {
        MPI_Pack(from, sent, type, stream, ALL, &at, MPI_COMM_SELF);
        ck_assert_msg(memcmp((void *)call.changed[(int)row->typed[0].buffer], stream, (size_t)at) == 0, "%s",
                      espi_api_name(fn));
    }
    if (received > 0) {
        void *room = (void *)call.changed[(int)row->typed[1].buffer];
        for (int i = 0; i < received * SIZE; i++)
            stream[i] = (char)(i * 5 + fn);
        memcpy(room, stream, (size_t)received * SIZE);
    }
    if (row->kind & ESPI_NONBLOCKING) /* one that is complete at once */
        MPI_Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
    ck_assert(!espi_collective_end(&call.c, MPI_SUCCESS));
    if (row->kind & ESPI_NONBLOCKING) {
        espi_word wait[2] = {(espi_word)&request, (espi_word)MPI_STATUS_IGNORE};
        espi_packed_complete(&own_thread, ESPI_FN_Wait, wait, NULL, NULL);
    }
    if (received > 0) {
        at = 0;
        MPI_Pack(onto, received, type, unpacked, ALL, &at, MPI_COMM_SELF);
        ck_assert_msg(memcmp(unpacked, stream, (size_t)at) == 0, "%s", espi_api_name(fn));
    }
    ck_assert(all_is_back());
}

START_TEST(packed)
{
    begin();
    const espi_word alltoall[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    const espi_word received[] = {(espi_word)from, BLOCK, MPI_BYTE, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    const espi_word alltoallv[] = {(espi_word)from, (espi_word)counts, (espi_word)places, type, (espi_word)onto,
                                   (espi_word)counts, (espi_word)places, type, MPI_COMM_SELF};
    const espi_word alltoallw[] = {(espi_word)from, (espi_word)counts, (espi_word)bytes_to, (espi_word)types,
                                   (espi_word)onto, (espi_word)counts, (espi_word)bytes_to, (espi_word)types,
                                   MPI_COMM_SELF};
    const espi_word gather[] = {(espi_word)from, BLOCK, MPI_BYTE, (espi_word)onto, COUNT, type, 0, MPI_COMM_SELF};
    const espi_word scatter[] = {(espi_word)from, COUNT, type, (espi_word)onto, BLOCK, MPI_BYTE, 0, MPI_COMM_SELF};
    const espi_word bcast[] = {(espi_word)from, COUNT, type, 0, MPI_COMM_SELF};
    check_packed(ESPI_FN_Alltoall, alltoall, PEERS * COUNT, PEERS * COUNT);
    check_packed(ESPI_FN_Alltoall, received, 0, PEERS * COUNT);
    check_packed(ESPI_FN_Alltoallv, alltoallv, PEERS * COUNT, PEERS * COUNT);
    check_packed(ESPI_FN_Alltoallw, alltoallw, PEERS * COUNT, PEERS * COUNT);
    check_packed(ESPI_FN_Gather, gather, 0, PEERS * COUNT);
    check_packed(ESPI_FN_Scatter, scatter, PEERS * COUNT, 0);
    check_packed(ESPI_FN_Bcast, bcast, COUNT, 0);
    end();
}
END_TEST

static bool passes(enum espi_fn fn, const espi_word *args)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    const struct asked asked = {row->large, row->treatment == ESPI_API_COUNT, row->kind, row->comm, row->root, fn};
    return espi_left_alone(thread_state, &asked, row->typed, 0, args);
}

/* A call that goes as it is, is counted, and the next one of its kind is let pass; one of another kind is not. */
START_TEST(as_it_is)
{
    struct call call;
    begin();
    espi_word args[] = {(espi_word)from, COUNT, type, (espi_word)onto, BLOCK, MPI_BYTE, MPI_COMM_SELF};
    struct espi_type_slot *slot = espi_slot_of(type);
    espi_type_service.packing = ESPI_MODE_OFF;
    for (int i = 0; i < 2; i++) {
        const uint64_t uses = atomic_load(&slot->uses), items = atomic_load(&slot->items),
                       left = counted(ESPI_COUNT_left_not_better);
        ck_assert(i == 1 || !passes(ESPI_FN_Alltoall, args));
        if (i == 0)
            ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, args), ESPI_COURSE_AS_IT_IS);
        else
            ck_assert(passes(ESPI_FN_Alltoall, args));
        ck_assert_uint_eq(atomic_load(&slot->uses), uses + 1);
        ck_assert_uint_eq(atomic_load(&slot->items), items + COUNT);
        ck_assert_uint_eq(counted(ESPI_COUNT_left_not_better), left + 1);
        ck_assert_int_eq(atomic_load(&slot->lent), 0); /* messages of the type are to be seen */
    }
    ck_assert(is_untouched(&call, ESPI_FN_Alltoall));
    args[1] = COUNT + 1;
    ck_assert(!passes(ESPI_FN_Alltoall, args));
    args[1] = COUNT;
    args[5] = (espi_word)type; /* both sides */
    args[4] = COUNT;
    ck_assert(!passes(ESPI_FN_Alltoall, args));
    args[4] = BLOCK;
    args[5] = MPI_BYTE;
    ck_assert(!passes(ESPI_FN_Allgather, args));
    const espi_word other_side[] = {(espi_word)from, BLOCK, MPI_BYTE, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    ck_assert(!passes(ESPI_FN_Alltoall, other_side));
    const espi_word message[] = {(espi_word)from, COUNT, type, 0, 1, MPI_COMM_SELF};
    ck_assert(!passes(ESPI_FN_Send, message));
    ck_assert(passes(ESPI_FN_Alltoall, args));
    atomic_store(&slot->look, atomic_load(&slot->uses) + 1);
    ck_assert(!passes(ESPI_FN_Alltoall, args));
    ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, args), ESPI_COURSE_GENERAL);
    atomic_store(&slot->look, 1000);
    atomic_store(&espi_type_service.mode, ESPI_MODE_OFF);
    ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, args), ESPI_COURSE_GENERAL);
    atomic_store(&espi_type_service.mode, ESPI_MODE_AUTO);
    /* On the root and elsewhere are different kinds. */
    espi_word gather[] = {(espi_word)from, COUNT, type, (espi_word)onto, BLOCK, MPI_BYTE, 0, MPI_COMM_SELF};
    ck_assert_int_eq(course_of(&call, ESPI_FN_Gather, gather), ESPI_COURSE_AS_IT_IS);
    ck_assert(passes(ESPI_FN_Gather, gather));
    gather[6] = 1;
    ck_assert(!passes(ESPI_FN_Gather, gather));
    end();
}
END_TEST

/* What is wrong, or may be, is the general way's; nothing was done. */
START_TEST(general)
{
    struct call call;
    begin();
    const espi_word good[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    const struct {
        int at;
        espi_word wrong;
    } wrongs[] = {{0, 0}, {1, (espi_word)-1}, {2, MPI_DATATYPE_NULL}, {2, (espi_word)0x8c00dead},
                  {3, (espi_word)from}, {3, 0}, {4, (espi_word)-1}, {4, 1 << 30},
                  {5, MPI_DATATYPE_NULL}, {6, MPI_COMM_NULL}};
    const espi_word allgather[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    espi_word gather[] = {(espi_word)from, BLOCK, MPI_BYTE, (espi_word)onto, COUNT, type, PEERS, MPI_COMM_SELF};
    ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, good), ESPI_COURSE_PACKED);
    ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER)); /* nothing has arrived */
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        espi_word args[7];
        memcpy(args, good, sizeof args);
        args[wrongs[i].at] = wrongs[i].wrong;
        ck_assert_msg(course_of(&call, ESPI_FN_Alltoall, args) == ESPI_COURSE_GENERAL, "wrong argument %zu", i);
        ck_assert(is_untouched(&call, ESPI_FN_Alltoall) && all_is_back());
        thread_state->comm.peers = PEERS; /* a bad communicator was looked up */
        ck_assert(espi_comm_look(&thread_state->comm, MPI_COMM_SELF));
        thread_state->comm.peers = PEERS;
    }
    /* One block, given twice? No such root. */
    ck_assert_int_eq(course_of(&call, ESPI_FN_Allgather, allgather), ESPI_COURSE_GENERAL);
    ck_assert_int_eq(course_of(&call, ESPI_FN_Gather, gather), ESPI_COURSE_GENERAL);
    espi_settings.check = true;
    ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, good), ESPI_COURSE_GENERAL);
    end();
}
END_TEST

/* Neither side is packed where there is memory for one of two. */
START_TEST(no_memory)
{
    struct call call;
    begin();
    const espi_word args[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    for (int i = 0; i < 3; i++) {
        espi_pool_release();
        granted = i;
        const enum espi_course course = course_of(&call, ESPI_FN_Alltoall, args);
        granted = -1;
        ck_assert_msg(course == (i < 2 ? ESPI_COURSE_GENERAL : ESPI_COURSE_PACKED), "%d allocations", i);
        if (course == ESPI_COURSE_PACKED)
            espi_collective_end(&call.c, MPI_ERR_OTHER);
        ck_assert(all_is_back());
    }
    end();
}
END_TEST

/* An error that MPI has because of what we gave it is asked for again with the program's own arguments. */
START_TEST(error)
{
    struct call call;
    begin();
    const espi_word args[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    const int codes[] = {MPI_ERR_TYPE, MPI_ERR_OTHER};
    for (int i = 0; i < 2; i++) {
        char before[sizeof onto];
        memcpy(before, onto, sizeof onto);
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, args), ESPI_COURSE_PACKED);
        ck_assert(espi_collective_end(&call.c, codes[i]) == (i == 0));
        ck_assert(memcmp(before, onto, sizeof onto) == 0);
        ck_assert(all_is_back());
    }
    end();
}
END_TEST

/* What a call with long blocks is measured to save is shared by its sides: neither one's types are taken for such as
   save nothing, unless the call does. */
START_TEST(shared_saving)
{
    enum { LONG = 90 };
    static char wide[2][1 << 17];

    begin();
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    plan->count = LONG; /* it was made for such */
    espi_word alltoall[] = {(espi_word)wide[0], LONG, type, (espi_word)wide[1], LONG, type, MPI_COMM_SELF};
    ck_assert_int_ge((int64_t)sizeof wide[0], (int64_t)PEERS * LONG * extent);
    for (int measured = -1; measured <= 1000; measured += 1 + 999 * (measured == 0)) {
        struct call call;
        const uint64_t before = plan->record->saved_ps[ESPI_SAVED_ALONE];
        saves = measured;
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, alltoall), ESPI_COURSE_PACKED);
        if (measured >= 0)
            ck_assert_uint_eq(plan->saved_ns, measured > 0 ? (uint64_t)measured / 2 + 1 : 0);
        if (measured >= 0)
            ck_assert_uint_eq(plan->record->saved_ps[ESPI_SAVED_ALONE] - before, 1000 * (uint64_t)measured);
        memset((void *)call.changed[3], 7, (size_t)(PEERS * LONG) * SIZE); /* what has arrived */
        ck_assert(!espi_collective_end(&call.c, MPI_SUCCESS));
    }
    saves = -1;
    ck_assert(all_is_back());
    end();
}
END_TEST

/* Long blocks that go as the program's type are known to save nothing where that was found, and what packed ones save
   where they only take their turn; nothing is said to be saved by them. */
START_TEST(typed_blocks)
{
    enum { LONG = 90 };
    static char wide[2][1 << 17];
    static const struct {
        double measured;
        uint64_t known;
    } is[] = {{-1, 77}, {0, 1}, {1000, 501}};

    begin();
    goes_typed = true;
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    plan->count = LONG;
    espi_word alltoall[] = {(espi_word)wide[0], LONG, type, (espi_word)wide[1], LONG, type, MPI_COMM_SELF};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        struct call call;
        const uint64_t before = plan->record->saved_ps[ESPI_SAVED_ALONE];
        saves = is[i].measured;
        plan->saved_ns = 77;
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, alltoall), ESPI_COURSE_PACKED);
        ck_assert(call.changed[0] == alltoall[0] && call.changed[3] == alltoall[3]);
        ck_assert_uint_eq(plan->saved_ns, is[i].known);
        ck_assert_uint_eq(plan->record->saved_ps[ESPI_SAVED_ALONE], before);
        ck_assert(!espi_collective_end(&call.c, MPI_SUCCESS));
    }
    saves = -1;
    goes_typed = false;
    ck_assert(all_is_back());
    end();
}
END_TEST

/* Between nodes the way of long blocks is asked for, and is the library's at first; short ones are the library's.
   Which ranks are near is said of the communicator, whatever others there are. */
START_TEST(far_blocks)
{
    enum { LONG = 90 };
    static char wide[2][1 << 17];
    struct call call;

    begin();
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    espi_word alltoall[] = {(espi_word)wide[0], LONG, type, (espi_word)wide[1], LONG, type, MPI_COMM_SELF};
    plan->count = LONG;
    plan->open[0] = ESPI_WAYS_EVEN;
    thread_state->comm.near = ESPI_NEAR_NONE;
    espi_ways_start(true);
    for (int dense = 0; dense < 2; dense++) {
        const uint64_t calls = counted(ESPI_COUNT_calls_packed), bytes = counted(ESPI_COUNT_bytes_packed);
        goes_dense = dense;
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, alltoall), ESPI_COURSE_PACKED);
        ck_assert(!was.near && was.open == ESPI_WAYS_EVEN && was.bytes == LONG * (int)SIZE);
        ck_assert_int_eq(is_untouched(&call, ESPI_FN_Alltoall), !dense);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_packed) - calls, 2 * (uint64_t)dense);
        ck_assert_uint_eq(counted(ESPI_COUNT_bytes_packed) - bytes, (uint64_t)dense * 2 * PEERS * LONG * SIZE);
        ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER)); /* nothing has arrived */
    }
    goes_dense = false;
    plan->open[0] = ESPI_WAYS_NONE;
    espi_type_service.packing = ESPI_MODE_AUTO;
    was.bytes = 0;
    ck_assert_int_ne(course_of(&call, ESPI_FN_Alltoall, alltoall), ESPI_COURSE_PACKED);
    ck_assert(was.bytes == 0 && is_untouched(&call, ESPI_FN_Alltoall));
    plan->open[0] = ESPI_WAYS_EVEN;
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    thread_state->comm.near = ESPI_NEAR_ALL;
    ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, alltoall), ESPI_COURSE_PACKED);
    ck_assert(was.near && was.open == ESPI_WAYS_SURE && !is_untouched(&call, ESPI_FN_Alltoall));
    ck_assert(!espi_collective_end(&call.c, MPI_ERR_OTHER)); /* nothing has arrived */
    thread_state->comm.near = ESPI_NEAR_NONE;
    const espi_word few[] = {(espi_word)from, COUNT, type, (espi_word)onto, COUNT, type, MPI_COMM_SELF},
                    bcast[] = {(espi_word)from, COUNT, type, 0, MPI_COMM_SELF};
    check_packed(ESPI_FN_Alltoall, few, PEERS * COUNT, PEERS * COUNT); /* where all is */
    espi_type_service.packing = ESPI_MODE_AUTO;
    plan->engine_ns[ESPI_WHOLE] = plan->engine_ns[ESPI_PARTS] = 1e9;
    ck_assert_int_ne(course_of(&call, ESPI_FN_Alltoall, few), ESPI_COURSE_PACKED);
    check_packed(ESPI_FN_Bcast, bcast, COUNT, 0); /* the library would pack it, too */
    thread_state->comm.near = ESPI_NEAR_ALL;
    check_packed(ESPI_FN_Alltoall, few, PEERS * COUNT, PEERS * COUNT);
    end();
}
END_TEST

/* A side that no program is better for goes as the better type, beside one that is packed or goes as it is, too. */
START_TEST(better_types)
{
    struct call call;
    MPI_Datatype form; /* any other one */

    begin();
    MPI_Type_dup(type, &form);
    struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    int some[PEERS] = {0, COUNT};
    const espi_word alltoall[] = {(espi_word)from, BLOCK, MPI_BYTE, (espi_word)onto, COUNT, type, MPI_COMM_SELF};
    espi_word alltoallw[] = {(espi_word)from, (espi_word)some, (espi_word)bytes_to, (espi_word)types, (espi_word)onto,
                             (espi_word)counts, (espi_word)bytes_to, (espi_word)types, MPI_COMM_SELF,
                             (espi_word)&request};
    espi_type_service.packing = ESPI_MODE_OFF;
    for (int better = 0; better < 2; better++) {
        const uint64_t calls = counted(ESPI_COUNT_calls_substituted), bytes = counted(ESPI_COUNT_bytes_substituted),
                       left = counted(ESPI_COUNT_left_not_better);
        atomic_store(&plan->better[ESPI_WHOLE], better ? form : MPI_DATATYPE_NULL);
        ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, alltoall),
                         better ? ESPI_COURSE_PACKED : ESPI_COURSE_AS_IT_IS);
        ck_assert(call.changed[5] == (better ? (espi_word)form : (espi_word)type) &&
                  call.changed[3] == alltoall[3] && call.changed[4] == alltoall[4]);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_substituted) - calls, (uint64_t)better);
        ck_assert_uint_eq(counted(ESPI_COUNT_bytes_substituted) - bytes, (uint64_t)better * COUNT * SIZE);
        ck_assert_uint_eq(counted(ESPI_COUNT_left_not_better) - left, (uint64_t)!better);
        if (better)
            ck_assert(!espi_collective_end(&call.c, MPI_SUCCESS));
    }
    ck_assert_int_eq(course_of(&call, ESPI_FN_Alltoall, alltoall), ESPI_COURSE_PACKED);
    ck_assert(espi_collective_end(&call.c, MPI_ERR_TYPE)); /* with the program's own */
    for (int fn = 0; fn < 2; fn++) {
        ck_assert_int_eq(course_of(&call, fn ? ESPI_FN_Ialltoallw : ESPI_FN_Alltoallw, alltoallw),
                         ESPI_COURSE_PACKED);
        const MPI_Datatype *sent = (const MPI_Datatype *)call.changed[3], /* one block of two has items */
            *received = (const MPI_Datatype *)call.changed[7];
        ck_assert(sent[0] == type && sent[1] == form && received[0] == form && received[1] == form);
        ck_assert(types[0] == type && types[1] == type && call.changed[1] == alltoallw[1]);
        /* In memory that is gone when the call returns; a nonblocking one may still read. */
        ck_assert((sent == call.c.better[0]) == (fn == 0) && (received == call.c.better[1]) == (fn == 0));
        ck_assert(!espi_collective_end(&call.c, MPI_SUCCESS));
    }
    atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    MPI_Type_free(&form);
    espi_array_pool_stop();
    ck_assert(all_is_back());
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "collective", shared_saving, typed_blocks, far_blocks, better_types, packed,
                     as_it_is, general, no_memory, error);
}
