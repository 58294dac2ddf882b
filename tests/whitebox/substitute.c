/*
 * Uses of types are counted once each, whoever counts them: the slot, grants ahead, the record of the layout, the
 * kind of types; and plans that nobody uses are forgotten. One process, calling what the core's handlers call.
 */
#include <check.h>
#include <math.h>
#include <mpi.h>
#include <stdatomic.h>
#include <string.h>

#include "mpi/comm/comm_cache.h"
#include "mpi/datatype/decode.h"
#include "mpi/typeplan/substitute.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/core/thread_state.h"
#include "mpi/typeplan/plan_cache.h"
#include "mpi/reduce/reduce.h"
#include "mpi/typeplan/class_sample.h"
#include "mpi/typeplan/type_cache.h"
#include "suite.h"
#include "type_service.h"

/* 24 integers at a stride that belongs to `salt` alone. */
static MPI_Datatype regular(int salt)
{
    MPI_Datatype type;
    int disp[24], k;

    for (k = 0; k < 24; k++)
        disp[k] = (2 + salt) * k;
    MPI_Type_create_indexed_block(24, 1, disp, MPI_INT, &type);
    MPI_Type_commit(&type);
    espi_types_committed(espi_thread_state(&own_thread), type);
    return type;
}

static struct espi_plan *plan_of(MPI_Datatype type)
{
    struct espi_arena arena = ESPI_ARENA_INIT;
    struct espi_decoded d;
    struct espi_plan *plan;

    ck_assert_int_eq(espi_decode(&arena, type, 0, &d), ESPI_OK);
    plan = espi_plan_find(&d);
    espi_arena_release(&arena);
    return plan;
}

/* Uses that were granted are counted by whoever looks at the slot, the look is due at the same use as without grants,
   and a grant ends with its type. */
START_TEST(granted)
{
    enum { LOOK = 8 };
    struct espi_stats_thread *stats;
    struct espi_type_slot *s;
    MPI_Datatype type, old;
    atomic_uchar *quiet;
    int i;

    start(ESPI_MODE_AUTO);
    stats = espi_thread_state(&own_thread)->stats;
    old = type = regular(1000);
    ck_assert_ptr_null(espi_slot_quiet(type)); /* of the sample: looked at when it is first used */
    ck_assert_int_eq(espi_types_better(&own_thread, type, 1, true), type);
    s = espi_types_quiet(type);
    ck_assert_ptr_nonnull(s);
    espi_types_used(stats, type, s, 3);
    for (i = 2; (quiet = espi_slot_quiet(type)) != NULL; i++)
        espi_types_used_granted(stats, quiet);
    ck_assert_int_eq(i, LOOK - 1);
    ck_assert_ptr_null(espi_types_quiet(type)); /* due */
    s = espi_slot_of(type);
    ck_assert_uint_eq(atomic_load(&s->uses), LOOK - 1);
    ck_assert_uint_eq(atomic_load(&s->items), 1 + 3 + LOOK - 3);
    espi_types_better(&own_thread, type, 1, true);
    ck_assert_uint_eq(atomic_load(&s->uses), LOOK);
    ck_assert_uint_ge(atomic_load(&s->look), 2 * LOOK);

    /* Part of a grant is taken back, and what is left of one does not outlive the type. */
    espi_types_used(stats, type, espi_types_quiet(type), 1);
    espi_types_used_granted(stats, espi_slot_quiet(type));
    ck_assert_ptr_eq(espi_slot_of(type), s);
    ck_assert_ptr_null(espi_slot_quiet(type));
    ck_assert_uint_eq(atomic_load(&s->uses), LOOK + 2);
    espi_types_used(stats, type, s, 1);
    ck_assert_ptr_nonnull(espi_slot_quiet(type));
    espi_types_ending(espi_thread_state(&own_thread), type);
    ck_assert_ptr_null(espi_slot_quiet(old));
    MPI_Type_free(&type);
    espi_types_stop();
}
END_TEST

