/* Bump allocation: many small objects with one life time. Not thread-safe. */
#ifndef ESPI_BASE_ARENA_H
#define ESPI_BASE_ARENA_H

#include <stddef.h>

struct espi_arena {
    struct espi_arena_block *last; /* newest block; NULL while empty */
    size_t bytes;                  /* allocated from malloc in all */
};

/* A zeroed arena is a valid empty one. */
#define ESPI_ARENA_INIT ((struct espi_arena){0, 0})

/* `bytes` bytes aligned for any object, not cleared; NULL when memory is short. A request of 0 bytes gives a
   valid pointer. */
void *espi_arena_alloc(struct espi_arena *arena, size_t bytes);

/* As above for n objects of `size` bytes, cleared; NULL also when n * size overflows. */
void *espi_arena_calloc(struct espi_arena *arena, size_t n, size_t size);

/* Frees everything; the arena is empty and usable again. */
void espi_arena_release(struct espi_arena *arena);

/* The same, but the newest block, which is mostly the largest, stays for what comes next: pages that are given back
   and got again for each use take longer than what is done with them. */
void espi_arena_reset(struct espi_arena *arena);

#endif
