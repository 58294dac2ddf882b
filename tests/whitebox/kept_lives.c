/*
 * What the stub does by itself with types that are kept (wrappers/kept.h): knows the call again that made one, gives
 * it to the program, commits it, and takes it back. Whether programs see a difference is for tests/mpi/kept.c.
 */
#include <check.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "kept.h"
#include "mpi/typeplan/kept_types.h"
#include "suite.h"

enum { ARGS = 4, NUMBER = 7, HANDLE = 0x8c000006 };

/* The constructors without arrays; their arguments: i an int, a one of eight bytes, t a type. */
static const struct made_by {
    enum espi_fn fn;
    const char *args;
} constructors[] = {{ESPI_FN_Type_contiguous, "it"},
                    {ESPI_FN_Type_vector, "iiit"},
                    {ESPI_FN_Type_create_hvector, "iiat"},
                    {ESPI_FN_Type_hvector, "iiat"},
                    {ESPI_FN_Type_create_resized, "taa"}};
enum { CONSTRUCTORS = sizeof constructors / sizeof *constructors };

static struct espi_hot hot;

static bool is_same(const struct made_by *one, const espi_word *a, const struct made_by *other, const espi_word *b)
{
    uint64_t key[2][ESPI_KEPT_WORDS] = {{1, 2, 3}, {4, 5, 6}};

    ck_assert(espi_kept_key(one->fn, a, key[0]));
    ck_assert(espi_kept_key(other->fn, b, key[1]));
    const bool same = one->fn == other->fn && memcmp(key[0], key[1], sizeof key[0]) == 0;
    if (same)
        ck_assert_uint_eq(espi_kept_hash(one->fn, key[0]), espi_kept_hash(other->fn, key[1]));
    return same;
}