/* The byte of a type, as the stub leaves it after `uses` uses of a life that it began. */
static atomic_uchar *begun_by_stub(MPI_Datatype type, int uses)
{
    atomic_uchar *byte = &espi_hot->bytes[espi_byte_at((uint32_t)type)];

    ck_assert_uint_eq(atomic_load(byte), 0);
    atomic_store(byte, (unsigned char)(ESPI_BYTE_NEW + 1 + ESPI_GRANT_NEW - uses));
    return byte;
}

/* A life that the stub began is like any other from when the core meets it: uses go on counting, the first look is
   due at the eighth, it ends, and its handle begins anew. Of the lives that the stub began those
   count as ended that are neither there nor the core's. */
START_TEST(begun_elsewhere)
{
    struct espi_type_slot *s;
    MPI_Datatype type, more[3];
    atomic_uchar *byte;
    uint64_t ended;
    int i;

    start(ESPI_MODE_AUTO);
    ended = espi_handle_table_ended(1000);
    ck_assert(espi_types_fresh());
    MPI_Type_vector(5, 2, 7, MPI_INT, &type);
    MPI_Type_commit(&type);
    byte = begun_by_stub(type, 3);
    ck_assert_ptr_eq(espi_slot_quiet(type), byte); /* it takes four more without a slot */
    espi_types_used_granted(espi_thread_state(&own_thread)->stats, espi_slot_quiet(type));
    ck_assert_uint_eq(atomic_load(byte), ESPI_BYTE_NEW + 1 + ESPI_GRANT_NEW - 4);
    s = espi_types_quiet(type);
    ck_assert_ptr_nonnull(s);
    ck_assert_uint_eq(atomic_load(&s->uses), 4);
    ck_assert_uint_eq(atomic_load(&s->items), 4);
    ck_assert_uint_eq(atomic_load(byte), 1);
    espi_types_used(espi_thread_state(&own_thread)->stats, type, s, 1);
    while (espi_slot_quiet(type) != NULL)
        espi_types_used_granted(espi_thread_state(&own_thread)->stats, espi_slot_quiet(type));
    ck_assert_ptr_null(espi_types_quiet(type)); /* the eighth use is due */
    ck_assert_uint_eq(atomic_load(&s->uses), 7);
    espi_types_better(&own_thread, type, 1, true);
    ck_assert_ptr_nonnull(s->detail);
    espi_types_ending(espi_thread_state(&own_thread), type);
    ck_assert_uint_eq(atomic_load(byte), 0);
    ck_assert(!espi_types_known(&own_thread, type));

    begun_by_stub(type, 0); /* as if it were another type now */
    s = espi_slot_of(type);
    ck_assert_ptr_nonnull(s);
    ck_assert_uint_eq(atomic_load(&s->uses), 0);
    ck_assert_ptr_null(s->detail);
    espi_types_ending(espi_thread_state(&own_thread), type);

    ck_assert_uint_eq(ended - espi_handle_table_ended(1000), 2); /* both are the core's */
    for (i = 0; i < 3; i++) {
        MPI_Type_vector(5, 2, 7 + i, MPI_INT, &more[i]);
        begun_by_stub(more[i], 1);
    }
    ck_assert_uint_eq(ended - espi_handle_table_ended(1000), 5); /* three live */
    atomic_store(&espi_hot->bytes[espi_byte_at((uint32_t)more[0])], 0);
    ck_assert_uint_eq(ended - espi_handle_table_ended(1000), 4); /* one has ended */
    ck_assert_uint_eq(espi_handle_table_ended(1), 0);
    espi_types_stop();
    start(ESPI_MODE_AUTO); /* what still lived is forgotten, and will not end any more */
    ck_assert_uint_eq(atomic_load(&espi_hot->bytes[espi_byte_at((uint32_t)more[1])]), 0);
    ck_assert_uint_eq(ended - espi_handle_table_ended(1000), 4);
    for (i = 0; i < 3; i++)
        MPI_Type_free(&more[i]);
    MPI_Type_free(&type);
    espi_types_stop();
}
END_TEST

