#include "runner.h"

#include <stdlib.h>

#include "random.h"

int run_suite(const char *program, int seconds, SFun setup, SFun teardown, const TTest *const *tests, int n)
{
    random_seed(program);
    Suite *suite = suite_create(program);
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, seconds);
    tcase_add_checked_fixture(all, setup, teardown);
    for (int i = 0; i < n; i++)
        tcase_add_test(all, tests[i]);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
