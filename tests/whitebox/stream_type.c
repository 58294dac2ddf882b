/*
 * Types that packed messages go cell by cell with (src/mpi/packed/stream_type.h): for which sizes, of what form, and
 * that none is lost. MPI's functions for types are counted, and fail when told to; the library says that it is one
 * over UCX, whatever it is.
 */
#include <check.h>
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/overlap.h"
#include "mpi/core/pmpi.h"
#include "mpi/datatype/own_types.h"
#include "mpi/packed/stream_type.h"
#include "suite.h"
#include "type_service.h"

enum { CELL = 8255, LONG = 10000, PLACES = 16 };
static enum espi_stream_form form_now; /* each test but one is of one form, and runs for both */

static __typeof__(espi_pmpi) real;
static long made, freed; /* types that MPI gave us, and got back */
static int fails_at = -1; /* calls until one fails */
static bool version_fails;
static const char *version;

static bool fails(void)
{
    return fails_at >= 0 && fails_at-- == 0;
}

static bool makes(void)
{
    return !fails() && ++made;
}

static int contiguous(int n, MPI_Datatype of, MPI_Datatype *type)
{
    return makes() ? real.Type_contiguous(n, of, type) : MPI_ERR_OTHER;
}

static int resized(MPI_Datatype of, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *type)
{
    return makes() ? real.Type_create_resized(of, lb, extent, type) : MPI_ERR_OTHER;
}

static int hindexed(int n, const int *lengths, const MPI_Aint *places, MPI_Datatype of, MPI_Datatype *type)
{
    return makes() ? real.Type_create_hindexed(n, lengths, places, of, type) : MPI_ERR_OTHER;
}

static int set_attribute(MPI_Datatype type, int key, void *value)
{
    return fails() ? MPI_ERR_OTHER : real.Type_set_attr(type, key, value);
}

static int commit(MPI_Datatype *type)
{
    return fails() ? MPI_ERR_OTHER : real.Type_commit(type);
}

static int free_type(MPI_Datatype *type)
{
    freed++;
    return real.Type_free(type);
}

/* Datatypes that one of ours is made of. */
static int datatypes(void)
{
    return form_now == ESPI_STREAM_IN_ROW ? 3 : 1;
}

/* For a message that goes cell by cell if that may be. */
static MPI_Datatype taken(int64_t bytes)
{
    return espi_stream_type_take(bytes, form_now);
}

static void back(MPI_Datatype type, int64_t bytes)
{
    espi_stream_type_back(type, bytes, form_now);
}

