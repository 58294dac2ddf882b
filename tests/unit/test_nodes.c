/* Whether the environment says that all ranks are on one node (src/job/nodes.h): by Hydra's count of ranks here, by
   Slurm's count of nodes, and by nothing else. */
#include <check.h>
#include <stdlib.h>

#include "job/nodes.h"
#include "runner.h"

static bool on_one_node(const char *ranks_here, const char *nodes, int size)
{
    static const char *const name[2] = {"MPI_LOCALNRANKS", "SLURM_STEP_NUM_NODES"};
    const char *const value[2] = {ranks_here, nodes};

    for (int i = 0; i < 2; i++)
        if (value[i] != NULL)
            setenv(name[i], value[i], 1);
        else
            unsetenv(name[i]);
    return espi_job_on_one_node(size);
}

START_TEST(said)
{
    ck_assert(on_one_node("4", NULL, 4));
    ck_assert(on_one_node("1", NULL, 1));
    ck_assert(!on_one_node("2", NULL, 4));
    ck_assert(!on_one_node("1", NULL, 4));
    ck_assert(!on_one_node("5", NULL, 4));
    ck_assert(on_one_node(NULL, "1", 4));
    ck_assert(!on_one_node(NULL, "2", 4));
    ck_assert(!on_one_node(NULL, "0", 4));
}
END_TEST

/* One rank is where it is, if nothing says that there are more; of several nothing is known. */
START_TEST(not_said)
{
    ck_assert(on_one_node(NULL, NULL, 1));
    ck_assert(!on_one_node(NULL, NULL, 2));
    ck_assert(on_one_node(NULL, "2", 1));
}
END_TEST

/* Hydra's launcher may itself run in a step of Slurm's. */
START_TEST(both)
{
    ck_assert(!on_one_node("2", "1", 4));
    ck_assert(on_one_node("4", "2", 4));
    ck_assert(!on_one_node("", "1", 4));
}
END_TEST

START_TEST(nonsense)
{
    static const char *const wrong[] = {"", " ", "x", "4x", "4 ", " 4", "0x4", "4.0", "-4", "four", "4,4", "4(x2)",
                                        "99999999999999999999", "18446744073709551620", "4294967300"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(!on_one_node(wrong[i], NULL, 4), "'%s'", wrong[i]);
        ck_assert_msg(!on_one_node(NULL, wrong[i], 4), "'%s'", wrong[i]);
    }
    static const char *const not_one[] = {"1x", "1 ", " 1", "1.0", "-1", "18446744073709551617", "4294967297"};
    for (size_t i = 0; i < sizeof not_one / sizeof *not_one; i++)
        ck_assert_msg(!on_one_node(NULL, not_one[i], 4), "'%s'", not_one[i]);
}
END_TEST

int main(void)
{
    return RUN_SUITE("nodes", 10, NULL, NULL, said, not_said, both, nonsense);
}
