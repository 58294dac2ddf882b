/*
 * The table of classes of types (src/mpi/typeplan/type_class.h): who keeps a place and who makes room; what MPI is
 * asked for; and which class a type gets in the service. type_class.c has the hints by which classes are found.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>
#include <sys/resource.h>

#include "mpi/core/thread_state.h"
#include "mpi/typeplan/type_cache.h"
#include "mpi/typeplan/type_class.h"
#include "random_types.h"
#include "suite.h"
#include "type_service.h"

/* Hints that may stand in the same places. */
static uint64_t placed(uint64_t salt)
{
    return UINT64_C(3) << 8 | salt << 40 | 1;
}

/* A class stays as long as a type belongs to it, and after that until its place is wanted: that used least goes. */
START_TEST(kept_while_used)
{
    struct espi_type_class *c[100], *more;
    uint64_t n = 0;

    espi_classes_reset();
    while ((c[n] = espi_class_enter(placed(n))) != NULL) {
        ck_assert(c[n]->hint == placed(n) && c[n]->alive == 1 && c[n]->size == -1 && c[n]->state == ESPI_CLASS_NEW);
        ck_assert_ptr_eq(espi_class_enter(placed(n)), c[n]);
        ck_assert_uint_eq(c[n]->alive, 2);
        espi_class_leave(c[n]);
        for (uint64_t k = 0; k < n; k++)
            ck_assert_ptr_ne(c[k], c[n]);
        ck_assert_uint_lt(++n, 100);
    }
    ck_assert_uint_ge(n, 2);
    for (uint64_t k = 0; k < n; k++) {
        ck_assert_uint_eq(c[k]->hint, placed(k));
        c[k]->uses = 10 + (k + 2) % n;
        c[k]->state = ESPI_CLASS_BETTER;
    }
    espi_class_leave(c[0]);
    ck_assert_uint_eq(c[0]->alive, 0);
    ck_assert_ptr_eq(espi_class_enter(placed(0)), c[0]); /* nobody wanted its place */
    ck_assert(c[0]->alive == 1 && c[0]->uses >= 10 && c[0]->state == ESPI_CLASS_BETTER);
    for (uint64_t k = 0; k < n; k++)
        espi_class_leave(c[k]);
    for (uint64_t uses = 10; uses < 10 + n; uses++) {
        uint64_t k = 0;
        while (c[k]->uses != uses || c[k]->hint != placed(k))
            ck_assert_uint_lt(++k, n);
        more = espi_class_enter(placed(1000 + k));
        ck_assert_ptr_eq(more, c[k]);
        ck_assert(more->uses == 0 && more->state == ESPI_CLASS_NEW && more->ended == 0 && more->alive == 1);
    }
    ck_assert_ptr_null(espi_class_enter(placed(0))); /* all have types again */
    espi_classes_reset();
    ck_assert_uint_eq(espi_class_enter(placed(1000))->uses, 0);
    espi_classes_reset();
}
END_TEST

/* A hint is known when it comes again, soon enough; one that never came is not. */
START_TEST(seen_before)
{
    int known = 0;

    espi_classes_reset();
    for (int i = 0; i < 1000; i++) {
        uint64_t hint = (uint64_t)i * 0x9e3779b97f4a7c15u | 1;
        ck_assert(!espi_class_seen(hint));
        ck_assert(espi_class_seen(hint) && espi_class_seen(hint));
    }
    for (int i = 0; i < 1000; i++)
        known += espi_class_seen((uint64_t)i * 0x9e3779b97f4a7c15u | 1);
    ck_assert_int_gt(known, 300);
    espi_classes_reset();
    ck_assert(!espi_class_seen(0x9e3779b97f4a7c15u | 1));
    espi_classes_reset();
}
END_TEST

/* At random: a class that a type belongs to stays what it is. */
START_TEST(random_table)
{
    enum { TYPES = 6000, ROUNDS = 300000 };
    static struct espi_type_class *class[TYPES];
    static uint64_t of[TYPES];
    int full = 0;

    espi_classes_reset();
    memset(class, 0, sizeof class);
    for (int i = 0; i < ROUNDS; i++) {
        int t = (int)random_below(TYPES);
        if (class[t] != NULL) {
            ck_assert_uint_eq(class[t]->hint, of[t]);
            ck_assert_uint_gt(class[t]->alive, 0);
            espi_class_leave(class[t]);
            class[t] = NULL;
            continue;
        }
        of[t] = random_below(UINT64_MAX) * 0x9e3779b97f4a7c15u | 1;
        if (random_below(2) == 0)
            of[t] = random_below(500) * 0x9e3779b97f4a7c15u | 1;
        class[t] = espi_class_enter(of[t]);
        full += class[t] == NULL;
    }
    ck_assert_int_lt(full, ROUNDS / 4);
    for (int t = 0; t < TYPES; t++)
        if (class[t] != NULL)
            espi_class_leave(class[t]);
    espi_classes_reset();
}
END_TEST

/* Classes stand side by side, and so do their places as long as they are few: a hundred do not touch a hundred pages,
   and what was forgotten is used again. First of all tests, as only the first touch of a page counts. */
