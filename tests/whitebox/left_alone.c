/*
 * Which calls with derived types go on as they are (src/mpi/calls/left_alone.h): rooted ones, of which a side means
 * nothing on ranks that are not the root, and ones with counts in arrays. One process, of which MPI_COMM_SELF is the
 * communicator.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/calls/left_alone.h"
#include "mpi/entry/handlers.h"
#include "mpi/entry/lifecycle.h"
#include "mpi/packed/packed_record.h"
#include "mpi/reduce/reduce.h"
#include "mpi/typeplan/engine_calibrate.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/type_look.h"
#include "random_types.h"
#include "suite.h"
#include "type_service.h"

/* As it is elsewhere: what is better does not depend on this machine's times. */
struct espi_engine __wrap_espi_engine(void);
struct espi_engine __wrap_espi_engine(void)
{
    struct espi_engine usual = ESPI_ENGINE_USUAL;

    usual.measured = true;
    return usual;
}

static char data[1 << 16], stream[1 << 16];
static MPI_Datatype type;
static struct espi_thread_state *thread_state;

static void begin(enum espi_mode mode)
{
    espi_settings_defaults(&espi_settings);
    espi_settings.datatypes = (int)mode;
    start(mode);
    espi_comm_cache_start(true);
    thread_state = espi_thread_state(&own_thread);
    type = regular_ints(5);
    if (mode == ESPI_MODE_AUTO)
        atomic_store(&espi_slot_of(type)->look, 1000);
}

static void end(void)
{
    MPI_Type_free(&type);
    espi_comm_cache_stop();
    espi_types_stop();
}

static bool asks(enum espi_fn fn, const espi_word *args)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    const struct asked asked = {row->large, row->treatment == ESPI_API_COUNT, row->kind, row->comm, row->root, fn};
    return espi_left_alone(thread_state, &asked, row->typed, 0, args);
}

/* Uses and items that the slot has counted since. */
static uint64_t uses_of(MPI_Datatype t, uint64_t *items)
{
    const struct espi_type_slot *slot = espi_slot_of(t);
    ck_assert_ptr_nonnull(slot);
    *items = atomic_load(&slot->items);
    return atomic_load(&slot->uses);
}

static void check_counted(enum espi_fn fn, const espi_word *args, bool good, uint64_t uses, uint64_t items)
{
    uint64_t before[2], after[2];
    before[0] = uses_of(type, &before[1]);
    ck_assert_msg(asks(fn, args) == good, "%s", espi_api_name(fn));
    after[0] = uses_of(type, &after[1]);
    ck_assert_uint_eq(after[0] - before[0], uses);
    ck_assert_uint_eq(after[1] - before[1], items);
}

/* Of a side without items the type means nothing, and is no use; MPI tells what is wrong with it. */
START_TEST(no_items)
{
    espi_word args[8] = {(espi_word)data, 0, 0, (espi_word)stream, 1, 0, 0, MPI_COMM_SELF};
    begin(ESPI_MODE_AUTO);
    args[2] = args[5] = (espi_word)type;
    check_counted(ESPI_FN_Gather, args, true, 1, 1);
    args[4] = 0;
    check_counted(ESPI_FN_Gather, args, true, 0, 0);
    args[2] = (espi_word)0x8c00dead;
    check_counted(ESPI_FN_Gather, args, true, 0, 0);
    args[1] = 1;
    check_counted(ESPI_FN_Gather, args, false, 0, 0);
    args[1] = (espi_word)-1;
    check_counted(ESPI_FN_Gather, args, false, 0, 0);
    end();
}
END_TEST

