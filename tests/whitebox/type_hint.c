/*
 * Hints (wrappers/type_hint.h): how a type was made, by the arguments of its constructor, for each function and each
 * argument. class_table.c has the classes.
 */
#include <check.h>
#include <mpi.h>
#include <string.h>
#include <sys/mman.h>

#include "mpi/core/api_table.h"
#include "suite.h"
#include "type_hint.h"

enum { SHORT = 5, LONG = 1000, PAGE = 4096, ROOM = 4 };

/* Arguments one by one: n the length of the arrays, i a number, a one that is MPI_Aint without _c, I and A arrays of
   these; d, x, X: int in any form (d the length); t a type, T an array of types, o what is made. */
static const struct constructor {
    enum espi_fn fn, large; /* large: the _c form; the same where there is none */
    const char *args;
} constructors[] = {
#define BOTH(name, args) {ESPI_FN_##name, ESPI_FN_##name##_c, args}
    BOTH(Type_contiguous, "ito"),
    BOTH(Type_vector, "iiito"),
    BOTH(Type_create_hvector, "iiato"),
    BOTH(Type_indexed, "nIIto"),
    BOTH(Type_create_hindexed, "nIAto"),
    BOTH(Type_create_indexed_block, "niIto"),
    BOTH(Type_create_hindexed_block, "niAto"),
    BOTH(Type_create_struct, "nIATo"),
    BOTH(Type_create_subarray, "dIIIxto"),
    BOTH(Type_create_darray, "xxdIXXXxto"),
    BOTH(Type_create_resized, "taao"),
#undef BOTH
    {ESPI_FN_Type_hvector, ESPI_FN_Type_hvector, "iiato"},
    {ESPI_FN_Type_hindexed, ESPI_FN_Type_hindexed, "nIAto"},
    {ESPI_FN_Type_struct, ESPI_FN_Type_struct, "nIATo"},
};
static const char *const names[] = {
#define ESPI_API(name, ...) #name,
#include "api.def"
#undef ESPI_API
};
enum { CONSTRUCTORS = sizeof constructors / sizeof *constructors };
static const MPI_Datatype derived = (MPI_Datatype)0x8c000007, other = (MPI_Datatype)0x8c000008;

static struct espi_handle_facts types[ESPI_CREDITS]; /* of these two */

/* A call: scalars, and arrays that each end where memory ends. */
struct call {
    const struct constructor *c;
    bool large;
    int64_t n;
    int64_t scalar[ESPI_MAX_ARGS];
    char *memory[ESPI_MAX_ARGS];
};

static size_t width(const struct call *call, int i)
{
    char how = call->c->args[i];
    return how == 'T' || how == 'X' || (how == 'I' && !call->large) ? 4 : 8;
}

static bool is_array(const struct call *call, int i)
{
    return strchr("IAXT", call->c->args[i]) != NULL;
}

static void *array(const struct call *call, int i)
{
    return call->memory[i] + ROOM * PAGE - (size_t)call->n * width(call, i);
}

static void set(const struct call *call, int i, int64_t at, int64_t value)
{
    if (width(call, i) == 4)
        ((int *)array(call, i))[at] = (int)value;
    else
        ((int64_t *)array(call, i))[at] = value;
}

static struct call open_call(const struct constructor *c, bool large, int64_t n)
{
    struct call call = {c, large && c->large != c->fn, n, {0}, {NULL}};