/* Each handle that a datatype of MPICH's may have, up to the 65,536th, has a byte of its own; others have none. */
START_TEST(handles)
{
    const uint32_t none[] = {0, MPI_DATATYPE_NULL, MPI_INT, MPI_COMM_WORLD, 0x8bffffffu, 0x8c000040u, 0x90000001u,
                             0xcbffffffu, 0xcc040000u, 0xd0000001u, 0x84000001u, UINT32_MAX};
    static unsigned char seen[ESPI_BYTES];
    uint32_t i, block;

    for (i = 0; i < 8; i++)
        ck_assert_uint_eq(seen[espi_byte_at(0x8c000000u + i)]++, 0);
    for (block = 0; block < 64; block++)
        for (i = 0; i < 1024; i++)
            ck_assert_uint_eq(seen[espi_byte_at(0xcc000000u + (block << 12) + i)]++, 0);
    for (i = 0; i < sizeof none / sizeof *none; i++) {
        ck_assert_uint_eq(espi_byte_at(none[i]), ESPI_BYTES);
        ck_assert(!espi_types_known(&own_thread, (MPI_Datatype)none[i]));
    }
}
END_TEST

/* Most lives are left to the stub, the more so the more there were, and counted when it has begun them. */
START_TEST(left_to_stub)
{
    enum { PHASES = 4 };
    /* Of the sample are: all; one in 32; 64 times the logarithm of the quotient; one in 256. */
    const int end[PHASES] = {ESPI_SAMPLE_FIRST, 2048, 16384, 100000};
    const double expected[PHASES] = {64, 62, 64 * log(8), 327};
    uint64_t before, left = 0;
    MPI_Datatype type;
    int i, phase, seen;

    start(ESPI_MODE_AUTO);
    before = espi_class_sample_left();
    for (i = 0, phase = 0; phase < PHASES; phase++) {
        for (seen = 0; i < end[phase]; i++) {
            unsigned fresh = atomic_load(&espi_hot->fresh);
            if (fresh > 0) { /* the stub takes it */
                atomic_store(&espi_hot->fresh, fresh - 1);
                left++;
                continue;
            }
            type = regular(i % 50);
            espi_types_ending(espi_thread_state(&own_thread), type);
            MPI_Type_free(&type);
            seen++;
        }
        ck_assert_msg(seen >= 0.75 * expected[phase] && seen <= 1.25 * expected[phase], "phase %d: %d", phase, seen);
        ck_assert(phase > 0 || seen == ESPI_SAMPLE_FIRST);
    }
    ck_assert_uint_eq(espi_class_sample_left() - before, left);
    espi_types_stop();
    ck_assert_uint_eq(atomic_load(&espi_hot->fresh), 0);
    ck_assert_uint_eq(espi_class_sample_left() - before, left);
    start(ESPI_MODE_ALWAYS);
    ck_assert(!espi_types_fresh());
    espi_types_stop();
    ck_assert(!espi_types_fresh());
}
END_TEST

/* Switched off, types are left to the stub as soon as there is one; views of their elements are still to be had. */
START_TEST(left_when_off)
{
    const struct espi_elements *view;
    MPI_Datatype type, again;
    uint64_t before;

    start(ESPI_MODE_OFF);
    before = espi_class_sample_left();
    ck_assert(espi_types_fresh());
    ck_assert_uint_eq(atomic_load(&espi_hot->fresh), 0);
    type = regular(3);
    ck_assert_uint_ge(atomic_load(&espi_hot->fresh), 1u << 30);
    ck_assert_int_eq(espi_types_better(&own_thread, type, 1, true), type);
    MPI_Type_vector(5, 2, 7, MPI_INT, &again);
    MPI_Type_commit(&again);
    begun_by_stub(again, 2);
    atomic_fetch_sub(&espi_hot->fresh, 1);
    ck_assert_int_eq(espi_types_better(&own_thread, again, 1, true), again);
    view = espi_elements_of(again);
    ck_assert_ptr_nonnull(view);
    ck_assert_int_eq(view->base, MPI_INT);
    espi_types_ending(espi_thread_state(&own_thread), again);
    espi_types_ending(espi_thread_state(&own_thread), type);
    ck_assert_uint_eq(espi_class_sample_left() - before, 1);
    MPI_Type_free(&again);
    MPI_Type_free(&type);
    espi_types_stop();
    ck_assert_uint_eq(espi_class_sample_left() - before, 1);
}
END_TEST

