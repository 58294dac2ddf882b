/* Blocks of some sizes, cut from chunks of pages and kept in lists. */
#include "base/own_heap.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK ((size_t)256 << 10)

/* Sizes in bytes, heads included: 64, 96, 128, 192, ... 32768. */
enum { SIZES = 19, LEAST = 64, FROM_MALLOC = SIZES };

struct block {
    union {
        size_t size;        /* which; FROM_MALLOC: none */
        max_align_t align;
    } head;
    struct block *next; /* in a list; of a block in use the content begins here */
};
#define HEAD offsetof(struct block, next)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct block *lists[SIZES];
static char *chunk;
static size_t left; /* of the chunk */
static _Atomic bool is_open;

static size_t bytes_of(size_t size)
{
    return (size_t)(size % 2 == 0 ? LEAST : LEAST / 2 * 3) << size / 2;
}

/* Under the lock. What is left of the last chunk is given up. */
static bool next_chunk(void)
{
    char *more = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (more == MAP_FAILED)
        return false;
    chunk = more;
    left = CHUNK;
    return true;
}

/* AddressSanitizer and valgrind watch blocks of malloc. */
static bool is_watched(void)
{
#ifdef __SANITIZE_ADDRESS__
    return true;
#else
    const char *preloaded = getenv("LD_PRELOAD");

    return preloaded != NULL && strstr(preloaded, "/vgpreload_") != NULL;
#endif
}

void espi_own_heap_open(void)
{
    if (is_watched())
        return;
    pthread_mutex_lock(&lock);
    is_open = is_open || next_chunk();
    pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static struct block *cut(size_t size)
{
    const size_t bytes = bytes_of(size);
    struct block *block;

    if (left < bytes && !next_chunk())
        return NULL;
    block = (struct block *)chunk;
    chunk += bytes;
    left -= bytes;
    return block;
}

void *espi_own_get(size_t bytes)
{
    struct block *block;
    size_t size = 0;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    while (size < SIZES && bytes_of(size) < HEAD + bytes)
        size++;
    if (size == SIZES || !is_open) {
        block = malloc(HEAD + bytes);
        size = FROM_MALLOC;
    } else {
        pthread_mutex_lock(&lock);
        block = lists[size];
        if (block != NULL)
            lists[size] = block->next;
        else
            block = cut(size);
        pthread_mutex_unlock(&lock);
    }
    if (block == NULL)
        return NULL;
    block->head.size = size;
    return (char *)block + HEAD;
}

void *espi_own_get_zeroed(size_t bytes)
{
    void *memory = espi_own_get(bytes);

    return memory != NULL ? memset(memory, 0, bytes) : NULL;
}

void espi_own_put(void *memory)
{
    if (memory == NULL)
        return;
    struct block *block = (struct block *)((char *)memory - HEAD);
    const size_t size = block->head.size;
    if (size == FROM_MALLOC) {
        free(block);
        return;
    }
    pthread_mutex_lock(&lock);
    block->next = lists[size];
    lists[size] = block;
    pthread_mutex_unlock(&lock);
}
