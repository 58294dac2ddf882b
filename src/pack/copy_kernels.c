/*
 * The innermost loops, one per common size of block, so that a block is a move or two and no call. A grid whose two
 * sides run across each other (a transposed matrix) goes in tiles: within one, every cache line of either side is
 * used whole while it is there.
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

enum { LINE = 64, TILES = 8 };

/* A tile of side x side blocks: a cache line of blocks each way. `across` steps finely on the source's side. */
static void tile(int64_t bytes, const struct espi_copy_loop *across, const struct espi_copy_loop *along,
                 const char *source, char *target)
{
    const int64_t n = across->count, m = along->count;

#define TILE(size)                                                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                                                \
        const char *s = source + i * across->from;                                                                   \
        char *t = target + i * across->onto;                                                                         \
        for (int64_t k = 0; k < m; k++) {                                                                            \
            memcpy(t, s, size);                                                                                      \
            s += along->from;                                                                                        \
            t += along->onto;                                                                                        \
        }                                                                                                            \
    }
    BY_SIZE(bytes, TILE)
#undef TILE
}

/* `across` steps finely where the data lie, `along` where they go. */
static void tiled(int64_t bytes, const struct espi_copy_loop *across, const struct espi_copy_loop *along,
                  const char *source, char *target)
{
    const int64_t side = LINE / bytes > 4 ? LINE / bytes : 4, band = side * TILES;
    struct espi_copy_loop a = *across, b = *along;

    for (int64_t K = 0; K < along->count; K += band) {
        int64_t last = least(K + band, along->count);
        for (int64_t i = 0; i < across->count; i += side) {
            a.count = least(side, across->count - i);
            for (int64_t k = K; k < last; k += side) {
                b.count = least(side, last - k);
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
    if (bytes <= LINE / 2 && distance(outer->from) < LINE && distance(inner->from) >= LINE &&
        distance(inner->onto) < LINE && distance(outer->onto) >= LINE && outer->count > 1 && inner->count > 1) {
        tiled(bytes, outer, inner, source, target);
        return;
    }
    for (int64_t i = 0; i < outer->count; i++)
        espi_copy_strip(bytes, inner, source + i * outer->from, target + i * outer->onto);
}
