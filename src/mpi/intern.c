#include "mpi/intern.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define LIMIT ((size_t)64 << 20)

struct interned {
    UT_hash_handle hh;
    MPI_Datatype types[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of the below */
static struct interned *table;
static size_t bytes;

const MPI_Datatype *espi_intern_types(const MPI_Datatype *types, int n)
{
    size_t size = (size_t)n * sizeof *types;
    struct interned *entry;
    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, types, size, entry);
    if (!entry && bytes + size <= LIMIT) {
        entry = malloc(sizeof *entry + size);
        if (entry) {
            memcpy(entry->types, types, size);
            HASH_ADD_KEYPTR(hh, table, entry->types, size, entry);
            if (entry->hh.tbl) {
                bytes += size;
            } else {
                free(entry);
                entry = NULL;
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return entry ? entry->types : NULL;
}

void espi_intern_stop(void)
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
