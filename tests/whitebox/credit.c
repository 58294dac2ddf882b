/*
 * Types of which the core does not see each use (handle_table.h; tests/preload/credit.c has the stub's side): credit
 * is given up to the next look, uses that were made of it are counted once, and what is known of a handle begins and
 * ends with its type, whoever sees it made, committed and freed. One process, calling what the core's handlers call.
 */
#include <check.h>
#include <mpi.h>
#include <stdatomic.h>
#include <string.h>

#include "clock.h"
#include "mpi/core/thread_state.h"
#include "mpi/datatype/element_view.h"
#include "mpi/entry/lifecycle.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "mpi/typeplan/unseen.h"
#include "suite.h"
#include "type_service.h"

/* What the stub does: takes so many uses of the credit, if it has them. */
static int on_credit(MPI_Datatype type, int uses)
{
    atomic_uchar *credit = espi_slot_credit(type);
    int made;

    for (made = 0; made < uses && atomic_load(credit) > 1 && atomic_load(credit) < ESPI_CREDIT_ENDED; made++)
        atomic_fetch_sub(credit, 1);
    return made;
}

/* Uses on credit are counted by whoever looks at the slot, the look is due at the same use as without, and credit
   ends with its type. */
START_TEST(credit)
{
    enum { EACH = 30 + 96 / 2, PRICE = 2500 + 40 * 26, LOOK = (PRICE - 1) / EACH + 1 };
    struct espi_stats_thread *stats;
    struct espi_type_slot *s;
    struct espi_type_class *class;
    MPI_Datatype type, old;
    int left;

    start(ESPI_MODE_AUTO);
    stats = espi_thread_state(&own_thread)->stats;
    old = type = regular_ints(1000);
    ck_assert_int_eq(on_credit(type, 1000), 1); /* the second use asks for its class */
    ck_assert_int_eq(espi_types_better(&own_thread, type, 1, true), type);
    s = espi_slot_of(type);
    class = espi_slot_class(s);
    ck_assert_ptr_nonnull(class);
    ck_assert_uint_eq(class->uses, 2);
    ck_assert_uint_eq(atomic_load(&s->look), LOOK - 2);
    ck_assert_uint_eq(atomic_load(&s->uses), 0);

    espi_types_used(stats, type, espi_types_quiet(type), 3);
    ck_assert_int_eq(on_credit(type, 5), 5);
    ck_assert_ptr_eq(espi_slot_of(type), s); /* what is left is taken back */
    ck_assert_uint_eq(atomic_load(&s->uses), 6);
    ck_assert_uint_eq(atomic_load(&s->items), 3 + 5);
    ck_assert_int_eq(on_credit(type, 1000), 0);
    espi_types_used(stats, type, espi_types_quiet(type), 1);
    left = on_credit(type, 1000);
    ck_assert_int_eq(left, LOOK - 2 - 7 - 1);
    ck_assert_ptr_null(espi_types_quiet(type)); /* due */
    ck_assert_uint_eq(atomic_load(&s->uses), LOOK - 3);
    uint64_t decoded = counted(ESPI_COUNT_types_decoded);
    espi_types_better(&own_thread, type, 1, true);
    ck_assert_uint_eq(class->uses, LOOK);
    ck_assert_uint_eq(class->items, LOOK + 2);
    ck_assert_uint_eq(counted(ESPI_COUNT_types_decoded) - decoded, 1);

    espi_types_used(stats, type, espi_types_quiet(type), 1);
    ck_assert_int_gt(on_credit(type, 2), 0);
    espi_types_ending(espi_thread_state(&own_thread), type);
    ck_assert_uint_eq(atomic_load(espi_slot_credit(old)), 0);
    ck_assert_uint_eq(class->uses, LOOK + 3);
    MPI_Type_free(&type);
    espi_types_stop();
}
END_TEST

/* What the stub is told of types of which a rank gives itself blocks: that such uses are to be seen until it is
   decided that MPI makes them, or for good where they are copied; and what is decided of calls with other ranks.
   Other uses go on credit. */
