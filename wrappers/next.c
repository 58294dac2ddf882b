/* Where calls go on to. */
#include <config.h>

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "find.h"
#include "stub.h"

static const char *const names[] = {
#define ESPI_API(name, ...) "PMPI_" #name,
#include "api.def"
#undef ESPI_API
};

/* What a call comes to when no MPI library has the function: MPI_ERR_INTERN in MPICH, an error in every MPI. */
static espi_word no_such_function(void)
{
    espi_say("a call of an MPI function that no MPI library in this process has was answered with an error");
    return 16;
}

espi_next espi_find_next(bool profiling, enum espi_fn fn)
{
    const char *name = profiling ? names[fn] : names[fn] + 1;
    espi_next next = (espi_next)(uintptr_t)espi_find_symbol(name);
    if (!next)
        next = (espi_next)(uintptr_t)no_such_function;
    /* Several threads may store here; all find the same. */
    atomic_store_explicit(&espi_hot.entries[profiling][fn].next, next, memory_order_release);
    return next;
}
