/* The kernels of kernels.h by AVX-512, whose masks move a block of 12 or 20 bytes at once and nothing behind it. */
#ifdef __x86_64__
#include <immintrin.h>

#define ESPI_MASKS 1
#define ESPI_WIDEST 64
#define ESPI_INSTRUCTIONS __attribute__((target("avx512f,avx512bw,avx512vl")))
#include "pack/kernels.h"

ESPI_KERNELS(pack, false, ESPI_VECTORS_AVX512, ESPI_INSTRUCTIONS)
ESPI_KERNELS(unpack, true, ESPI_VECTORS_AVX512, ESPI_INSTRUCTIONS)

const struct espi_kernels espi_kernels_avx512[2] = {ESPI_KERNELS_ROW(pack), ESPI_KERNELS_ROW(unpack)};
#else
/* No other machine has them. */
#include "pack/kernels.h"
#endif
