/* Where calls go on to. */
#include <config.h>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "find.h"
#include "stub.h"

/* Characters and not pointers, which the loader would have to write in every process. */
enum { NAME = 40 };
static const char names[ESPI_FN_COUNT][NAME] = {
#define ESPI_API(name, ...) "PMPI_" #name,
#include "api.def"
#undef ESPI_API
};

#define ESPI_API(name, ...) _Static_assert(sizeof "PMPI_" #name <= NAME, "it ends");
#include "api.def"
#undef ESPI_API

/* What a call comes to when no MPI library has the function: MPI_ERR_INTERN in MPICH, an error in every MPI. */
static espi_word no_such_function(void)
{
    espi_say("a call of an MPI function that no MPI library in this process has was answered with an error");
    return 16;
}

/* Whether a call that goes on to `next` is in the MPI library at once. */
static bool is_mpis_own(espi_next next, const char *name)
{
    return next && espi_self.mpi && (uintptr_t)dlsym(espi_self.mpi, name) == (uintptr_t)next;
}

/* Entries with a `next`, a bit each: programs call few functions, and the entries fill pages. */
enum { WORD = 64, WORDS = (ESPI_FN_COUNT + WORD - 1) / WORD };
static _Atomic uint64_t found[2][WORDS];

/* Asked of functions that may never be called: these have no entry afterwards either. */
bool espi_is_last(enum espi_fn fn)
{
    const char *name = names[fn] + 1;
    const bool known = atomic_load(&found[false][fn / WORD]) >> fn % WORD & 1;
    return is_mpis_own(known ? atomic_load_explicit(&espi_entry_of(&espi_hot, false, fn)->next, memory_order_acquire)
                             : (espi_next)(uintptr_t)espi_find_symbol(name),
                       name);
}

/* Whether the MPI library calls: what a program does with files makes many such calls. The loader, which goes through
   all that is loaded, or through tables of symbols, is asked once. */
static bool is_librarys(const void *caller)
{
    static _Atomic uintptr_t low, high; /* low is stored last; 0: not yet */
    uintptr_t from = atomic_load_explicit(&low, memory_order_acquire);
    if (from == 0) {
        struct espi_range library = espi_object_range(dlsym(espi_self.mpi, names[ESPI_FN_Init]));
        from = library.low != 0 ? library.low : UINTPTR_MAX;
        atomic_store_explicit(&high, library.high, memory_order_relaxed);
        atomic_store_explicit(&low, from, memory_order_release);
    }
    return (uintptr_t)caller >= from && (uintptr_t)caller < atomic_load_explicit(&high, memory_order_relaxed);
}

bool espi_is_programs(bool profiling, enum espi_fn fn, const void *caller)
{
    if (espi_self.mpi && is_librarys(caller))
        return false;
    return !profiling || espi_is_last(fn);
}

static atomic_uint never; /* flags: what needs them is not fast any more */

static bool is_fast(enum espi_fn fn)
{
    return (atomic_load(&espi_hot.plain) & ~atomic_load(&never) & espi_short_flags[fn]) != 0;
}

static pthread_mutex_t refreshing = PTHREAD_MUTEX_INITIALIZER; /* what is fast is not what it was before a change */

static void refresh(bool profiling, enum espi_fn fn)
{
    struct espi_entry *entry = espi_entry_of(&espi_hot, profiling, fn);
    espi_next next = atomic_load_explicit(&entry->next, memory_order_acquire), fast = NULL;
    if (next && atomic_load_explicit(&espi_hot.handlers, memory_order_acquire) == espi_nothing)
        atomic_store_explicit(&entry->passthrough, next, memory_order_release);
    const bool own = next && !profiling && is_fast(fn) && is_mpis_own(next, names[fn] + 1);
    pthread_mutex_lock(&refreshing);
    if (own && is_fast(fn)) /* flags that are cleared later on are seen by whoever clears them, after this */
        fast = next;
    atomic_store(&entry->fast_next, fast);
    pthread_mutex_unlock(&refreshing);
}

void espi_refresh(void)
{
    for (unsigned profiling = 0; profiling < 2; profiling++)
        for (unsigned word = 0; word < WORDS; word++)
            for (uint64_t left = atomic_load(&found[profiling][word]); left != 0; left &= left - 1)
                refresh(profiling, (enum espi_fn)(word * WORD + (unsigned)__builtin_ctzll(left)));
}

espi_next espi_find_next(bool profiling, enum espi_fn fn)
{
    const char *name = profiling ? names[fn] : names[fn] + 1;
    espi_next next = (espi_next)(uintptr_t)espi_find_symbol(name);
    if (!next)
        next = (espi_next)(uintptr_t)no_such_function;
    /* Several threads may store here; all find the same. */
    atomic_store_explicit(&espi_entry_of(&espi_hot, profiling, fn)->next, next, memory_order_release);
    atomic_fetch_or(&found[profiling][fn / WORD], (uint64_t)1 << fn % WORD);
    if (espi_short_flags[fn] & ESPI_PLAIN_NO_MORE) {
        atomic_store(&never, ESPI_PLAIN_REQUESTS);
        espi_refresh();
    } else {
        refresh(profiling, fn);
    }
    return next;
}
