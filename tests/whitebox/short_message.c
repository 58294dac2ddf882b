/*
 * Short messages (src/mpi/calls/short_message.c), as their handlers make them, with functions in MPI's place: what
 * goes this way and what does not, what MPI is given, errors, and an error handler that jumps.
 */
#include <check.h>
#include <mpi.h>
#include <setjmp.h>
#include <string.h>

#include "base/overlap.h"
#include "mpi/comm/comm_cache.h"
#include "mpi/entry/handlers.h"
#include "mpi/core/pmpi.h"
#include "mpi/core/runtime.h"
#include "mpi/core/status_bytes.h"
#include "mpi/core/thread_state.h"
#include "mpi/packed/core_distance.h"
#include "mpi/typeplan/engine_cost.h"
#include "mpi/calls/short_message.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "suite.h"
#include "type_service.h"

enum { COUNT = 3, INTS = 24, BYTES = COUNT * INTS * (int)sizeof(int), ROOM = 1 << 16 };

static char data[ROOM], message[ROOM];
static MPI_Datatype type;
static MPI_Status status;

/* ---- in MPI's place ---- */

static struct {
    int calls, packed; /* of them */
    int error;         /* what packed ones return */
    int bytes;         /* that are received; those of `message` */
    bool again, jumps; /* there is a call inside the call; it does not return */
    espi_word buffer;  /* of the last packed one */
} mpi;
static jmp_buf before;

static espi_word call(enum espi_fn fn, espi_word tag, MPI_Status *at);
static void fill(void *at, size_t bytes, int seed);
static bool is_packed(const void *at, int seed);

static espi_word send_or_receive(espi_word buffer, espi_word count, espi_word given, MPI_Status *at)
{
    mpi.calls++;
    if ((MPI_Datatype)given != MPI_PACKED)
        return MPI_SUCCESS;
    mpi.packed++;
    ck_assert_int_eq((int)count, BYTES);
    mpi.buffer = buffer;
    if (mpi.again) {
        mpi.again = false;
        fill(data, ROOM, 9);
        ck_assert_int_eq((int)call(ESPI_FN_Send, 0, NULL), MPI_SUCCESS);
        ck_assert_int_eq(mpi.calls, 2);
        ck_assert(mpi.buffer != buffer && is_packed(message, 9) && is_packed((void *)buffer, 2));
    }
    if (mpi.jumps)
        longjmp(before, 1);
    if (mpi.error != MPI_SUCCESS)
        return (espi_word)mpi.error;
    if (at == NULL) {
        memcpy(message, (void *)buffer, (size_t)count);
    } else {
        memcpy((void *)buffer, message, (size_t)mpi.bytes);
        MPI_Status_set_elements(at, MPI_BYTE, mpi.bytes);
    }
    return MPI_SUCCESS;
}

static espi_word next_send(espi_word a0, espi_word a1, espi_word a2, espi_word a3, espi_word a4, espi_word a5)
{
    ck_assert((int)a3 == 0 && (MPI_Comm)a5 == MPI_COMM_SELF);
    (void)a4;
    return send_or_receive(a0, a1, a2, NULL);
}

static espi_word next_recv(espi_word a0, espi_word a1, espi_word a2, espi_word a3, espi_word a4, espi_word a5,
                           espi_word a6)
{
    MPI_Status *at = (MPI_Status *)a6;

    ck_assert((MPI_Comm)a5 == MPI_COMM_SELF && at != NULL);
    ck_assert((MPI_Datatype)a2 != MPI_PACKED || at != MPI_STATUS_IGNORE);
    (void)a3, (void)a4;
    return send_or_receive(a0, a1, a2, at);
}

/* ---- calls ---- */

static espi_word call_with(enum espi_fn fn, const espi_word *given)
{
    espi_word args[7];

    memcpy(args, given, sizeof args);
    return espi_core_handlers[fn](&own_thread, fn, args,
                                  espi_api_rows[fn].args == 6 ? (espi_next)(void (*)(void))next_send
                                                              : (espi_next)(void (*)(void))next_recv);
}

static espi_word call(enum espi_fn fn, espi_word tag, MPI_Status *at)
{
    const espi_word args[7] = {(espi_word)data, COUNT,         (espi_word)type, 0, tag,
                               (espi_word)MPI_COMM_SELF, (espi_word)at};

    return call_with(fn, args);
}

static void fill(void *at, size_t bytes, int seed)
{
    for (size_t i = 0; i < bytes; i++)
        ((char *)at)[i] = (char)(seed + (int)i * 7);
}

