/*
 * Two loops whose sides run across each other (a transposed matrix). Blocks of 4, 8 and 16 bytes that are dense
 * across go in panels of a cache line, or two: down a panel, squares of a line each way are turned in registers, so
 * that each line of either side is read or written once, and whole. What comes next is in another row, mostly on
 * another page, and no hardware foresees that: it is fetched ahead. Other blocks go in tiles of a few lines each way.
 */
#include "pack/kernels.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

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

enum { LINE = ESPI_LINE, SIDE_LEAST = 4, SIDE_MOST = 32, TILES = 8, AHEAD_ROWS = 32, PANEL_LEAST = 8 };

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
                grid(bytes, &a, &b, source + i * across->from + k * along->from,
                     target + i * across->onto + k * along->onto);
            }
        }
    }
}

/* A square of blocks, a line each way: rows `from` apart where they lie, columns `onto` apart where they go. */
typedef void square(const char *s, int64_t from, char *t, int64_t onto);

/* One panel of `wide` blocks, some lines; both known to the compiler. */
ESPI_BODY panel(int64_t bytes, int64_t wide, square *turn, const struct espi_copy_loop *across,
                const struct espi_copy_loop *along, const char *s, char *t)
{
    const int64_t side = LINE / bytes, deep = along->count / side * side;
    const struct espi_copy_loop a = {wide, bytes, across->onto}, b = {along->count - deep, along->from, bytes};

    for (int64_t k = 0; k < deep; k += side) {
        if (k + AHEAD_ROWS < deep)
            for (int64_t r = 0; r < side; r++)
                for (int64_t p = 0; p < wide; p += side)
                    __builtin_prefetch(s + (k + AHEAD_ROWS - AHEAD_ROWS % side + r) * along->from + p * bytes);
        for (int64_t p = 0; p < wide; p += side)
            turn(s + k * along->from + p * bytes, along->from, t + k * bytes + p * across->onto, across->onto);
    }
    if (deep < along->count)
        grid(bytes, &a, &b, s + deep * along->from, t + deep * bytes);
}

/* Panels of one line, or of as many as lead to PANEL_LEAST rows on the target's side, while there are so many. */
ESPI_BODY panels(int64_t bytes, square *turn, const struct espi_copy_loop *across,
                 const struct espi_copy_loop *along, const char *source, char *target)
{
    const int64_t side = LINE / bytes, most = side < PANEL_LEAST ? PANEL_LEAST : side;
    int64_t i = 0;

    for (; i + most <= across->count; i += most)
        panel(bytes, most, turn, across, along, source + i * bytes, target + i * across->onto);
    for (; i + side <= across->count; i += side)
        panel(bytes, side, turn, across, along, source + i * bytes, target + i * across->onto);
    if (i < across->count) {
        const struct espi_copy_loop rest = {across->count - i, bytes, across->onto};
        grid(bytes, &rest, along, source + i * bytes, target + i * across->onto);
    }
}

/* ---- squares by registers of 16 bytes ---- */

#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLES 1
#endif
#endif

#ifdef SHUFFLES
typedef uint64_t two_words __attribute__((vector_size(16)));
typedef uint32_t four_words __attribute__((vector_size(16)));

ESPI_BODY turn_two(const char *s, int64_t from, char *t, int64_t onto)
{
    two_words a, b, x, y;
    memcpy(&a, s, sizeof a);
    memcpy(&b, s + from, sizeof b);
    x = __builtin_shufflevector(a, b, 0, 2);
    y = __builtin_shufflevector(a, b, 1, 3);
    memcpy(t, &x, sizeof x);
    memcpy(t + onto, &y, sizeof y);
}

ESPI_BODY turn_four(const char *s, int64_t from, char *t, int64_t onto)
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

ESPI_BODY square_8(const char *s, int64_t from, char *t, int64_t onto)
{
    for (int64_t i = 0; i < 8; i += 2)
        for (int64_t k = 0; k < 8; k += 2)
            turn_two(s + 8 * i + k * from, from, t + i * onto + 8 * k, onto);
}

ESPI_BODY square_4(const char *s, int64_t from, char *t, int64_t onto)
{
    for (int64_t i = 0; i < 16; i += 4)
        for (int64_t k = 0; k < 16; k += 4)
            turn_four(s + 4 * i + k * from, from, t + i * onto + 4 * k, onto);
}
#else
ESPI_BODY square_8(const char *s, int64_t from, char *t, int64_t onto)
{
    for (int64_t i = 0; i < 8; i++)
        for (int64_t k = 0; k < 8; k++)
            memcpy(t + i * onto + 8 * k, s + 8 * i + k * from, 8);
}

ESPI_BODY square_4(const char *s, int64_t from, char *t, int64_t onto)
{
    for (int64_t i = 0; i < 16; i++)
        for (int64_t k = 0; k < 16; k++)
            memcpy(t + i * onto + 4 * k, s + 4 * i + k * from, 4);
}
#endif

ESPI_BODY square_16(const char *s, int64_t from, char *t, int64_t onto)
{
    for (int64_t i = 0; i < 4; i++)
        for (int64_t k = 0; k < 4; k++)
            memcpy(t + i * onto + 16 * k, s + 16 * i + k * from, 16);
}

static void panels_plain(int64_t bytes, const struct espi_copy_loop *across, const struct espi_copy_loop *along,
                         const char *source, char *target)
{
    if (bytes == 16)
        panels(16, square_16, across, along, source, target);
    else if (bytes == 8)
        panels(8, square_8, across, along, source, target);
    else
        panels(4, square_4, across, along, source, target);
}

