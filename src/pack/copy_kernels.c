/*
 * The innermost loops, one per common size of block, so that a block is a move or two and no call. A grid whose two
 * sides run across each other (a transposed matrix) goes in tiles: within one, every cache line of either side is
 * used whole while it is there, and squares of a few words are turned in registers.
 */
#include "pack/copy_program.h"

#include <string.h>

/* Runs BODY(size) with a constant size where the size is common. */
#define BY_SIZE(bytes, BODY)                                                                                         \
    switch (bytes) {                                                                                                 \
    case 1: BODY(1) break;                                                                                           \
    case 2: BODY(2) break;                                                                                           \
    case 4: BODY(4) break;                                                                                           \
    case 8: BODY(8) break;                                                                                           \
    case 12: BODY(12) break;                                                                                         \
    case 16: BODY(16) break;                                                                                         \
    case 24: BODY(24) break;                                                                                         \
    case 32: BODY(32) break;                                                                                         \
    case 40: BODY(40) break;                                                                                         \
    case 48: BODY(48) break;                                                                                         \
    case 64: BODY(64) break;                                                                                         \
    default: BODY((size_t)bytes) break;                                                                              \
    }

void espi_copy_strip(int64_t bytes, const struct espi_copy_loop *loop, const char *source, char *target)
{
    const int64_t n = loop->count, from = loop->from, onto = loop->onto;

#define STRIP(size)                                                                                                  \
    {                                                                                                                \
        int64_t k = 0;                                                                                               \
        for (; k + 4 <= n; k += 4) {                                                                                 \
            memcpy(target, source, size);                                                                            \
            memcpy(target + onto, source + from, size);                                                              \
            memcpy(target + 2 * onto, source + 2 * from, size);                                                      \
            memcpy(target + 3 * onto, source + 3 * from, size);                                                      \
            source += 4 * from;                                                                                      \
            target += 4 * onto;                                                                                      \
        }                                                                                                            \
        for (; k < n; k++) {                                                                                         \
            memcpy(target, source, size);                                                                            \
            source += from;                                                                                          \
            target += onto;                                                                                          \
        }                                                                                                            \
    }
    BY_SIZE(bytes, STRIP)
#undef STRIP
}

void espi_copy_list(int64_t bytes, int64_t n, const int64_t *from, const int64_t *onto, const char *source,
                    char *target)
{
#define LIST(size)                                                                                                   \
    for (int64_t k = 0; k < n; k++)                                                                                  \
        memcpy(target + onto[k], source + from[k], size);
    BY_SIZE(bytes, LIST)
#undef LIST
}

static int64_t distance(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool crosses(const struct espi_copy_loop *outer, const struct espi_copy_loop *inner)
{
    return distance(outer->from) < distance(inner->from) && distance(inner->onto) < distance(outer->onto);
}

/* Two loops without a call per turn of the outer one. */
static void grid(int64_t bytes, const struct espi_copy_loop *outer, const struct espi_copy_loop *inner,
                 const char *source, char *target)
{
    const int64_t n = outer->count, m = inner->count, from = inner->from, onto = inner->onto;

#define GRID(size)                                                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                                                \
        const char *s = source + i * outer->from;                                                                    \
        char *t = target + i * outer->onto;                                                                          \
        for (int64_t k = 0; k < m; k++) {                                                                            \
            memcpy(t, s, size);                                                                                      \
            s += from;                                                                                               \
            t += onto;                                                                                               \
        }                                                                                                            \
    }
    BY_SIZE(bytes, GRID)
#undef GRID
}

/*
 * Small squares turned within registers: two times two words of 8 bytes, four times four of 4. `across` is dense
 * where the data lie, `along` where they go. What is left at the edges goes one by one.
 */
#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define TURNS_SQUARES 1
#endif
#endif

#ifdef TURNS_SQUARES
typedef uint64_t two_words __attribute__((vector_size(16)));
typedef uint32_t four_words __attribute__((vector_size(16)));

static inline void turn_two(const char *s, int64_t from, char *t, int64_t onto)
{
    two_words a, b, x, y;
    memcpy(&a, s, sizeof a);
    memcpy(&b, s + from, sizeof b);
    x = __builtin_shufflevector(a, b, 0, 2);
    y = __builtin_shufflevector(a, b, 1, 3);
    memcpy(t, &x, sizeof x);
    memcpy(t + onto, &y, sizeof y);
}

