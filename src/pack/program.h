/*
 * The program as data: what compile.c makes and run.c runs. Data go from one side, `from`, to another, `onto`. Both
 * may have places of their own (copy.h), or `onto` is a dense stream (pack.h): then its places are running sums, and
 * not stored. Such a program also runs backwards, from the stream to the layout.
 */
#ifndef ESPI_PACK_PROGRAM_H
#define ESPI_PACK_PROGRAM_H

#include "base/cpu.h"
#include "pack/copy.h"
#include "pack/pack.h"

enum espi_copy_kind {
    ESPI_COPY_BLOCK,   /* `bytes` bytes as they are */
    ESPI_COPY_LOOPS,   /* `child` in `levels` loops, one inside the other, the first outermost */
    ESPI_COPY_LIST,    /* `child` at `count` displacements */
    ESPI_COPY_RUNS,    /* blocks of different lengths at `count` displacements; onto a stream only */
    ESPI_COPY_BUCKETS, /* at the j-th displacement, `len[j]` times `child` at the strides of `loop[0]` */
    ESPI_COPY_PARTS    /* `sub[j]` at the j-th displacement */
};

/* Steps in bytes on either side. */
struct espi_copy_loop {
    int64_t count, from, onto;
};

/* A short block somewhere near. */
struct espi_copy_run {
    int32_t at;
    uint32_t bytes;
};

enum { ESPI_COPY_LEVELS = 8, ESPI_LINE = 64, ESPI_TURNS_LEAST = 8 };

struct espi_copy {
    enum espi_copy_kind kind;
    int levels;
    bool turned;                      /* loops run in another order than they stand in */
    uint8_t order[ESPI_COPY_LEVELS];  /* which */
    int64_t bytes;                    /* of its blocks together: its length in a stream */
    int64_t count;
    int64_t chunk;  /* of the innermost loop, of blocks of the outer one of the last two or three: this many turns are
                       run together, part by part; 0: turn by turn */
    int64_t pieces; /* blocks in all: a measure of how fine-grained it is */
    int64_t lines;  /* cache lines that they touch on the `from` side, about; a stream is dense */
    int64_t calls; /* of kernels, and steps through the program */
    int64_t lists; /* bytes of the arrays below it */
    int64_t low, high; /* on the `from` side: the first byte, and the end of the last one */
    struct espi_copy_loop loop[ESPI_COPY_LEVELS]; /* in the order of the type map */
    const int64_t *disp_from, *disp_onto, *len;   /* disp_onto: NULL for a stream */
    const int32_t *near, *near_onto;              /* of a list: stand for these two where they are not NULL */
    const struct espi_copy_run *run;              /* stands for disp_from and len where it is not NULL */
    const int64_t *start; /* of runs, buckets and parts in a stream: where each begins, and the end of the last */
    const struct espi_copy *child, *const *sub;
};

/* Whether the last `levels` loops run with some of the `turns` of the first of them innermost (run_few in run.c). */
static inline bool espi_copy_is_few(const struct espi_copy *c, int levels, int64_t turns)
{
    return c->chunk > 0 && c->child->kind == ESPI_COPY_BLOCK && levels == (c->levels < 3 ? c->levels : 3) &&
           turns >= ESPI_TURNS_LEAST;
}

struct espi_pack {
    const struct espi_copy *item; /* one */
    struct espi_copy many;        /* ESPI_PACK_MANY of them, as a pattern for any number */
    int64_t at; /* where displacement 0 of the program lies in the layout */
};
enum { ESPI_PACK_MANY = 1024 };

/* A program and the displacements that all of it is moved by. */
struct espi_piece {
    const struct espi_copy *copy;
    int64_t from, onto;
};

/* ---- compiling ---- */

enum { ESPI_BLOCKS_KEPT = 65 };

struct espi_compiler {
    struct espi_arena *arena;
    struct espi_arena scratch;
    struct espi_compiled *known; /* a table of `slots`, a power of two */
    size_t slots, used;
    const struct espi_copy *block[ESPI_BLOCKS_KEPT]; /* by bytes */
    int depth;
};

/* compile.c. Results of sums and products stay at the end of the range where they do not fit. */
int64_t espi_copy_times(int64_t a, int64_t b);
int64_t espi_copy_plus(int64_t a, int64_t b);
struct espi_copy *espi_copy_make(struct espi_compiler *p, enum espi_copy_kind kind);
espi_status espi_copy_block(struct espi_compiler *p, int64_t bytes, const struct espi_copy **out);
/* A tree and, for a program with two sides, another one; onto == NULL: a stream. */
espi_status espi_copy_tree(struct espi_compiler *p, const struct espi_node *from, const struct espi_node *onto,
                           struct espi_piece *out);
/* `child` along a loop. */
espi_status espi_copy_repeat(struct espi_compiler *p, const struct espi_copy_loop *loop,
                             const struct espi_copy *child, const struct espi_copy **out);
/* Bounds, lines and calls of loops, from their child's. */
void espi_copy_measure_loops(struct espi_copy *c);
void espi_compiler_release(struct espi_compiler *p);

/* lists.c: the same for lists, buckets and structs onto a stream. */
espi_status espi_dense_list(struct espi_compiler *p, int64_t count, const int64_t *disp,
                            const struct espi_copy *child, struct espi_piece *out);