START_TEST(own_blocks)
{
    MPI_Datatype type;
    struct espi_type_slot *s;

    start(ESPI_MODE_AUTO);
    type = regular_ints(1001);
    const atomic_uchar *own = &espi_hot->types[espi_credit_at((uint32_t)type)].own;
    for (int i = 0; i < 2; i++)
        espi_types_better(&own_thread, type, 1, true);
    s = espi_slot_of(type);
    ck_assert_int_eq(atomic_load(own), 0);
    for (unsigned paired = 0; paired < 64; paired++) {
        const bool decided = paired & (ESPI_PAIRED_COPIED | ESPI_PAIRED_MESSAGE | ESPI_PAIRED_LEFT);
        const bool open = paired & (ESPI_PAIRED_SEEN | ESPI_PAIRED_TRIED), apart = paired & ESPI_PAIRED_APART;
        const bool copied = paired & (ESPI_PAIRED_COPIED | ESPI_PAIRED_MESSAGE);
        espi_slot_pair(s, type, paired);
        ck_assert_uint_eq(atomic_load(&s->paired), paired);
        ck_assert_int_eq((atomic_load(own) & ESPI_OWN_WATCHED) != 0, open || apart || copied);
        ck_assert_int_eq((atomic_load(own) & ESPI_OWN_SETTLED) != 0, decided && !open && !apart);
        espi_slot_lend(s, type);
        ck_assert_int_gt(on_credit(type, 1000), 0);
        espi_slot_of(type);
        atomic_store(&s->uses, 0);
    }
    espi_handle_table_lends = false; /* calls may overlap */
    espi_slot_lend(s, type);
    ck_assert_int_eq(on_credit(type, 1000), 0);
    espi_types_ending(espi_thread_state(&own_thread), type);
    ck_assert_int_eq(atomic_load(own), 0);
    MPI_Type_free(&type);
    espi_types_stop();
}
END_TEST

/* Blocks of several items on credit: they are counted with their uses, and not for another type of the handle. */
START_TEST(more_items)
{
    MPI_Datatype type;
    struct espi_type_slot *s;
    _Atomic uint32_t *more;

    start(ESPI_MODE_AUTO);
    type = regular_ints(1003);
    more = &espi_hot->types[espi_credit_at((uint32_t)type)].more;
    for (int i = 0; i < 2; i++)
        espi_types_better(&own_thread, type, 1, true);
    s = espi_slot_of(type);
    espi_slot_lend(s, type);
    ck_assert_int_eq(on_credit(type, 3), 3);
    atomic_store(more, 40);
    espi_slot_of(type);
    ck_assert_uint_eq(atomic_load(&s->uses), 3);
    ck_assert_uint_eq(atomic_load(&s->items), 43);
    ck_assert_uint_eq(atomic_load(more), 0);
    espi_types_ending(espi_thread_state(&own_thread), type);
    atomic_store(more, 7); /* of a type that passed unseen */
    espi_types_committed(espi_thread_state(&own_thread), type);
    ck_assert_uint_eq(atomic_load(more), 0);
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    espi_types_stop();
}
END_TEST

/* A type is known from its commit on, by how it was made; committed once more it stays what it is. */
START_TEST(made)
{
    start(ESPI_MODE_AUTO);
    for (int again = 0; again < 2; again++) {
        MPI_Datatype type;
        const espi_word args[5] = {5, 2, 7, MPI_INT, (espi_word)&type};
        uint64_t registered = counted(ESPI_COUNT_types_registered);

        MPI_Type_vector(5, 2, 7, MPI_INT, &type);
        note_made(ESPI_FN_Type_vector, args);
        ck_assert(espi_slot_of(type) == NULL && !espi_types_known(&own_thread, type));
        ck_assert_int_eq(on_credit(type, 1), 0);
        ck_assert_int_eq(espi_types_better(&own_thread, type, 1, true), type);
        MPI_Type_commit(&type);
        espi_types_committed(espi_thread_state(&own_thread), type);
        ck_assert_uint_eq(counted(ESPI_COUNT_types_registered) - registered, 1);
        struct espi_type_slot *s = espi_slot_of(type);
        ck_assert_ptr_nonnull(s);
        ck_assert(espi_slot_class(s) != NULL || espi_slot_hint(s) != 0);
        unsigned generation = atomic_load(&s->generation);
        espi_types_better(&own_thread, type, 1, true);
        espi_types_committed(espi_thread_state(&own_thread), type); /* once more */
        ck_assert_uint_eq(counted(ESPI_COUNT_types_registered) - registered, 1);
        ck_assert_uint_eq(atomic_load(&s->uses) + s->made, 1);
        ck_assert_uint_eq(atomic_load(&s->generation), generation);
        espi_types_ending(espi_thread_state(&own_thread), type);
        ck_assert(!espi_types_known(&own_thread, type) && espi_slot_of_any(type) == NULL);
        MPI_Type_free(&type);
    }
    espi_types_stop();
}
END_TEST

/* A type with credit is freed by the stub; what it was used is counted when its handle is another's, and its end
   once, whether or not something is tied to it. */
