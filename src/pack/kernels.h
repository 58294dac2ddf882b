/*
 * The innermost loops, one per common size of block, so that a block is a move or two and no call. Each is written
 * once and compiled for both directions and every level of instructions (levels.c): `unpack` is a constant wherever
 * it is called.
 */
#ifndef ESPI_PACK_KERNELS_H
#define ESPI_PACK_KERNELS_H

#include <string.h>

#include "pack/program.h"

/* A file that compiles these for other instructions says so before. */
#ifndef ESPI_INSTRUCTIONS
#define ESPI_INSTRUCTIONS
#endif
#define ESPI_BODY static inline __attribute__((always_inline)) ESPI_INSTRUCTIONS void

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

/* A register of the widest kind. */
#ifndef ESPI_WIDEST
#define ESPI_WIDEST 16
#endif
typedef char espi_register __attribute__((vector_size(ESPI_WIDEST)));

enum { ESPI_SHORT_MOST = 4 * ESPI_WIDEST, ESPI_MEDIUM_MOST = 16 * ESPI_WIDEST };

/* Whether lines are asked for before they are written (level_claims.c). */
#ifdef ESPI_CLAIMS
#define ESPI_CLAIM(at) __asm__ volatile("prefetchw %0" : : "m"(*(at)))
#else
#define ESPI_CLAIMS 0
#define ESPI_CLAIM(at) ((void)(at))
#endif

/* Up to ESPI_SHORT_MOST bytes without a call; moves may overlap within the block. */
ESPI_BODY espi_body_copy_short(char *to, const char *from, size_t n)
{
/* The first and the last `size` bytes, both read before any is written. */
#define ENDS(type, size)                                                                                             \
    if (n >= (size)) {                                                                                               \
        type first, last;                                                                                            \
        memcpy(&first, from, size);                                                                                  \
        memcpy(&last, from + n - (size), size);                                                                      \
        memcpy(to, &first, size);                                                                                    \
        memcpy(to + n - (size), &last, size);                                                                        \
        return;                                                                                                      \
    }
    if (n > 2 * ESPI_WIDEST) {
        espi_register a, b, c, d;
        memcpy(&a, from, ESPI_WIDEST);
        memcpy(&b, from + ESPI_WIDEST, ESPI_WIDEST);
        memcpy(&c, from + n - 2 * ESPI_WIDEST, ESPI_WIDEST);
        memcpy(&d, from + n - ESPI_WIDEST, ESPI_WIDEST);
        memcpy(to, &a, ESPI_WIDEST);
        memcpy(to + ESPI_WIDEST, &b, ESPI_WIDEST);
        memcpy(to + n - 2 * ESPI_WIDEST, &c, ESPI_WIDEST);
        memcpy(to + n - ESPI_WIDEST, &d, ESPI_WIDEST);
        return;
    }
    ENDS(espi_register, ESPI_WIDEST)
#if ESPI_WIDEST > 16
    typedef char half __attribute__((vector_size(32)));
    typedef char quarter __attribute__((vector_size(16)));
    ENDS(half, 32)
    ENDS(quarter, 16)
#endif
    ENDS(uint64_t, 8)
    ENDS(uint32_t, 4)
    ENDS(uint16_t, 2)
    if (n == 1)
        *to = *from;
#undef ENDS
}

/* More than ESPI_SHORT_MOST bytes: four registers a turn; the last ones may overlap. `claims`: asks for the lines
   that are `ahead` of those that it writes. */
ESPI_BODY espi_body_turns(bool claims, char *to, const char *from, size_t n, int64_t ahead)
{
    enum { TURN = 4 * ESPI_WIDEST };
    espi_register a, b, c, d;
#define FOUR(at)                                                                                                     \
    for (int i = 0; claims && i < 4; i++)                                                                            \
        ESPI_CLAIM(to + (at) + ahead + i * ESPI_WIDEST);                                                             \
    memcpy(&a, from + (at), ESPI_WIDEST);                                                                            \
    memcpy(&b, from + (at) + ESPI_WIDEST, ESPI_WIDEST);                                                              \
    memcpy(&c, from + (at) + 2 * ESPI_WIDEST, ESPI_WIDEST);                                                          \
    memcpy(&d, from + (at) + 3 * ESPI_WIDEST, ESPI_WIDEST);                                                          \
    memcpy(to + (at), &a, ESPI_WIDEST);                                                                              \
    memcpy(to + (at) + ESPI_WIDEST, &b, ESPI_WIDEST);                                                                \
    memcpy(to + (at) + 2 * ESPI_WIDEST, &c, ESPI_WIDEST);                                                            \
    memcpy(to + (at) + 3 * ESPI_WIDEST, &d, ESPI_WIDEST);
    size_t at = 0;
    for (; at + TURN < n; at += TURN) {
        FOUR(at)
    }
    FOUR(n - TURN)
#undef FOUR
}

