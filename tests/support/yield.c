/*
 * A preload library for tests with more ranks than processors. MPICH waits by calling its progress function in a loop
 * without ever giving up the processor, so two ranks that share one wait a whole time slice for each other's every
 * message. Here a poll of UCX that found nothing yields. (Seen with 4 ranks on 2 processors: the ScaLAPACK tester
 * cpb3tst takes 0.65 s instead of 36 s.) Not for measurements, and of no use to programs whose MPI does not poll
 * through UCX.
 *
 *   LD_PRELOAD=$ESPI_YIELD mpiexec -n 8 ./program        (make check exports ESPI_YIELD, the path of this library)
 *
 * With ESPALIER_TEST_NAP such a poll sleeps for that many microseconds instead: messages take about that long then,
 * whatever else the machine does and however far its processors are from each other.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    static struct timespec nap;
    unsigned events = 0;

    if (next == NULL) {
        const char *microseconds = getenv("ESPALIER_TEST_NAP");
        nap.tv_nsec = microseconds != NULL ? 1000L * atoi(microseconds) : 0;
        *(void **)&next = dlsym(RTLD_NEXT, "ucp_worker_progress");
    }
    if (next != NULL)
        events = next(worker);
    if (events == 0 && nap.tv_nsec > 0)
        nanosleep(&nap, NULL);
    else if (events == 0)
        sched_yield();
    return events;
}
