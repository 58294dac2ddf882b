/* Buffers that are needed again and again: a few are kept, so that the pages of a large one are not faulted in at
   each use. Some of 1 MB and more are mapped, once base/own_heap.h is open. Thread-safe. */
#ifndef ESPI_BASE_BUFFER_POOL_H
#define ESPI_BASE_BUFFER_POOL_H

#include <stddef.h>

/* A buffer of `size` bytes or more, aligned for any object, of undefined content; NULL when memory is short. */
void *espi_pool_get(size_t size);
/* Gives it back; NULL is allowed. */
void espi_pool_put(void *buffer);
/* Frees all that are kept. Buffers in use stay valid. */
void espi_pool_release(void);

#endif
