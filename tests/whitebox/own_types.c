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

static void end(void)
{
    espi_own_types_end();
    is_as_before(false);
    ck_assert_uint_eq(espi_own_types_long_room(), ESPI_OWN_LONG_FORM_MOST);
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
    espi_own_types_add_long(is_long);
    return e.type;
}

/* Low handles that are freed together with high ones do not come to lie below them. */
START_TEST(freed_together)
{
    MPI_Datatype type[6];

    for (int i = 0; i < 6; i++)
        type[i] = form(i % 2);
    espi_own_types_free(type, 6, 3);
    is_as_before(false);
    type[0] = form(true);
    is_as_before(true); /* it took none */
    espi_own_types_free(type, 1, 1);
}
END_TEST

/* MPI gives the handles of a type back when the last call that uses it is over, and on top of all: not those of ours
   that it would give to the program. */
START_TEST(used_beyond_a_call)
{
    double data[40] = {0}, got[40];
    MPI_Request request;

    for (int lent = 0; lent < 2; lent++) {
        MPI_Datatype type = form(true);
        const size_t room = espi_own_types_long_room();
        if (lent)
            espi_own_types_lend(type);
        MPI_Irecv(got, 1, type, 0, 0, MPI_COMM_SELF, &request);
        espi_own_types_free(&type, 1, 1);
        ck_assert_uint_eq(espi_own_types_long_room(), room);
        MPI_Send(data, 14, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Type_contiguous(1, MPI_DOUBLE, &type);
        ck_assert_int_eq(espi_handle_number(type) >= ESPI_LOW_HANDLES, !lent);
        MPI_Type_free(&type);
        if (!lent) { /* as it must not be: put right for the next one */
            MPI_Type_contiguous(1, MPI_DOUBLE, &type);
            struct espi_low_handles low = {.n = 0};
            do
                MPI_Type_contiguous(0, MPI_BYTE, &low.type[low.n]);
            while (espi_handle_number(low.type[low.n++]) < ESPI_LOW_HANDLES);
            MPI_Type_free(&type);
            espi_low_handles_release(&low);
        }
    }
}
END_TEST

/* Many that were lent, and as many that were not. */
START_TEST(kept)
{
    enum { MANY = 40 };
    MPI_Datatype type[2 * MANY];

    for (int i = 0; i < 2 * MANY; i++) {
        type[i] = form(true);
        if (i % 2)
            espi_own_types_lend(type[i]);
    }
    for (int i = 0; i < 2 * MANY; i++)
        espi_own_types_free(&type[i], 1, 1);
    is_as_before(true);
    for (int i = 1; i < 2 * MANY; i += 2) {
        MPI_Count size;
        ck_assert_int_eq(MPI_Type_size_x(type[i], &size), MPI_SUCCESS);
        ck_assert_int_eq(size, 14 * sizeof(double));
    }
}
END_TEST

int main(int argc, char **argv)
{
    const TTest *const tests[] = {freed_together, used_beyond_a_call, kept};
    TCase *all = types_case(tests, sizeof tests / sizeof *tests);

    tcase_add_checked_fixture(all, begin, end);
    return types_run(argc, argv, "own_types", all);
}