START_TEST(freed_by_stub)
{
    for (int tied = 0; tied < 2; tied++) {
        MPI_Datatype type, handle;
        start(ESPI_MODE_AUTO);
        type = handle = regular_ints(5000);
        for (int i = 0; i < 3; i++)
            espi_types_better(&own_thread, type, 1, true);
        struct espi_type_class *class = espi_slot_class(espi_slot_of(type));
        if (tied)
            ck_assert_ptr_nonnull(espi_elements_of(type));
        espi_types_used(espi_thread_state(&own_thread)->stats, type, espi_types_quiet(type), 1);
        ck_assert_int_eq(on_credit(type, 6), 6);
        uint64_t ended = counted(ESPI_COUNT_types_ended);
        atomic_fetch_add(espi_slot_credit(type), ESPI_CREDIT_ENDED); /* the stub, which counts the end itself */
        ck_assert(!espi_types_known(&own_thread, type) && on_credit(type, 1) == 0);
        ck_assert_int_eq(espi_types_better(&own_thread, type, 1, true), type);
        MPI_Type_free(&type);
        ck_assert_uint_eq(counted(ESPI_COUNT_types_ended), ended);
        ck_assert_uint_eq(class->alive, !tied); /* MPI has told of the end of what something is tied to */
        espi_types_committed(espi_thread_state(&own_thread), handle); /* another type */
        ck_assert(class->alive == 0 && class->uses == 3 + 1 + 6 && class->ended == 1);
        ck_assert_uint_eq(counted(ESPI_COUNT_types_ended), ended);
        espi_types_stop();
    }
}
END_TEST

/* A type that was freed where nobody saw it, and whose handle is another's now, is forgotten with all it had. */
START_TEST(freed_unseen)
{
    MPI_Datatype type, first, better;
    const espi_word args[5] = {5, 2, 7, MPI_INT, (espi_word)&type};
    struct espi_type_class *class;
    unsigned generation;

    start(ESPI_MODE_ALWAYS);
    first = type = regular_ints(3000);
    better = espi_types_better(&own_thread, type, 1, true);
    ck_assert_int_ne(better, type);
    generation = atomic_load(&espi_slot_of(type)->generation);
    class = espi_slot_class(espi_slot_of(type));
    note_made(ESPI_FN_Type_vector, args); /* as if it were */
    ck_assert_int_eq(espi_types_better(&own_thread, type, 1, true), type); /* not committed */
    espi_types_committed(espi_thread_state(&own_thread), type);
    ck_assert_ptr_null(atomic_load(&espi_slot_of_any(first)->plan));
    ck_assert_uint_ne(atomic_load(&espi_slot_of_any(first)->generation), generation);
    ck_assert(espi_slot_class(espi_slot_of_any(first)) != class && class->ended == 1);
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    espi_types_stop();
}
END_TEST

/* After so many types that were not worth a look, types pass unseen, unless they are still there; with the first use
   that the core sees of one it is known, and planned like others. */
START_TEST(unseen)
{
    static MPI_Datatype stay[300];
    MPI_Datatype type;

    start(ESPI_MODE_AUTO);
    for (int i = 0; i < 300; i++)
        stay[i] = regular_ints(10000 + i);
    ck_assert_int_eq(atomic_load(&espi_hot->unseen), 0);
    for (int i = 0; i < 300; i++) {
        espi_types_ending(espi_thread_state(&own_thread), stay[i]);
        MPI_Type_free(&stay[i]);
    }
    espi_unseen_reset();
    for (int passes = 1024, again = 0; again < 6; again++) {
        for (int i = 0; i < 128; i++) {
            ck_assert_int_eq(atomic_load(&espi_hot->unseen), 0);
            type = regular_ints(20000 + 200 * again + i);
            espi_types_ending(espi_thread_state(&own_thread), type);
            MPI_Type_free(&type);
        }
        ck_assert_int_eq(atomic_load(&espi_hot->unseen), passes);
        atomic_store(&espi_hot->unseen, 0);
        passes = passes < 8192 ? 2 * passes : passes;
    }

    uint64_t registered = counted(ESPI_COUNT_types_registered), ended = counted(ESPI_COUNT_types_ended);
    for (int wakes = 0; wakes < 2; wakes++) {
        type = irregular(20000, 5);
        atomic_store(&espi_hot->types[espi_credit_at((uint32_t)type)].hint, 0);
        atomic_store(&espi_hot->unseen, 1);
        espi_types_committed(espi_thread_state(&own_thread), type); /* where the stub can not do it */
        ck_assert_int_eq(atomic_load(&espi_hot->unseen), 0);
        ck_assert_ptr_null(espi_slot_of_any(type));
        ck_assert(espi_types_known(&own_thread, type));
        ck_assert_int_eq(on_credit(type, 1000), ESPI_CREDIT_MOST);
        MPI_Datatype better = type;
        for (int i = 0; wakes && i < 10 && better == type; i++)
            better = espi_types_better(&own_thread, type, 1, false);
        ck_assert_int_eq(better != type, wakes);
        ck_assert_int_eq(espi_slot_of(type) != NULL, wakes);
        espi_types_ending(espi_thread_state(&own_thread), type);
        ck_assert(!espi_types_known(&own_thread, type) && on_credit(type, 1) == 0);
        MPI_Type_free(&type);
    }
    ck_assert_uint_eq(counted(ESPI_COUNT_types_registered) - registered, 2);
    ck_assert_uint_eq(counted(ESPI_COUNT_types_ended) - ended, 2);

    for (int i = 0; i < 300; i++) { /* one in a hundred is worth it: no type passes */
        type = i % 100 == 0 ? irregular(20000, 5) : regular_ints(30000 + i);
        if (i % 100 == 0)
            espi_types_committed(espi_thread_state(&own_thread), type);
        for (int k = 0; k < 10 && i % 100 == 0; k++)
            espi_types_better(&own_thread, type, 1, false);
        espi_types_ending(espi_thread_state(&own_thread), type);
        MPI_Type_free(&type);
        ck_assert_int_eq(atomic_load(&espi_hot->unseen), 0);
    }
    espi_types_stop();
}
END_TEST

