#include "suite.h"

#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>

#include "base/overlap.h"
#include "mpi/core/api_table.h"
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

static sem_t leads_now, may_end;

static void *lead(void *led)
{
    *(bool *)led = espi_leads();
    sem_post(&leads_now);
    sem_wait(&may_end);
    espi_leads_no_more();
    return NULL;
}

void suite_another_leads(bool leads)
{
    static pthread_t other;
    static bool led;

    if (!leads) {
        sem_post(&may_end);
        ck_assert_int_eq(pthread_join(other, NULL), 0);
        espi_calls_overlap = false;
        return;
    }
    espi_calls_overlap = true;
    espi_leads_no_more();
    sem_init(&leads_now, 0, 0);
    sem_init(&may_end, 0, 0);
    ck_assert_int_eq(pthread_create(&other, NULL, lead, &led), 0);
    sem_wait(&leads_now);
    ck_assert(led && !espi_leads());
}

int types_run(int argc, char **argv, const char *program, TCase *tests)
{
    MPI_Init(&argc, &argv);
    types_setup();
    espi_stats_start(no_function, ESPI_FN_COUNT);
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