/* Up to ESPI_MEDIUM_MOST. */
ESPI_BODY espi_body_copy_medium(char *to, const char *from, size_t n)
{
    espi_body_turns(false, to, from, n, 0);
}

/* Of more than ESPI_BLOCK_FAR bytes: lines are asked for so far ahead, none behind the end: they may be another's. */
enum { ESPI_BLOCK_FAR = 4 << 10, ESPI_AHEAD = 1024 };
ESPI_BODY espi_body_copy_far(char *to, const char *from, size_t n)
{
    espi_body_turns(true, to, from, n - ESPI_AHEAD, ESPI_AHEAD);
    espi_body_turns(false, to + n - ESPI_AHEAD, from + n - ESPI_AHEAD, ESPI_AHEAD, 0);
}

/* One of many, the next of which is `next` bytes behind where this one is written; 0: it is the last. */
ESPI_BODY espi_body_copy_claiming(char *to, const char *from, size_t n, int64_t next)
{
    if (n > ESPI_BLOCK_FAR)
        espi_body_copy_far(to, from, n);
    else
        espi_body_turns(true, to, from, n, next);
}

/* Of more than ESPI_MEDIUM_MOST bytes: left to memcpy where nothing is claimed. */
ESPI_BODY espi_body_copy_long(char *to, const char *from, size_t n)
{
    if (ESPI_CLAIMS && n > ESPI_BLOCK_FAR)
        espi_body_copy_far(to, from, n);
    else if (ESPI_CLAIMS)
        espi_body_turns(false, to, from, n, 0);
    else
        memcpy(to, from, n);
}

/* From one register to eight, from both ends, without a loop: for lengths that differ from block to block. */
ESPI_BODY espi_body_copy_ends(char *to, const char *from, size_t n)
{
    espi_register head[4], tail[4];
#define BOTH_READ(i)                                                                                                 \
    memcpy(&head[i], from + (i) * ESPI_WIDEST, ESPI_WIDEST);                                                         \
    memcpy(&tail[i], from + n - ((i) + 1) * ESPI_WIDEST, ESPI_WIDEST);
#define BOTH_WRITTEN(i)                                                                                              \
    memcpy(to + (i) * ESPI_WIDEST, &head[i], ESPI_WIDEST);                                                           \
    memcpy(to + n - ((i) + 1) * ESPI_WIDEST, &tail[i], ESPI_WIDEST);
    BOTH_READ(0)
    if (n > 2 * ESPI_WIDEST) {
        BOTH_READ(1)
        if (n > 4 * ESPI_WIDEST) {
            BOTH_READ(2)
            BOTH_READ(3)
            BOTH_WRITTEN(2)
            BOTH_WRITTEN(3)
        }
        BOTH_WRITTEN(1)
    }
    BOTH_WRITTEN(0)
#undef BOTH_READ
#undef BOTH_WRITTEN
}

ESPI_BODY espi_body_block(bool unpack, int64_t bytes, char *layout, char *stream)
{
    char *const to = unpack ? layout : stream;
    const char *const from = unpack ? stream : layout;
    if (bytes <= ESPI_SHORT_MOST)
        espi_body_copy_short(to, from, (size_t)bytes);
    else if (bytes <= ESPI_MEDIUM_MOST)
        espi_body_copy_medium(to, from, (size_t)bytes);
    else
        espi_body_copy_long(to, from, (size_t)bytes);
}