/* Uses of a type that is settled, planned and best as it is, are granted like others, and counted as such. */
START_TEST(granted_when_settled)
{
    struct espi_stats_thread *stats;
    struct espi_type_slot *s;
    MPI_Datatype type;
    uint64_t settled;

    start(ESPI_MODE_AUTO);
    stats = espi_thread_state(&own_thread)->stats;
    type = regular(4);
    s = espi_slot_of(type);
    ck_assert_ptr_nonnull(s);
    atomic_store(&s->settled, true);
    atomic_store(&s->look, 100);
    ck_assert_ptr_null(espi_slot_quiet(type));
    espi_types_used(stats, type, s, 1);
    settled = atomic_load(&espi_handle_table_settled);
    for (int i = 0; i < 5; i++) {
        ck_assert_ptr_nonnull(espi_slot_quiet(type));
        espi_types_used_granted(stats, espi_slot_quiet(type));
    }
    ck_assert_uint_eq(atomic_load(&s->uses), 1);
    ck_assert_uint_eq(atomic_load(&espi_handle_table_settled), settled);
    ck_assert_ptr_eq(espi_slot_of(type), s);
    ck_assert_uint_eq(atomic_load(&s->uses), 6);
    ck_assert_uint_eq(atomic_load(&espi_handle_table_settled), settled + 5);
    espi_types_used(stats, type, s, 1);
    while (espi_slot_quiet(type) != NULL)
        espi_types_used_granted(stats, espi_slot_quiet(type));
    ck_assert_ptr_null(espi_types_quiet(type)); /* the hundredth is due */
    ck_assert_uint_eq(atomic_load(&s->uses), 99);
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    espi_types_stop();
}
END_TEST

/* The record of a layout has each use and each item once, also of those since the last look. */
START_TEST(recorded)
{
    enum { USES = 45, ITEMS = 3 };
    struct espi_stats_type *record;
    struct espi_plan *plan;
    MPI_Datatype type;
    int i;

    start(ESPI_MODE_ALWAYS);
    type = regular(1000);
    for (i = 0; i < USES; i++)
        ck_assert_int_ne(espi_types_better(&own_thread, type, ITEMS, true), type);
    plan = plan_of(type);
    ck_assert_ptr_nonnull(plan);
    record = plan->record;
    espi_plan_release(plan);
    MPI_Type_free(&type);
    ck_assert_uint_eq(atomic_load(&record->uses), USES);
    ck_assert_uint_eq(atomic_load(&record->elements), USES * ITEMS);
    ck_assert_uint_eq(atomic_load(&record->bytes), USES * ITEMS * 24 * sizeof(int));
    type = regular(1000); /* another life, with the same handle as a rule, counts from 0 */
    ck_assert_int_ne(espi_types_better(&own_thread, type, ITEMS, true), type);
    MPI_Type_free(&type);
    ck_assert_uint_eq(atomic_load(&record->uses), USES + 1);
    ck_assert_uint_eq(atomic_load(&record->elements), (USES + 1) * ITEMS);
    espi_types_stop();
}
END_TEST

/* Plans whose types are freed go when there are many of them, the oldest first; those in use stay. */
START_TEST(forgotten)
{
    MPI_Datatype used, type;
    struct espi_plan *plan;
    int i;

    start(ESPI_MODE_ALWAYS);
    used = regular(0);
    ck_assert_int_ne(espi_types_better(&own_thread, used, 1, true), used);
    for (i = 1; i < 200; i++) {
        type = regular(i);
        ck_assert_int_ne(espi_types_better(&own_thread, type, 1, true), type);
        MPI_Type_free(&type);
    }
    type = regular(1);
    ck_assert_ptr_null(plan_of(type));
    MPI_Type_free(&type);
    type = regular(199);
    plan = plan_of(type);
    ck_assert_ptr_nonnull(plan);
    espi_plan_release(plan);
    MPI_Type_free(&type);
    same_places(used, espi_types_better(&own_thread, used, 1, true));
    MPI_Type_free(&used);
    espi_types_stop();
}
END_TEST

