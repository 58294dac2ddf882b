/*
 * Check tells its runner, through a file, the place of every assertion that holds, so that the last one is known
 * where a test dies. In loops of millions of assertions that takes most of the time. Linked with --wrap=_mark_point,
 * a test tells the first ones, and of the others one in so many. Those that fail are told as ever.
 */
#include <check.h>

enum { TOLD_ALL = 2000, TOLD_OF = 1024 };

void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);

void __wrap__mark_point(const char *file, int line)
{
    static unsigned long marks;

    marks++;
    if (marks <= TOLD_ALL || marks % TOLD_OF == 0)
        __real__mark_point(file, line);
}