static int64_t random_word(void)
{
    return (int64_t)((uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random());
}

/* Each argument tells, in all of its bits, and in no others. */
START_TEST(keys)
{
    for (int round = 0; round < 1000; round++)
        for (int c = 0; c < CONSTRUCTORS; c++) {
            espi_word args[ARGS], other[ARGS];
            for (int i = 0; i < ARGS; i++)
                args[i] = other[i] = random_word();
            ck_assert(is_same(&constructors[c], args, &constructors[c], other));
            for (int i = 0; constructors[c].args[i] != '\0'; i++) {
                const bool is_long = constructors[c].args[i] == 'a';
                for (int bit = 0; bit < 64; bit++) {
                    other[i] = (espi_word)((uint64_t)args[i] ^ UINT64_C(1) << bit);
                    ck_assert_int_eq(is_same(&constructors[c], args, &constructors[c], other), !is_long && bit >= 32);
                }
                other[i] = args[i];
            }
        }
}
END_TEST

/* No other constructor has one, as these have arrays, or counts of eight bytes. */
START_TEST(no_keys)
{
    const espi_word args[ESPI_MAX_ARGS] = {0};
    int with = 0;

    for (int fn = 0; fn < ESPI_FN_COUNT; fn++) {
        uint64_t key[ESPI_KEPT_WORDS];
        with += espi_kept_key((enum espi_fn)fn, args, key);
    }
    ck_assert_int_eq(with, CONSTRUCTORS);
}
END_TEST

/* Keys of calls as programs make them spread over the places. */
START_TEST(places)
{
    enum { COUNTS = 8, LENGTHS = 4, STRIDES = 3 };
    unsigned char *seen[COUNTS * LENGTHS * STRIDES];
    int n = 0, alike = 0;

    for (int count = 1; count <= COUNTS; count++)
        for (int length = 1; length <= LENGTHS; length++)
            for (int stride = 0; stride < STRIDES; stride++, n++) {
                const espi_word args[ARGS] = {count, length, 100 << stride, MPI_DOUBLE};
                uint64_t key[ESPI_KEPT_WORDS];
                ck_assert(espi_kept_key(ESPI_FN_Type_vector, args, key));
                seen[n] = espi_kept_place(&hot, espi_kept_hash(ESPI_FN_Type_vector, key));
                ck_assert(seen[n] >= hot.kept_places && seen[n] < hot.kept_places + ESPI_KEPT_PLACES);
                for (int i = 0; i < n; i++)
                    alike += seen[i] == seen[n];
            }
    ck_assert_int_lt(alike, n / 8); /* of 96 in 2,048 places, two pairs are to be expected */
}
END_TEST

static uint64_t tagged(uint64_t place, uint64_t tag)
{
    return place << 16 | tag << 50;
}

/* The fourth time of a hash is often, whatever came in between at other places, or thrice at this one; not after four
   others have come there. */
START_TEST(often)
{
    static uint64_t counts[ESPI_KEPT_COUNTS];

    for (unsigned times = 2; times <= 4; times++)
        for (uint64_t tag = 0; tag < 4; tag++)
            for (unsigned time = 1; time <= 6; time++) {
                const uint64_t hash = tagged(5, times * 100 + tag);
                ck_assert_int_eq(espi_kept_is_often(counts, hash, times), time >= times);
                espi_kept_is_often(counts, tagged(9, (uint64_t)random()), 4);
                for (uint64_t before = 0; time >= times && before < tag; before++)
                    ck_assert(espi_kept_is_often(counts, tagged(5, times * 100 + before), times));
            }
    for (uint64_t tag = 0; tag < 4; tag++)
        ck_assert(!espi_kept_is_often(counts, tagged(5, 900 + tag), 2));
    ck_assert(!espi_kept_is_often(counts, tagged(5, 400), 2));
    ck_assert(espi_kept_is_often(counts, tagged(5, 903), 2));
    ck_assert(!espi_kept_is_often(counts, tagged(5, 900), 2)); /* that 400 has displaced */
}
END_TEST

/* Pages of half a microsecond, or of no known price, are paid by 400 lives, those of some virtual machines by more;
   but not by any number. */
START_TEST(room)
{
    const struct {
        int64_t page_ns;
        int lives;
    } of[] = {{0, 400}, {500, 400}, {546, 400}, {600, 440}, {10000, 7333}, {22000, 16133}, {23000, 16384},
              {INT64_MAX, 16384}};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        ck_assert_int_eq(espi_kept_worth(of[i].page_ns), of[i].lives);
    ck_assert_int_ge(espi_page_ns(), 0);
}
END_TEST

static struct espi_kept_type *one_live(unsigned char credit)
{
    const uint32_t at = espi_credit_at((uint32_t)HANDLE);
    struct espi_kept_type *e = &hot.kept_types[NUMBER - 1];

    hot = (struct espi_hot){0};
    *e = (struct espi_kept_type){.hint = 0x1235, .type = (uint32_t)HANDLE, .saved_ns = 150, .state = ESPI_KEPT_LIVE};
    hot.types[at].kept = NUMBER;
    atomic_store(&hot.types[at].hint, e->hint);
    atomic_store(&hot.types[at].credit, credit);
    return e;
}

/* A type that has three uses on credit has them in its next life, once the program has committed it, not before. */
START_TEST(lives)
{
    struct espi_kept_type *e = one_live(1 + 3);
    const uint32_t at = espi_credit_at((uint32_t)HANDLE);
    uint32_t handle = (uint32_t)HANDLE;

    for (unsigned life = 1; life <= 3; life++) {
        ck_assert(espi_kept_take(&hot, &handle));
        ck_assert_int_eq((MPI_Datatype)handle, MPI_DATATYPE_NULL);
        ck_assert_int_eq(e->state, ESPI_KEPT_FREED);
        ck_assert_int_eq(hot.types[at].credit, ESPI_CREDIT_ENDED + 1 + 3);
        ck_assert_int_eq(hot.types[at].hint, ESPI_HINT_KEPT);
        ck_assert_int_eq(hot.kept, 1);
        ck_assert_int_eq(hot.frees, life);
        handle = (uint32_t)HANDLE;
        ck_assert(!espi_kept_take(&hot, &handle)); /* by a copy of the handle */
        ck_assert(!espi_kept_commit(&hot, handle));

        ck_assert_int_eq(espi_kept_give(&hot, e), HANDLE);
        ck_assert_int_eq(e->state, ESPI_KEPT_LIVE);
        ck_assert_int_eq(hot.types[at].credit, ESPI_CREDIT_ENDED + 1 + 3);
        ck_assert_int_eq(hot.types[at].hint, e->hint);
        ck_assert_int_eq(hot.kept, 0);
        ck_assert_int_eq(hot.kept_given, 1);
        ck_assert_int_eq(hot.kept_again, life);
        ck_assert_int_eq(hot.kept_saved, 150 * life);

        ck_assert(espi_kept_commit(&hot, handle));
        ck_assert(!espi_kept_commit(&hot, handle)); /* again: MPI says what it thinks of that */
        ck_assert_int_eq(hot.types[at].credit, 1 + 3);
        ck_assert_int_eq(hot.kept_given, 0);
        ck_assert_int_eq(hot.commits, life);
    }
}
END_TEST

/* One that was never committed is committed by MPI; one that was, and is freed before it is again, counts once. */
START_TEST(uncommitted)
{
    struct espi_kept_type *e = one_live(0);
    uint32_t handle = (uint32_t)HANDLE;

    ck_assert(espi_kept_take(&hot, &handle));
    espi_kept_give(&hot, e);
    ck_assert(!espi_kept_commit(&hot, (uint32_t)HANDLE));
    ck_assert_int_eq(hot.frees, 0);

    e = one_live(1);
    ck_assert(espi_kept_take(&hot, &(uint32_t){(uint32_t)HANDLE}));
    espi_kept_give(&hot, e);
    ck_assert(espi_kept_take(&hot, &(uint32_t){(uint32_t)HANDLE}));
    ck_assert_int_eq(hot.frees, 1);
    ck_assert_int_eq(hot.kept_given, 0);
    espi_kept_give(&hot, e);
    ck_assert(espi_kept_commit(&hot, (uint32_t)HANDLE));
}
END_TEST

/* Not taken: what is to be freed, what has the handle of one without being it, and what never was kept. */
START_TEST(not_taken)
{
    const uint32_t at = espi_credit_at((uint32_t)HANDLE);
    struct espi_kept_type *e = one_live(1);
    uint32_t handle = (uint32_t)HANDLE, far = 0xcfffffff;

    e->never = true;
    ck_assert(!espi_kept_take(&hot, &handle));
    e->never = false;
    atomic_store(&hot.types[at].hint, e->hint + 2);
    ck_assert(!espi_kept_take(&hot, &handle));
    atomic_store(&hot.types[at].hint, e->hint);
    hot.types[at].kept = ESPI_KEPT_NEVER;
    ck_assert(!espi_kept_take(&hot, &handle));
    hot.types[at].kept = 0;
    ck_assert(!espi_kept_take(&hot, &handle));
    ck_assert(!espi_kept_take(&hot, &far));
    ck_assert(!espi_kept_commit(&hot, far));
    ck_assert_int_eq(handle, HANDLE);
    espi_kept_want(&hot, handle);
    ck_assert_int_eq(hot.types[at].kept, ESPI_KEPT_WANTED);
    ck_assert(!espi_kept_take(&hot, &handle)); /* the core is to see it */
    ck_assert(!espi_kept_may_be_from(&hot, handle));
    hot.types[at].kept = NUMBER;
    espi_kept_want(&hot, handle);
    ck_assert_int_eq(hot.types[at].kept, NUMBER);
    ck_assert(espi_kept_may_be_from(&hot, handle));
    ck_assert(espi_kept_may_be_from(&hot, (uint32_t)MPI_INT));
    ck_assert(!espi_kept_may_be_from(&hot, far));
    ck_assert(espi_kept_take(&hot, &handle));
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "kept_lives", keys, no_keys, places, often, room, lives, uncommitted, not_taken);
}
