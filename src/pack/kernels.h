/*
 * The innermost loops, one per common size of block, so that a block is a move or two and no call. Each is written
 * once and compiled for both directions and every level of instructions (levels.c): `unpack` is a constant wherever
 * it is called.
 */
#ifndef ESPI_PACK_KERNELS_H
#define ESPI_PACK_KERNELS_H

#include <string.h>

#include "pack/program.h"

#define ESPI_BODY static inline __attribute__((always_inline)) void

enum { ESPI_SHORT_LOOP = 8, ESPI_CALL_LEAST = 257 };

/* Runs BODY(size) with a constant size where the size is common. */
#define ESPI_BY_SIZE(bytes, BODY, OTHER)                                                                             \
    switch (bytes) {                                                                                                 \
    case 1: BODY(1) break;                                                                                           \
    case 2: BODY(2) break;                                                                                           \
    case 4: BODY(4) break;                                                                                           \
    case 8: BODY(8) break;                                                                                           \
    case 12: BODY(12) break;                                                                                         \
    case 16: BODY(16) break;                                                                                         \
    case 20: BODY(20) break;                                                                                         \
    case 24: BODY(24) break;                                                                                         \
    case 32: BODY(32) break;                                                                                         \
    case 40: BODY(40) break;                                                                                         \
    case 48: BODY(48) break;                                                                                         \
    case 64: BODY(64) break;                                                                                         \
    default: OTHER break;                                                                                            \
    }

/* 1 to 256 bytes without a call; moves may overlap within the block. */
ESPI_BODY espi_body_copy_short(char *to, const char *from, size_t n)
{
#define ESPI_TWO_MOVES(size)                                                                                         \
    if (n >= (size)) {                                                                                               \
        char first[size], last[size];                                                                                \
        memcpy(first, from, size);                                                                                   \
        memcpy(last, from + n - (size), size);                                                                       \
        memcpy(to, first, size);                                                                                     \
        memcpy(to + n - (size), last, size);                                                                         \
        return;                                                                                                      \
    }
    if (n > 32) {
        for (size_t at = 0; at + 32 < n; at += 32)
            memcpy(to + at, from + at, 32);
        memcpy(to + n - 32, from + n - 32, 32);
        return;
    }
    ESPI_TWO_MOVES(16)
    ESPI_TWO_MOVES(8)
    ESPI_TWO_MOVES(4)
    ESPI_TWO_MOVES(2)
    if (n == 1)
        *to = *from;
#undef ESPI_TWO_MOVES
}

ESPI_BODY espi_body_block(bool unpack, int64_t bytes, char *layout, char *stream)
{
    char *const to = unpack ? layout : stream;
    const char *const from = unpack ? stream : layout;
    if (bytes < ESPI_CALL_LEAST)
        espi_body_copy_short(to, from, (size_t)bytes);
    else
        memcpy(to, from, (size_t)bytes);
}

ESPI_BODY espi_body_move(bool unpack, size_t size, char *layout, char *stream)
{
    memcpy(unpack ? layout : stream, unpack ? stream : layout, size);
}

ESPI_BODY espi_body_strip(bool unpack, int64_t bytes, const struct espi_copy_loop *loop, char *layout, char *stream)
{
    const int64_t n = loop->count, from = loop->from, onto = loop->onto;
    int64_t k = 0;

#define STEPS(size, step)                                                                                            \
    for (; k + 4 <= n; k += 4) {                                                                                     \
        espi_body_move(unpack, size, layout, stream);                                                                \
        espi_body_move(unpack, size, layout + from, stream + (step));                                                \
        espi_body_move(unpack, size, layout + 2 * from, stream + 2 * (step));                                        \
        espi_body_move(unpack, size, layout + 3 * from, stream + 3 * (step));                                        \
        layout += 4 * from;                                                                                          \
        stream += 4 * (step);                                                                                        \
    }                                                                                                                \
    for (; k < n; k++) {                                                                                             \
        espi_body_move(unpack, size, layout, stream);                                                                \
        layout += from;                                                                                              \
        stream += (step);                                                                                            \
    }
#define DENSE(size) STEPS(size, size)
#define STRIDED(size) STEPS(size, onto)
#define ANY                                                                                                          \
    for (; k < n; k++)                                                                                               \
        espi_body_block(unpack, bytes, layout + k * from, stream + k * onto);
    if (onto == bytes)
        ESPI_BY_SIZE(bytes, DENSE, ANY)
    else
        ESPI_BY_SIZE(bytes, STRIDED, ANY)
#undef ANY
#undef STRIDED
#undef DENSE
#undef STEPS
}

