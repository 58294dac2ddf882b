/* Arrays that outlive the call they are given to: MPI may read them until a nonblocking operation is complete
   (array_pool.c). */
#ifndef ESPI_MPI_CORE_ARRAY_POOL_H
#define ESPI_MPI_CORE_ARRAY_POOL_H

#include <stddef.h>

/* A copy of `size` bytes that lives until espi_array_pool_stop; the same content gives the same copy. NULL when
   memory is short, or the copies of this process have reached their limit (64 MiB). Thread-safe. */
const void *espi_pooled_array(const void *content, size_t size);
void espi_array_pool_stop(void);

#endif
