#include <config.h>

#include "find.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void espi_say(const char *text)
{
    char line[1024] = "espalier: ";
    size_t length = strlen(line), more = strlen(text);
    int saved = errno;
    if (more > sizeof line - length - 1)
        more = sizeof line - length - 1;
    memcpy(line + length, text, more);
    line[length + more] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, length + more + 1);
    (void)ignored;
    errno = saved;
}

const char *espi_object_name(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

void *espi_find_loaded(const char *soname)
{
    return dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
}

static const void *object_base(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

struct search {
    uintptr_t address;
    struct espi_range range;
};

static int note_range(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    struct espi_range range = {UINTPTR_MAX, 0};
    bool holds = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t low = (uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                        high = low + (uintptr_t)info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        range.low = low < range.low ? low : range.low;
        range.high = high > range.high ? high : range.high;
        holds = holds || (search->address >= low && search->address < high);
    }
    if (holds)
        search->range = range;
    return holds;
}

struct espi_range espi_object_range(const void *address)
{
    struct search search = {.address = (uintptr_t)address};
    dl_iterate_phdr(note_range, &search);
    return search.range;
}

#define MAX_OBJECTS 2048

struct objects {
    size_t count;
    const char *names[MAX_OBJECTS];
};

static int note_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct objects *objects = data;
    (void)size;
    if (info->dlpi_name && *info->dlpi_name && objects->count < MAX_OBJECTS)
        objects->names[objects->count++] = info->dlpi_name;
    return 0;
}

/* Looks in every loaded object and what it needs. Names first, dlopen after: inside of dl_iterate_phdr the loader's
   locks would be taken in the wrong order. */
static void *look_everywhere(const char *name)
{
    void *found = NULL;
    struct objects *objects = calloc(1, sizeof *objects);
    if (!objects)
        return NULL;
    dl_iterate_phdr(note_object, objects);
    for (size_t i = 0; i < objects->count && !found; i++) {
        void *object = espi_find_loaded(objects->names[i]);
        if (!object)
            continue;
        found = dlsym(object, name);
        if (found && object_base(found) == object_base((const void *)(uintptr_t)espi_say))
            found = NULL;
        dlclose(object);
    }
    free(objects);
    return found;
}

void *espi_find_symbol(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        void *mpi = espi_find_loaded(ESPALIER_MPI_SONAME);
        if (mpi) {
            found = dlsym(mpi, name);
            dlclose(mpi);
        }
    }
    return found ? found : look_everywhere(name);
}