/* Whether the bytes at `at` are the items of `data` as filled from a seed. */
static bool is_packed(const void *at, int seed)
{
    static char source[ROOM], packed[ROOM];
    int end = 0;

    fill(source, ROOM, seed);
    MPI_Pack(source, COUNT, type, packed, ROOM, &end, MPI_COMM_SELF);
    return end == BYTES && memcmp(at, packed, BYTES) == 0;
}

static void forget(void)
{
    memset(&mpi, 0, sizeof mpi);
    mpi.bytes = BYTES;
}
/* Whether the call goes the short way; MPI is not to know of it. */
static espi_word last_buffer;
static espi_word refuse(espi_word buffer)
{
    last_buffer = buffer;
    return MPI_ERR_OTHER;
}

static bool begins(enum espi_fn fn, const espi_word *args)
{
    espi_word result;
    return (fn == ESPI_FN_Recv ? espi_short_receive : espi_short_send)(
        espi_thread_state(&own_thread), fn, args, (espi_next)(void (*)(void))refuse, &result);
}

/* The one buffer of short messages. */
static espi_word own_buffer(void)
{
    static espi_word known;
    const espi_word args[7] = {(espi_word)data, COUNT, (espi_word)type, 0, 0, (espi_word)MPI_COMM_SELF, 0};

    if (known == 0 && begins(ESPI_FN_Send, args))
        known = last_buffer;
    return known;
}

/* A type whose plan is known, and everything is packed. */
static void begin(void)
{
    espi_settings_defaults(&espi_settings);
    start(ESPI_MODE_AUTO);
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    espi_comm_cache_start(true);
    atomic_store(&espi_running, true);
    espi_calls_overlap = false;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    type = regular_ints(3);
    for (int i = 0; i < 4; i++) {
        struct espi_way way = espi_types_way(&own_thread, type, COUNT, false, ESPI_PACK_MESSAGE);
        if (way.packed != NULL)
            espi_plan_release(way.packed);
    }
    const espi_word good[7] = {(espi_word)data, COUNT, (espi_word)type, 0, 0, (espi_word)MPI_COMM_SELF, 0};
    ck_assert(begins(ESPI_FN_Send, good) && own_buffer() != 0);
    forget();
}

static void end(void)
{
    atomic_store(&espi_running, false);
    espi_calls_overlap = true;
    MPI_Type_free(&type);
    espi_comm_cache_stop();
    espi_types_stop();
}

/* The arguments are where short messages have them, in each row that may go this way; no others are left out. */
START_TEST(rows)
{
    int found = 0;

    for (int fn = 0; fn < ESPI_FN_COUNT; fn++) {
        const struct espi_api_row *row = &espi_api_rows[fn];
        const struct espi_buffer_args *t = &row->typed[0];
        if (!ESPI_IS_SHORT_MESSAGE(row->kind, row->args, row->large))
            continue;
        found++;
        ck_assert_msg(t->shape == ESPI_SHAPE_ONE && t[1].shape == ESPI_SHAPE_NONE && t->buffer == 0 &&
                          t->count == 1 && t->type == 2 && row->comm == 5,
                      "%s", espi_api_name(fn));
        if (row->args == 6)
            ck_assert_msg(t->dest == 3 && t->sendtag == 4 && t->source < 0, "%s", espi_api_name(fn));
        else
            ck_assert_msg(t->source == 3 && t->recvtag == 4 && t->dest < 0, "%s", espi_api_name(fn));
    }
    ck_assert_int_eq(found, 4); /* MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Recv */
}
END_TEST