/* ---- by registers of 64 bytes ---- */

#ifdef __x86_64__
#define LOAD(i) _mm512_loadu_pd(s + (i) * from)
#define STORE(i, value) store_line(past, t + (i) * onto, value)
#define LOW(a, b) _mm512_unpacklo_pd(a, b)
#define HIGH(a, b) _mm512_unpackhi_pd(a, b)
#define EVEN(a, b) _mm512_shuffle_f64x2(a, b, 0x88) /* lanes 0 and 2 of both */
#define ODD(a, b) _mm512_shuffle_f64x2(a, b, 0xdd)

/* Past the caches: for a line that begins at `t`. */
AVX512 ESPI_BODY store_line(bool past, char *t, __m512d value)
{
    if (past)
        _mm512_stream_pd((double *)t, value);
    else
        _mm512_storeu_pd(t, value);
}

AVX512 ESPI_BODY lines_16(bool past, const char *s, int64_t from, char *t, int64_t onto)
{
    const __m512d a = LOAD(0), b = LOAD(1), c = LOAD(2), d = LOAD(3);
    const __m512d ab = EVEN(a, b), AB = ODD(a, b), cd = EVEN(c, d), CD = ODD(c, d);
    /* ab has columns 0 and 2 of rows 0 and 1: lanes a0 a2 b0 b2. */
    STORE(0, EVEN(ab, cd));
    STORE(1, EVEN(AB, CD));
    STORE(2, ODD(ab, cd));
    STORE(3, ODD(AB, CD));
}

AVX512 ESPI_BODY lines_8(bool past, const char *s, int64_t from, char *t, int64_t onto)
{
    const __m512d r0 = LOAD(0), r1 = LOAD(1), r2 = LOAD(2), r3 = LOAD(3), r4 = LOAD(4), r5 = LOAD(5), r6 = LOAD(6),
                  r7 = LOAD(7);
    const __m512d a0 = LOW(r0, r1), a1 = HIGH(r0, r1), a2 = LOW(r2, r3), a3 = HIGH(r2, r3), a4 = LOW(r4, r5),
                  a5 = HIGH(r4, r5), a6 = LOW(r6, r7), a7 = HIGH(r6, r7);
    const __m512d b0 = EVEN(a0, a2), b1 = EVEN(a1, a3), b2 = ODD(a0, a2), b3 = ODD(a1, a3), b4 = EVEN(a4, a6),
                  b5 = EVEN(a5, a7), b6 = ODD(a4, a6), b7 = ODD(a5, a7);
    STORE(0, EVEN(b0, b4));
    STORE(1, EVEN(b1, b5));
    STORE(2, EVEN(b2, b6));
    STORE(3, EVEN(b3, b7));
    STORE(4, ODD(b0, b4));
    STORE(5, ODD(b1, b5));
    STORE(6, ODD(b2, b6));
    STORE(7, ODD(b3, b7));
}

#define WIDE(name, lines, past)                                                                                      \
    AVX512 ESPI_BODY name(const char *s, int64_t from, char *t, int64_t onto)                                        \
    {                                                                                                                \
        lines(past, s, from, t, onto);                                                                               \
    }
WIDE(wide_16, lines_16, false)
WIDE(wide_8, lines_8, false)
WIDE(past_16, lines_16, true)
WIDE(past_8, lines_8, true)

AVX512 static void panels_wide(int64_t bytes, const struct espi_copy_loop *across, const struct espi_copy_loop *along,
                               const char *source, char *target)
{
    if (bytes == 16)
        panels(16, wide_16, across, along, source, target);
    else if (bytes == 8)
        panels(8, wide_8, across, along, source, target);
    else
        panels(4, square_4, across, along, source, target);
}

/* Squares are turned so that their rows are lines, which needs all rows of the target to begin alike: past what is
   before the first line of each. */
AVX512 static void panels_past(int64_t bytes, const struct espi_copy_loop *across, const struct espi_copy_loop *along,
                               const char *source, char *target)
{
    const int64_t before = (int64_t)(-(uintptr_t)target % LINE);
    struct espi_copy_loop first = *along, rest = *along;

    if (bytes == 4 || before % bytes != 0 || across->onto % LINE != 0 || along->count <= LINE) {
        panels_wide(bytes, across, along, source, target);
        return;
    }
    first.count = before / bytes;
    rest.count -= first.count;
    grid(bytes, across, &first, source, target);
    source += first.count * along->from;
    target += before;
    if (bytes == 16)
        panels(16, past_16, across, &rest, source, target);
    else
        panels(8, past_8, across, &rest, source, target);
}
#else
#define panels_wide panels_plain
#define panels_past panels_plain
#endif

bool espi_copy_tiles(enum espi_vectors level, int64_t bytes, const struct espi_copy_loop *outer,
                     const struct espi_copy_loop *inner, const char *source, char *target)
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
    if ((bytes == 4 || bytes == 8 || bytes == 16) && outer->from == bytes && inner->onto == bytes)
        (level == ESPI_VECTORS_PAST     ? panels_past
         : level >= ESPI_VECTORS_AVX512 ? panels_wide
                                        : panels_plain)(bytes, outer, inner, source, target);
    else
        tiled(bytes, outer, inner, source, target);
    return true;
}
