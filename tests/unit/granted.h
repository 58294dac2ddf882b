/* Allocations of a program that fail when told to, for tests with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc; for
   one file of a program. */
#ifndef ESPI_TESTS_GRANTED_H
#define ESPI_TESTS_GRANTED_H

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

static int granted = -1; /* allocations until they fail; negative: they do not */

static bool recovers;    /* one fails, and those after it do not */

static bool is_granted(void)
{
    if (granted > 0)
        granted--;
    bool fails = granted == 0;
    if (fails && recovers)
        granted = -1;
    return !fails;
}

void *__wrap_malloc(size_t bytes)
{
    return is_granted() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return is_granted() ? __real_calloc(n, bytes) : NULL;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return is_granted() ? __real_realloc(memory, bytes) : NULL;
}

#endif
