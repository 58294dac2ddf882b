#include "mpi/core/array_pool.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define LIMIT ((size_t)64 << 20)

struct interned {
    UT_hash_handle hh;
    max_align_t content[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of the below */
static struct interned *table;
static size_t bytes;

const void *espi_pooled_array(const void *content, size_t size)
{
    struct interned *entry;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, content, size, entry);
    if (!entry && bytes + size <= LIMIT) {
        entry = malloc(sizeof *entry + size);
        if (entry) {
            memcpy(entry->content, content, size);
            HASH_ADD_KEYPTR(hh, table, entry->content, size, entry);
            if (entry->hh.tbl) {
                bytes += size;
            } else {
                free(entry);
                entry = NULL;
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return entry ? entry->content : NULL;
}

void espi_array_pool_stop(void)
{
    struct interned *entry, *next;
    pthread_mutex_lock(&lock);
    HASH_ITER(hh, table, entry, next) {
        HASH_DEL(table, entry);
        free(entry);
    }
    bytes = 0;
    pthread_mutex_unlock(&lock);
}
