/* Programs for whole types: one item, or any number of them at an extent. */
#include "pack/pack.h"

#include <stdatomic.h>

#include "base/often.h"
#include "pack/copy.h"
#include "pack/program.h"

espi_status espi_pack_compile(struct espi_arena *arena, const struct espi_node *tree, int64_t extent,
                              const struct espi_pack **out)
{
    struct espi_compiler p = {.arena = arena};
    struct espi_pack *pack = espi_arena_calloc(arena, 1, sizeof *pack);
    const struct espi_copy *many = NULL;
    struct espi_piece piece = {NULL, 0, 0};
    espi_status status = pack != NULL ? espi_copy_tree(&p, tree, NULL, &piece) : ESPI_ERR_MEMORY;

    if (status == ESPI_OK) {
        struct espi_copy_loop loop = {ESPI_PACK_MANY, extent, piece.copy->bytes};
        status = espi_copy_repeat(&p, &loop, piece.copy, &many);
    }
    espi_compiler_release(&p);
    *out = NULL;
    if (status != ESPI_OK)
        return status;
    pack->item = piece.copy;
    pack->many = *many;
    pack->at = piece.from;
    *out = pack;
    return ESPI_OK;
}

/* Its first loop has some turns for each item. */
struct espi_copy espi_pack_many(const struct espi_pack *pack, int64_t count)
{
    struct espi_copy c = pack->many;
    c.bytes = pack->item->bytes * count;
    if (c.kind == ESPI_COPY_LOOPS)
        c.loop[0].count = c.loop[0].count / ESPI_PACK_MANY * count;
    return c;
}

/* Apart, as it has to make room for a program: one item, which is most of what is packed, needs none. */
static __attribute__((noinline)) void run_many(const struct espi_kernels *k, const struct espi_pack *pack, char *data,
                                               int64_t count, char *stream)
{
    const struct espi_copy c = espi_pack_many(pack, count);
    espi_copy_run_with(k, &c, data, stream);
}

static inline __attribute__((always_inline)) void run(const struct espi_kernels *k, const struct espi_pack *pack,
                                                      char *data, int64_t count, char *stream)
{
    if (count <= 0 || pack->item->bytes == 0)
        return;
    data = espi_place(data, pack->at);
    if (count == 1)
        espi_copy_run_with(k, pack->item, data, stream);
    else
        run_many(k, pack, data, count, stream);
}

static void range(const struct espi_kernels *k, const struct espi_pack *pack, char *data, int64_t count, char *stream,
                  int64_t first, int64_t bytes)
{
    if (bytes <= 0 || pack->item->bytes == 0)
        return;
    data = espi_place(data, pack->at);
    if (count == 1) {
        espi_copy_range_with(k, pack->item, data, stream, first, first + bytes);
    } else {
        const struct espi_copy c = espi_pack_many(pack, count);
        espi_copy_range_with(k, &c, data, stream, first, first + bytes);
    }
}

void espi_pack_run_at(enum espi_vectors level, const struct espi_pack *pack, const void *data, int64_t count,
                      void *stream)
{
    run(espi_kernels_of(level, false), pack, (char *)data, count, stream);
}

void espi_unpack_run_at(enum espi_vectors level, const struct espi_pack *pack, const void *stream, void *data,
                        int64_t count)
{
    run(espi_kernels_of(level, true), pack, data, count, (char *)stream);
}

void espi_pack_range_at(enum espi_vectors level, const struct espi_pack *pack, const void *data, int64_t count,
                        int64_t first, int64_t bytes, void *stream)
{
    range(espi_kernels_of(level, false), pack, (char *)data, count, stream, first, bytes);
}

void espi_unpack_range_at(enum espi_vectors level, const struct espi_pack *pack, const void *stream, void *data,
                          int64_t count, int64_t first, int64_t bytes)
{
    range(espi_kernels_of(level, true), pack, data, count, (char *)stream, first, bytes);
}

/* Streams of so many bytes, and what they are packed from, are hardly in the nearest cache; of so many they may be
   longer than the last one. */
enum { NEAR = 24 << 10, LONG = 1 << 20 };

enum espi_vectors espi_pack_level(int64_t bytes)
{
    const enum espi_vectors level = espi_cpu_vectors();