static int library_version(char *text, int *length)
{
    strcpy(text, version);
    *length = (int)strlen(version);
    return version_fails ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void begin(int form)
{
    form_now = (enum espi_stream_form)form;
    if (real.Type_free == NULL)
        real = espi_pmpi;
    espi_pmpi.Type_contiguous = contiguous;
    espi_pmpi.Type_create_resized = resized;
    espi_pmpi.Type_create_hindexed = hindexed;
    espi_pmpi.Type_commit = commit;
    espi_pmpi.Type_set_attr = set_attribute;
    espi_pmpi.Type_free = free_type;
    espi_pmpi.Get_library_version = library_version;
    espi_calls_overlap = false;
    espi_own_types_open(true);
    espi_stream_types_close(); /* what a test that failed has left */
    espi_own_types_add(-held_types());
    fails_at = -1;
    made = freed = 0;
    version = "MPICH Device: ch4:ucx";
    version_fails = false;
    espi_stream_types_open();
}

/* Whether so many types of ours are alive. */
static void alive(long n)
{
    ck_assert_int_eq(made - freed, n);
    ck_assert_int_eq(held_types(), datatypes() * n);
}

static void end(void)
{
    espi_stream_types_close();
    alive(0);
    espi_pmpi = real;
}

static MPI_Datatype take(int64_t bytes)
{
    MPI_Datatype type = taken(bytes);

    ck_assert_msg(type != MPI_DATATYPE_NULL, "%lld bytes", (long long)bytes);
    return type;
}

static void refused(int64_t bytes)
{
    const long before = made;

    ck_assert_msg(taken(bytes) == MPI_DATATYPE_NULL, "%lld bytes", (long long)bytes);
    ck_assert_int_eq(made, before);
}

/* Only over UCX. */
START_TEST(opened)
{
    begin(_i);
    ck_assert(espi_stream_may_go_in_cells(LONG));
    espi_stream_types_close();
    refused(LONG);
    version = "MPICH Device: ch4:ofi";
    espi_stream_types_open();
    ck_assert(!espi_stream_may_go_in_cells(LONG));
    refused(LONG);
    version = "MPICH Device: ch4:ucx";
    version_fails = true;
    espi_stream_types_open();
    refused(LONG);
    version_fails = false;
    espi_stream_types_open();
    back(take(LONG), LONG);
    end();
}
END_TEST

/* What a cell holds goes through one anyway; the extent with room behind fits an int. */
START_TEST(sizes)
{
    static const int64_t not[] = {INT64_MIN, -LONG, -1, 0, 1, CELL - 1, CELL, INT_MAX - 63, INT_MAX,
                                  (int64_t)INT_MAX + 1, (INT64_C(1) << 32) + LONG, INT64_MAX};
    static const int64_t are[] = {CELL + 1, LONG, 1 << 20, INT_MAX - 64};

    begin(_i);
    for (size_t i = 0; i < sizeof not / sizeof *not; i++)
        refused(not[i]);
    ck_assert(!espi_stream_may_go_in_cells(CELL) && !espi_stream_may_go_in_cells(INT_MAX - 63));
    for (size_t i = 0; i < sizeof are / sizeof *are; i++) {
        ck_assert(espi_stream_may_go_in_cells(are[i]));
        back(take(are[i]), are[i]);
    }
    end();
}
END_TEST

static void same_extent(MPI_Datatype type, bool true_one, int64_t expected)
{
    MPI_Aint lb, extent;

    (true_one ? MPI_Type_get_true_extent : MPI_Type_get_extent)(type, &lb, &extent);
    ck_assert(lb == 0 && extent == expected);
}

/* Committed, and in a row as long as it has data, so that items follow one another; what it is made of has room
   behind. */
START_TEST(form)
{
    static const int64_t each[] = {CELL + 1, LONG, 123457, INT_MAX - 64};
    static char from[2 * LONG + 1], packed[2 * LONG];

    begin(_i);
    const int in_row = form_now == ESPI_STREAM_IN_ROW, items = in_row ? 2 : 1;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        MPI_Datatype type = take(each[i]), of;
        MPI_Aint bounds[2];
        MPI_Count size;
        MPI_Type_size_x(type, &size);
        ck_assert(size == each[i]);
        same_extent(type, false, each[i] + !in_row);
        same_extent(type, true, each[i] + !in_row);
        if (in_row) { /* resized */
            MPI_Type_get_contents(type, 0, 2, 1, NULL, bounds, &of);
            same_extent(of, false, each[i] + 64);
            MPI_Type_free(&of);
        }
        back(type, each[i]);
    }
    for (int i = 0; i < 2 * LONG; i++)
        from[i] = (char)(i * 7 + i / 256);
    MPI_Datatype type = take(LONG);
    int at = 0;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (!in_row)
        espi_stream_split(from, LONG);
    ck_assert_int_eq(MPI_Pack(from, items, type, packed, 2 * LONG, &at, MPI_COMM_SELF), MPI_SUCCESS);
    ck_assert_int_eq(at, items * LONG);
    for (int i = 0; i < at; i++)
        ck_assert_int_eq(packed[i], (char)(i * 7 + i / 256));
    back(type, LONG);
    end();
}
END_TEST

/* One form of a size is not taken for the other, nor does it take its place. */
START_TEST(forms_apart)
{
    MPI_Datatype first[2];

    begin(ESPI_STREAM_SPLIT);
    for (int i = 0; i < 6; i++) {
        form_now = i % 2 ? ESPI_STREAM_IN_ROW : ESPI_STREAM_SPLIT;
        MPI_Datatype type = take(LONG);
        ck_assert(i < 2 || type == first[i % 2]);
        same_extent(type, false, i % 2 ? LONG : LONG + 1);
        back(first[i % 2] = type, LONG);
    }
    ck_assert_int_eq(made - freed, 2);
    end();
}
END_TEST