/* A kind of types is told of each use once. */
START_TEST(told)
{
    struct espi_class_facts kind;
    uint64_t uses, bytes;
    MPI_Datatype type;
    int i;

    start(ESPI_MODE_AUTO);
    type = regular(2000);
    ck_assert(espi_class_of(type, &kind));
    for (i = 0; i < 40; i++)
        espi_types_better(&own_thread, type, 2, true);
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    espi_class_use(kind.key, 0, 0, 0, &uses, &bytes);
    ck_assert_uint_eq(uses, 40);
    ck_assert_uint_eq(bytes, 40 * 2 * 24 * sizeof(int));
    espi_types_stop();
}
END_TEST

/* The type that a call gets in the place of its `send` type. */
static MPI_Datatype substituted(enum espi_fn fn, const espi_word *args, int send)
{
    const struct espi_api_row *row = &espi_api_rows[fn];
    espi_word changed[ESPI_MAX_ARGS];
    struct espi_substitution d = {&own_thread, espi_thread_state(&own_thread), row, args, changed, {0}, 0, false};
    MPI_Datatype type;

    memcpy(changed, args, row->args * sizeof *args);
    espi_substitute_begin(&d);
    type = row->typed[0].shape == ESPI_SHAPE_W ? *(const MPI_Datatype *)changed[send] : (MPI_Datatype)changed[send];
    espi_substitute_end(&d, MPI_SUCCESS);
    return type;
}

/* MPI goes through a type as a whole where a rank gives itself data and the other side is dense, and in parts in
   messages and where neither side is. */
START_TEST(whole_or_parts)
{
    enum { MANY = 1000 };
    static char from[8], onto[8];
    int count = MANY, many = 24 * MANY, none = 0;
    MPI_Datatype type, whole, parts, dense = MPI_INT;
    struct espi_plan *plan;

    start(ESPI_MODE_ALWAYS);
    espi_comm_cache_start(true);
    type = regular(1000);
    whole = espi_types_better(&own_thread, type, MANY, true);
    plan = plan_of(type);
    ck_assert_ptr_nonnull(plan);
    MPI_Type_dup(whole, &parts);
    MPI_Datatype before = atomic_exchange(&plan->better[ESPI_PARTS], parts);

    const espi_word gather[8] = {(espi_word)from, MANY, type, (espi_word)onto, many, dense, 0, MPI_COMM_SELF};
    espi_word both[8];
    memcpy(both, gather, sizeof both);
    both[4] = MANY, both[5] = type;
    const espi_word scatter[8] = {(espi_word)from, MANY, type, (espi_word)MPI_IN_PLACE, many, dense, 0,
                                  MPI_COMM_SELF};
    const espi_word send[6] = {(espi_word)from, MANY, type, 0, 1, MPI_COMM_SELF};
    const espi_word exchange[12] = {(espi_word)from, MANY, type, 0, 1, (espi_word)onto, many, dense, 0, 1,
                                    MPI_COMM_SELF, (espi_word)MPI_STATUS_IGNORE};
    const espi_word each[9] = {(espi_word)from, (espi_word)&count, (espi_word)&none, (espi_word)&type,
                               (espi_word)onto, (espi_word)&many, (espi_word)&none, (espi_word)&dense, MPI_COMM_SELF};
    ck_assert_int_eq(substituted(ESPI_FN_Gather, gather, 2), whole);
    ck_assert_int_eq(substituted(ESPI_FN_Sendrecv, exchange, 2), whole);
    ck_assert_int_eq(substituted(ESPI_FN_Gather, both, 2), parts);
    ck_assert_int_eq(substituted(ESPI_FN_Scatter, scatter, 2), parts);
    ck_assert_int_eq(substituted(ESPI_FN_Send, send, 2), parts);
    ck_assert_int_eq(substituted(ESPI_FN_Alltoallw, each, 3), whole);

    atomic_store(&plan->better[ESPI_PARTS], before);
    espi_plan_release(plan);
    MPI_Type_free(&parts);
    MPI_Type_free(&type);
    espi_comm_cache_stop();
    espi_types_stop();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "types_uses", granted, begun_elsewhere, handles, left_to_stub, left_when_off,
                     granted_when_settled, recorded, forgotten, told, whole_or_parts);
}