/* The type of what is received is looked at on the root alone. */
START_TEST(rooted)
{
    espi_word args[8] = {(espi_word)data, 24, MPI_INT, (espi_word)stream, 1, 0, 0, MPI_COMM_SELF};
    begin(ESPI_MODE_AUTO);
    args[5] = (espi_word)type;
    check_counted(ESPI_FN_Gather, args, true, 1, 1);
    args[6] = 1; /* as if another were the root */
    check_counted(ESPI_FN_Gather, args, true, 0, 0);
    args[5] = (espi_word)0x8c00dead; /* then it may be anything */
    args[4] = (espi_word)-1;
    check_counted(ESPI_FN_Gather, args, true, 0, 0);
    args[6] = 0;
    check_counted(ESPI_FN_Gather, args, false, 0, 0);
    args[5] = (espi_word)type;
    check_counted(ESPI_FN_Gather, args, false, 0, 0);
    args[4] = 1;
    args[7] = MPI_COMM_NULL;
    check_counted(ESPI_FN_Gather, args, false, 0, 0);
    end();
}
END_TEST

/* All blocks of a side are one use; counts that are wrong or not there are for the general way. */
START_TEST(arrays)
{
    int counts[1] = {3}, places[1] = {0};
    MPI_Count large_counts[1] = {2};
    MPI_Aint large_places[1] = {0};
    espi_word args[9] = {(espi_word)data, (espi_word)counts, (espi_word)places, 0, (espi_word)stream,
                         (espi_word)counts, (espi_word)places, MPI_INT, MPI_COMM_SELF};
    espi_word large[9];
    begin(ESPI_MODE_AUTO);
    args[3] = (espi_word)type;
    memcpy(large, args, sizeof large);
    large[1] = large[5] = (espi_word)large_counts;
    large[2] = large[6] = (espi_word)large_places;
    check_counted(ESPI_FN_Alltoallv, args, true, 1, 3);
    check_counted(ESPI_FN_Alltoallv_c, large, true, 1, 2);
    counts[0] = 0;
    check_counted(ESPI_FN_Alltoallv, args, false, 0, 0);
    counts[0] = -1;
    check_counted(ESPI_FN_Alltoallv, args, false, 0, 0);
    args[1] = 0;
    check_counted(ESPI_FN_Alltoallv, args, false, 0, 0);
    check_counted(ESPI_FN_Neighbor_alltoallv, large, false, 0, 0);
    end();
}
END_TEST

/* Not where something is due for the type, nor in setting off without being counted as such. */
START_TEST(not_quiet)
{
    espi_word args[8] = {(espi_word)data, 24, MPI_INT, (espi_word)stream, 1, 0, 0, MPI_COMM_SELF};
    begin(ESPI_MODE_AUTO);
    args[5] = (espi_word)type;
    atomic_store(&espi_slot_of(type)->look, 0);
    check_counted(ESPI_FN_Gather, args, false, 0, 0);
    end();
    begin(ESPI_MODE_OFF);
    args[5] = (espi_word)type;
    const uint64_t off = counted(ESPI_COUNT_left_switched_off);
    ck_assert(asks(ESPI_FN_Gather, args));
    ck_assert_uint_eq(counted(ESPI_COUNT_left_switched_off), off + 1);
    end();
}
END_TEST

/* Nor MPI_Pack and MPI_Unpack where a program would do them, and the type has no plan as it was in other calls. */
START_TEST(packed_alone)
{
    int at = 0;
    espi_word send[6] = {(espi_word)data, 1, 0, 0, 5, MPI_COMM_SELF},
              pack[7] = {(espi_word)data, 1, 0, (espi_word)stream, sizeof stream, (espi_word)&at, MPI_COMM_SELF},
              unpack[7] = {(espi_word)stream, sizeof stream, (espi_word)&at, (espi_word)data, 1, 0, MPI_COMM_SELF};

    begin(ESPI_MODE_AUTO);
    struct espi_type_slot *slot = espi_slot_of(type);
    struct espi_type_class *class = espi_class_enter(4711);
    send[2] = pack[2] = unpack[5] = (espi_word)type;
    slot->how = (uint64_t)(uintptr_t)class;
    for (int alone = 0; alone < 2; alone++) {
        atomic_store(&slot->look, ESPI_NEVER);
        class->packs_alone = (unsigned char)alone;
        check_counted(ESPI_FN_Send, send, true, 1, 1);
        check_counted(ESPI_FN_Pack, pack, !alone, !alone, !alone);
        ck_assert_int_eq(atomic_load(&slot->look) == 0, alone);
        atomic_store(&slot->look, ESPI_NEVER);
        check_counted(ESPI_FN_Unpack, unpack, !alone, !alone, !alone);
    }
    end();
}
END_TEST

