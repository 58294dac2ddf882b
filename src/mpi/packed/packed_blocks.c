#include "mpi/packed/packed_blocks.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "mpi/packed/packed_call.h"
#include "mpi/packed/stream_type.h"
#include "stats/stats.h"

/* One buffer of the pool: this, arrays, stream. */
struct espi_packed_blocks {
    int n;
    bool check;
    bool exact; /* a block holds what it had, but for the one mark at its end */
    char *arrays, *stream; /* no stream: the blocks are sent and received where they stand */
    int64_t bytes, room; /* of the stream, of the buffer */
    MPI_Datatype *kept;  /* of the program; NULL: nothing is compared */
    const MPI_Datatype *sent_as; /* n_sent_as of them; where all have one, it is one_type */
    int n_sent_as;
    MPI_Datatype one_type;
    struct espi_packed_block blocks[];
};

/* ---- how much has arrived ---- */

/* A word that data do not hold: as likely as any other one, and known to nobody. 0: not yet made. */
static _Atomic uint64_t own_word;

static __attribute__((noinline)) uint64_t make_pattern(void)
{
    const uint64_t w = espi_mix(espi_mix((uint64_t)getpid(), espi_stats_now()), (uint64_t)(uintptr_t)&own_word) | 1;

    atomic_store_explicit(&own_word, w, memory_order_relaxed);
    return w;
}

static inline uint64_t pattern(void)
{
    const uint64_t w = atomic_load_explicit(&own_word, memory_order_relaxed);

    return __builtin_expect(w != 0, 1) ? w : make_pattern();
}

enum { MARK = (int)sizeof(uint64_t), MARKS_APART = 4096 };
static atomic_bool short_seen;

bool espi_packed_blocks_short_seen(void)
{
    return atomic_load_explicit(&short_seen, memory_order_relaxed);
}

/* Writes the pattern so that it ends the block, and every `step` bytes before. */
static void mark(char *at, int64_t bytes, int64_t step, uint64_t word)
{
    for (int64_t end = bytes; end >= MARK; end -= step)
        memcpy(at + end - MARK, &word, MARK);
}

/* Up to where a marked block has come for certain: its end, or that of the last mark that was overwritten. */
static int64_t arrived(const char *at, int64_t bytes, int64_t step, uint64_t word)
{
    int64_t end = bytes;

    while (end >= MARK && memcmp(at + end - MARK, &word, MARK) == 0)
        end -= step;
    if (end < bytes)
        atomic_store_explicit(&short_seen, true, memory_order_relaxed);
    return end < MARK ? 0 : end;
}

/* ---- */

static int64_t bytes_of(const struct espi_packed_block *b)
{
    return b->count * b->size;
}

static void pack_block(const struct espi_packed_block *b, char *at)
{
    if (b->pack == NULL)
        memcpy(at, b->data, (size_t)bytes_of(b));
    else
        espi_packed_move(b->times, false, b->pack, b->data, b->count, at);
}

/* Short ones hold what they had. */
static bool is_marked(const struct espi_packed_block *b, int64_t bytes)
{
    return b->received && !b->sent && bytes >= MARK;
}

static void pack_all(const struct espi_packed_blocks *side)
{
    const uint64_t word = pattern();
    char *at = side->stream;

    for (int i = 0; i < side->n; i++) {
        const struct espi_packed_block *b = &side->blocks[i];
        const int64_t bytes = bytes_of(b);
        if (bytes > 0 && (b->sent || (b->received && (side->exact || bytes < MARK)))) {
            pack_block(b, at);
            if (side->check && b->sent)
                espi_packed_check(false, b->data, b->count, b->type, at, bytes);
        }
        if (is_marked(b, bytes))
            mark(at, bytes, side->exact ? bytes : MARKS_APART, word);
        at += bytes;
    }
}

/* Under ESPALIER_CHECK: a type that something is compared with at the end may be freed before, where the call is
   nonblocking. What can not be kept is not compared. */