/* A message's takes one of MPICH's first handles. The first test, as long as the pool gives them out in order. */
START_TEST(first_handles)
{
    enum { FIRST_MOST = 8 };
    MPI_Datatype first[FIRST_MOST + 1], next;
    int n = 0;

    begin(ESPI_STREAM_SPLIT);
    do { /* what was given back last is given out first */
        ck_assert_int_le(n, FIRST_MOST);
        MPI_Type_contiguous(1, MPI_BYTE, &first[n]);
    } while (espi_handle_number(first[n++]) < 0);
    ck_assert_int_ge(n, 2);
    for (int i = 0; i < 2; i++)
        MPI_Type_free(&first[--n]);
    MPI_Datatype type = take(LONG);
    ck_assert_int_lt(espi_handle_number(type), 0);
    MPI_Type_contiguous(1, MPI_BYTE, &next);
    ck_assert_int_ge(espi_handle_number(next), 0);
    MPI_Type_free(&next);
    back(type, LONG);
    while (n > 0)
        MPI_Type_free(&first[--n]);
    end();
}
END_TEST

/* A type that was given back is there for the next message of its size; of two that are out at the same time one is
   kept. */
START_TEST(again)
{
    begin(_i);
    MPI_Datatype first = take(LONG), second;
    back(first, LONG);
    alive(1);
    const long before = made;
    for (int i = 0; i < 3; i++) {
        second = take(LONG);
        ck_assert_int_eq(second, first);
        back(second, LONG);
    }
    ck_assert_int_eq(made, before);
    first = take(LONG);
    second = take(LONG);
    ck_assert_int_ne(first, second);
    alive(2);
    back(first, LONG);
    alive(2);
    back(second, LONG);
    alive(1);
    ck_assert_int_eq(take(LONG), second);
    back(second, LONG);
    end();
}
END_TEST

/* Many sizes: the later ones take the places of earlier ones, also while these are out. */
START_TEST(replaced)
{
    MPI_Datatype out[8];
    long most = 0;

    begin(_i);
    for (int i = 1; i <= 200; i++) {
        back(take(CELL + i), CELL + i);
        most = made - freed > most ? made - freed : most;
        alive(made - freed);
    }
    ck_assert_int_gt(most, 1);
    ck_assert_int_le(most, PLACES);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 8; i++) {
            MPI_Count size;
            out[i] = take(LONG + 8 * round + i);
            MPI_Type_size_x(out[i], &size);
            ck_assert(size == LONG + 8 * round + i);
        }
        for (int i = 0; i < 8; i++)
            back(out[i], LONG + 8 * round + i);
        ck_assert_int_le(made - freed, PLACES);
        alive(made - freed);
    }
    end();
}
END_TEST

/* Where there is no room for the longer form none is made; one that is there may be used. */
START_TEST(no_room)
{
    begin(_i);
    espi_own_types_close();
    refused(LONG);
    espi_own_types_open(true);
    espi_own_types_add(ESPI_OWN_TYPES_MOST - 3 + 1);
    refused(LONG);
    espi_own_types_add(-1);
    MPI_Datatype type = take(LONG);
    espi_own_types_add(3 - datatypes()); /* all there may be */
    refused(LONG);
    espi_own_types_add(datatypes() - 3);
    back(type, LONG);
    ck_assert_int_eq(take(LONG), type);
    back(type, LONG);
    espi_own_types_add(-(ESPI_OWN_TYPES_MOST - 3));
    end();
}
END_TEST

/* A handle that the library may pack wrongly is not used. */
START_TEST(high_handle)
{
    static MPI_Datatype low[ESPI_OWN_TYPES_HIGH + 16];
    enum { N = sizeof low / sizeof *low };

    begin(_i);
    for (int i = 0; i < N; i++)
        MPI_Type_contiguous(1, MPI_BYTE, &low[i]);
    ck_assert(taken(LONG) == MPI_DATATYPE_NULL);
    alive(0);
    for (int i = N; i-- > 0;)
        MPI_Type_free(&low[i]);
    back(take(LONG), LONG);
    end();
}
END_TEST

/* What is kept is freed, what is out when it comes back: where the program needs handles it may be kept again. */
START_TEST(given_back)
{
    begin(_i);
    MPI_Datatype out = take(LONG);
    back(take(LONG + 1), LONG + 1);
    back(take(LONG), LONG);
    alive(3);
    espi_stream_types_give_back();
    alive(1);
    back(out, LONG);
    espi_stream_types_give_back();
    alive(0);
    out = take(LONG);
    back(take(LONG + 1), LONG + 1);
    espi_stream_types_close();
    alive(1);
    back(out, LONG);
    alive(0);
    end();
}
END_TEST

