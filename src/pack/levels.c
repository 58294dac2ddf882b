/* The kernels of kernels.h by plain instructions, and where those of a level are. AVX2 was no faster than these. */
#include "base/often.h"
#include "pack/kernels.h"

ESPI_KERNELS(pack, false, ESPI_VECTORS_PLAIN, ESPI_OFTEN)
ESPI_KERNELS(unpack, true, ESPI_VECTORS_PLAIN, ESPI_OFTEN)

const struct espi_kernels *espi_kernels_of(enum espi_vectors level, bool unpack)
{
    static const struct espi_kernels plain[2] = {ESPI_KERNELS_ROW(pack), ESPI_KERNELS_ROW(unpack)};
#ifdef __x86_64__
    if (level == ESPI_VECTORS_PAST)
        return &espi_kernels_past[unpack];
    if (level == ESPI_VECTORS_CLAIMS)
        return &espi_kernels_claims[unpack];
    if (level == ESPI_VECTORS_AVX512)
        return &espi_kernels_avx512[unpack];
#endif
    (void)level;
    return &plain[unpack];
}
