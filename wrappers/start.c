/*
 * The one decision per process: does the core take part, or does every call pass through?
 * Made at the first wrapped call, never earlier: a shell or launcher that carries the preload pays nothing.
 */
#include <config.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "find.h"
#include "stub.h"

#define CORE_FILE "libespalier-core.so"
#define VERSION_TEXT 8192 /* MPI_MAX_LIBRARY_VERSION_STRING of MPICH; no MPI has more */

const espi_handler espi_nothing[ESPI_FN_COUNT];

static struct espi_thread *this_thread(void)
{
    return &espi_here;
}

struct espi_stub espi_self = {ESPI_ABI_VERSION, NULL,         this_thread, espi_say,
                              espi_is_last,        espi_refresh, &espi_hot};

static void say_about(const char *before, const char *name, const char *after)
{
    char text[900];
    size_t used = 0;
    const char *const parts[] = {before, name, after};
    for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(parts[i]);
        if (length > sizeof text - 1 - used)
            length = sizeof text - 1 - used;
        memcpy(text + used, parts[i], length);
        used += length;
    }
    text[used] = '\0';
    espi_say(text);
}

/* Two MPI libraries may be loaded. The program's calls go to the first in scope: is that the one we were built
   for? */
static bool same_library(void *mpi)
{
    typedef int (*version_fn)(char *, int *);
    version_fn theirs = (version_fn)(uintptr_t)dlsym(RTLD_NEXT, "MPI_Get_library_version");
    if (!theirs || theirs == (version_fn)(uintptr_t)dlsym(mpi, "MPI_Get_library_version"))
        return true; /* the core asks for the version itself */
    version_fn ours = (version_fn)(uintptr_t)dlsym(mpi, "PMPI_Get_library_version");
    char *text = calloc(2, VERSION_TEXT);
    int length = 0;
    bool same = ours && text && ours(text, &length) == 0 && theirs(text + VERSION_TEXT, &length) == 0 &&
                strncmp(text, text + VERSION_TEXT, VERSION_TEXT) == 0;
    free(text);
    return same;
}

/* The core stands beside the stub. Writes its file name; false when that does not fit. */
static bool core_file(char *name, size_t size)
{
    const char *stub = espi_object_name((const void *)(uintptr_t)espi_start);
    const char *slash = strrchr(stub, '/');
    size_t folder = slash ? (size_t)(slash - stub) + 1 : 0;
    if (folder + sizeof CORE_FILE > size)
        return false;
    memcpy(name, stub, folder);
    memcpy(name + folder, CORE_FILE, sizeof CORE_FILE);
    return true;
}

static const espi_handler *decide(void)
{
    const char *wanted = getenv("ESPALIER");
    if (wanted && strcmp(wanted, "0") == 0)
        return espi_nothing;
    espi_self.mpi = espi_find_loaded(ESPALIER_MPI_SONAME);
    if (!espi_self.mpi || !same_library(espi_self.mpi)) {
        say_about("this program uses another MPI library (",
                  espi_object_name(espi_find_symbol("MPI_Get_library_version")),
                  ") than Espalier was built for (MPICH " ESPALIER_MPICH_VERSION ", " ESPALIER_MPI_SONAME
                  "): every call passes through untouched");
        return espi_nothing;
    }
    char name[4096];
    if (!core_file(name, sizeof name))
        return espi_nothing;
    void *core = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!core) {
        const char *why = dlerror();
        say_about("the core could not be loaded: ", why ? why : name, ": every call passes through untouched");
        return espi_nothing;
    }
    espi_core_start_fn begin = (espi_core_start_fn)(uintptr_t)dlsym(core, ESPI_CORE_START);
    const struct espi_core *answer = begin ? begin(&espi_self) : NULL;
    if (!begin || (answer && answer->version != ESPI_ABI_VERSION)) {
        say_about("", name, " is of another version of Espalier: every call passes through untouched");
        return espi_nothing;
    }
    return answer ? answer->handlers : espi_nothing;
}

static void start(void)
{
    atomic_store_explicit(&espi_hot.handlers, decide(), memory_order_release);
    espi_refresh();
}

const espi_handler *espi_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const espi_handler *handlers = atomic_load_explicit(&espi_hot.handlers, memory_order_acquire);
    /* The core's start may enter MPI, and so come here again in the same thread, where waiting would never end. */
    static __thread bool starting __attribute__((tls_model("initial-exec")));
    if (handlers)
        return handlers;
    if (starting)
        return espi_nothing;
    starting = true;
    pthread_once(&once, start);
    starting = false;
    return atomic_load_explicit(&espi_hot.handlers, memory_order_acquire);
}