/* Two loops without a call per turn of the outer one. */
ESPI_BODY espi_body_grid(bool unpack, int64_t bytes, const struct espi_copy_loop *outer,
                         const struct espi_copy_loop *inner, char *layout, char *stream)
{
    const int64_t n = outer->count, m = inner->count, from = inner->from, onto = inner->onto;

#define GRID(size)                                                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                                                \
        char *l = layout + i * outer->from, *s = stream + i * outer->onto;                                           \
        for (int64_t k = 0; k < m; k++) {                                                                            \
            espi_body_move(unpack, size, l, s);                                                                      \
            l += from;                                                                                               \
            s += onto;                                                                                               \
        }                                                                                                            \
    }
#define ANY                                                                                                          \
    for (int64_t i = 0; i < n; i++)                                                                                  \
        for (int64_t k = 0; k < m; k++)                                                                              \
            espi_body_block(unpack, bytes, layout + i * outer->from + k * from, stream + i * outer->onto + k * onto);
    ESPI_BY_SIZE(bytes, GRID, ANY)
#undef ANY
#undef GRID
}

/* At displacements onto a dense stream; `at` are numbers of 32 or of 64 bits. */
#define ESPI_BODY_LIST(name, number)                                                                                 \
    ESPI_BODY espi_body_##name(bool unpack, int64_t bytes, int64_t n, const number *at, char *layout, char *stream)  \
    {                                                                                                                \
        int64_t k = 0;                                                                                               \
        ESPI_BY_SIZE(bytes, ESPI_LIST_OF, ESPI_LIST_ANY)                                                             \
    }
#define ESPI_LIST_OF(size)                                                                                           \
    for (; k + 4 <= n; k += 4, stream += 4 * (size)) {                                                               \
        espi_body_move(unpack, size, layout + at[k], stream);                                                        \
        espi_body_move(unpack, size, layout + at[k + 1], stream + (size));                                           \
        espi_body_move(unpack, size, layout + at[k + 2], stream + 2 * (size));                                       \
        espi_body_move(unpack, size, layout + at[k + 3], stream + 3 * (size));                                       \
    }                                                                                                                \
    for (; k < n; k++, stream += (size))                                                                             \
        espi_body_move(unpack, size, layout + at[k], stream);
#define ESPI_LIST_ANY                                                                                                \
    for (; k < n; k++)                                                                                               \
        espi_body_block(unpack, bytes, layout + at[k], stream + k * bytes);
ESPI_BODY_LIST(near, int32_t)
ESPI_BODY_LIST(far, int64_t)
#undef ESPI_BODY_LIST
#undef ESPI_LIST_OF
#undef ESPI_LIST_ANY

ESPI_BODY espi_body_pairs(bool unpack, int64_t bytes, int64_t n, const int64_t *from, const int64_t *onto,
                          char *layout, char *stream)
{
#define PAIRS(size)                                                                                                  \
    for (int64_t k = 0; k < n; k++)                                                                                  \
        espi_body_move(unpack, size, layout + from[k], stream + onto[k]);
#define ANY                                                                                                          \
    for (int64_t k = 0; k < n; k++)                                                                                  \
        espi_body_block(unpack, bytes, layout + from[k], stream + onto[k]);
    ESPI_BY_SIZE(bytes, PAIRS, ANY)
#undef ANY
#undef PAIRS
}

ESPI_BODY espi_body_runs(bool unpack, int64_t n, const struct espi_copy_run *run, char *layout, char *stream)
{
    for (int64_t k = 0; k < n; k++) {
        espi_body_block(unpack, run[k].bytes, layout + run[k].at, stream);
        stream += run[k].bytes;
    }
}

#endif
