#include "suite.h"

#include <mpi.h>

#include "stats/stats.h"
#include "random_types.h"
#include "setup.h"

TCase *types_case(const TTest *const *tests, int n)
{
    TCase *all = tcase_create("all");
    for (int i = 0; i < n; i++)
        tcase_add_test(all, tests[i]);
    return all;
}

static const char *no_function(size_t function)
{
    (void)function;
    return "none";
}

int types_run(int argc, char **argv, const char *program, TCase *tests)
{
    MPI_Init(&argc, &argv);
    types_setup();
    espi_stats_start(no_function, 1);
    random_seed(program);
    return suite_run(program, tests);
}

int suite_run(const char *program, TCase *tests)
{
    Suite *suite = suite_create(program);
    tcase_set_timeout(tests, 0); /* of Check: it ends a test by a signal, in a process of its own */
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    MPI_Finalize();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
