#include "mpi/core/pmpi.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "abi.h"
#include "words.h"

static void *mpi;

static espi_word lacking(void)
{
    return MPI_ERR_INTERN;
}

static double lacking_time(void)
{
    return 0;
}

/* NULL: there is none. */
static espi_next look_up(const char *symbol)
{
    espi_next function = NULL;
    void *found = dlsym(mpi, symbol);
    memcpy(&function, &found, sizeof function);
    return function;
}

static espi_next look_up_or(const char *symbol, espi_next instead)
{
    espi_next function = look_up(symbol);
    if (!function)
        espi_log(ESPI_LOG_WARN, "the MPI library has no %s", symbol);
    return function ? function : instead;
}

/* Where `first` stands in the table, the function takes its place. Threads may come here together: all find the
   same. */
#define REPLACE(symbol, field, first, real)                                                                          \
    do {                                                                                                             \
        __typeof__(&symbol) expected = (__typeof__(&symbol))(espi_next)(first);                                      \
        atomic_compare_exchange_strong(&espi_pmpi.field, &expected, (__typeof__(&symbol))(real));                    \
    } while (0)

/* What stands in the table at first. The unevaluated call holds the number of arguments against mpi.h. */
#define FIRST(symbol, field, n)                                                                                      \
    static espi_word first_##field(ESPI_PARAMS_##n)                                                                  \
    {                                                                                                                \
        _Static_assert(sizeof symbol(ESPI_ZEROS_##n) == sizeof(int), "returns a code");                              \
        espi_next real = look_up_or(#symbol, (espi_next)lacking);                                                    \
        REPLACE(symbol, field, first_##field, real);                                                                 \
        return ((ESPI_FUNCTION(n))real)(ESPI_ARGS_##n);                                                              \
    }
#define ESPI_PMPI(name, n) FIRST(PMPI_##name, name, n)
#define ESPI_PMPI_X(name, n) FIRST(PMPIX_##name, x_##name, n)
#define ESPI_PMPI_TIME(name)                                                                                         \
    static double first_##name(void)                                                                                 \
    {                                                                                                                \
        double (*real)(void) = (double (*)(void))look_up_or("PMPI_" #name, (espi_next)lacking_time);                 \
        REPLACE(PMPI_##name, name, first_##name, real);                                                              \
        return real();                                                                                               \
    }
#include "mpi/core/pmpi.def"
#undef ESPI_PMPI
#undef ESPI_PMPI_X
#undef ESPI_PMPI_TIME

struct espi_pmpi espi_pmpi = {
#define ESPI_PMPI(name, n) .name = (__typeof__(&PMPI_##name))(espi_next)first_##name,
#define ESPI_PMPI_X(name, n) .x_##name = (__typeof__(&PMPIX_##name))(espi_next)first_x_##name,
#define ESPI_PMPI_TIME(name) .name = first_##name,
#include "mpi/core/pmpi.def"
#undef ESPI_PMPI
#undef ESPI_PMPI_X
#undef ESPI_PMPI_TIME
};

const char *espi_pmpi_open(void *library)
{
    static const char youngest[] = "PMPI_Type_get_contents_c";
    mpi = library;
    return look_up(youngest) ? NULL : youngest;
}

const char *espi_pmpi_load(void *library)
{
    const char *missing = NULL;
    espi_next real;
    mpi = library;
#define COMPLETE(symbol, field)                                                                                      \
    if ((real = look_up(#symbol)) != NULL)                                                                           \
        REPLACE(symbol, field, first_##field, real);                                                                 \
    else                                                                                                             \
        missing = #symbol;
#define ESPI_PMPI(name, n) COMPLETE(PMPI_##name, name)
#define ESPI_PMPI_X(name, n) COMPLETE(PMPIX_##name, x_##name)
#define ESPI_PMPI_TIME(name) COMPLETE(PMPI_##name, name)
#include "mpi/core/pmpi.def"
#undef ESPI_PMPI
#undef ESPI_PMPI_X
#undef ESPI_PMPI_TIME
    return missing;
}

void espi_pmpi_for_threads(void)
{
    int level = MPI_THREAD_SINGLE;
    if (espi_pmpi.Query_thread(&level) != MPI_SUCCESS || level == MPI_THREAD_MULTIPLE)
        espi_pmpi_load(mpi);
}

espi_next espi_pmpi_find(const char *name)
{
    char symbol[64] = "P";
    strncat(symbol, name, sizeof symbol - 2);
    return look_up(symbol);
}
