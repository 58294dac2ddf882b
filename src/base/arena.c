/* Blocks double in size, so that the number of calls to malloc grows with the logarithm of what is stored. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/own_heap.h"

/* The first ones fit blocks of 1, 2, 4 kB of base/own_heap.h. */
enum { FIRST_BLOCK = 976, LARGEST_BLOCK = 1 << 20 };

struct espi_arena_block {
    struct espi_arena_block *before;
    size_t size, used; /* of data */
    alignas(max_align_t) unsigned char data[];
};

void *espi_arena_alloc(struct espi_arena *arena, size_t bytes)
{
    const size_t align = alignof(max_align_t);
    struct espi_arena_block *block = arena->last;
    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    bytes = (bytes + align - 1) / align * align;
    if (bytes == 0) {
        bytes = align;
    }
    if (block == NULL || block->size - block->used < bytes) {
        size_t size = block == NULL ? FIRST_BLOCK : block->size * 2;
        if (size > LARGEST_BLOCK) {
            size = LARGEST_BLOCK;
        }
        if (size < bytes) {
            size = bytes;
        }
        block = espi_own_get(sizeof *block + size);
        if (block == NULL) {
            return NULL;
        }
        block->before = arena->last;
        block->size = size;
        block->used = 0;
        arena->last = block;
        arena->bytes += sizeof *block + size;
    }
    void *result = block->data + block->used;
    block->used += bytes;
    return result;
}

void *espi_arena_calloc(struct espi_arena *arena, size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size) {
        return NULL;
    }
    void *result = espi_arena_alloc(arena, n * size);
    if (result != NULL) {
        memset(result, 0, n * size);
    }
    return result;
}

void espi_arena_reset(struct espi_arena *arena)
{
    struct espi_arena_block *kept = arena->last;

    if (kept == NULL)
        return;
    arena->last = kept->before;
    espi_arena_release(arena);
    kept->before = NULL;
    kept->used = 0;
    arena->last = kept;
    arena->bytes = sizeof *kept + kept->size;
}

void espi_arena_release(struct espi_arena *arena)
{
    while (arena->last != NULL) {
        struct espi_arena_block *block = arena->last;
        arena->last = block->before;
        espi_own_put(block);
    }
    arena->bytes = 0;
}