ESPI_BODY espi_body_move(bool unpack, size_t size, char *layout, char *stream)
{
    char *const to = unpack ? layout : stream;
    const char *const from = unpack ? stream : layout;
#ifdef ESPI_MASKS
    /* One move, of which the processor leaves out what is behind the block. Not longer ones: they reach into the
       next line, which may be slow. */
    if (size == 12)
        _mm_mask_storeu_epi32(to, 0x7, _mm_maskz_loadu_epi32(0x7, from));
    else if (size == 20)
        _mm256_mask_storeu_epi32(to, 0x1f, _mm256_maskz_loadu_epi32(0x1f, from));
    else
        memcpy(to, from, size);
#else
    memcpy(to, from, size);
#endif
}

/* n blocks, four at a time. */
#define ESPI_STEPS(size, step)                                                                                       \
    for (; k + 4 <= n; k += 4) {                                                                                     \
        espi_body_move(unpack, size, l, s);                                                                          \
        espi_body_move(unpack, size, l + from, s + (step));                                                          \
        espi_body_move(unpack, size, l + 2 * from, s + 2 * (step));                                                  \
        espi_body_move(unpack, size, l + 3 * from, s + 3 * (step));                                                  \
        l += 4 * from;                                                                                               \
        s += 4 * (step);                                                                                             \
    }                                                                                                                \
    for (; k < n; k++) {                                                                                             \
        espi_body_move(unpack, size, l, s);                                                                          \
        l += from;                                                                                                   \
        s += (step);                                                                                                 \
    }

