/*
 * The kernels of kernels.h by AVX-512, whose masks move a block of 12 or 20 bytes at once and nothing behind it. And
 * those for streams that no cache holds: an ordinary store fetches its line from memory first, even to write it
 * whole; one that goes past the caches does not. It pays for lines that are written by one instruction, so for long
 * blocks and turned squares (tiles.c); all else is done as ever.
 */
#ifdef __x86_64__
#include <immintrin.h>

#define ESPI_MASKS 1
#define ESPI_WIDEST 64
#define ESPI_INSTRUCTIONS __attribute__((target("avx512f,avx512bw,avx512vl")))
#include "base/often.h"
#include "pack/kernels.h"

ESPI_KERNELS(pack, false, ESPI_VECTORS_AVX512, ESPI_OFTEN ESPI_INSTRUCTIONS)
ESPI_KERNELS(unpack, true, ESPI_VECTORS_AVX512, ESPI_OFTEN ESPI_INSTRUCTIONS)

const struct espi_kernels espi_kernels_avx512[2] = {ESPI_KERNELS_ROW(pack), ESPI_KERNELS_ROW(unpack)};

/* A shorter block has too many of its bytes in lines that it shares. What is so far ahead is fetched: within a block
   the processor sees to that, but not from one to the next. */
enum { PACKED_LEAST = 1024, UNPACKED_LEAST = 512, AHEAD = 4096 };

/* `next`: how far from a byte that is read to the one that is fetched. */
ESPI_BODY copy_past(char *to, const char *from, size_t n, int64_t next)
{
    const size_t before = -(uintptr_t)to % ESPI_LINE, behind = (n - before) % ESPI_LINE;

    espi_body_copy_short(to, from, before);
    for (size_t at = before; at < n - behind; at += ESPI_LINE) {
        __builtin_prefetch(espi_place(from + at, next));
        _mm512_stream_si512((void *)(to + at), _mm512_loadu_si512(from + at));
    }
    espi_body_copy_short(to + n - behind, from + n - behind, behind);
}

#define PAST(unpack, name)                                                                                           \
    ESPI_INSTRUCTIONS static void strip_past_##name(int64_t bytes, const struct espi_copy_loop *loop, char *layout,  \
                                                    char *stream)                                                    \
    {                                                                                                                \
        if (bytes < ((unpack) ? UNPACKED_LEAST : PACKED_LEAST)) {                                                    \
            strip_##name(bytes, loop, layout, stream);                                                               \
            return;                                                                                                  \
        }                                                                                                            \
        const int64_t step = (unpack) ? loop->onto : loop->from,                                                     \
                      next = bytes <= AHEAD ? AHEAD / bytes * step : AHEAD;                                          \
        for (int64_t i = 0; i < loop->count; i++, layout += loop->from, stream += loop->onto)                        \
            copy_past((unpack) ? layout : stream, (unpack) ? stream : layout, (size_t)bytes, next);                  \
    }                                                                                                                \
    static void block_past_##name(int64_t bytes, char *layout, char *stream)                                         \
    {                                                                                                                \
        const struct espi_copy_loop once = {1, 0, 0};                                                                \
        strip_past_##name(bytes, &once, layout, stream);                                                             \
    }                                                                                                                \
    static void grid_past_##name(int64_t bytes, const struct espi_copy_loop *outer,                                  \
                                 const struct espi_copy_loop *inner, char *layout, char *stream)                     \
    {                                                                                                                \
        if (bytes < ((unpack) ? UNPACKED_LEAST : PACKED_LEAST)) {                                                    \
            if (!espi_tiles(ESPI_VECTORS_PAST, unpack, bytes, outer, inner, layout, stream))                         \
                grid_##name(bytes, outer, inner, layout, stream);                                                    \
            return;                                                                                                  \
        }                                                                                                            \
        for (int64_t i = 0; i < outer->count; i++)                                                                   \
            strip_past_##name(bytes, inner, layout + i * outer->from, stream + i * outer->onto);                     \
    }
PAST(false, pack)
PAST(true, unpack)

#define PAST_ROW(name)                                                                                               \
    {block_past_##name, strip_past_##name, grid_past_##name,  near_##name,                                           \
     far_##name,        runs_##name,       near_pairs_##name, far_pairs_##name}
const struct espi_kernels espi_kernels_past[2] = {PAST_ROW(pack), PAST_ROW(unpack)};
#else
/* No other machine has them. */
#include "pack/kernels.h"
#endif