START_TEST(to_and_fro)
{
    static const enum espi_fn sends[] = {ESPI_FN_Send, ESPI_FN_Ssend, ESPI_FN_Rsend};
    char expected[ROOM], packed[ROOM];
    int at = 0, went = 0;

    begin();
    for (int i = 0; i < 40; i++) {
        const uint64_t calls = counted(ESPI_COUNT_calls_packed), bytes = counted(ESPI_COUNT_bytes_packed),
                       seen = counted(ESPI_COUNT_calls_examined);
        forget();
        fill(data, ROOM, i);
        at = 0;
        MPI_Pack(data, COUNT, type, packed, ROOM, &at, MPI_COMM_SELF);
        ck_assert_int_eq((int)call(sends[i % 3], 0, NULL), MPI_SUCCESS);
        ck_assert_int_eq(mpi.packed, 1);
        ck_assert(memcmp(message, packed, BYTES) == 0);
        went += mpi.buffer == own_buffer();
        /* Shorter messages, and none at all; with a status, and without one. */
        mpi.bytes = i < 30 ? BYTES : i < 38 ? 4 * (i - 29) + i % 4 : 0;
        fill(message, BYTES, 3 * i);
        fill(data, ROOM, i + 50); /* else than what was sent last */
        memcpy(expected, data, ROOM);
        at = 0;
        if (mpi.bytes == BYTES || mpi.bytes == 0)
            MPI_Unpack(message, mpi.bytes, &at, expected, mpi.bytes / 4 / INTS, type, MPI_COMM_SELF);
        ck_assert_int_eq((int)call(ESPI_FN_Recv, 0, i % 2 ? &status : MPI_STATUS_IGNORE), MPI_SUCCESS);
        ck_assert_int_eq(mpi.packed, 2);
        went += mpi.buffer == own_buffer();
        if (mpi.bytes == BYTES || mpi.bytes == 0)
            ck_assert(memcmp(data, expected, ROOM) == 0);
        ck_assert(i % 2 == 0 || espi_status_bytes(&status) == mpi.bytes);
        if (mpi.bytes < BYTES && mpi.bytes > 0) { /* what has come, and nothing behind it */
            char again[ROOM], old[ROOM];
            at = 0;
            MPI_Pack(data, COUNT, type, again, ROOM, &at, MPI_COMM_SELF);
            fill(expected, ROOM, i + 50);
            at = 0;
            MPI_Pack(expected, COUNT, type, old, ROOM, &at, MPI_COMM_SELF);
            ck_assert(memcmp(again, message, (size_t)mpi.bytes) == 0);
            ck_assert(memcmp(again + mpi.bytes, old + mpi.bytes, BYTES - (size_t)mpi.bytes) == 0);
        }
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_packed), calls + 2);
        ck_assert_uint_eq(counted(ESPI_COUNT_bytes_packed), bytes + 2 * BYTES);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_examined), seen + 2);
    }
    ck_assert_int_ge(went, 70); /* the others came with a look at the type */
    end();
}
END_TEST

/* What is not known to be right goes another way, and nothing is done. */
START_TEST(left_to_others)
{
    static const struct {
        int at;
        espi_word word;
        bool receives, sends; /* it goes this way all the same */
    } wrong[] = {
        {0, 0, false, false}, /* MPI_BOTTOM */
        {1, 0, false, false},
        {1, (espi_word)-1, false, false},
        {1, ESPI_ENGINE_PART / (INTS * 4) + 1, false, false},
        {1, ESPI_ENGINE_PART / (INTS * 4), true, true},
        {2, (espi_word)MPI_DATATYPE_NULL, false, false},
        {2, (espi_word)MPI_INT, false, false},
        {2, (espi_word)MPI_DOUBLE_INT, false, false},
        {2, 0x8c00ffff, false, false},
        {3, (espi_word)MPI_PROC_NULL, false, false},
        {3, 1, false, false},
        {3, (espi_word)MPI_ANY_SOURCE, true, false},
        {4, (espi_word)MPI_ANY_TAG, true, false},
        {4, (espi_word)-7, false, false},
        {5, (espi_word)MPI_COMM_NULL, false, false},
        {5, 0, false, false},
        {6, 0, false, true},
    };

    begin();
    const espi_word good[7] = {(espi_word)data, COUNT, (espi_word)type, 0, 5, (espi_word)MPI_COMM_SELF,
                               (espi_word)&status};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        espi_word args[7];
        memcpy(args, good, sizeof args);
        ck_assert(begins(ESPI_FN_Send, args) && begins(ESPI_FN_Recv, args));
        args[wrong[i].at] = wrong[i].word;
        const uint64_t seen = counted(ESPI_COUNT_calls_examined);
        ck_assert_msg(begins(ESPI_FN_Send, args) == wrong[i].sends, "argument %d of MPI_Send", wrong[i].at);
        ck_assert_msg(begins(ESPI_FN_Recv, args) == wrong[i].receives, "argument %d of MPI_Recv", wrong[i].at);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_examined), seen + wrong[i].sends + wrong[i].receives);
    }
    espi_settings.check = true;
    ck_assert(!begins(ESPI_FN_Send, good));
    espi_settings.check = false;
    suite_another_leads(true);
    ck_assert(!begins(ESPI_FN_Send, good));
    suite_another_leads(false);
    struct espi_type_slot *slot = espi_slot_of(type);
    struct espi_plan *plan = atomic_load(&slot->plan);
    plan->last_short.count = 0; /* what is asked of the first one of a count */
    espi_type_service.packing = ESPI_MODE_OFF;
    ck_assert(!begins(ESPI_FN_Send, good));
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    espi_slot_class(slot)->packs = false;
    ck_assert(!begins(ESPI_FN_Send, good));
    espi_slot_class(slot)->packs = true;
    ck_assert(begins(ESPI_FN_Send, good));
    espi_type_service.packing = ESPI_MODE_AUTO; /* a choice that is reversed holds from the next one on */
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 100);
    ck_assert(begins(ESPI_FN_Send, good));
    atomic_store(&plan->packed_ns[ESPI_PACK_MESSAGE], 0);
    ck_assert(!begins(ESPI_FN_Send, good));
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    ck_assert(begins(ESPI_FN_Send, good));
    MPI_Comm other = MPI_COMM_NULL; /* the communicator is not the last one any more */
    PMPI_Comm_dup(MPI_COMM_SELF, &other);
    ck_assert(espi_comm_look(&espi_thread_state(&own_thread)->comm, other) && begins(ESPI_FN_Send, good));
    PMPI_Comm_free(&other);
    ck_assert(begins(ESPI_FN_Send, good));
    const uint64_t look = atomic_load(&slot->look);
    atomic_store(&slot->look, atomic_load(&slot->uses) + 1); /* something is due */
    ck_assert(!begins(ESPI_FN_Send, good));
    atomic_store(&slot->look, look);
    ck_assert(begins(ESPI_FN_Send, good));
    end();
}
END_TEST

