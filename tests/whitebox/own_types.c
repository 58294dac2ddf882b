/*
 * Forms of ours and the pool of handles (src/mpi/datatype/own_types.h): after them the program's next types have the
 * handles that they would have had, in whatever order forms go, and while MPI still uses some.
 */
#include <check.h>
#include <mpi.h>
#include <stdlib.h>

#include "mpi/core/pmpi.h"
#include "mpi/datatype/decode.h"
#include "mpi/datatype/own_types.h"
#include "suite.h"

static struct espi_arena arena;
static int first[ESPI_LOW_HANDLES + 16]; /* the numbers of the handles that come next, up to the first high one */
static int n_first;

static int next_numbers(int *number)
{
    struct espi_low_handles low;
    int n = 0;

    espi_low_handles_reserve(&low);
    for (; n < low.n; n++)
        number[n] = espi_handle_number(low.type[n]);
    espi_low_handles_release(&low);
    return n;
}

static void begin(void)
{
    arena = ESPI_ARENA_INIT;
    espi_own_types_open(true);
    n_first = next_numbers(first);
}

/* As many low handles are free as at the beginning, and come before any other. */
static void is_as_before(bool in_order)
{
    int now[ESPI_LOW_HANDLES + 16];

    ck_assert_int_eq(next_numbers(now), n_first);
    for (int i = 0; i < n_first - 1; i++)
        ck_assert(now[i] < ESPI_LOW_HANDLES && (!in_order || now[i] == first[i]));
}

/* Exactly so many types count: with all but a few of the others there is room for what is left of these. */
static void are_held(size_t types, size_t long_types)
{
    enum { FEW = 7 };

    espi_own_types_add(ESPI_OWN_TYPES_MOST - FEW);
    espi_own_types_add_long(ESPI_OWN_LONG_TYPES_MOST - FEW);
    ck_assert_uint_eq(espi_own_types_room(), FEW - types);
    ck_assert_uint_eq(espi_own_types_long_room(), FEW - long_types);
    espi_own_types_add(FEW - ESPI_OWN_TYPES_MOST);
    espi_own_types_add_long(FEW - ESPI_OWN_LONG_TYPES_MOST);
}

static void end(void)
{
    espi_own_types_end();
    is_as_before(false);
    are_held(0, 0);
    espi_arena_release(&arena);
}

/* A form with gaps, as if there were no room for others where it is to be a long one. */
static MPI_Datatype form(bool is_long)
{
    struct espi_decoded layout;
    struct espi_emitted e;
    MPI_Datatype type;
    bool became_long;

    MPI_Type_vector(7, 2, 5, MPI_DOUBLE, &type);
    ck_assert_int_eq(espi_decode(&arena, type, 0, &layout), ESPI_OK);
    MPI_Type_free(&type);
    espi_own_types_add(is_long * ESPI_OWN_TYPES_MOST);
    ck_assert_int_eq(espi_own_types_build(layout.tree, layout.lb, layout.extent, (struct espi_own_types){0, 0}, &e,
                                          &became_long), ESPI_OK);
    espi_own_types_add(-is_long * ESPI_OWN_TYPES_MOST);
    ck_assert_int_eq(became_long, is_long);
    ck_assert_int_eq(espi_handle_number(e.type) >= ESPI_LOW_HANDLES, is_long);
    ck_assert_uint_eq(e.types, 1);
    is_long ? espi_own_types_add_long(1) : espi_own_types_add(1);
    return e.type;
}

/* Low handles before high ones again. */
static void heal(void)
{
    enum { ALL = 2 * ESPI_LOW_HANDLES };
    static MPI_Datatype type[ALL];

    for (int i = 0; i < ALL; i++)
        MPI_Type_contiguous(0, MPI_BYTE, &type[i]);
    for (int low = 0; low < 2; low++)
        for (int i = ALL - 1; i >= 0; i--)
            if (type[i] != MPI_DATATYPE_NULL && (espi_handle_number(type[i]) < ESPI_LOW_HANDLES) == low)
                MPI_Type_free(&type[i]);
}

/* Low handles that are freed together with high ones do not come to lie below them. */
START_TEST(freed_together)
{
    MPI_Datatype type[6];

    for (int i = 0; i < 6; i++)
        type[i] = form(i % 2);
    espi_own_types_free(type, 6, (struct espi_own_types){3, 3});
    is_as_before(false);
    type[0] = form(true);
    is_as_before(false); /* it took none */
    espi_own_types_free(type, 1, (struct espi_own_types){0, 1});
}
END_TEST