/* Types that were left alone since no program served their uses are packed by MPI_Pack all the same, once it has been
   seen some times: one is, and then others of the class. */
START_TEST(packed_again)
{
    enum { N = 200 };
    MPI_Datatype types[2];
    struct espi_type_slot *slot[2];
    int at[N];

    for (int k = 0; k < N; k++)
        at[k] = 20 * k + (int)random_below(18);
    start(ESPI_MODE_AUTO);
    espi_type_service.packing = ESPI_MODE_AUTO;
    espi_type_service.one_node = true;
    for (int i = 0; i < 2; i++) {
        MPI_Type_create_indexed_block(N, 2, at, MPI_DOUBLE, &types[i]);
        MPI_Type_commit(&types[i]);
        espi_types_committed(espi_thread_state(&own_thread), types[i]);
        slot[i] = espi_slot_of(types[i]);
        for (int k = 0; k < 2000 && atomic_load(&slot[i]->look) != ESPI_NEVER; k++)
            ck_assert_ptr_null(espi_types_blocks_way(&own_thread, types[i], 1, true, ESPI_PACK_NOT, 1, 1).packed);
    }
    struct espi_type_class *class = espi_slot_class(slot[0]);
    ck_assert(class == espi_slot_class(slot[1]) && slot[0]->plan == NULL && class->state == ESPI_CLASS_PLAIN);
    for (int i = 0; i < 2; i++) {
        for (int k = 2; i == 0 && k < ESPI_CLASS_ALONE; k++)
            ck_assert(!espi_types_would_pack(slot[i]));
        ck_assert(espi_types_quiet(types[i]) == slot[i] && espi_types_would_pack(slot[i]));
        ck_assert_ptr_null(espi_types_quiet(types[i]));
        for (int k = 0; k < 3; k++) {
            struct espi_way way = espi_types_way(&own_thread, types[i], 1, true, ESPI_PACK_LOCAL);
            ck_assert_ptr_nonnull(way.packed);
            espi_plan_release(way.packed);
            ck_assert(slot[i]->plan != NULL && !atomic_load(&slot[i]->settled) && !espi_types_would_pack(slot[i]));
        }
    }
    for (int k = 0; k < 2000; k++) /* it is known now that it is of use */
        espi_types_blocks_way(&own_thread, types[0], 1, true, ESPI_PACK_NOT, 1, 1);
    ck_assert(slot[0]->plan != NULL && class->state == ESPI_CLASS_BETTER);
    for (int i = 0; i < 2; i++) {
        espi_types_ending(espi_thread_state(&own_thread), types[i]);
        MPI_Type_free(&types[i]);
    }
    espi_types_stop();
}
END_TEST

/* What the stub is told of communicators that are looked at, until they end. */
START_TEST(told)
{
    struct espi_comm_facts facts = {.comm = MPI_COMM_NULL};
    MPI_Comm comm;
    int size;
    begin(ESPI_MODE_AUTO);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    const struct espi_known_comm *known = &espi_hot->comms[espi_comm_at((uint32_t)comm)];
    MPI_Comm_size(comm, &size);
    ck_assert_uint_eq(atomic_load(&known->rank), 0);
    ck_assert(espi_comm_look(&facts, comm));
    ck_assert_uint_eq(atomic_load(&known->rank), (uint64_t)(uint32_t)comm << 32);
    ck_assert_int_eq(atomic_load(&known->peers), size);
    ck_assert(espi_comm_look(&facts, MPI_COMM_SELF)); /* another entry, or the same */
    ck_assert(espi_comm_look(&facts, comm));
    ck_assert_uint_eq(atomic_load(&known->rank), (uint64_t)(uint32_t)comm << 32);
    MPI_Comm_free(&comm);
    ck_assert_uint_eq(atomic_load(&known->rank), 0);
    MPI_Cart_create(MPI_COMM_SELF, 2, (const int[]){1, 1}, (const int[]){1, 1}, 0, &comm);
    ck_assert(espi_comm_look(&facts, comm));
    known = &espi_hot->comms[espi_comm_at((uint32_t)comm)];
    ck_assert_int_eq(atomic_load(&known->out), 4);
    ck_assert_int_eq(atomic_load(&known->in), 4);
    MPI_Comm_free(&comm);
    ck_assert(espi_comm_look(&facts, MPI_COMM_SELF));
    known = &espi_hot->comms[espi_comm_at((uint32_t)MPI_COMM_SELF)];
    ck_assert_uint_eq(atomic_load(&known->rank) >> 32, (uint32_t)MPI_COMM_SELF);
    end();
    ck_assert_uint_eq(atomic_load(&known->rank), 0);
}
END_TEST