/* Types of addresses are sent from MPI_BOTTOM. */
START_TEST(absolute)
{
    MPI_Datatype placed = MPI_DATATYPE_NULL;
    MPI_Aint where;
    char stream[ROOM];
    int at = 0;

    begin();
    PMPI_Get_address(data, &where);
    where += 8;
    PMPI_Type_create_hindexed_block(1, COUNT, &where, type, &placed);
    PMPI_Type_commit(&placed);
    espi_types_committed(espi_thread_state(&own_thread), placed);
    for (int i = 0; i < 4; i++) {
        struct espi_way way = espi_types_way(&own_thread, placed, 1, false, ESPI_PACK_MESSAGE);
        if (way.packed != NULL)
            espi_plan_release(way.packed);
    }
    const espi_word args[7] = {(espi_word)MPI_BOTTOM, 1, (espi_word)placed, 0, 0, (espi_word)MPI_COMM_SELF,
                               (espi_word)&status};
    ck_assert(begins(ESPI_FN_Send, args));
    fill(data, ROOM, 6);
    ck_assert_int_eq((int)call_with(ESPI_FN_Send, args), MPI_SUCCESS);
    ck_assert(mpi.packed == 1 && mpi.buffer == own_buffer());
    MPI_Pack(data + 8, COUNT, type, stream, ROOM, &at, MPI_COMM_SELF);
    ck_assert(memcmp(message, stream, BYTES) == 0);
    fill(message, BYTES, 11);
    ck_assert_int_eq((int)call_with(ESPI_FN_Recv, args), MPI_SUCCESS);
    at = 0;
    MPI_Pack(data + 8, COUNT, type, stream, ROOM, &at, MPI_COMM_SELF);
    ck_assert(mpi.packed == 2 && memcmp(message, stream, BYTES) == 0);
    MPI_Type_free(&placed);
    end();
}
END_TEST

/* A type of which a better form is known, too, but that is packed. */
START_TEST(beside_a_better_type)
{
    begin();
    const espi_word good[7] = {(espi_word)data, COUNT, (espi_word)type, 0, 5, MPI_COMM_SELF, (espi_word)&status};
    struct espi_type_slot *slot = espi_slot_of(type);
    struct espi_plan *plan = atomic_load(&slot->plan);
    atomic_store(&plan->better[ESPI_WHOLE], MPI_INT); /* is never used */
    espi_slot_class(slot)->packs = false; /* as if this were the first use of all */
    ck_assert((int)call(ESPI_FN_Send, 0, NULL) == MPI_SUCCESS && mpi.packed == 1);
    ck_assert(begins(ESPI_FN_Send, good) && begins(ESPI_FN_Recv, good));
    atomic_store(&plan->better[ESPI_WHOLE], MPI_DATATYPE_NULL);
    end();
}
END_TEST

/* What it takes to hand messages over is timed within a node, but of MPI_Ssend, which waits, of errors, and of what
   a rank sends to itself; also on the way of all messages. Where it takes longer more is saved, from the next on. */
