#include "base/cpu.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>

/* Which registers the kernel saves: bits of XCR0 (Intel's manual, volume 1, chapter 13). */
enum { AVX_STATE = 0x06, AVX512_STATE = 0xe6 };

static enum espi_vectors read_cpu(bool *intel)
{
    unsigned a, b, c, d, saved, high, maker = 0;

    if (__get_cpuid_max(0, &maker) < 7) /* asked once: __get_cpuid would ask before each leaf */
        return ESPI_VECTORS_PLAIN;
    *intel = maker == signature_INTEL_ebx;
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

/* A virtual machine is shown all of a cache that others use, too. Hardly a processor has more of its own. */
static int64_t least_share(int64_t cache)
{
    enum { SHARE = 16 << 20, VIRTUAL = 31 };
    unsigned a, b, c, d;

    __cpuid(1, a, b, c, d);
    const long processors = c >> VIRTUAL & 1 ? sysconf(_SC_NPROCESSORS_ONLN) : 0;
    return processors > 0 && processors * (int64_t)SHARE < cache ? processors * (int64_t)SHARE : cache;
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
    return least_share(last);
}
#else
static int64_t read_cache(void)
{
    return 0;
}

static enum espi_vectors read_cpu(bool *intel)
{
    (void)intel;
    return ESPI_VECTORS_PLAIN;
}
#endif

/* Several threads may ask for the first time; all find the same. */
static int ask(void)
{
    static atomic_int known; /* 0: not asked yet; else twice one more than the vectors, and one for Intel's */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        bool intel = false;
        answer = 2 * ((int)read_cpu(&intel) + 1);
        answer += intel;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer;
}

enum espi_vectors espi_cpu_vectors(void)
{
    return (enum espi_vectors)(ask() / 2 - 1);
}

bool espi_cpu_is_intel(void)
{
    return ask() % 2 != 0;
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

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t espi_page_ns(void)
{
    enum { PAGES = 4 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int64_t least = INT64_MAX; /* the first may take a page of the kernel's own, and something may come in between */

    if (memory == MAP_FAILED)
        return 0;
    for (size_t i = 0; i < PAGES; i++) {
        const int64_t begun = now();
        memory[i * page] = 1;
        const int64_t took = now() - begun;
        least = took < least ? took : least;
    }
    munmap((void *)memory, PAGES * page);
    return least;
}
