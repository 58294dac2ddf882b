/*
 * Pack programs: a type tree compiled to loops that gather the data of a layout into a dense stream of bytes, in the
 * order of its type map, and scatter such a stream back. doc/pack-programs.md describes them.
 *
 * Throughout, `data` is what displacements count from, in bytes; NULL where the tree holds addresses (MPI_BOTTOM). A
 * stream of `count` items has count * size bytes, item k being moved by k * extent bytes. Data and stream must not
 * overlap. All functions but espi_pack_compile are thread-safe, allocate nothing and cannot fail. They read and write
 * bytes that the layout names, and no others.
 */
#ifndef ESPI_PACK_PACK_H
#define ESPI_PACK_PACK_H

#include <stdint.h>
#include <stdio.h>

#include "layout/layout.h"

struct espi_pack; /* immutable; lives in the arena that it was compiled in */

/*
 * Compiles a tree whose items stand `extent` bytes apart (of any sign). Takes time in proportion to the different
 * nodes and the numbers in their arrays, however often nodes are shared. The program holds nothing of the tree.
 * ESPI_ERR_MEMORY, or ESPI_ERR_UNSUPPORTED when nested too deeply; *out is NULL then.
 */
espi_status espi_pack_compile(struct espi_arena *arena, const struct espi_node *tree, int64_t extent,
                              const struct espi_pack **out);

/* Packs or unpacks `count` >= 0 items. A place that the layout has twice is packed twice; unpacking, it ends with one
   of the two values. Bytes in gaps stay as they are, also those within a pair type. */
void espi_pack_run(const struct espi_pack *pack, const void *data, int64_t count, void *stream);
void espi_unpack_run(const struct espi_pack *pack, const void *stream, void *data, int64_t count);

/* The same for bytes first .. first + bytes - 1 of the stream of `count` items, which must be in it; `stream` points
   at byte `first`. The first byte is found in a time that grows with depth * log(length of lists). */
void espi_pack_range(const struct espi_pack *pack, const void *data, int64_t count, int64_t first, int64_t bytes,
                     void *stream);
void espi_unpack_range(const struct espi_pack *pack, const void *stream, void *data, int64_t count, int64_t first,
                       int64_t bytes);

/* Whether a stream of so many bytes is longer than the caches: what is unpacked of it goes past them. */
bool espi_pack_goes_past(int64_t bytes);

/* Bytes that one item has in the stream. */
int64_t espi_pack_size(const struct espi_pack *pack);
/* Blocks that the program copies for one item: neighbours are joined where the program saw it. */
int64_t espi_pack_blocks(const struct espi_pack *pack);
/* Whether one item is a single run of bytes, and at what displacement it begins. */
bool espi_pack_is_run(const struct espi_pack *pack, int64_t *at);

/* Whether `count` items are rows of one length, a constant step apart, in the order of the stream: `*at` is the
   displacement of the first one. A single run is one row, with the step 0. */
bool espi_pack_is_rows(const struct espi_pack *pack, int64_t count, int64_t *at, int64_t *row, int64_t *step);

/* What packing or unpacking takes, for whoever has to choose between methods. Values saturate. */
struct espi_pack_cost {
    int64_t bytes;  /* of data: read once and written once */
    int64_t blocks; /* as espi_pack_blocks */
    int64_t lines;  /* cache lines of 64 bytes that the layout's side touches; the stream touches bytes / 64 */
    int64_t calls;  /* of inner loops */
    int64_t lists;  /* bytes of the program's own lists that are read on the way */
    double warm_ns; /* predicted, data and lists being in the nearest caches that hold them all ... */
    double cold_ns; /* ... and in main memory */
};
/* Of `count` items. The model and what it was fitted to are in doc/pack-programs.md. */
struct espi_pack_cost espi_pack_cost(const struct espi_pack *pack, int64_t count);
/* From now on all predictions are so many times what the model says (1 at first): what a program took on this machine
   over what was predicted for it. Thread-safe. */
void espi_pack_cost_scale(double ratio);

/* Writes the program of one item for people, a line a step, each after `indent` blanks; false on a write error. Steps
   that are shared are written where they are used, up to a bound on the lines. */
bool espi_pack_print(const struct espi_pack *pack, int indent, FILE *stream);

#endif
