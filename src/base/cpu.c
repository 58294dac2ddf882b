#include "base/cpu.h"

#include <stdatomic.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <stddef.h>

/* Which registers the kernel saves: bits of XCR0 (Intel's manual, volume 1, chapter 13). */
enum { AVX_STATE = 0x06, AVX512_STATE = 0xe6 };

static enum espi_vectors read_cpu(void)
{
    unsigned a, b, c, d, saved, high;

    if (__get_cpuid_max(0, NULL) < 7) /* asked once: __get_cpuid would ask before each leaf */
        return ESPI_VECTORS_PLAIN;
    __cpuid(1, a, b, c, d);
    if (!(c & bit_OSXSAVE) || !(c & bit_AVX))
        return ESPI_VECTORS_PLAIN;
    __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    __cpuid_count(7, 0, a, b, c, d);
    if ((saved & AVX_STATE) != AVX_STATE || !(b & bit_AVX2))
        return ESPI_VECTORS_PLAIN;
    const unsigned wide = bit_AVX512F | bit_AVX512BW | bit_AVX512VL;
    return (saved & AVX512_STATE) == AVX512_STATE && (b & wide) == wide ? ESPI_VECTORS_AVX512 : ESPI_VECTORS_AVX2;
}

/* Intel's leaf and AMD's of one form list the caches, from the first level on. */
static int64_t read_cache(void)
{
    static const unsigned leaves[] = {0x04, 0x8000001d};
    int64_t last = 0;
    unsigned a, b, c, d;

    for (int i = 0; i < 2 && last == 0; i++)
        for (unsigned k = 0, most = __get_cpuid_max(leaves[i] & 0x80000000, NULL); most >= leaves[i] && k < 16; k++) {
            __cpuid_count(leaves[i], k, a, b, c, d);
            if ((a & 0x1f) == 0)
                break;
            last = (int64_t)((b >> 22) + 1) * ((b >> 12 & 0x3ff) + 1) * ((b & 0xfff) + 1) * ((int64_t)c + 1);
        }
    return last;
}
#else
static int64_t read_cache(void)
{
    return 0;
}

static enum espi_vectors read_cpu(void)
{
    return ESPI_VECTORS_PLAIN;
}
#endif

enum espi_vectors espi_cpu_vectors(void)
{
    static atomic_int known; /* 0: not asked yet; else one more than the answer */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        answer = (int)read_cpu() + 1; /* several threads may ask; all find the same */
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return (enum espi_vectors)(answer - 1);
}

int64_t espi_cpu_cache(void)
{
    static _Atomic int64_t known = -1;
    int64_t answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer < 0) {
        answer = read_cache();
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer;
}