/* Whichever of MPI's functions fails, nothing stays behind, and the next try succeeds. */
START_TEST(failures)
{
    begin(_i);
    const int calls = datatypes() + 2; /* the commit, and the attribute */
    for (int i = 0; i <= calls; i++) {
        fails_at = i;
        MPI_Datatype type = taken(LONG);
        ck_assert_int_eq(type != MPI_DATATYPE_NULL, i == calls);
        ck_assert_int_eq(fails_at, i == calls ? 0 : -1);
        fails_at = -1;
        alive(i == calls);
        if (i == calls)
            back(type, LONG);
    }
    end();
}
END_TEST

/* What messages under way use counts until they are over, also when it was freed; where all that there may be are in
   use, none is made. */
START_TEST(under_way)
{
    enum { N = ESPI_OWN_TYPES_MOST, SIZE = LONG + N };
    static char from[SIZE + 1], onto[SIZE];
    MPI_Request requests[N];
    MPI_Datatype type;
    int n = 0;

    begin(_i);
    for (; (type = taken(LONG + n)) != MPI_DATATYPE_NULL; n++) {
        ck_assert_int_lt(n, N);
        MPI_Issend(from, 1, type, 0, n, MPI_COMM_SELF, &requests[n]);
        back(type, LONG + n);
        espi_stream_types_give_back();
        ck_assert_int_eq(held_types(), (n + 1) * datatypes());
    }
    ck_assert_int_gt(n * datatypes(), ESPI_OWN_TYPES_MOST - 3);
    for (int i = n; i-- > 0;) {
        MPI_Recv(onto, SIZE, MPI_BYTE, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        ck_assert_int_eq(held_types(), i * datatypes());
    }
    back(take(LONG), LONG);
    end();
}
END_TEST

/* The right bytes arrive, however the receiver calls them, also when the type has gone by then. */
START_TEST(messages)
{
    static const int each[] = {CELL + 1, LONG, 65536, (1 << 20) + 5};
    const MPI_Datatype as[] = {MPI_PACKED, MPI_BYTE};

    begin(_i);
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        for (int k = 0; k < 4; k++) {
            const size_t bytes = (size_t)each[i];
            char *from = malloc(bytes + 1), *onto = calloc(bytes + 1, 1);
            MPI_Request request;
            MPI_Status status;
            int count;
            for (size_t j = 0; j < bytes; j++)
                from[j] = (char)(j * 13 + j / 256 + (size_t)k);
            MPI_Datatype type = take(each[i]);
            if (form_now == ESPI_STREAM_SPLIT) {
                espi_stream_split(from, each[i]);
                from[bytes - 1] = (char)~from[bytes]; /* nothing of it is sent */
            }
            ck_assert_int_eq(MPI_Isend(from, 1, type, 0, 3, MPI_COMM_SELF, &request), MPI_SUCCESS);
            back(type, each[i]);
            if (k >= 2)
                espi_stream_types_give_back();
            ck_assert_int_eq(MPI_Recv(onto, each[i] + 1, as[k % 2], 0, 3, MPI_COMM_SELF, &status), MPI_SUCCESS);
            ck_assert_int_eq(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            MPI_Get_count(&status, as[k % 2], &count);
            ck_assert_int_eq(count, each[i]);
            if (form_now == ESPI_STREAM_SPLIT)
                from[bytes - 1] = from[bytes];
            ck_assert(memcmp(from, onto, bytes) == 0);
            free(from);
            free(onto);
        }
    end();
}
END_TEST

int main(int argc, char **argv)
{
    const TTest *const each[] = {opened,   sizes,       form,       again,    replaced,
                                 no_room,  high_handle, given_back, failures, under_way, messages};
    TCase *tests = tcase_create("types");

    tcase_add_test(tests, first_handles);
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        tcase_add_loop_test(tests, each[i], ESPI_STREAM_SPLIT, ESPI_STREAM_IN_ROW + 1);
    tcase_add_test(tests, forms_apart);
    return types_run(argc, argv, "stream_type", tests);
}
