/* What this processor and this kernel have. Asked when first needed, not when the library is loaded: the
   instruction that tells (CPUID) takes microseconds in a virtual machine, and compilers' own way
   (__builtin_cpu_supports) makes every process ask a dozen times at its start. */
#ifndef ESPI_BASE_CPU_H
#define ESPI_BASE_CPU_H

#include <stdbool.h>
#include <stdint.h>

enum espi_vectors { ESPI_VECTORS_PLAIN, ESPI_VECTORS_AVX2, ESPI_VECTORS_AVX512 /* F, BW and VL */ };

/* The widest of them that may be used. */
enum espi_vectors espi_cpu_vectors(void);

bool espi_cpu_is_intel(void);

/* Bytes of its last cache, which it may share with others, in a virtual machine no more than 16 MB for each of its
   processors; 0 where that is not known. */
int64_t espi_cpu_cache(void);

/* Nanoseconds that a page of new memory takes when it is first written: 200 to 1,000, on some virtual machines
   10,000. Takes four such pages; 0: they can not be had. */
int64_t espi_page_ns(void);

#endif