static void keep_types(struct espi_packed_blocks *side)
{
    if (!side->check || (side->kept = malloc((size_t)side->n * sizeof *side->kept)) == NULL)
        return;
    for (int i = 0; i < side->n; i++) {
        const struct espi_packed_block *b = &side->blocks[i];
        side->kept[i] = b->received && b->pack != NULL && b->count > 0 ? espi_packed_type_copy(b->type)
                                                                       : MPI_DATATYPE_NULL;
    }
}

static void free_types(struct espi_packed_blocks *side)
{
    for (int i = 0; i < side->n && side->kept != NULL; i++)
        espi_packed_type_back(&side->kept[i]);
    free(side->kept);
}

void espi_packed_blocks_unpack(struct espi_packed_blocks *side)
{
    const uint64_t word = pattern();
    char *at = side->stream;

    for (int i = 0; i < side->n && side->stream != NULL; i++) {
        const struct espi_packed_block *b = &side->blocks[i];
        const int64_t bytes = bytes_of(b);
        if (bytes > 0 && b->received) {
            int64_t here = !is_marked(b, bytes) ? bytes
                                                : arrived(at, bytes, side->exact ? bytes : MARKS_APART, word);
            if (here < bytes && side->exact)
                here = bytes - MARK;
            if (b->pack == NULL)
                memcpy(b->data, at, (size_t)here);
            else if (here == bytes)
                espi_packed_move(b->times, true, b->pack, b->data, b->count, at);
            else if (here > 0)
                espi_unpack_range(b->pack, at, b->data, b->count, 0, here);
            if (here == bytes && side->kept != NULL && side->kept[i] != MPI_DATATYPE_NULL)
                espi_packed_check(true, b->data, b->count, side->kept[i], at, bytes);
        }
        at += bytes;
    }
}

struct espi_packed_blocks *espi_packed_blocks_new(int n, int64_t bytes, size_t arrays, bool stand)
{
    enum { LINE = 64 }; /* of the cache, for the stream: wide stores that cross lines are slow */
    struct espi_packed_blocks *side;
    const size_t before = sizeof *side + (size_t)n * sizeof side->blocks[0],
                 head = before + arrays + LINE - 1;
    const int64_t room = (int64_t)head + (stand ? 0 : bytes);

    if (bytes <= 0 || bytes > INT_MAX || (side = espi_packed_buffer(room)) == NULL)
        return NULL;
    side->n = n;
    side->kept = NULL;
    side->n_sent_as = 0;
    side->bytes = bytes;
    side->room = room;
    side->arrays = (char *)side + before;
    side->stream = stand ? NULL : (char *)side + head - ((uintptr_t)side + head) % LINE;
    return side;
}

bool espi_packed_blocks_stand(const struct espi_packed_blocks *side)
{
    return side->stream == NULL;
}

struct espi_packed_block *espi_packed_blocks_each(struct espi_packed_blocks *side)
{
    return side->blocks;
}

void *espi_packed_blocks_arrays(struct espi_packed_blocks *side)
{
    return side->arrays;
}

void espi_packed_blocks_sent_as(struct espi_packed_blocks *side, const MPI_Datatype *types, int n)
{
    side->sent_as = types;
    side->n_sent_as = n;
}

MPI_Datatype *espi_packed_blocks_one_type(struct espi_packed_blocks *side)
{
    return &side->one_type;
}

void espi_packed_blocks_drop(struct espi_packed_blocks *side)
{
    espi_packed_buffer_back(side, side->room);
}

void espi_packed_blocks_pack(struct espi_packed_blocks *side, bool exact, bool check)
{
    side->exact = exact;
    side->check = check && side->stream != NULL;
    keep_types(side);
    if (side->stream != NULL)
        pack_all(side);
}

void *espi_packed_blocks_stream(const struct espi_packed_blocks *side)
{
    return side->stream;
}

void espi_packed_blocks_close(struct espi_packed_blocks *side, void (*release)(void *owner))
{
    for (int i = 0; i < side->n; i++)
        if (side->blocks[i].owner != NULL)
            release(side->blocks[i].owner);
    for (int i = 0; i < side->n_sent_as; i++)
        if (side->sent_as[i] != MPI_PACKED)
            espi_stream_type_back(side->sent_as[i], bytes_of(&side->blocks[i]), ESPI_STREAM_IN_ROW);
    free_types(side);
    espi_packed_blocks_drop(side);
}