/* A form of which there is no room for the whole leaves no trace. */
START_TEST(of_too_many)
{
    MPI_Datatype block[40], type;
    int length[40];
    MPI_Aint at[40];
    struct espi_decoded layout;
    struct espi_emitted e;
    bool is_long;

    for (int i = 0; i < 40; i++) {
        MPI_Type_vector(2, 1, 3 + i, MPI_DOUBLE, &block[i]);
        length[i] = 1;
        at[i] = 1000 * i;
    }
    MPI_Type_create_struct(40, length, at, block, &type);
    ck_assert_int_eq(espi_decode(&arena, type, 0, &layout), ESPI_OK);
    n_first = next_numbers(first);
    ck_assert_int_eq(espi_own_types_build(layout.tree, layout.lb, layout.extent, (struct espi_own_types){0, 0}, &e,
                                          &is_long), ESPI_OK);
    ck_assert(is_long && e.types > ESPI_OWN_FORM_MOST);
    is_as_before(true);
    espi_own_types_free(&e.type, 1, (struct espi_own_types){0, 0});
    is_as_before(true);
    MPI_Type_free(&type);
    for (int i = 0; i < 40; i++)
        MPI_Type_free(&block[i]);
    n_first = next_numbers(first);
}
END_TEST

/* MPI gives the handles of a type back when the last call that uses it is over, and before any other: those of ours
   that it would give to the program then stay, and count, until we look again. */
START_TEST(used_beyond_a_call)
{
    double data[40] = {0}, got[40];
    MPI_Request request;

    for (int is_long = 0; is_long < 2; is_long++) {
        MPI_Datatype type = form(is_long), next;
        const int number = espi_handle_number(type);
        MPI_Irecv(got, 1, type, 0, 0, MPI_COMM_SELF, &request);
        espi_own_types_free(&type, 1, (struct espi_own_types){!is_long, is_long});
        for (int again = 0; again < 3; again++)
            espi_own_types_free(NULL, 0, (struct espi_own_types){0, 0});
        MPI_Send(data, 14, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        are_held(!is_long, is_long);
        MPI_Type_contiguous(1, MPI_DOUBLE, &next);
        ck_assert_int_ne(espi_handle_number(next), number);
        ck_assert_int_lt(espi_handle_number(next), ESPI_LOW_HANDLES);
        MPI_Type_free(&next);
        espi_own_types_free(NULL, 0, (struct espi_own_types){0, 0});
        are_held(0, 0);
        is_as_before(false);
    }
}
END_TEST

/* Many in use, long forms and others, whose calls end in some order; when there are too many it is as MPI does it. */
START_TEST(many_in_use)
{
    enum { MANY = 60, SOME = 20 };
    MPI_Request request[MANY];
    double data[14], got[MANY][40];

    for (int n = SOME; n <= MANY; n += MANY - SOME) {
        MPI_Datatype type;
        for (int i = 0; i < 14; i++)
            data[i] = n + i;
        for (int i = 0; i < n; i++) {
            type = form(i % 3 == 0);
            MPI_Irecv(got[i], 1, type, 0, i, MPI_COMM_SELF, &request[i]);
            espi_own_types_free(&type, 1, (struct espi_own_types){i % 3 != 0, i % 3 == 0});
        }
        for (int k = 0; k < n; k++) {
            const int i = 7 * k % n;
            MPI_Send(data, 14, MPI_DOUBLE, 0, i, MPI_COMM_SELF);
            MPI_Wait(&request[i], MPI_STATUS_IGNORE);
            for (int j = 0; j < 14; j++)
                ck_assert(got[i][5 * (j / 2) + j % 2] == data[j]);
            if (k % 4 == 0)
                espi_own_types_free(NULL, 0, (struct espi_own_types){0, 0});
            MPI_Type_contiguous(1, MPI_DOUBLE, &type);
            ck_assert(n > SOME || espi_handle_number(type) < ESPI_LOW_HANDLES);
            MPI_Type_free(&type);
        }
        espi_own_types_free(NULL, 0, (struct espi_own_types){0, 0});
        are_held(0, 0);
        if (n == SOME)
            is_as_before(false);
    }
    heal();
}
END_TEST

/* Where other threads may call MPI nothing is looked for. */
START_TEST(threads)
{
    MPI_Datatype type = form(false);
    double data[40], got[40];
    MPI_Request request;

    espi_own_types_open(false);
    ck_assert_uint_eq(espi_own_types_long_room(), 0);
    MPI_Irecv(got, 1, type, 0, 0, MPI_COMM_SELF, &request);
    espi_own_types_free(&type, 1, (struct espi_own_types){1, 0});
    espi_own_types_open(true);
    are_held(0, 0);
    MPI_Send(data, 0, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
END_TEST

int main(int argc, char **argv)
{
    const TTest *const tests[] = {freed_together, of_too_many, used_beyond_a_call, many_in_use, threads};
    TCase *all = types_case(tests, sizeof tests / sizeof *tests);

    tcase_add_checked_fixture(all, begin, end);
    return types_run(argc, argv, "own_types", all);
}
