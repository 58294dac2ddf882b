#include "clock.h"

#include <time.h>

struct test_clock test_clock;

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    uint64_t ns;

    if (!test_clock.set)
        return __real_clock_gettime(id, t);
    ns = id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID ? test_clock.cpu : test_clock.now;
    test_clock_passes(test_clock.each, test_clock.each);
    *t = (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    return 0;
}

void test_clock_stands(void)
{
    test_clock = (struct test_clock){true, UINT64_C(1) << 50, UINT64_C(1) << 40, 0};
}

void test_clock_passes(uint64_t ns, uint64_t cpu)
{
    test_clock.now += ns;
    test_clock.cpu += cpu;
}
