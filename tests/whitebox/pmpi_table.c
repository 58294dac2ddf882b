/* The table of real functions: each is found when it is first called, or says that the library does not have it. */
#include <check.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#include "mpi/core/device_memory.h"
#include "mpi/core/pmpi.h"
#include "suite.h"

static struct espi_pmpi untouched;
static int barriers;

static int barrier(MPI_Comm comm)
{
    (void)comm;
    return barriers++;
}

/* Arguments travel on the stack, too. */
START_TEST(at_first_use)
{
    int to = -1, from = 7;
    espi_pmpi = untouched;
    ck_assert_ptr_null(espi_pmpi_open(RTLD_DEFAULT));
    ck_assert(espi_pmpi.Sendrecv != PMPI_Sendrecv);
    int code = espi_pmpi.Sendrecv(&from, 1, MPI_INT, 0, 3, &to, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    ck_assert_int_eq(code, MPI_SUCCESS);
    ck_assert_int_eq(to, 7);
    ck_assert(espi_pmpi.Sendrecv == PMPI_Sendrecv);
    double begin = espi_pmpi.Wtime();
    ck_assert(begin > 0 && espi_pmpi.Wtime() >= begin && espi_pmpi.Wtime == PMPI_Wtime);
}
END_TEST

START_TEST(lacking)
{
    void *other = dlopen("libc.so.6", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    int size = 5;
    espi_pmpi = untouched;
    ck_assert_ptr_nonnull(other);
    ck_assert_str_eq(espi_pmpi_open(other), "PMPI_Type_get_contents_c");
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(espi_pmpi.Type_size(MPI_INT, &size), MPI_ERR_INTERN);
    ck_assert_int_eq(size, 5);
    ck_assert_ptr_nonnull(espi_pmpi_load(other));
    ck_assert_int_eq(espi_pmpi.Comm_size(MPI_COMM_WORLD, &size), MPI_ERR_INTERN);
    ck_assert_ptr_null(espi_pmpi_find("MPI_Scan_c"));
}
END_TEST

static int device_kind; /* what the library supports, or -1 */

static int query_support(int kind, int *supported)
{
    *supported = kind == device_kind;
    return MPI_SUCCESS;
}

/* Where the library takes data in the memory of GPUs nothing touches them. */
START_TEST(devices)
{
    struct espi_settings as_set, settings;

    espi_pmpi = untouched;
    ck_assert_ptr_null(espi_pmpi_open(RTLD_DEFAULT));
    espi_settings_defaults(&as_set);
    as_set.tree = 2;
    settings = as_set;
    espi_device_memory_look(&settings, false); /* of the library of this test, which has none */
    ck_assert_mem_eq(&settings, &as_set, sizeof settings);
    espi_pmpi.x_GPU_query_support = query_support;
    for (device_kind = 0; device_kind < 3; device_kind++) {
        settings = as_set;
        espi_device_memory_look(&settings, false);
        ck_assert(settings.datatypes == ESPI_MODE_OFF && settings.pack == ESPI_MODE_OFF && settings.exchange == 0 &&
                  settings.collectives == ESPI_MODE_OFF && settings.tree == 0 && settings.reduce == ESPI_MODE_OFF);
    }
}
END_TEST

START_TEST(all_at_once)
{
    int rank = -1;
    espi_pmpi = untouched;
    espi_pmpi.Barrier = barrier;
    ck_assert_ptr_null(espi_pmpi_load(RTLD_DEFAULT));
    ck_assert(espi_pmpi.Comm_rank == PMPI_Comm_rank && espi_pmpi.Type_vector_c == PMPI_Type_vector_c);
    ck_assert_int_eq(espi_pmpi.Comm_rank(MPI_COMM_WORLD, &rank), MPI_SUCCESS);
    ck_assert_int_eq(rank, 0);
    ck_assert(espi_pmpi_find("MPI_Scan_c") == (void (*)(void))PMPI_Scan_c);
    /* What somebody else has put there stays. */
    espi_pmpi.Barrier(MPI_COMM_WORLD);
    ck_assert_int_eq(barriers, 1);
}
END_TEST

int main(int argc, char **argv)
{
    untouched = espi_pmpi;
    return TYPES_RUN(argc, argv, "real_table", at_first_use, lacking, devices, all_at_once);
}
