/* Blocks of some sizes, cut from chunks of pages and kept in lists. */
#include "base/own_heap.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK ((size_t)256 << 10)

/* Sizes in bytes, heads included: 64, 96, 128, 192, ... 32768. */
enum { SIZES = 19, LEAST = 64, FROM_MALLOC = SIZES };

/* What stands before the content. */
struct block {
    size_t size; /* which; FROM_MALLOC: none */
};
enum { HEAD = alignof(max_align_t) };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct block *lists[SIZES];
static char *chunk;
static size_t left; /* of the chunk */
static _Atomic bool is_open;

/* In a list; where the content of a block in use begins. */
static struct block **next_of(struct block *block)
{
    return (struct block **)((char *)block + HEAD);
}

static size_t bytes_of(size_t size)
{
    return (size_t)(size % 2 == 0 ? LEAST : LEAST / 2 * 3) << size / 2;
}

/* Under the lock. What is left of the last chunk is given up. Most programs need but a part of the first one, whose
   pages come as they are touched; where there is a second one the next will be used up, too, and all its pages are
   asked for at once, which takes less for each. */
static bool next_chunk(void)
{
    const int whole = chunk != NULL ? MAP_POPULATE : 0;
    char *more = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | whole, -1, 0);

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

bool espi_own_heap_open(void)
{
    if (is_watched())
        return false;
    pthread_mutex_lock(&lock);
    is_open = is_open || next_chunk();
    pthread_mutex_unlock(&lock);
    return is_open;
}

bool espi_own_heap_is_open(void)
{
    return is_open;
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

static struct block *take(size_t size)
{
    struct block *block;

    pthread_mutex_lock(&lock);
    block = lists[size];
    if (block != NULL)
        lists[size] = *next_of(block);
    else
        block = cut(size);
    pthread_mutex_unlock(&lock);
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
    block = size < SIZES && is_open ? take(size) : NULL;
    if (block == NULL) {
        block = malloc(HEAD + bytes);
        size = FROM_MALLOC;
    }
    if (block == NULL)
        return NULL;
    block->size = size;
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
    const size_t size = block->size;
    if (size == FROM_MALLOC) {
        free(block);
        return;
    }
    pthread_mutex_lock(&lock);
    *next_of(block) = lists[size];
    lists[size] = block;
    pthread_mutex_unlock(&lock);
}
