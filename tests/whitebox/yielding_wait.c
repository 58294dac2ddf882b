/* How the core waits for other ranks where they may share processors (mpi/core/yielding_wait.h). */
#include <check.h>
#include <mpi.h>
#include <sched.h>

#include "mpi/core/pmpi.h"
#include "mpi/core/yielding_wait.h"
#include "suite.h"

int __wrap_sched_yield(void);

static int looks, yields, ends_at, fails_at;

int __wrap_sched_yield(void)
{
    ck_assert_int_lt(looks, ends_at); /* not once it is there */
    return yields++ * 0;
}

static int test(MPI_Request *request, int *ended, MPI_Status *status)
{
    *ended = ++looks == ends_at;
    if (*ended && request != NULL)
        *request = MPI_REQUEST_NULL;
    if (*ended && status != MPI_STATUS_IGNORE)
        status->MPI_TAG = 17;
    return looks == fails_at ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* As espi_wait_yielding, of a call that began well and is there, or fails, at this look. */
static int waits(int there, int fails, MPI_Status *status)
{
    MPI_Request request = (MPI_Request)7;

    espi_pmpi.Test = test;
    looks = yields = 0;
    ends_at = there;
    fails_at = fails;
    const int result = espi_wait_yielding(MPI_SUCCESS, &request, status);
    espi_pmpi.Test = PMPI_Test;
    ck_assert_int_eq(looks, fails > 0 ? fails : there);
    return result;
}

START_TEST(yields_when_long)
{
    MPI_Status status;

    ck_assert_int_eq(waits(1, 0, &status), MPI_SUCCESS);
    ck_assert(yields == 0 && status.MPI_TAG == 17);
    ck_assert_int_eq(waits(1000, 0, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ck_assert(yields > 900 && yields < 1000); /* at first it only looks */
}
END_TEST

START_TEST(errors)
{
    MPI_Request request = (MPI_Request)7;

    ck_assert_int_eq(waits(1000, 5, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
    espi_pmpi.Test = test;
    looks = 0;
    ck_assert_int_eq(espi_wait_yielding(MPI_ERR_COUNT, &request, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    ck_assert_int_eq(looks, 0); /* there is no request */
    espi_pmpi.Test = PMPI_Test;
}
END_TEST

START_TEST(messages)
{
    MPI_Request sent, received;
    MPI_Status status;
    int from = 5, to = 0;

    const int begun = MPI_Irecv(&to, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_SELF, &received);
    ck_assert_int_eq(espi_wait_yielding(MPI_Isend(&from, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &sent), &sent,
                                        MPI_STATUS_IGNORE), MPI_SUCCESS);
    ck_assert_int_eq(espi_wait_yielding(begun, &received, &status), MPI_SUCCESS);
    ck_assert(to == 5 && status.MPI_TAG == 3 && sent == MPI_REQUEST_NULL && received == MPI_REQUEST_NULL);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "whitebox/yielding_wait", yields_when_long, errors, messages);
}
