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
    (void)status;
    *ended = ++looks == ends_at;
    if (*ended && request != NULL)
        *request = MPI_REQUEST_NULL;
    return looks == fails_at ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* As espi_wait_yielding, of a call that began well and is there, or fails, at this look. */
static int waits(int there, int fails)
{
    MPI_Request request = (MPI_Request)7;

    espi_pmpi.Test = test;
    looks = yields = 0;
    ends_at = there;
    fails_at = fails;
    const int result = espi_wait_yielding(MPI_SUCCESS, &request);
    espi_pmpi.Test = PMPI_Test;
    ck_assert_int_eq(looks, fails > 0 ? fails : there);
    return result;
}

START_TEST(yields_when_long)
{
    ck_assert_int_eq(waits(1, 0), MPI_SUCCESS);
    ck_assert_int_eq(waits(20, 0), MPI_SUCCESS);
    ck_assert_int_eq(yields, 0); /* at first it only looks */
    ck_assert_int_eq(waits(1000, 0), MPI_SUCCESS);
    ck_assert_int_gt(yields, 900);
}
END_TEST

START_TEST(errors)
{
    MPI_Request request = (MPI_Request)7;

    ck_assert_int_eq(waits(1000, 5), MPI_ERR_OTHER);
    espi_pmpi.Test = test;
    looks = 0;
    ck_assert_int_eq(espi_wait_yielding(MPI_ERR_COUNT, &request), MPI_ERR_COUNT);
    ck_assert_int_eq(looks, 0); /* there is no request */
    espi_pmpi.Test = PMPI_Test;
}
END_TEST

START_TEST(collective)
{
    MPI_Request request;
    int one = 1, sum = 0;

    const int begun = MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    ck_assert_int_eq(espi_wait_yielding(begun, &request), MPI_SUCCESS);
    ck_assert(sum == 1 && request == MPI_REQUEST_NULL);
}
END_TEST

int main(int argc, char **argv)
{
    return TYPES_RUN(argc, argv, "whitebox/yielding_wait", yields_when_long, errors, collective);
}