/* A block that a rank has for itself: at the root, and where it names blocks one by one; not in place. */
START_TEST(own_block)
{
    const struct espi_api_row *gather = &espi_api_rows[ESPI_FN_Gather], *all = &espi_api_rows[ESPI_FN_Alltoall],
                              *blocks = &espi_api_rows[ESPI_FN_Alltoallv], *w = &espi_api_rows[ESPI_FN_Alltoallw];
    struct espi_comm_facts facts = {.rank = 2, .peers = 4};
    espi_word args[9] = {(espi_word)data, 24, MPI_INT, (espi_word)stream, 1, MPI_INT, 2, MPI_COMM_SELF, 0};
    ck_assert(espi_selfcopy_is_apart(&facts, gather->typed, gather->root, args));
    args[6] = 1;
    ck_assert(!espi_selfcopy_is_apart(&facts, gather->typed, gather->root, args));
    ck_assert(!espi_selfcopy_is_apart(&facts, all->typed, all->root, args));
    ck_assert(espi_selfcopy_is_apart(&facts, blocks->typed, blocks->root, args));
    ck_assert(espi_selfcopy_is_apart(&facts, w->typed, w->root, args));
    facts.peers = 1;
    ck_assert(espi_selfcopy_is_apart(&facts, all->typed, all->root, args));
    args[0] = (espi_word)MPI_IN_PLACE;
    ck_assert(!espi_selfcopy_is_apart(&facts, all->typed, all->root, args));
    ck_assert(!espi_selfcopy_is_apart(&facts, blocks->typed, blocks->root, args));
    args[6] = 2;
    ck_assert(!espi_selfcopy_is_apart(&facts, gather->typed, gather->root, args));
}
END_TEST

START_TEST(small_blocks)
{
    struct espi_type_class class = {.size = 100};

    ck_assert(!espi_selfcopy_is_small(NULL, 1));
    ck_assert(espi_selfcopy_is_small(&class, 10) && !espi_selfcopy_is_small(&class, 11));
    class.own_way = ESPI_OWN_LEFT;
    ck_assert(espi_selfcopy_is_small(&class, 40) && !espi_selfcopy_is_small(&class, 41));
    class.own_way = ESPI_OWN_COPIED;
    ck_assert(!espi_selfcopy_is_small(&class, 1));
    class = (struct espi_type_class){.size = 100, .ended = 10, .uses = 19}; /* used once each, mostly */
    ck_assert(espi_selfcopy_is_small(&class, 40) && !espi_selfcopy_is_small(&class, 41));
    class.uses = 20;
    ck_assert(espi_selfcopy_is_small(&class, 10) && !espi_selfcopy_is_small(&class, 11));
    class.ended = 255;
    class.uses = 20000;
    ck_assert(espi_selfcopy_is_small(&class, 10) && !espi_selfcopy_is_small(&class, 11));
    class.ended = 256; /* nothing was found in so many lives */
    ck_assert(espi_selfcopy_is_small(&class, 40) && !espi_selfcopy_is_small(&class, 41));
    class.size = -1; /* not known */
    ck_assert(!espi_selfcopy_is_small(&class, 1));
}
END_TEST