espi_status espi_dense_buckets(struct espi_compiler *p, const struct espi_node *node, struct espi_piece *out);
espi_status espi_dense_parts(struct espi_compiler *p, int64_t count, const struct espi_piece *piece,
                             struct espi_piece *out);

/* pairs.c: the same for lists and buckets of two sides. */
espi_status espi_paired_list(struct espi_compiler *p, const struct espi_node *from, const struct espi_node *onto,
                             struct espi_piece *out);
espi_status espi_paired_buckets(struct espi_compiler *p, const struct espi_node *from, const struct espi_node *onto,
                                struct espi_piece *out);

/* ---- running ---- */

/* The innermost loops for one direction and one level of instructions. `layout` is the `from` side, `stream` the
   other one: to pack is to read the layout, to unpack is to write it. */
struct espi_kernels {
    void (*block)(int64_t bytes, char *layout, char *stream);
    /* Blocks at constant steps on both sides. */
    void (*strip)(int64_t bytes, const struct espi_copy_loop *loop, char *layout, char *stream);
    /* The same in two loops, in any order. */
    void (*grid)(int64_t bytes, const struct espi_copy_loop *outer, const struct espi_copy_loop *inner, char *layout,
                 char *stream);
    /* Blocks at displacements onto a dense stream. */
    void (*near)(int64_t bytes, int64_t n, const int32_t *at, char *layout, char *stream);
    void (*far)(int64_t bytes, int64_t n, const int64_t *at, char *layout, char *stream);
    /* Blocks of different lengths. */
    void (*runs)(int64_t n, const struct espi_copy_run *run, char *layout, char *stream);
    /* Blocks at pairs of displacements. */
    void (*near_pairs)(int64_t bytes, int64_t n, const int32_t *from, const int32_t *onto, char *layout,
                       char *stream);
    void (*far_pairs)(int64_t bytes, int64_t n, const int64_t *from, const int64_t *onto, char *layout, char *stream);
};

/* Levels behind the last one of the processor's, which have all that it has. One: AVX-512, and lines that are asked
   for before they are written (level_claims.c). */
#define ESPI_VECTORS_CLAIMS ((enum espi_vectors)(ESPI_VECTORS_AVX512 + 1))
/* And another: AVX-512, and stores that go past the caches. They are seen by others in any order until a fence. */
#define ESPI_VECTORS_PAST ((enum espi_vectors)(ESPI_VECTORS_AVX512 + 2))

/* The level for this processor, and for streams of so many bytes. */
enum espi_vectors espi_pack_level(int64_t bytes);

/* Those of a level, which the machine must have. */
const struct espi_kernels *espi_kernels_of(enum espi_vectors level, bool unpack);
/* To pack, and to unpack. */
extern const struct espi_kernels espi_kernels_avx512[2], espi_kernels_claims[2], espi_kernels_past[2];

/* run.c */
void espi_copy_run_with(const struct espi_kernels *k, const struct espi_copy *c, char *layout, char *stream);
/* Bytes first to last - 1 of a program onto a stream; `stream` points at byte `first`. */
void espi_copy_range_with(const struct espi_kernels *k, const struct espi_copy *c, char *layout, char *stream,
                          int64_t first, int64_t last);
/* Children begin .. end - 1 of a list, of runs, of buckets or of parts. `stream` points at the first of them. */
void espi_copy_some_with(const struct espi_kernels *k, const struct espi_copy *c, char *layout, char *stream,
                         int64_t begin, int64_t end);
/* The loops of `c` from `level` on, of which the first makes `count` turns. */
void espi_copy_nest_with(const struct espi_kernels *k, const struct espi_copy *c, int level, int64_t count,
                         char *layout, char *stream);

/* tiles.c: blocks in two loops that run across each other; false (and nothing is done) for others. */
bool espi_copy_tiles(enum espi_vectors level, int64_t bytes, const struct espi_copy_loop *outer,
                     const struct espi_copy_loop *inner, const char *source, char *target);

/* pack.c: `count` items, made from the pattern. */
struct espi_copy espi_pack_many(const struct espi_pack *pack, int64_t count);
/* The same with the kernels of a level, for tests and benchmarks; else as in pack.h. */
void espi_pack_run_at(enum espi_vectors level, const struct espi_pack *pack, const void *data, int64_t count,
                      void *stream);
void espi_unpack_run_at(enum espi_vectors level, const struct espi_pack *pack, const void *stream, void *data,
                        int64_t count);
void espi_pack_range_at(enum espi_vectors level, const struct espi_pack *pack, const void *data, int64_t count,
                        int64_t first, int64_t bytes, void *stream);
void espi_unpack_range_at(enum espi_vectors level, const struct espi_pack *pack, const void *stream, void *data,
                          int64_t count, int64_t first, int64_t bytes);

/* Displacements may wrap on the way to a sum that does not: bounds were checked when the nodes were made. */
static inline int64_t espi_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t espi_difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* A place that need not be near an object: MPI_BOTTOM is NULL. */
static inline char *espi_place(const void *at, int64_t by)
{
    return (char *)((uintptr_t)at + (uintptr_t)by);
}

#endif