static inline void turn_four(const char *s, int64_t from, char *t, int64_t onto)
{
    four_words a, b, c, d, x, y;
    memcpy(&a, s, sizeof a);
    memcpy(&b, s + from, sizeof b);
    memcpy(&c, s + 2 * from, sizeof c);
    memcpy(&d, s + 3 * from, sizeof d);
    const two_words ab = (two_words)__builtin_shufflevector(a, b, 0, 4, 1, 5),
                    cd = (two_words)__builtin_shufflevector(c, d, 0, 4, 1, 5),
                    AB = (two_words)__builtin_shufflevector(a, b, 2, 6, 3, 7),
                    CD = (two_words)__builtin_shufflevector(c, d, 2, 6, 3, 7);
    x = (four_words)__builtin_shufflevector(ab, cd, 0, 2);
    y = (four_words)__builtin_shufflevector(ab, cd, 1, 3);
    memcpy(t, &x, sizeof x);
    memcpy(t + onto, &y, sizeof y);
    x = (four_words)__builtin_shufflevector(AB, CD, 0, 2);
    y = (four_words)__builtin_shufflevector(AB, CD, 1, 3);
    memcpy(t + 2 * onto, &x, sizeof x);
    memcpy(t + 3 * onto, &y, sizeof y);
}

#define SQUARES(side, bytes, turn)                                                                                   \
    for (int64_t i = 0; i + (side) <= across->count; i += (side))                                                    \
        for (int64_t k = 0; k + (side) <= along->count; k += (side))                                                 \
            turn(source + i * (bytes) + k * along->from, along->from, target + i * across->onto + k * (bytes),       \
                 across->onto);

static void squares(int64_t bytes, const struct espi_copy_loop *across, const struct espi_copy_loop *along,
                    const char *source, char *target)
{
    const int64_t side = bytes == 8 ? 2 : 4, done = across->count / side * side;
    struct espi_copy_loop rest = *along;

    if (bytes == 8) {
        SQUARES(2, 8, turn_two)
    } else {
        SQUARES(4, 4, turn_four)
    }
    if (along->count % side != 0) {
        struct espi_copy_loop whole = *across;
        int64_t k = along->count / side * side;
        whole.count = done;
        rest.count = along->count % side;
        grid(bytes, &whole, &rest, source + k * along->from, target + k * along->onto);
    }
    if (done < across->count) {
        struct espi_copy_loop last = *across;
        last.count = across->count - done;
        grid(bytes, &last, along, source + done * across->from, target + done * across->onto);
    }
}
#endif

static void tile(int64_t bytes, const struct espi_copy_loop *across, const struct espi_copy_loop *along,
                 const char *source, char *target)
{
#ifdef TURNS_SQUARES
    if ((bytes == 8 || bytes == 4) && across->from == bytes && along->onto == bytes) {
        squares(bytes, across, along, source, target);
        return;
    }
#endif
    grid(bytes, across, along, source, target);
}

enum { LINE = 64, SIDE_LEAST = 4, SIDE_MOST = 32, TILES = 8, SHORT = 8 };

/*
 * `across` steps finely where the data lie, `along` where they go. Tiles are two cache lines of blocks each way, or
 * more along a loop whose other one is short. They go in bands: as many of them side by side where the data lie as
 * leaves their lines on the target's side in the cache until the next row of tiles goes on with them.
 */
static void tiled(int64_t bytes, const struct espi_copy_loop *across, const struct espi_copy_loop *along,
                  const char *source, char *target)
{
    const int64_t least_side = 2 * LINE / bytes > SIDE_LEAST ? 2 * LINE / bytes : SIDE_LEAST,
                  side = least(least_side, SIDE_MOST), wide = along->count <= side ? side * TILES : side,
                  deep = across->count <= side ? side * TILES : side, band = side * TILES;
    struct espi_copy_loop a = *across, b = *along;

    for (int64_t I = 0; I < across->count; I += band) {
        const int64_t last = least(I + band, across->count);
        for (int64_t k = 0; k < along->count; k += deep) {
            b.count = least(deep, along->count - k);
            for (int64_t i = I; i < last; i += wide) {
                a.count = least(wide, last - i);
                tile(bytes, &a, &b, source + i * across->from + k * along->from,
                     target + i * across->onto + k * along->onto);
            }
        }
    }
}

void espi_copy_grid(int64_t bytes, const struct espi_copy_loop *outer, const struct espi_copy_loop *inner,
                    const char *source, char *target)
{
    /* The finer steps where the data go are inside. */
    if (distance(outer->onto) < distance(inner->onto)) {
        const struct espi_copy_loop *other = outer;
        outer = inner;
        inner = other;
    }
    if (bytes <= LINE / 2 && crosses(outer, inner) && distance(outer->from) < LINE && distance(inner->onto) < LINE &&
        outer->count > 1 && inner->count > 1)
        tiled(bytes, outer, inner, source, target);
    else if (inner->count < SHORT)
        grid(bytes, outer, inner, source, target);
    else
        for (int64_t i = 0; i < outer->count; i++)
            espi_copy_strip(bytes, inner, source + i * outer->from, target + i * outer->onto);
}
