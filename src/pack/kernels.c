/*
 * Two loops whose sides run across each other (a transposed matrix) go in tiles: within one, every cache line of
 * either side is used whole while it is there, and squares of a few words are turned in registers.
 */
#include "pack/kernels.h"

#include <string.h>

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

static void grid(int64_t bytes, const struct espi_copy_loop *outer, const struct espi_copy_loop *inner,
                 const char *source, char *target)
{
    espi_body_grid(false, bytes, outer, inner, (char *)source, target);
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

enum { LINE = ESPI_LINE, SIDE_LEAST = 4, SIDE_MOST = 32, TILES = 8 };

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

bool espi_copy_tiles(int64_t bytes, const struct espi_copy_loop *outer, const struct espi_copy_loop *inner,
                     const char *source, char *target)
{
    if (bytes > LINE / 2 || outer->count < 2 || inner->count < 2)
        return false;
    /* The finer steps where the data go are inside. */
    if (distance(outer->onto) < distance(inner->onto)) {
        const struct espi_copy_loop *other = outer;
        outer = inner;
        inner = other;
    }
    if (!crosses(outer, inner) || distance(outer->from) >= LINE || distance(inner->onto) >= LINE)
        return false;
    tiled(bytes, outer, inner, source, target);
    return true;
}