/* Each handle that a datatype of MPICH's may have, up to the 65,536th, has credit of its own; others have none, and
   pair types are never given any. */
START_TEST(handles)
{
    const uint32_t none[] = {0, MPI_DATATYPE_NULL, MPI_INT, MPI_COMM_WORLD, 0x8bffffffu, 0x8c000040u, 0x90000001u,
                             0xcbffffffu, 0xcc040000u, 0xd0000001u, 0x84000001u, UINT32_MAX};
    static unsigned char seen[ESPI_CREDITS];
    uint32_t i, block;

    for (i = 0; i < 8; i++)
        ck_assert_uint_eq(seen[espi_credit_at(0x8c000000u + i)]++, 0);
    for (block = 0; block < 64; block++)
        for (i = 0; i < 1024; i++)
            ck_assert_uint_eq(seen[espi_credit_at(0xcc000000u + (block << 12) + i)]++, 0);
    for (i = 0; i < sizeof none / sizeof *none; i++) {
        ck_assert_uint_eq(espi_credit_at(none[i]), ESPI_CREDITS);
        ck_assert(!espi_types_known(&own_thread, (MPI_Datatype)none[i]));
    }
    start(ESPI_MODE_AUTO);
    for (i = 0; i <= ESPI_PAIR_TYPES; i++) /* pair types are no types of the program's, and never get any */
        ck_assert_uint_eq(atomic_load(&espi_hot->types[espi_credit_at(0x8c000000u + i)].credit), 0);
    espi_types_stop();
}
END_TEST

/* Switched off, types have all the credit there may be; views of their elements are still to be had. */
START_TEST(off)
{
    const struct espi_elements *view;
    MPI_Datatype type;

    start(ESPI_MODE_OFF);
    type = regular_ints(3);
    ck_assert_int_eq(on_credit(type, 1000), ESPI_CREDIT_MOST);
    espi_types_used(espi_thread_state(&own_thread)->stats, type, espi_types_quiet(type), 1);
    ck_assert_int_eq(on_credit(type, 1000), ESPI_CREDIT_MOST);
    ck_assert_int_eq(espi_types_better(&own_thread, type, 1, true), type);
    ck_assert_ptr_null(espi_slot_class(espi_slot_of(type)));
    view = espi_elements_of(type);
    ck_assert_ptr_nonnull(view);
    ck_assert_int_eq(view->base, MPI_INT);
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    espi_types_stop();
    ck_assert_uint_eq(atomic_load(&espi_hot->types[espi_credit_at(0x8c000005u)].credit), 0);
}
END_TEST

