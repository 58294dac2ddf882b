/*
 * The kernels of level_avx512.c for Intel's processors, which ask for the lines of the next block of a loop, and of
 * what is 1 kB ahead in a block of more than 4 kB, before they write them. Stores leave a processor of that kind in
 * their order: one whose line is in no near cache holds up those behind it, and lines that are asked for come
 * together. It pays where blocks of more than 256 bytes are not in the nearest cache (doc/pack-programs.md has
 * figures). On processors of others it was not measured.
 */
#ifdef __x86_64__
#include <immintrin.h>

#define ESPI_MASKS 1
#define ESPI_CLAIMS 1
#define ESPI_WIDEST 64
#define ESPI_INSTRUCTIONS __attribute__((target("avx512f,avx512bw,avx512vl")))
#include "base/often.h"
#include "pack/kernels.h"

ESPI_KERNELS(pack, false, ESPI_VECTORS_CLAIMS, ESPI_OFTEN ESPI_INSTRUCTIONS)
ESPI_KERNELS(unpack, true, ESPI_VECTORS_CLAIMS, ESPI_OFTEN ESPI_INSTRUCTIONS)

const struct espi_kernels espi_kernels_claims[2] = {ESPI_KERNELS_ROW(pack), ESPI_KERNELS_ROW(unpack)};
#else
/* No other machine has them. */
#include "pack/kernels.h"
#endif