START_TEST(farther_cores)
{
    static const enum espi_fn timed[] = {ESPI_FN_Send, ESPI_FN_Rsend, ESPI_FN_Send_c},
                              others[] = {ESPI_FN_Ssend, ESPI_FN_Ssend_c, ESPI_FN_Recv, ESPI_FN_Recv_c};
    begin();
    const struct espi_plan *plan = atomic_load(&espi_slot_of(type)->plan);
    struct espi_comm_facts *comm = &espi_thread_state(&own_thread)->comm;
    uint64_t was, saved[2];

    for (int i = 0; i < 4; i++) {
        const bool near = i != 1, to_other = i != 2, good = i != 3;
        espi_type_service.one_node = near;
        comm->rank = to_other ? 1 : 0;
        mpi.error = good ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
        espi_core_distance_forget();
        for (int k = 0; k < 4; k++)
            call(others[k], 0, &status);
        ck_assert_uint_eq(espi_core_distance.taken + espi_core_distance.rest, 0);
        for (unsigned k = 0; k < 3; k++) {
            espi_core_distance_forget();
            call(timed[k], 0, NULL);
            ck_assert_int_eq(espi_core_distance.taken + espi_core_distance.rest > 0, near && to_other && good);
        }
    }
    mpi.error = MPI_SUCCESS;
    for (int i = 0; i < 2; i++) {
        espi_core_distance.more_ns = i == 0 ? 0 : 320;
        was = plan->record->saved_ps[ESPI_SAVED_ALONE];
        call(ESPI_FN_Ssend, 0, NULL);
        saved[i] = plan->record->saved_ps[ESPI_SAVED_ALONE] - was;
    }
    ck_assert_uint_eq(saved[1], saved[0] + 1000 * (320 * (3072 + BYTES) / 5120));
    espi_core_distance_forget();
    end();
}
END_TEST

/* An error that says something about what was given is MPI's own, of the program's arguments. */
START_TEST(errors)
{
    static const enum espi_fn fns[] = {ESPI_FN_Send, ESPI_FN_Recv};
    char old[ROOM];

    begin();
    for (int i = 0; i < 2; i++) {
        const uint64_t repeated = counted(ESPI_COUNT_calls_repeated);
        fill(data, ROOM, 1);
        memcpy(old, data, ROOM);
        forget();
        mpi.error = MPI_ERR_TAG;
        ck_assert_int_eq((int)call(fns[i], 0, &status), MPI_SUCCESS); /* what the second call returned */
        ck_assert(mpi.calls == 2 && mpi.packed == 1);
        ck_assert_uint_eq(counted(ESPI_COUNT_calls_repeated), repeated + 1);
        forget();
        mpi.error = MPI_ERR_TRUNCATE;
        ck_assert_int_eq((int)call(fns[i], 0, &status), MPI_ERR_TRUNCATE);
        ck_assert(mpi.calls == 1 && mpi.packed == 1);
        ck_assert(memcmp(old, data, ROOM) == 0);
    }
    end();
}
END_TEST

/* A call inside of such a call goes another way, and so do all after one that was left by a jump; they are right. */
START_TEST(not_alone)
{
    char again[ROOM];

    begin();
    const espi_word good[7] = {(espi_word)data, COUNT, (espi_word)type, 0, 5, (espi_word)MPI_COMM_SELF,
                               (espi_word)&status};
    mpi.again = true;
    fill(data, ROOM, 2);
    ck_assert_int_eq((int)call(ESPI_FN_Send, 0, NULL), MPI_SUCCESS);
    ck_assert(mpi.calls == 2 && mpi.packed == 2);
    ck_assert(begins(ESPI_FN_Send, good));
    forget();
    mpi.jumps = true;
    if (setjmp(before) == 0)
        call(ESPI_FN_Recv, 0, &status);
    ck_assert_int_eq(mpi.packed, 1);
    ck_assert(!begins(ESPI_FN_Send, good) && !begins(ESPI_FN_Recv, good));
    forget();
    fill(data, ROOM, 3);
    ck_assert_int_eq((int)call(ESPI_FN_Send, 0, NULL), MPI_SUCCESS);
    ck_assert(is_packed(message, 3));
    fill(data, ROOM, 4);
    ck_assert_int_eq((int)call(ESPI_FN_Recv, 0, &status), MPI_SUCCESS);
    ck_assert_int_eq(mpi.packed, 2); /* by way of the pool */
    int at = 0;
    MPI_Pack(data, COUNT, type, again, ROOM, &at, MPI_COMM_SELF);
    ck_assert(memcmp(again, message, BYTES) == 0);
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "whitebox/short_message", rows, to_and_fro, left_to_others, absolute,
                     beside_a_better_type, farther_cores, errors, not_alone);
}