    for (int i = 0; c->args[i] != '\0'; i++) {
        call.scalar[i] = strchr("nd", c->args[i]) != NULL ? n : c->args[i] == 't' ? MPI_INT : 3000 + i;
        if (!is_array(&call, i))
            continue;
        call.memory[i] = mmap(NULL, (ROOM + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert_ptr_ne(call.memory[i], MAP_FAILED);
        ck_assert_int_eq(mprotect(call.memory[i] + ROOM * PAGE, PAGE, PROT_NONE), 0);
        for (int64_t k = 0; k < n; k++)
            set(&call, i, k, c->args[i] == 'T' ? MPI_INT : 10 + k * k + i);
    }
    return call;
}

static void close_call(struct call *call)
{
    for (int i = 0; i < ESPI_MAX_ARGS; i++)
        if (call->memory[i] != NULL)
            munmap(call->memory[i], (ROOM + 1) * PAGE);
}

/* `upper`: what stands in the upper half of words that hold an int. */
static uint64_t hint(const struct call *call, uint64_t upper)
{
    static uint32_t type;
    const uint32_t *made;
    espi_word args[ESPI_MAX_ARGS] = {0};

    for (int i = 0; call->c->args[i] != '\0'; i++) {
        char how = call->c->args[i];
        bool is_int = strchr("dxt", how) != NULL || (strchr("ni", how) != NULL && !call->large);
        if (is_array(call, i))
            args[i] = (espi_word)array(call, i);
        else if (how == 'o')
            args[i] = (espi_word)&type;
        else
            args[i] = is_int ? (espi_word)(upper << 32 | (uint32_t)call->scalar[i]) : (espi_word)call->scalar[i];
    }
    type++; /* what stands there before is nothing */
    uint64_t hint = espi_type_hint(call->large ? call->c->large : call->c->fn, args, types, &made);
    ck_assert_ptr_eq(made, &type);
    return hint;
}

/* Each constructor that the core has seen to is here, but for MPI_Type_dup, whose hint is the original's. */
START_TEST(all_constructors)
{
    int found = 0;

    for (int fn = 0; fn < ESPI_FN_COUNT; fn++) {
        bool here = false;
        if (!(espi_api_rows[fn].kind & ESPI_CONSTRUCTOR) || fn == ESPI_FN_Type_dup)
            continue;
        for (int i = 0; i < CONSTRUCTORS; i++)
            here |= (int)constructors[i].fn == fn || (int)constructors[i].large == fn;
        ck_assert_msg(here || strncmp(names[fn], "Type_create_f90", 15) == 0, "MPI_%s",
                      names[fn]);
        found += here;
    }
    ck_assert_int_eq(found, 2 * CONSTRUCTORS - 3);
}
END_TEST

/* Equal calls have equal hints, wherever their arrays stand; each number, element and type makes a difference. */
START_TEST(each_argument)
{
    for (int i = 0; i < CONSTRUCTORS; i++)
        for (int large = 0; large < 2; large++) {
            struct call a = open_call(&constructors[i], large, SHORT), b = open_call(&constructors[i], large, SHORT);
            const char *name = names[a.large ? a.c->large : a.c->fn];
            uint64_t first = hint(&a, 0);

            ck_assert_uint_ne(first, 0);
            ck_assert_msg(hint(&b, 0) == first, "%s", name);
            ck_assert_msg(hint(&b, 0xdeadbeef) == first, "%s", name);
            for (int k = 0; a.c->args[k] != '\0'; k++) {
                if (a.c->args[k] == 'o')
                    continue;
                for (int64_t at = 0; is_array(&b, k) && at < SHORT; at++) {
                    set(&b, k, at, a.c->args[k] == 'T' ? MPI_FLOAT : -1);
                    ck_assert_msg(hint(&b, 0) != first, "%s: argument %d, element %d", name, k, (int)at);
                    set(&b, k, at, a.c->args[k] == 'T' ? MPI_INT : 10 + at * at + k);
                }
                if (is_array(&b, k))
                    continue;
                const int64_t before = b.scalar[k];
                if (strchr("nd", a.c->args[k]) == NULL) { /* not an array's length */
                    b.scalar[k] = a.c->args[k] == 't' ? MPI_FLOAT : -3;
                    ck_assert_msg(hint(&b, 0) != first, "%s: argument %d", name, k);
                }
                if (width(&b, k) == 8 && (a.c->args[k] == 'a' || (a.c->args[k] == 'i' && b.large))) {
                    b.scalar[k] = before + (INT64_C(1) << 32);
                    ck_assert_msg(hint(&b, 0) != first, "%s: upper half of argument %d", name, k);
                }
                b.scalar[k] = before;
                ck_assert(hint(&b, 0) == first);
            }
            close_call(&a);
            close_call(&b);
        }
}
END_TEST

/* An array that is the beginning of another is another; none is read past its end, however long blocks are. */
START_TEST(lengths)
{
    for (int i = 0; i < CONSTRUCTORS; i++)
        for (int large = 0; large < 2; large++) {
            uint64_t before = 0;
            for (int64_t n = 0; n <= 100; n++) {
                struct call a = open_call(&constructors[i], large, n);
                bool arrays = strpbrk(a.c->args, "nd") != NULL;
                uint64_t now = hint(&a, 0);
                ck_assert_msg((now != before) == (arrays || n == 0), "%s, %d", names[a.c->fn], (int)n);
                before = now;
                close_call(&a);
            }
        }
}
END_TEST

/* A type made from a derived one: by the hint of that; without one there is none. Other functions have none. */
/* The magnitude of the numbers of a type, those of the types that it is made from included. */
START_TEST(numbers)
{
    static const struct {
        int64_t n;
        uint64_t child;
    } cases[] = {{1, 0}, {1000, 0}, {3, 0}, {4, 4096}, {1000, 64}};

    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        for (int large = 0; large < 2; large++) {
            struct call a = open_call(&constructors[7], large, cases[k].n); /* struct */
            ck_assert_str_eq(names[a.c->fn], "Type_create_struct");
            types[espi_credit_at((uint32_t)derived)].hint = espi_hint_of(UINT64_C(0x1234567800), cases[k].child);
            for (int64_t i = 0; cases[k].child > 0 && i < a.n; i++)
                set(&a, 3, i, derived);
            uint64_t n = espi_hint_numbers(hint(&a, 0));
            const uint64_t all = (uint64_t)cases[k].n * (3 + cases[k].child); /* of its own it has three arrays */
            ck_assert_msg(n >= all / 4 && n <= 2 * all, "case %zu: %lu", k, (unsigned long)n);
            ck_assert_uint_eq(hint(&a, 0) % 2, 1);
            close_call(&a);
        }
}
END_TEST

START_TEST(children)
{
    const espi_word dup[2] = {derived, 0};
    const uint32_t *made = (const uint32_t *)dup;

    types[espi_credit_at((uint32_t)derived)].hint = 1234567;
    types[espi_credit_at((uint32_t)other)].hint = 7654321;
    for (int i = 0; i < CONSTRUCTORS; i++)
        for (int large = 0; large < 2; large++) {
            struct call a = open_call(&constructors[i], large, SHORT);
            int at = (int)(strpbrk(a.c->args, "tT") - a.c->args), last = is_array(&a, at) ? SHORT : 1;

            for (int k = 0; k < last; k++) {
                uint64_t of[2], named = hint(&a, 0);
                for (int which = 0; which < 3; which++) {
                    MPI_Datatype child = which == 0 ? derived : which == 1 ? other : (MPI_Datatype)0x8c000009;
                    if (is_array(&a, at))
                        set(&a, at, k, child);
                    else
                        a.scalar[at] = child;
                    if (which < 2)
                        of[which] = hint(&a, 0);
                    else
                        ck_assert_uint_eq(hint(&a, 0), 0);
                }
                ck_assert(of[0] != of[1] && of[0] != named && of[1] != named && of[0] != 0 && of[1] != 0);
                if (is_array(&a, at))
                    set(&a, at, k, MPI_INT);
            }
            close_call(&a);
        }
    ck_assert_uint_eq(espi_type_hint(ESPI_FN_Type_dup, dup, types, &made), 0);
    ck_assert_ptr_null(made);
}
END_TEST

/* Of long arrays some elements are looked at, at both ends and between: not more of them however long they are. Lists
   that differ in others have one hint. */
START_TEST(sampled)
{
    for (int i = 0; i < CONSTRUCTORS; i++)
        for (int large = 0; large < 2; large++) {
            struct call a = open_call(&constructors[i], large, LONG);
            const char *name = names[a.large ? a.c->large : a.c->fn];
            uint64_t first = hint(&a, 0);

            for (int k = 0; a.c->args[k] != '\0'; k++) {
                int looked = 0, last = -1;
                for (int at = 0; is_array(&a, k) && at < LONG; at++) {
                    set(&a, k, at, a.c->args[k] == 'T' ? MPI_FLOAT : -1);
                    if (hint(&a, 0) != first) {
                        ck_assert_msg(at - last <= LONG / 4, "%s: none between %d and %d", name, last, at);
                        looked++;
                        last = at;
                    }
                    set(&a, k, at, a.c->args[k] == 'T' ? MPI_INT : 10 + (int64_t)at * at + k);
                }
                if (!is_array(&a, k))
                    continue;
                ck_assert_msg(last == LONG - 1 && looked > ESPI_HINT_SAMPLED / 2 && looked <= ESPI_HINT_SAMPLED,
                              "%s: %d of argument %d", name, looked, k);
                ck_assert_uint_eq(hint(&a, 0), first);
            }
            close_call(&a);
        }
}
END_TEST

/* Different calls of small numbers: no two have one hint. Nor do different functions. */
START_TEST(distinct)
{
    enum { EACH = 22, ALL = EACH * EACH * EACH + 2 * CONSTRUCTORS };
    static uint64_t all[ALL];
    int n = 0, compared = 0;

    for (int i = 0; i < CONSTRUCTORS; i++)
        for (int large = 0; large < (constructors[i].large != constructors[i].fn) + 1; large++) {
            struct call a = open_call(&constructors[i], large, SHORT);
            all[n++] = hint(&a, 0);
            close_call(&a);
        }
    for (int a = 0; a < EACH; a++)
        for (int b = 0; b < EACH; b++)
            for (int c = 0; c < EACH; c++) {
                const espi_word args[5] = {a, b, c - 5, MPI_INT, 0};
                const uint32_t *made;
                all[n++] = espi_type_hint(ESPI_FN_Type_vector, args, types, &made);
            }
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++, compared++)
            if (all[i] == all[k])
                ck_abort_msg("%d and %d", i, k);
    ck_assert_int_gt(compared, 50000000);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "type_hint", all_constructors, each_argument, lengths, numbers, children, sampled,
                     distinct);
}
