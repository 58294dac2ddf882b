/*
 * A preload library by which one rank's core gets no memory once the program ends MPI; its requests, found by the
 * address they come from, are refused from then on. Under Hydra, which says PMI_RANK:
 *
 *   LD_PRELOAD=nomem.so ESPALIER_TEST_NOMEM=2 mpiexec -n 4 espalier run ./program
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VISIBLE __attribute__((visibility("default")))

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

static bool refusing;
static unsigned long refused;

static bool is_refused(const void *caller)
{
    Dl_info found;
    if (!refusing || !dladdr(caller, &found) || found.dli_fname == NULL ||
        strstr(found.dli_fname, "libespalier-core") == NULL)
        return false;
    refused++;
    errno = ENOMEM;
    return true;
}

VISIBLE void *malloc(size_t bytes)
{
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

VISIBLE void *calloc(size_t n, size_t bytes)
{
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_calloc(n, bytes);
}

VISIBLE void *realloc(void *memory, size_t bytes)
{
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, bytes);
}

VISIBLE int MPI_Finalize(void);

VISIBLE int MPI_Finalize(void)
{
    const char *chosen = getenv("ESPALIER_TEST_NOMEM"), *rank = getenv("PMI_RANK");
    int (*next)(void);
    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Finalize");
    refusing = chosen != NULL && rank != NULL && strcmp(chosen, rank) == 0;
    int code = next();
    if (refusing)
        fprintf(stderr, "rank %s: %s\n", rank, refused > 0 ? "memory was refused" : "nothing was asked for");
    refusing = false;
    return code;
}