START_TEST(few_pages)
{
    enum { FEW = 100, CLASSES = 6000 };
    static struct espi_type_class *c[CLASSES];
    struct rusage before, few, all;

    for (int life = 0; life < 2; life++) {
        const struct espi_type_class *first = c[0];
        espi_classes_reset();
        getrusage(RUSAGE_SELF, &before);
        for (uint64_t i = 0; i < CLASSES; i++) {
            c[i] = espi_class_enter((i + 1) * 0x9e3779b97f4a7c15u | 1);
            ck_assert_ptr_nonnull(c[i]);
            if (i + 1 == FEW)
                getrusage(RUSAGE_SELF, &few);
        }
        getrusage(RUSAGE_SELF, &all);
        ck_assert(life == 0 || first == c[0]);
        ck_assert_int_eq(c[CLASSES - 1] - c[0], CLASSES - 1);
        ck_assert_int_le(few.ru_minflt - before.ru_minflt, FEW * (long)sizeof *c[0] / 4096 + 8);
        ck_assert_int_lt(all.ru_minflt - before.ru_minflt, CLASSES / 10);
        /* There are more places by now, and each hint leads to its own. */
        for (uint64_t i = 0; i < CLASSES; i++) {
            ck_assert_ptr_eq(espi_class_enter((i + 1) * 0x9e3779b97f4a7c15u | 1), c[i]);
            ck_assert_uint_eq(c[i]->alive, 2);
        }
    }
    espi_classes_reset();
}
END_TEST

/* ---- what MPI is asked for ---- */

/* Types without gaps are known as such: what looks like one and has gaps is not dense, and of another hint. */
START_TEST(asked)
{
    static const struct {
        MPI_Aint true_extent, lb, extent;
        bool dense;
    } of[] = {{16, 0, 16, true}, {24, 0, 24, false}, {24, 0, 16, false}, {16, 0, 24, false}, {32, 0, 24, false},
              {16, 0, 0, false}, {16, 8, 16, true}};
    uint64_t hints[sizeof of / sizeof *of];

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        MPI_Aint at[2] = {0, of[i].true_extent - 8};
        struct espi_type_class class = {.hint = 1, .size = -1};
        MPI_Datatype pair, type;

        MPI_Type_create_hindexed_block(2, 1, at, MPI_DOUBLE, &pair);
        ck_assert(espi_class_ask(&class, pair));
        ck_assert(class.size == 16 && class.numbers == 4);
        MPI_Type_create_resized(pair, of[i].lb, of[i].extent, &type);
        ck_assert(espi_class_ask(&class, type));
        ck_assert_msg(class.size == 16 && class.dense == of[i].dense && class.numbers == 2, "type %zu", i);
        hints[i] = espi_class_hint_asked(type);
        ck_assert(hints[i] != 0 && hints[i] == espi_class_hint_asked(type));
        for (size_t k = 0; k < i; k++)
            ck_assert(hints[i] != hints[k]);
        MPI_Type_free(&pair);
        MPI_Type_free(&type);
    }
}
END_TEST

/* ---- in the service ---- */

static struct espi_type_class *class_of(MPI_Datatype type)
{
    return espi_slot_class(espi_slot_of_any(type));
}

static MPI_Datatype vector_of(MPI_Datatype child, int count, bool told)
{
    MPI_Datatype type;
    const espi_word args[5] = {count, 1, 3, child, (espi_word)&type};

    MPI_Type_vector(count, 1, 3, child, &type);
    if (told)
        note_made(ESPI_FN_Type_vector, args);
    MPI_Type_commit(&type);
    espi_types_committed(espi_thread_state(&own_thread), type);
    return type;
}

static void end(MPI_Datatype type)
{
    espi_types_ending(espi_thread_state(&own_thread), type);
    MPI_Type_free(&type);
}

/* What is made a second time in the same way has a class from its making on; what is made once, or was not seen made,
   from its second use on. All share it, and so do duplicates. */
START_TEST(in_service)
{
    MPI_Datatype inner[3], outer[3], dup, unseen;
    struct espi_type_class *class;

    start(ESPI_MODE_AUTO);
    for (int i = 0; i < 3; i++) {
        inner[i] = vector_of(MPI_DOUBLE, 5, true);
        outer[i] = vector_of(inner[i], 7, true);
    }
    ck_assert(class_of(outer[0]) == NULL && class_of(inner[0]) == NULL);
    class = class_of(outer[1]);
    ck_assert(class != NULL && class != class_of(inner[1]) && class == class_of(outer[2]));
    ck_assert_ptr_eq(class_of(inner[1]), class_of(inner[2]));
    ck_assert_uint_eq(class->alive, 2);
    for (int i = 0; i < 2; i++)
        espi_types_better(&own_thread, outer[0], 1, true);
    ck_assert_ptr_eq(class_of(outer[0]), class);
    ck_assert_uint_eq(class->uses, 2);
    MPI_Type_dup(outer[0], &dup);
    espi_types_duped(espi_thread_state(&own_thread), outer[0], dup);
    ck_assert_ptr_eq(class_of(dup), class);
    ck_assert_uint_eq(class->alive, 4);
    end(dup);
    end(outer[1]);
    ck_assert_uint_eq(class->alive, 2);
    ck_assert_uint_eq(class->ended, 2);

    class = NULL;
    for (int i = 0; i < 3; i++) {
        unseen = vector_of(MPI_DOUBLE, 6, false);
        MPI_Datatype of_unseen = vector_of(unseen, 2, true);
        ck_assert(class_of(unseen) == NULL && class_of(of_unseen) == NULL);
        espi_types_better(&own_thread, unseen, 1, true);
        ck_assert_ptr_null(class_of(unseen));
        espi_types_better(&own_thread, unseen, 1, true);
        ck_assert(class_of(unseen) != NULL && class_of(unseen)->size == 48);
        ck_assert(class == NULL || class_of(unseen) == class);
        class = class_of(unseen);
        end(of_unseen);
        end(unseen);
    }
    end(outer[0]);
    end(outer[2]);
    for (int i = 0; i < 3; i++)
        end(inner[i]);
    espi_types_stop();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "class_table", few_pages, kept_while_used, seen_before, random_table, asked,
                     in_service);
}
