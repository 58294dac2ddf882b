/* What tests of src/mpi/calls/collective.h share. One process, whose communicator is told to have two ranks;
   nothing is communicated. For programs linked with --wrap=malloc,--wrap=espi_way_saves,--wrap=espi_way_turn,
   --wrap=espi_engine. */
#ifndef ESPI_TESTS_WHITEBOX_COLLECTIVE_SETUP_H
#define ESPI_TESTS_WHITEBOX_COLLECTIVE_SETUP_H

#include <check.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer_pool.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/core/array_pool.h"
#include "mpi/calls/left_alone.h"
#include "mpi/packed/packed_requests.h"
#include "mpi/calls/collective.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/calls/substitute.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
double __wrap_espi_way_saves(const struct espi_way_question *question);
struct espi_way_turn __wrap_espi_way_turn(const struct espi_way_question *question);
struct espi_way_turn __real_espi_way_turn(const struct espi_way_question *question);

struct espi_engine __wrap_espi_engine(void);

/* Whatever this machine does now, so that plans are the same. */
struct espi_engine __wrap_espi_engine(void)
{
    struct espi_engine usual = ESPI_ENGINE_USUAL;

    usual.measured = true;
    return usual;
}

static double saves = -1; /* a call with long blocks is measured to save so much */
static bool goes_typed; /* the way of a call with long blocks is the library's */
static bool goes_dense; /* or it is dense bytes */
static bool is_timed;   /* and it is timed */
enum { BEGUN = 77 };
static struct espi_way_question was; /* what was asked last */

struct espi_way_turn __wrap_espi_way_turn(const struct espi_way_question *question)
{
    static char group; /* nobody looks at it, as the call fails */
    was = *question;
    if (is_timed)
        return (struct espi_way_turn){
            .way = ESPI_WAY_DENSE, .group = (struct espi_way_group *)&group, .begun = BEGUN};
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

/* The type has been used in a message, which was packed; it is not looked at again. */
static MPI_Datatype used_once(MPI_Datatype used)
{
    espi_word args[6] = {(espi_word)from, 1, (espi_word)used, 0, 1, MPI_COMM_SELF}, changed[6];
    memcpy(changed, args, sizeof args);
    struct espi_substitution d = {.thread = &own_thread, .thread_state = thread_state,
                                  .row = &espi_api_rows[ESPI_FN_Send], .args = args, .changed = changed};
    espi_substitute_begin(&d);
    ck_assert_int_eq(changed[2], MPI_PACKED);
    espi_substitute_end(&d, MPI_SUCCESS);
    atomic_store(&espi_slot_of(used)->look, 1000);
    return used;
}

/* A type that messages are packed of has been used. */
static void begin(void)
{
    espi_settings_defaults(&espi_settings);
    espi_settings.pack_mb = 1;
    start(ESPI_MODE_AUTO);
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    espi_type_service.one_node = true;
    espi_comm_cache_start(true);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    thread_state = espi_thread_state(&own_thread);
    type = types[0] = types[1] = used_once(regular_ints(3));
    MPI_Aint lb;
    MPI_Type_get_extent(type, &lb, &extent);
    bytes_to[1] = (int)(COUNT * extent);
    ck_assert(espi_comm_look(&thread_state->comm, MPI_COMM_SELF));
    thread_state->comm.peers = PEERS;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7);
    memset(onto, 1, sizeof onto);
}

static void end(void)
{
    const struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    ck_assert_int_eq(atomic_load(&espi_packed_requests), 0);
    ck_assert(plan == NULL || atomic_load(&plan->users) == 1); /* whatever was borrowed was given back */
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

/* A call that is packed, to its end: what is sent stands packed; what is received comes to its places. Items of both
   sides follow each other. */
static void carry_out(struct call *call, enum espi_fn fn, const espi_word *args, int sent, int received)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    const int source = row->typed[0].buffer, target = row->typed[1].buffer;
    char stream[ALL], unpacked[ALL];
    int at = 0;

    ck_assert_msg(course_of(call, fn, args) == ESPI_COURSE_PACKED, "%s", espi_api_name(fn));
    if (sent > 0) {
        MPI_Pack((void *)args[source], sent, type, stream, ALL, &at, MPI_COMM_SELF);
        ck_assert_msg(memcmp((void *)call->changed[source], stream, (size_t)at) == 0, "%s", espi_api_name(fn));
        ck_assert_uint_eq(call->changed[source] % 64, 0); /* a line of the cache */
    }
    if (received > 0) {
        void *room = (void *)call->changed[target];
        for (int i = 0; i < received * SIZE; i++)
            stream[i] = (char)(i * 5 + fn + ((char *)args[source])[0]);
        memcpy(room, stream, (size_t)received * SIZE);
    }
    if (row->kind & ESPI_NONBLOCKING) /* one that is complete at once */
        MPI_Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
    ck_assert(!espi_collective_end(&call->c, MPI_SUCCESS));
    if (row->kind & ESPI_NONBLOCKING) {
        espi_word wait[2] = {(espi_word)&request, (espi_word)MPI_STATUS_IGNORE};
        espi_packed_complete(&own_thread, ESPI_FN_Wait, wait, NULL, NULL);
    }
    if (received > 0) {
        at = 0;
        MPI_Pack((void *)args[target], received, type, unpacked, ALL, &at, MPI_COMM_SELF);
        ck_assert_msg(memcmp(unpacked, stream, (size_t)at) == 0, "%s", espi_api_name(fn));
    }
}

static inline void check_packed(enum espi_fn fn, const espi_word *args, int sent, int received)
{
    struct call call;

    carry_out(&call, fn, args, sent, received);
    ck_assert(all_is_back());
}

static inline bool is_untouched(const struct call *call, enum espi_fn fn)
{
    return memcmp(call->args, call->changed, espi_api_rows[fn].args * sizeof *call->args) == 0;
}

/* Calls of each kind that are packed, and how many items are sent and received. */
enum { PACKED_ROWS = 7 };
struct packed_row {
    enum espi_fn fn;
    espi_word args[9];
    int sent, received;
};

static inline struct packed_row packed_row(int n)
{
    enum { MOST = PEERS * COUNT };
    const espi_word f = (espi_word)from, o = (espi_word)onto, c = (espi_word)counts, p = (espi_word)places,
                    b = (espi_word)bytes_to, t = (espi_word)types, self = MPI_COMM_SELF;
    const struct packed_row rows[PACKED_ROWS] = {
        {ESPI_FN_Alltoall, {f, COUNT, type, o, COUNT, type, self}, MOST, MOST},
        {ESPI_FN_Alltoall, {f, BLOCK, MPI_BYTE, o, COUNT, type, self}, 0, MOST},
        {ESPI_FN_Alltoallv, {f, c, p, type, o, c, p, type, self}, MOST, MOST},
        {ESPI_FN_Alltoallw, {f, c, b, t, o, c, b, t, self}, MOST, MOST},
        {ESPI_FN_Gather, {f, BLOCK, MPI_BYTE, o, COUNT, type, 0, self}, 0, MOST},
        {ESPI_FN_Scatter, {f, COUNT, type, o, BLOCK, MPI_BYTE, 0, self}, MOST, 0},
        {ESPI_FN_Bcast, {f, COUNT, type, 0, self}, COUNT, 0}};
    return rows[n];
}

#endif
