/* Memory for small things that live long, apart from the program's heap. A program that gets and gives back large
   arrays in each step has the top of its heap trimmed and faulted in again and again, the more often the more small
   blocks lie between its arrays. MPI-AMRVAC (hd/blast_wave_Cartesian_3D) had far more page faults with plans, made
   inside of its calls, in its heap. Thread-safe. */
#ifndef ESPI_BASE_OWN_HEAP_H
#define ESPI_BASE_OWN_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* From now on, if there is memory for a chunk, and neither AddressSanitizer nor valgrind watches; before, and for
   what is longer than 32 kB, memory comes from malloc. Whether it is open. */
bool espi_own_heap_open(void);
/* Whether it is open. */
bool espi_own_heap_is_open(void);

/* `bytes` of undefined content, aligned for any object; NULL when memory is short. */
void *espi_own_get(size_t bytes);
/* The same, all 0. */
void *espi_own_get_zeroed(size_t bytes);
/* Gives it back; NULL is allowed. What came from chunks stays there, for others of its size. */
void espi_own_put(void *memory);

#endif