/* Two loops without a call per turn of the outer one, or one where that has one turn. */
ESPI_BODY espi_body_grid(bool unpack, int64_t bytes, const struct espi_copy_loop *outer,
                         const struct espi_copy_loop *inner, char *layout, char *stream)
{
    const int64_t turns = outer->count, n = inner->count, from = inner->from, onto = inner->onto;

#define GRID(size, step)                                                                                             \
    for (int64_t i = 0; i < turns; i++) {                                                                            \
        char *l = layout + i * outer->from, *s = stream + i * outer->onto;                                           \
        int64_t k = 0;                                                                                               \
        ESPI_STEPS(size, step)                                                                                       \
    }
#define DENSE(size) GRID(size, size)
#define STRIDED(size) GRID(size, onto)
#define EACH(copy, ...)                                                                                              \
    for (int64_t i = 0; i < turns; i++) {                                                                            \
        char *to = unpack ? layout + i * outer->from : stream + i * outer->onto;                                     \
        const char *source = unpack ? stream + i * outer->onto : layout + i * outer->from;                           \
        for (int64_t k = 0; k < n; k++, to += unpack ? from : onto, source += unpack ? onto : from)                  \
            copy(to, source, (size_t)bytes, ##__VA_ARGS__);                                                          \
    }
#define NEXT (k + 1 < n ? unpack ? from : onto : 0)
#define ANY                                                                                                          \
    if (bytes <= ESPI_SHORT_MOST) {                                                                                  \
        EACH(espi_body_copy_short)                                                                                   \
    } else if (ESPI_CLAIMS) {                                                                                        \
        EACH(espi_body_copy_claiming, NEXT)                                                                          \
    } else if (bytes <= ESPI_MEDIUM_MOST) {                                                                          \
        EACH(espi_body_copy_medium)                                                                                  \
    } else {                                                                                                         \
        EACH(espi_body_copy_long)                                                                                    \
    }
    if (onto == bytes)
        ESPI_BY_SIZE(bytes, DENSE, ANY)
    else
        ESPI_BY_SIZE(bytes, STRIDED, ANY)
#undef ANY
#undef NEXT
#undef EACH
#undef STRIDED
#undef DENSE
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

/* At pairs of displacements. */
#define ESPI_BODY_PAIRS(name, number)                                                                                \
    ESPI_BODY espi_body_##name(bool unpack, int64_t bytes, int64_t n, const number *from, const number *onto,        \
                               char *layout, char *stream)                                                           \
    {                                                                                                                \
        ESPI_BY_SIZE(bytes, ESPI_PAIRS_OF, ESPI_PAIRS_ANY)                                                           \
    }
#define ESPI_PAIRS_OF(size)                                                                                          \
    for (int64_t k = 0; k < n; k++)                                                                                  \
        espi_body_move(unpack, size, layout + from[k], stream + onto[k]);
#define ESPI_PAIRS_ANY                                                                                               \
    for (int64_t k = 0; k < n; k++)                                                                                  \
        espi_body_block(unpack, bytes, layout + from[k], stream + onto[k]);
ESPI_BODY_PAIRS(near_pairs, int32_t)
ESPI_BODY_PAIRS(far_pairs, int64_t)
#undef ESPI_BODY_PAIRS
#undef ESPI_PAIRS_OF
#undef ESPI_PAIRS_ANY

ESPI_BODY espi_body_runs(bool unpack, int64_t n, const struct espi_copy_run *run, char *layout, char *stream)
{
    for (int64_t k = 0; k < n; k++) {
        char *const at = layout + run[k].at;
#ifdef ESPI_MASKS
        /* Lengths that differ from run to run cost a wrong guess each, unless all take the same way. */
        if (run[k].bytes <= 64) {
            const __mmask64 bytes = ~UINT64_C(0) >> (64 - run[k].bytes);
            const __m512i data = _mm512_maskz_loadu_epi8(bytes, unpack ? stream : at);
            _mm512_mask_storeu_epi8(unpack ? at : stream, bytes, data);
        } else
#endif
        if (run[k].bytes >= ESPI_WIDEST && run[k].bytes <= 8 * ESPI_WIDEST)
            espi_body_copy_ends(unpack ? at : stream, unpack ? stream : at, (size_t)run[k].bytes);
        else
            espi_body_block(unpack, run[k].bytes, at, stream);
        stream += run[k].bytes;
    }
}

/* Seen from the side where the data lie. */
static inline bool espi_tiles(enum espi_vectors vectors, bool unpack, int64_t bytes,
                              const struct espi_copy_loop *outer, const struct espi_copy_loop *inner, char *layout,
                              char *stream)
{
    if (!unpack)
        return espi_copy_tiles(vectors, bytes, outer, inner, layout, stream);
    const struct espi_copy_loop o = {outer->count, outer->onto, outer->from},
                                i = {inner->count, inner->onto, inner->from};
    return espi_copy_tiles(vectors, bytes, &o, &i, stream, layout);
}

/* One set of them: for a direction, with instructions that the attribute `target` grants. */
#define ESPI_KERNELS(level, unpack, vectors, target)                                                                 \
    target static void block_##level(int64_t bytes, char *layout, char *stream)                                      \
    {                                                                                                                \
        espi_body_block(unpack, bytes, layout, stream);                                                              \
    }                                                                                                                \
    target static void strip_##level(int64_t bytes, const struct espi_copy_loop *loop, char *layout, char *stream)   \
    {                                                                                                                \
        const struct espi_copy_loop once = {1, 0, 0};                                                                \
        espi_body_grid(unpack, bytes, &once, loop, layout, stream);                                                  \
    }                                                                                                                \
    target static void grid_##level(int64_t bytes, const struct espi_copy_loop *outer,                               \
                                    const struct espi_copy_loop *inner, char *layout, char *stream)                  \
    {                                                                                                                \
        if (espi_tiles(vectors, unpack, bytes, outer, inner, layout, stream))                                        \
            return;                                                                                                  \
        espi_body_grid(unpack, bytes, outer, inner, layout, stream);                                                 \
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
    target static void near_pairs_##level(int64_t bytes, int64_t n, const int32_t *from, const int32_t *onto,        \
                                          char *layout, char *stream)                                                \
    {                                                                                                                \
        espi_body_near_pairs(unpack, bytes, n, from, onto, layout, stream);                                          \
    }                                                                                                                \
    target static void far_pairs_##level(int64_t bytes, int64_t n, const int64_t *from, const int64_t *onto,         \
                                         char *layout, char *stream)                                                 \
    {                                                                                                                \
        espi_body_far_pairs(unpack, bytes, n, from, onto, layout, stream);                                           \
    }
#define ESPI_KERNELS_ROW(level)                                                                                      \
    {block_##level, strip_##level, grid_##level,       near_##level,                                                 \
     far_##level,   runs_##level,  near_pairs_##level, far_pairs_##level}

#endif