static espi_word all_done(struct espi_thread *thread, enum espi_fn fn, espi_word *args, espi_next next)
{
    (void)thread;
    (void)fn;
    (void)args;
    (void)next;
    return MPI_SUCCESS;
}

static espi_word native_alltoall(espi_word a0, espi_word a1, espi_word a2, espi_word a3, espi_word a4, espi_word a5,
                                 espi_word a6)
{
    (void)a0, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6;
    return MPI_SUCCESS;
}

/* Whether the own block of a call, of so many items, is to be seen from then on. */
static bool is_seen_after(int count)
{
    struct espi_type_slot *slot = espi_slot_of(type);
    espi_word args[7] = {(espi_word)data,   (espi_word)count, (espi_word)type,    (espi_word)stream,
                         (espi_word)count, (espi_word)type,  (espi_word)MPI_COMM_SELF};

    espi_slot_pair(slot, type, 0);
    espi_selfcopy_call(&own_thread, ESPI_FN_Alltoall, args, (espi_next)(void (*)(void))native_alltoall, all_done);
    return atomic_load(&slot->paired) != 0;
}

/* Own blocks of 96 bytes an item are seen from 1 kB on; from 4 kB where that was found not to pay, and all where it
   pays. */
START_TEST(own_block_sizes)
{
    begin(ESPI_MODE_AUTO);
    atomic_store(&espi_running, true);
    atomic_store(&espi_slot_of(type)->look, 0);
    for (int i = 0; i < 8 && espi_slot_class(espi_slot_of(type)) == NULL; i++)
        espi_types_better(&own_thread, type, 1, false);
    struct espi_type_class *class = espi_slot_class(espi_slot_of(type));
    ck_assert_ptr_nonnull(class);
    class->size = 96;
    ck_assert(!is_seen_after(10) && !class->own);
    ck_assert(is_seen_after(11) && class->own);
    class->own_way = ESPI_OWN_LEFT;
    ck_assert(!is_seen_after(42) && !class->own);
    ck_assert(is_seen_after(43));
    class->own_way = ESPI_OWN_COPIED;
    ck_assert(is_seen_after(1));
    atomic_store(&espi_running, false);
    espi_selfcopy_stop();
    end();
}
END_TEST

static espi_word given; /* the type that MPI was */

static espi_word takes(espi_word buffer, espi_word count, espi_word of)
{
    (void)buffer, (void)count;
    given = of;
    return 0x77;
}

/* A message with nobody goes on with the program's type, also where others of the type are packed, and is no use;
   of a type that is not known, or has no plan, it goes as others do. */
