/*
 * Communicators stay known under MPI_THREAD_MULTIPLE, also where memory was too short to record one: otherwise one
 * rank would leave calls to the library that the others send along a tree. Allocations of this program fail when told
 * to (--wrap).
 */
#include <check.h>
#include <mpi.h>

#include "mpi/comm/comm_cache.h"
#include "setup.h"
#include "suite.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);

static int granted = -1; /* allocations until they fail; negative: they do not */

static bool is_granted(void)
{
    if (granted > 0)
        granted--;
    else if (granted == 0)
        return false;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return is_granted() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return is_granted() ? __real_calloc(n, bytes) : NULL;
}

/* The record, or (the hash table is new then) its place among all. */
START_TEST(unrecorded)
{
    struct espi_comm_facts facts = {.comm = MPI_COMM_NULL};
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    espi_comm_cache_start(true);
    if (_i == 0)
        ck_assert(!espi_comm_look(&facts, comm)); /* nobody has taken it yet */
    granted = _i;
    bool good = espi_comm_look_taken(&facts, comm);
    granted = -1;
    ck_assert(good);
    facts.comm = MPI_COMM_NULL; /* another communicator was looked at meanwhile */
    ck_assert(espi_comm_look(&facts, comm));
    ck_assert_int_eq(facts.peers, 1);
    ck_assert(espi_comm_is_known(comm));
    espi_comm_cache_stop();
    MPI_Comm_free(&comm);
}
END_TEST

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE) {
        puts("skipped: no MPI_THREAD_MULTIPLE");
        return 77;
    }
    types_setup();
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, unrecorded, 0, 3);
    return suite_run("comm_cache", all);
}
