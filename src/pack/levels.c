/*
 * The kernels of kernels.h compiled for each direction and level of instructions. Wider registers copy larger blocks
 * in fewer moves.
 */
#include "pack/kernels.h"

/* Seen from the side where the data lie. */
static bool tiles(bool unpack, int64_t bytes, const struct espi_copy_loop *outer, const struct espi_copy_loop *inner,
                  char *layout, char *stream)
{
    if (!unpack)
        return espi_copy_tiles(bytes, outer, inner, layout, stream);
    const struct espi_copy_loop o = {outer->count, outer->onto, outer->from},
                                i = {inner->count, inner->onto, inner->from};
    return espi_copy_tiles(bytes, &o, &i, stream, layout);
}

#define KERNELS(level, unpack, target)                                                                               \
    target static void block_##level(int64_t bytes, char *layout, char *stream)                                      \
    {                                                                                                                \
        espi_body_block(unpack, bytes, layout, stream);                                                              \
    }                                                                                                                \
    target static void strip_##level(int64_t bytes, const struct espi_copy_loop *loop, char *layout, char *stream)   \
    {                                                                                                                \
        espi_body_strip(unpack, bytes, loop, layout, stream);                                                        \
    }                                                                                                                \
    target static void grid_##level(int64_t bytes, const struct espi_copy_loop *outer,                               \
                                    const struct espi_copy_loop *inner, char *layout, char *stream)                  \
    {                                                                                                                \
        if (tiles(unpack, bytes, outer, inner, layout, stream))                                                      \
            return;                                                                                                  \
        if (inner->count < ESPI_SHORT_LOOP)                                                                          \
            espi_body_grid(unpack, bytes, outer, inner, layout, stream);                                             \
        else                                                                                                         \
            for (int64_t i = 0; i < outer->count; i++)                                                               \
                strip_##level(bytes, inner, layout + i * outer->from, stream + i * outer->onto);                     \
    }                                                                                                                \
    target static void near_##level(int64_t bytes, int64_t n, const int32_t *at, char *layout, char *stream)         \
    {                                                                                                                \
        espi_body_near(unpack, bytes, n, at, layout, stream);                                                        \
    }                                                                                                                \
    target static void far_##level(int64_t bytes, int64_t n, const int64_t *at, char *layout, char *stream)          \
    {                                                                                                                \
        espi_body_far(unpack, bytes, n, at, layout, stream);                                                         \
    }                                                                                                                \
    target static void runs_##level(int64_t n, const struct espi_copy_run *run, char *layout, char *stream)          \
    {                                                                                                                \
        espi_body_runs(unpack, n, run, layout, stream);                                                              \
    }                                                                                                                \
    target static void pairs_##level(int64_t bytes, int64_t n, const int64_t *from, const int64_t *onto,             \
                                     char *layout, char *stream)                                                     \
    {                                                                                                                \
        espi_body_pairs(unpack, bytes, n, from, onto, layout, stream);                                               \
    }
#define ROW(level)                                                                                                   \
    {block_##level, strip_##level, grid_##level, near_##level, far_##level, runs_##level, pairs_##level}

KERNELS(pack, false, )
KERNELS(unpack, true, )

#ifdef __x86_64__
KERNELS(pack_avx2, false, __attribute__((target("avx2"))))
KERNELS(unpack_avx2, true, __attribute__((target("avx2"))))
KERNELS(pack_avx512, false, __attribute__((target("avx512f,avx512bw,avx512vl"))))
KERNELS(unpack_avx512, true, __attribute__((target("avx512f,avx512bw,avx512vl"))))
#endif

const struct espi_kernels *espi_kernels_of(enum espi_vectors level, bool unpack)
{
    static const struct espi_kernels plain[2] = {ROW(pack), ROW(unpack)};
#ifdef __x86_64__
    static const struct espi_kernels avx2[2] = {ROW(pack_avx2), ROW(unpack_avx2)};
    static const struct espi_kernels avx512[2] = {ROW(pack_avx512), ROW(unpack_avx512)};
    if (level != ESPI_VECTORS_PLAIN)
        return level == ESPI_VECTORS_AVX2 ? &avx2[unpack] : &avx512[unpack];
#endif
    (void)level;
    return &plain[unpack];
}