    if (level != ESPI_VECTORS_AVX512 || bytes < NEAR)
        return level;
    const int64_t cache = bytes > LONG ? espi_cpu_cache() : 0;
    return cache > 0 && bytes >= cache ? ESPI_VECTORS_PAST : espi_cpu_is_intel() ? ESPI_VECTORS_CLAIMS : level;
}

/* Whoever sees what is stored after this sees all that was stored past the caches before it. */
static void fence(enum espi_vectors level)
{
#ifdef __x86_64__
    if (level == ESPI_VECTORS_PAST)
        __builtin_ia32_sfence();
#else
    (void)level;
#endif
}

/* Those for short streams, to pack and to unpack; NULL: not known yet. */
static _Atomic(const struct espi_kernels *) own[2];

/* The first stream, and long ones. Several threads may ask for the first time; all find the same. */
static __attribute__((noinline)) void run_asking(bool unpack, const struct espi_pack *pack, char *data, int64_t count,
                                                 char *stream)
{
    const enum espi_vectors level = espi_pack_level(pack->item->bytes * count);

    atomic_store_explicit(&own[unpack], espi_kernels_of(espi_cpu_vectors(), unpack), memory_order_relaxed);
    run(espi_kernels_of(level, unpack), pack, data, count, stream);
    fence(level);
}

static inline __attribute__((always_inline)) void run_own(bool unpack, const struct espi_pack *pack, char *data,
                                                          int64_t count, char *stream)
{
    const struct espi_kernels *const k = atomic_load_explicit(&own[unpack], memory_order_relaxed);

    if (__builtin_expect(k == NULL || pack->item->bytes * count >= NEAR, 0))
        run_asking(unpack, pack, data, count, stream);
    else
        run(k, pack, data, count, stream);
}

ESPI_OFTEN void espi_pack_run(const struct espi_pack *pack, const void *data, int64_t count, void *stream)
{
    run_own(false, pack, (char *)data, count, stream);
}

ESPI_OFTEN void espi_unpack_run(const struct espi_pack *pack, const void *stream, void *data, int64_t count)
{
    run_own(true, pack, data, count, (char *)stream);
}

/* Of a part the level is that of the whole; but the stream of a part that is packed is read soon, and not past the
   caches. */
void espi_pack_range(const struct espi_pack *pack, const void *data, int64_t count, int64_t first, int64_t bytes,
                     void *stream)
{
    const int64_t all = pack->item->bytes * count;
    const enum espi_vectors level = espi_pack_level(all < LONG ? all : LONG);

    espi_pack_range_at(level, pack, data, count, first, bytes, stream);
}

void espi_unpack_range(const struct espi_pack *pack, const void *stream, void *data, int64_t count, int64_t first,
                       int64_t bytes)
{
    const enum espi_vectors level = espi_pack_level(pack->item->bytes * count);

    espi_unpack_range_at(level, pack, stream, data, count, first, bytes);
    fence(level);
}

void espi_copy_run(const struct espi_copy *copy, const void *source, void *target)
{
    const enum espi_vectors level = espi_pack_level(copy->bytes);

    espi_copy_run_with(espi_kernels_of(level, false), copy, (char *)source, target);
    fence(level);
}

bool espi_pack_goes_past(int64_t bytes)
{
    return espi_pack_level(bytes) == ESPI_VECTORS_PAST;
}

int64_t espi_pack_size(const struct espi_pack *pack)
{
    return pack->item->bytes;
}

int64_t espi_pack_blocks(const struct espi_pack *pack)
{
    return pack->item->pieces;
}

bool espi_pack_is_run(const struct espi_pack *pack, int64_t *at)
{
    *at = pack->at;
    return pack->item->kind == ESPI_COPY_BLOCK && pack->item->bytes > 0;
}

bool espi_pack_is_rows(const struct espi_pack *pack, int64_t count, int64_t *at, int64_t *row, int64_t *step)
{
    const struct espi_copy c = count == 1 ? *pack->item : espi_pack_many(pack, count);
    const bool one = c.kind == ESPI_COPY_BLOCK,
               some = c.kind == ESPI_COPY_LOOPS && c.levels == 1 && c.child->kind == ESPI_COPY_BLOCK;

    *at = pack->at;
    *row = some ? c.child->bytes : c.bytes;
    *step = some ? c.loop[0].from : 0;
    return (one || some) && *row > 0;
}
