/* The table of base types: the predefined ones from basetypes.def, then those this process added. */
#include "layout/layout.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/table.h"

enum { TABLE_SIZE = 4096 };

/* Where the data of an MPI pair type ends: what a compiler makes of struct { value; int; }. */
typedef long double long_double;
#define ESPI_PAIR_END(type) \
    (offsetof( \
         struct { \
             type v; \
             int i; \
         }, \
         i) + \
     sizeof(int))

#define ESPI_BASEALIAS(synonym, name)
#define ESPI_BASETYPE(name, size, extent) BASE_##name,
enum predefined {
#include "layout/basetypes.def"
    PREDEFINED
};
#undef ESPI_BASETYPE

static const struct espi_base_info known[] = {
#define ESPI_BASETYPE(name, size, extent) {#name, (uint32_t)(size), (uint32_t)(extent)},
#include "layout/basetypes.def"
#undef ESPI_BASETYPE
};
#undef ESPI_BASEALIAS

/* Rows below the published count never change again, so readers need no lock. */
static struct espi_base_info added[TABLE_SIZE - PREDEFINED] ESPI_TABLE;
static atomic_size_t published = PREDEFINED;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    const char *name;
    espi_base base;
} synonyms[] = {
#define ESPI_BASETYPE(name, size, extent)
#define ESPI_BASEALIAS(synonym, name) {#synonym, BASE_##name},
#include "layout/basetypes.def"
#undef ESPI_BASEALIAS
#undef ESPI_BASETYPE
};

size_t espi_base_count(void)
{
    return atomic_load_explicit(&published, memory_order_acquire);
}

static const struct espi_base_info *base_row(size_t base)
{
    return base < PREDEFINED ? &known[base] : &added[base - PREDEFINED];
}

const struct espi_base_info *espi_base_info(espi_base base)
{
    return base < espi_base_count() ? base_row(base) : NULL;
}

static bool is_named(const char *a, const char *name, size_t len)
{
    return strncmp(a, name, len) == 0 && a[len] == '\0';
}

espi_base espi_base_find(const char *name, size_t len)
{
    size_t n = espi_base_count();
    if (len == 0 || memchr(name, '\0', len) != NULL) {
        return ESPI_BASE_NONE;
    }
    for (size_t i = 0; i < n; i++) {
        if (is_named(base_row(i)->name, name, len)) {
            return (espi_base)i;
        }
    }
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        if (is_named(synonyms[i].name, name, len)) {
            return synonyms[i].base;
        }
    }
    return ESPI_BASE_NONE;
}

/* What the text form can hold; see parse.c. */
static bool is_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    return *name != '\0' && strchr(letters, *name) != NULL &&
           name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.")] == '\0';
}

espi_base espi_base_add(const char *name, uint32_t size, uint32_t extent)
{
    espi_base result = ESPI_BASE_NONE;
    if (!is_name(name)) {
        return ESPI_BASE_NONE;
    }
    pthread_mutex_lock(&adding);
    espi_base same_name = espi_base_find(name, strlen(name));
    size_t n = espi_base_count();
    if (same_name != ESPI_BASE_NONE) {
        if (base_row(same_name)->size == size && base_row(same_name)->extent == extent) {
            result = same_name;
        }
    } else if (n < TABLE_SIZE) {
        char *copy = strdup(name); /* lives as long as the process */
        if (copy != NULL) {
            added[n - PREDEFINED] = (struct espi_base_info){copy, size, extent};
            atomic_store_explicit(&published, n + 1, memory_order_release);
            result = (espi_base)n;
        }
    }
    pthread_mutex_unlock(&adding);
    return result;
}
