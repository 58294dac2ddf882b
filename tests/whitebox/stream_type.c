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

#include "mpi/core/pmpi.h"
#include "mpi/datatype/own_types.h"
#include "mpi/packed/stream_type.h"
#include "suite.h"
#include "type_service.h"

enum { CELL = 8255, LONG = 10000, EACH = 3, PLACES = 16 }; /* EACH: datatypes that are counted for one of ours */

static __typeof__(espi_pmpi) real;
static long made, freed; /* types that MPI gave us, and got back */
static int fails_at = -1; /* calls until one fails */
static bool version_fails;
static const char *version;

static bool fails(void)
{
    return fails_at >= 0 && fails_at-- == 0;
}

static int contiguous(int n, MPI_Datatype of, MPI_Datatype *type)
{
    if (fails())
        return MPI_ERR_OTHER;
    made++;
    return real.Type_contiguous(n, of, type);
}

static int resized(MPI_Datatype of, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *type)
{
    if (fails())
        return MPI_ERR_OTHER;
    made++;
    return real.Type_create_resized(of, lb, extent, type);
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

/* For a message that goes cell by cell if that may be. */
static MPI_Datatype taken(int64_t bytes)
{
    return espi_stream_type_take(bytes);
}

static int library_version(char *text, int *length)
{
    strcpy(text, version);
    *length = (int)strlen(version);
    return version_fails ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void begin(void)
{
    if (real.Type_free == NULL)
        real = espi_pmpi;
    espi_pmpi.Type_contiguous = contiguous;
    espi_pmpi.Type_create_resized = resized;
    espi_pmpi.Type_commit = commit;
    espi_pmpi.Type_free = free_type;
    espi_pmpi.Get_library_version = library_version;
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
    ck_assert_int_eq(held_types(), EACH * n);
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
    begin();
    ck_assert(espi_stream_may_go_in_cells(LONG));
    espi_stream_types_close();
    ck_assert(!espi_stream_may_go_in_cells(LONG));
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
    espi_stream_type_back(take(LONG), LONG);
    end();
}
END_TEST

/* What a cell holds goes through one anyway; the type's extent before the second resizing fits an int. */
START_TEST(sizes)
{
    static const int64_t not[] = {INT64_MIN, -LONG, -1, 0, 1, CELL - 1, CELL, INT_MAX - 63, INT_MAX,
                                  (int64_t)INT_MAX + 1, (INT64_C(1) << 32) + LONG, INT64_MAX};
    static const int64_t are[] = {CELL + 1, LONG, 1 << 20, INT_MAX - 64};

    begin();
    for (size_t i = 0; i < sizeof not / sizeof *not; i++) {
        ck_assert(!espi_stream_may_go_in_cells(not[i]));
        refused(not[i]);
    }
    for (size_t i = 0; i < sizeof are / sizeof *are; i++) {
        ck_assert(espi_stream_may_go_in_cells(are[i]));
        espi_stream_type_back(take(are[i]), are[i]);
    }
    end();
}
END_TEST

/* The type that a resized one was made of; the caller frees it. */
static MPI_Datatype resized_of(MPI_Datatype type)
{
    int ints, addresses, types, combiner;
    MPI_Aint bounds[2];
    MPI_Datatype of;

    MPI_Type_get_envelope(type, &ints, &addresses, &types, &combiner);
    ck_assert_int_eq(combiner, MPI_COMBINER_RESIZED);
    MPI_Type_get_contents(type, 0, 2, 1, NULL, bounds, &of);
    return of;
}

/* Committed, and as long as it has data, so that items follow one another; what it is made of has room behind. */
START_TEST(form)
{
    static const int64_t each[] = {CELL + 1, LONG, 123457, INT_MAX - 64};
    static char from[2 * LONG], packed[2 * LONG];

    begin();
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        MPI_Datatype type = take(each[i]), of = resized_of(type);
        MPI_Aint lb, extent;
        MPI_Count size;
        MPI_Type_size_x(type, &size);
        MPI_Type_get_extent(type, &lb, &extent);
        ck_assert(size == each[i] && lb == 0 && extent == each[i]);
        MPI_Type_get_true_extent(type, &lb, &extent);
        ck_assert(lb == 0 && extent == each[i]);
        MPI_Type_get_extent(of, &lb, &extent);
        ck_assert(lb == 0 && extent > each[i]);
        MPI_Type_free(&of);
        espi_stream_type_back(type, each[i]);
    }
    for (int i = 0; i < 2 * LONG; i++)
        from[i] = (char)(i * 7 + i / 256);
    MPI_Datatype type = take(LONG);
    int at = 0;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    ck_assert_int_eq(MPI_Pack(from, 2, type, packed, 2 * LONG, &at, MPI_COMM_SELF), MPI_SUCCESS);
    ck_assert(at == 2 * LONG && memcmp(from, packed, 2 * LONG) == 0);
    espi_stream_type_back(type, LONG);
    end();
}
END_TEST

/* A type that was given back is there for the next message of its size; of two that are out at the same time one is
   kept. */
START_TEST(again)
{
    begin();
    MPI_Datatype first = take(LONG), second;
    espi_stream_type_back(first, LONG);
    alive(1);
    const long before = made;
    for (int i = 0; i < 3; i++) {
        second = take(LONG);
        ck_assert_int_eq(second, first);
        espi_stream_type_back(second, LONG);
    }
    ck_assert_int_eq(made, before);
    first = take(LONG);
    second = take(LONG);
    ck_assert_int_ne(first, second);
    alive(2);
    espi_stream_type_back(first, LONG);
    alive(2);
    espi_stream_type_back(second, LONG);
    alive(1);
    ck_assert_int_eq(take(LONG), second);
    espi_stream_type_back(second, LONG);
    end();
}
END_TEST

/* Many sizes: the later ones take the places of earlier ones, also while these are out. */
START_TEST(replaced)
{
    MPI_Datatype out[8];
    long most = 0;

    begin();
    for (int i = 1; i <= 200; i++) {
        espi_stream_type_back(take(CELL + i), CELL + i);
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
            espi_stream_type_back(out[i], LONG + 8 * round + i);
        ck_assert_int_le(made - freed, PLACES);
        alive(made - freed);
    }
    end();
}
END_TEST

/* Where Espalier is to hold no more types, none is made; one that is there may be used. */
START_TEST(no_room)
{
    begin();
    espi_own_types_close();
    refused(LONG);
    espi_own_types_open(true);
    espi_own_types_add(ESPI_OWN_TYPES_MOST - EACH + 1);
    refused(LONG);
    espi_own_types_add(-1);
    MPI_Datatype type = take(LONG);
    refused(LONG);
    espi_stream_type_back(type, LONG);
    ck_assert_int_eq(take(LONG), type);
    espi_stream_type_back(type, LONG);
    espi_own_types_add(-(ESPI_OWN_TYPES_MOST - EACH));
    end();
}
END_TEST

/* A handle that the library may pack wrongly is not used. */
START_TEST(high_handle)
{
    static MPI_Datatype low[ESPI_OWN_TYPES_HIGH + 16];
    enum { N = sizeof low / sizeof *low };

    begin();
    for (int i = 0; i < N; i++)
        MPI_Type_contiguous(1, MPI_BYTE, &low[i]);
    ck_assert(taken(LONG) == MPI_DATATYPE_NULL);
    alive(0);
    for (int i = N; i-- > 0;)
        MPI_Type_free(&low[i]);
    espi_stream_type_back(take(LONG), LONG);
    end();
}
END_TEST

/* What is kept is freed, what is out when it comes back: where the program needs handles it may be kept again. */
START_TEST(given_back)
{
    begin();
    MPI_Datatype out = take(LONG);
    espi_stream_type_back(take(LONG + 1), LONG + 1);
    espi_stream_type_back(take(LONG), LONG);
    alive(3);
    espi_stream_types_give_back();
    alive(1);
    espi_stream_type_back(out, LONG);
    espi_stream_types_give_back();
    alive(0);
    out = take(LONG);
    espi_stream_type_back(take(LONG + 1), LONG + 1);
    espi_stream_types_close();
    alive(1);
    espi_stream_type_back(out, LONG);
    alive(0);
    end();
}
END_TEST

/* Whichever of MPI's functions fails, nothing stays behind, and the next try succeeds. */
START_TEST(failures)
{
    enum { CALLS = 4 };

    begin();
    for (int i = 0; i <= CALLS; i++) {
        fails_at = i;
        MPI_Datatype type = taken(LONG);
        ck_assert_int_eq(type != MPI_DATATYPE_NULL, i == CALLS);
        ck_assert_int_eq(fails_at, i == CALLS ? 0 : -1);
        fails_at = -1;
        alive(i == CALLS);
        if (i == CALLS)
            espi_stream_type_back(type, LONG);
    }
    end();
}
END_TEST

/* The right bytes arrive, however the receiver calls them, also when the type has gone by then. */
START_TEST(messages)
{
    static const int each[] = {CELL + 1, LONG, 65536, (1 << 20) + 5};
    const MPI_Datatype as[] = {MPI_PACKED, MPI_BYTE};

    begin();
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        for (int k = 0; k < 4; k++) {
            const size_t bytes = (size_t)each[i];
            char *from = malloc(bytes), *onto = calloc(bytes + 1, 1);
            MPI_Request request;
            MPI_Status status;
            int count = 0;
            for (size_t j = 0; j < bytes; j++)
                from[j] = (char)(j * 13 + j / 256 + (size_t)k);
            MPI_Datatype type = take(each[i]);
            ck_assert_int_eq(MPI_Isend(from, 1, type, 0, 3, MPI_COMM_SELF, &request), MPI_SUCCESS);
            espi_stream_type_back(type, each[i]);
            if (k >= 2)
                espi_stream_types_give_back();
            ck_assert_int_eq(MPI_Recv(onto, each[i] + 1, as[k % 2], 0, 3, MPI_COMM_SELF, &status), MPI_SUCCESS);
            ck_assert_int_eq(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            MPI_Get_count(&status, as[k % 2], &count);
            ck_assert_int_eq(count, each[i]);
            ck_assert(memcmp(from, onto, bytes) == 0);
            free(from);
            free(onto);
        }
    end();
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "stream_type", opened, sizes, form, again, replaced, no_room,
                     high_handle, given_back, failures, messages);
}