START_TEST(with_nobody)
{
    static const enum espi_fn fns[] = {ESPI_FN_Send, ESPI_FN_Recv, ESPI_FN_Isend, ESPI_FN_Irecv, ESPI_FN_Bsend};
    static MPI_Status status;
    MPI_Request request;

    begin(ESPI_MODE_AUTO);
    atomic_store(&espi_running, true);
    const espi_word first[7] = {(espi_word)data, 1, (espi_word)type, (espi_word)MPI_PROC_NULL, 0, MPI_COMM_SELF};
    ck_assert(!espi_is_with_nobody(espi_api_rows[ESPI_FN_Send].typed, first));
    espi_type_service.packing = ESPI_MODE_ALWAYS;
    atomic_store(&espi_slot_of(type)->look, 1); /* the next use looks */
    const struct espi_way way = espi_types_way(&own_thread, type, 1, false, ESPI_PACK_MESSAGE);
    ck_assert_ptr_ne(way.packed, NULL);
    espi_plan_release(way.packed);
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++)
        for (int nobody = 0; nobody < 2; nobody++) {
            const enum espi_fn fn = fns[i];
            const struct espi_api_row *row = &espi_api_rows[fn];
            const bool is_kept = row->kind & ESPI_NONBLOCKING;
            espi_word args[7] = {(espi_word)data, 1, (espi_word)type, nobody ? (espi_word)MPI_PROC_NULL : 0, 0,
                                 MPI_COMM_SELF, is_kept ? (espi_word)&request : (espi_word)&status};
            const uint64_t calls = thread_state->stats->calls[fn], uses = espi_slot_of(type)->uses;
            given = 0;
            ck_assert_int_eq(espi_is_with_nobody(row->typed, args), nobody);
            if (!nobody)
                continue;
            ck_assert_int_eq((int)espi_core_handlers[fn](&own_thread, fn, args, (espi_next)(void (*)(void))takes),
                             0x77);
            ck_assert_int_eq((MPI_Datatype)given, type);
            ck_assert_uint_eq(thread_state->stats->calls[fn], calls + 1);
            ck_assert_uint_eq(espi_slot_of(type)->uses, uses);
            args[2] = 0x8c00dead;
            ck_assert(!espi_is_with_nobody(row->typed, args));
        }
    const espi_word both[12] = {(espi_word)data, 1, (espi_word)type, (espi_word)MPI_PROC_NULL, 0, (espi_word)stream,
                                1, (espi_word)type, (espi_word)MPI_PROC_NULL, 0, MPI_COMM_SELF, (espi_word)&status};
    ck_assert(!espi_is_with_nobody(espi_api_rows[ESPI_FN_Sendrecv].typed, both));
    ck_assert(!espi_is_with_nobody(espi_api_rows[ESPI_FN_Sendrecv_replace].typed, both));
    const espi_word put[3] = {(espi_word)data, 1, (espi_word)type};
    ck_assert(!espi_is_with_nobody(espi_api_rows[ESPI_FN_Put].typed, put));
    atomic_store(&espi_running, false);
    end();
}
END_TEST

static espi_word waits(espi_word request, espi_word its_status)
{
    (void)request, (void)its_status;
    return MPI_SUCCESS;
}

/* How often MPI_Wait is called until the stub sees to it alone; -1: not within `most` calls. */
static int waits_until_plain(int most)
{
    MPI_Request request = MPI_REQUEST_NULL;
    espi_word args[2] = {(espi_word)&request, (espi_word)MPI_STATUS_IGNORE};

    for (int i = 0; i <= most; i++) {
        if (atomic_load(&espi_hot->plain) & ESPI_PLAIN_REQUESTS)
            return i;
        ck_assert_int_eq((int)espi_core_handlers[ESPI_FN_Wait](&own_thread, ESPI_FN_Wait, args,
                                                                (espi_next)(void (*)(void))waits), MPI_SUCCESS);
    }
    return -1;
}

/* Calls that complete requests are the stub's again when for a while there was no request of the core's. */
START_TEST(requests_go_back)
{
    enum { NONE_MOST = 1024 };

    begin(ESPI_MODE_AUTO);
    atomic_store(&espi_running, true);
    espi_handle_table_plain(~0u, ESPI_PLAIN_REQUESTS, NULL);
    espi_handle_table_take_requests();
    ck_assert_int_eq(waits_until_plain(2 * NONE_MOST), NONE_MOST);
    espi_handle_table_take_requests();
    ck_assert_int_eq(waits_until_plain(NONE_MOST - 2), -1);
    for (int packed = 0; packed < 2; packed++) { /* one comes: then as many again */
        atomic_fetch_add(packed ? &espi_packed_requests : &espi_reduce_requests, 1);
        ck_assert_int_eq(waits_until_plain(2 * NONE_MOST), -1);
        espi_requests_go_back();
        ck_assert_int_eq(waits_until_plain(0), -1);
        atomic_fetch_sub(packed ? &espi_packed_requests : &espi_reduce_requests, 1);
        ck_assert_int_eq(waits_until_plain(NONE_MOST / 2), -1);
    }
    atomic_store(&espi_running, false);
    ck_assert_int_eq(waits_until_plain(2 * NONE_MOST), -1);
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "left_alone", with_nobody, no_items, rooted, arrays, not_quiet, packed_alone,
                     packed_again, told, own_block, small_blocks, own_block_sizes, requests_go_back);
}