/* What is known of types that outlive the service does not survive its next start. */
START_TEST(forgotten_at_start)
{
    const uint32_t far = espi_credit_at(0xcc000000u + (63 << 12) + 1023);
    MPI_Datatype type, later;

    memset(espi_hot->committed_in, 0, sizeof espi_hot->committed_in);
    start(ESPI_MODE_OFF);
    type = regular_ints(3);
    espi_passes_unseen_at(espi_hot, far);
    espi_types_stop();
    ck_assert(!espi_types_known(&own_thread, type));
    MPI_Type_vector(5, 2, 7, MPI_INT, &later);
    atomic_store(espi_slot_credit(later), ESPI_CREDIT_ENDED + 9); /* left over */
    start(ESPI_MODE_AUTO);
    ck_assert_uint_eq(atomic_load(espi_slot_credit(type)), 0);
    ck_assert_uint_eq(atomic_load(espi_slot_credit(later)), 0);
    ck_assert_uint_eq(atomic_load(&espi_hot->types[far].credit), 0);
    atomic_store(&espi_hot->types[far].hint, 0);
    espi_types_stop();
    MPI_Type_free(&later);
    MPI_Type_free(&type);
}
END_TEST

/* Uses of a type that is settled, as it is best as it is or cannot be planned, are on credit like others, and counted
   as such. */
static void settled_so(enum espi_settled kind, enum espi_counter counter)
{
    const enum espi_settled other = kind == ESPI_SETTLED_BEST ? ESPI_SETTLED_UNPLANNED : ESPI_SETTLED_BEST;
    struct espi_stats_thread *stats;
    struct espi_type_slot *s;
    MPI_Datatype type;
    uint64_t before, others, counts[2][ESPI_COUNTER_COUNT] = {0}, calls[ESPI_FN_COUNT] = {0};

    start(ESPI_MODE_AUTO);
    stats = espi_thread_state(&own_thread)->stats;
    type = regular_ints(4);
    s = espi_slot_of(type);
    ck_assert_ptr_nonnull(s);
    atomic_store(&s->settled, (unsigned char)kind);
    atomic_store(&s->look, 100);
    ck_assert_int_eq(on_credit(type, 1), 0);
    espi_types_used(stats, type, s, 1);
    before = atomic_load(&espi_handle_table_settled[kind]);
    others = atomic_load(&espi_handle_table_settled[other]);
    espi_stub_counts(counts[0], calls);
    ck_assert_int_eq(on_credit(type, 5), 5);
    ck_assert_uint_eq(atomic_load(&s->uses), 1);
    ck_assert_uint_eq(atomic_load(&espi_handle_table_settled[kind]), before);
    ck_assert_ptr_eq(espi_slot_of(type), s);
    ck_assert_uint_eq(atomic_load(&s->uses), 6);
    ck_assert_uint_eq(atomic_load(&espi_handle_table_settled[kind]), before + 5);
    ck_assert_uint_eq(atomic_load(&espi_handle_table_settled[other]), others);
    espi_stub_counts(counts[1], calls);
    ck_assert_uint_eq(counts[1][counter] - counts[0][counter], 5);
    ck_assert_uint_eq(counts[0][ESPI_COUNT_left_not_earned] - counts[1][ESPI_COUNT_left_not_earned], 5);
    ck_assert_int_eq(espi_types_left_why(s), counter);
    espi_types_used(stats, type, s, 1);
    ck_assert_int_eq(on_credit(type, 1000), 99 - 7);
    ck_assert_ptr_null(espi_types_quiet(type)); /* the hundredth is due */
    ck_assert_uint_eq(atomic_load(&s->uses), 99);
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
    espi_types_stop();
}

START_TEST(settled)
{
    settled_so(ESPI_SETTLED_BEST, ESPI_COUNT_left_not_better);
    settled_so(ESPI_SETTLED_UNPLANNED, ESPI_COUNT_left_unplanned);
}
END_TEST

/* Of messages to oneself on a program's first communicators, of whichever kind, none is taken for one on another. */
START_TEST(self_sends_apart)
{
    static const uint32_t first[] = {0x44000000, 0x84000000, 0xc4000000};
    enum { EACH = 8, RANKS = 97 };
    static unsigned char seen[1 << ESPI_PENDING_BITS];

    for (int kind = 0; kind < 3; kind++)
        for (uint32_t number = 0; number < (kind == 0 ? 2 : EACH); number++)
            for (int rank = 0; rank < RANKS; rank++)
                ck_assert_uint_eq(seen[espi_self_sends_at(first[kind] + number, rank)]++, 0);
    ck_assert_uint_lt(espi_self_sends_at(0xffffffffu, -2), 1u << ESPI_PENDING_BITS);
}
END_TEST

int main(int argc, char **argv)
{
    test_clock_stands(); /* so that the model has its usual constants */
    return TYPES_RUN(argc, argv, "credit", credit, own_blocks, more_items, made, freed_by_stub, freed_unseen, unseen,
                     handles, off, forgotten_at_start, settled, self_sends_apart);
}
